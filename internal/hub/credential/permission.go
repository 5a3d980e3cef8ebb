package credential

import (
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"custos/internal/hub/protocol"
)

// Permission is a row of the table of what a host may do.
type Permission struct {
	// Subject with {H} for the name of the host and {B} for each bucket that hosts may read.
	Subject string
	Sub     bool // it subscribes; else it publishes
	// Service says that it is no word to another host, but one to the hub: the account of hosts
	// imports it from that of the hub.
	Service bool
	// To is where in the account of the hub it is answered; "" for Subject as it is.
	To string
	// Answer says that it is published as the answer to what the hub sent only, which needs no
	// permission of its own.
	Answer bool
	Why    string
}

// Permissions is the table of what a host may do; all else is refused by the server. Its rows were
// found with the key-value client of nats.go v1.55.0 (jetstream/kv.go, js.go) against nats-server
// v2.15.2: a test takes away one after the other and sees something fail.
//
// # Why hosts and buckets are of two accounts
//
// JetStream answers a request on whatever reply subject comes with it, with its own authority, not
// that of who asks. One that may only read ($JS.API.DIRECT.GET) could have what it wrote itself
// published on any subject of the account of the streams, as $JS.API.STREAM.DELETE.KV_custos_leases
// or $KV.custos_hosts.OTHER; so could one that names the deliver subject of a push consumer. Both
// were seen with nats-server v2.15.2. So no host is in the account of the streams: what it may ask
// of that account is imported, row by row, into the account of hosts, and an answer is published
// there, whatever its reply subject: it reaches hosts, and was not seen to go back through an import. Why the
// server does not follow it is not established; a test tries it, and that it would be seen. Requests to make a consumer are
// looked at by the hub first: they deliver to the inbox of a host.
//
// # What a bad host still can do
//
// It can have an answer of the hub, with content of its own, published to custos.ask.X.OTHER or to
// the inbox of another (whose subjects nobody can guess): so that an ask is from OTHER is known by
// its Envelope, not by its subject. It can ask with a reply subject of its choice, and whoever
// answers that is allowed one response to it: see protocol.IsInboxOf. It can write any key of
// custos_leases and custos_claims, which are shared and not signed: it can take, keep and end leases, and claim what
// nobody has claimed yet, in any host's name; what is claimed, the stream lets nobody write again. It can
// fill a bucket up to its limit, which then refuses writes of all. It can read all that hosts tell.
func Permissions() []Permission {
	return []Permission{
		{Subject: "$KV.custos_leases.*", Service: true, Why: "leases are taken by whoever comes first"},
		{Subject: "$KV.custos_claims.*", Service: true, Why: "what is done once is claimed by whoever comes first"},
		{Subject: "$KV.custos_fleet.{H}.>", Service: true, Why: "what it tells of itself"},
		{Subject: "$JS.API.STREAM.INFO.KV_{B}", Service: true, Why: "jetstream.KeyValue looks at the stream"},
		{Subject: "$JS.API.STREAM.MSG.GET.KV_{B}", Service: true, Why: "the store of leases asks the leader of a bucket, as a follower may be late"},
		{Subject: "$JS.API.DIRECT.GET.KV_{B}", Service: true, Why: "KeyValue.GetRevision"},
		{Subject: "$JS.API.DIRECT.GET.KV_{B}.>", Service: true, Why: "KeyValue.Get"},
		{Subject: "$JS.API.CONSUMER.CREATE.KV_{B}.*.>", Service: true, To: "custos.watch.KV_{B}.*.>", Why: "KeyValue.Watch of a key or a pattern"},
		{Subject: "$JS.API.CONSUMER.CREATE.KV_{B}.*", Service: true, To: "custos.watch.KV_{B}.*", Why: "KeyValue.WatchFiltered of several patterns"},
		{Subject: "$JS.API.CONSUMER.DELETE.KV_{B}.*", Service: true, Why: "a watch ends, or is made anew after a gap"},
		{Subject: "$JS.FC.KV_{B}.>", Service: true, Answer: true, Why: "flow control of a watch: one stalls after 2 MiB without it"},
		{Subject: "custos.ask.*.{H}", Why: "asks in its own name"},
		{Subject: "custos.ask.{H}.*", Sub: true, Why: "what is asked of it"},
		{Subject: "_INBOX_{H}.>", Sub: true, Why: "answers, and what it watches"},
	}
}

// of are the subjects of a row for a host, one for each bucket.
func (p Permission) of(subject, host string) (out []string) {
	subject = strings.ReplaceAll(subject, "{H}", host)
	if !strings.Contains(subject, "{B}") {
		return []string{subject}
	}
	for _, bucket := range protocol.Readable() {
		out = append(out, strings.ReplaceAll(subject, "{B}", bucket))
	}
	return out
}

// answers is how often, and within what time, whoever is asked may answer. A daemon that is asked
// for much answers in several messages.
var answers = jwt.ResponsePermission{MaxMsgs: 64, Expires: 2 * time.Minute}

// hostPermissions is the table for one host, in the words of the server.
func hostPermissions(host string) (out jwt.Permissions) {
	for _, p := range Permissions() {
		list := &out.Pub.Allow
		if p.Answer {
			continue
		}
		if p.Sub {
			list = &out.Sub.Allow
		}
		list.Add(p.of(p.Subject, host)...)
	}
	resp := answers
	out.Resp = &resp
	return out
}

// imports is the table as what the account of hosts imports from the account hub.
func imports(hub string) (out jwt.Imports) {
	out.Add(&jwt.Import{Account: hub, Subject: ">", Type: jwt.Stream, Name: "what watches deliver"})
	out.Add(&jwt.Import{Account: hub, Subject: "custos.join.*", Type: jwt.Service, Name: "joining"},
		// An account without streams is given all of $JS.API to answer that it has none, unless it
		// imports this one (nats-server v2.15.2, jetstream.go, enableJetStreamInfoServiceImportOnly):
		// that answer would come beside, and before, that of the hub. Nobody answers here.
		service(hub, "$JS.API.INFO", "custos.nobody"))
	for _, p := range Permissions() {
		if !p.Service {
			continue
		}
		local := p.of(p.Subject, "*")
		to := local
		if p.To != "" {
			to = p.of(p.To, "*")
		}
		for i := range local {
			out.Add(service(hub, local[i], to[i]))
		}
	}
	return out
}

// service imports what is published on local, to be answered on to.
func service(hub, local, to string) *jwt.Import {
	im := &jwt.Import{Account: hub, Subject: jwt.Subject(local), Type: jwt.Service, Name: local}
	if to != local {
		im.Subject, im.LocalSubject = jwt.Subject(to), jwt.RenamingSubject(local)
	}
	return im
}
