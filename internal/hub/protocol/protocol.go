// Package protocol is what a hub and those who speak with it agree on: the names of its buckets
// and subjects, and the messages of joining and of administration. Values only.
package protocol

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// The buckets (JetStream key-value stores) of a hub.
const (
	Leases  = "custos_leases"  // who may do a thing now: file, history 1, a TTL for each key
	Claims  = "custos_claims"  // who does what is done once: file, 30 days; each key is written once, and by nobody again
	Fleet   = "custos_fleet"   // HOST.…: a copy of what hosts tell: memory, republished by them
	Hosts   = "custos_hosts"   // who has joined; written by the hub only
	Invites = "custos_invites" // tokens that were handed out; the hub only
)

// Readable are the buckets that every host may read and watch.
func Readable() []string { return []string{Leases, Claims, Fleet, Hosts} }

// Stream is the JetStream stream of a bucket, as nats.go v1.55.0 names it (jetstream/kv.go,
// kvBucketNameTmpl).
func Stream(bucket string) string { return "KV_" + bucket }

const (
	// MaxPayload is how many bytes a message may have.
	MaxPayload = 2 << 20
	// MaxInviteFor is how long an invitation may be good.
	MaxInviteFor = 7 * 24 * time.Hour
)

// JoinSubject is where the holder of an invitation asks to become a host.
func JoinSubject(invite string) string { return "custos.join." + invite }

// AskSubject is where a host asks something of another; an answer goes to its inbox.
func AskSubject(to, from string) string { return "custos.ask." + to + "." + from }

// InboxPrefix is what the inboxes of a host begin with. Whoever answers an ask must see that the
// answer goes to an inbox of the one who asked: see IsInboxOf.
func InboxPrefix(host string) string { return "_INBOX_" + host }

// IsInboxOf says whether a reply subject is an inbox of the host. The server lets whoever was asked
// publish once to any reply subject that came with the question (allow_responses), and does not look
// whose it is: one that is no inbox of the asker must not be answered.
func IsInboxOf(host, reply string) bool {
	rest, is := strings.CutPrefix(reply, InboxPrefix(host)+".")
	return is && len(rest) <= 128 && inboxRest.MatchString(rest)
}

var inboxRest = regexp.MustCompile(`^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$`)

// The services of a hub, in its own account: hosts do not reach them.
const (
	InviteSubject = "custos.admin.invite" // Invite → Invited
	RevokeSubject = "custos.admin.revoke" // Revoke → Revoked
	HostsSubject  = "custos.admin.hosts"  // {} → HostList
	WatchSubject  = "custos.watch"        // .STREAM.CONSUMER.FILTER…: what hosts ask to make a consumer is looked at first
)

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// CheckHost says what is wrong with the name of a host; nil when nothing is. It is one token of a
// NATS subject.
func CheckHost(name string) error {
	if !hostName.MatchString(name) {
		return errors.New("the name of a host has 1 to 63 letters, digits, - and _, and begins with a letter or digit")
	}
	if name == AnyHost {
		return errors.New("no host is called any: that is whichever fits")
	}
	return nil
}

// AnyHost is no name of a host: it has one be chosen.
const AnyHost = "any"

// Host is a row of the bucket custos_hosts, under the name of the host.
type Host struct {
	Name    string    `json:"name"`
	Key     string    `json:"key"`              // public nkey of its user, U…
	Joined  time.Time `json:"joined,omitzero"`  // zero: before the hub lost what it kept
	Revoked time.Time `json:"revoked,omitzero"` // zero while it may connect
	// Former are keys that it had before, all of them revoked.
	Former []string `json:"former,omitempty"`
}

// IsRevoked says whether a key of this host may not be used any more.
func (h Host) IsRevoked(key string) bool {
	return key != h.Key || !h.Revoked.IsZero()
}

// Invitation is a row of the bucket custos_invites, under its id.
type Invitation struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Expires time.Time `json:"expires"`
	Replace bool      `json:"replace,omitempty"`
	// Key has joined with it, at Spent; "" while nobody has.
	Key   string    `json:"key,omitempty"`
	Spent time.Time `json:"spent,omitzero"`
}

// Join is asked with an invitation: the private key stays where it was made.
type Join struct {
	Key string `json:"key"` // public nkey of the user that the host will be
}

// Joined is the answer to Join.
type Joined struct {
	JWT  string   `json:"jwt,omitempty"` // of the user of the host, signed by the account
	URLs []string `json:"urls,omitempty"`
	Refused
}

// Invite asks for a token.
type Invite struct {
	Host string        `json:"host"`
	For  time.Duration `json:"for"` // nanoseconds
	// Replace lets it join though a host has that name: that one is revoked then.
	Replace bool `json:"replace,omitempty"`
}

// Invited is the answer to Invite; the token is a secret.
type Invited struct {
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Refused
}

// Revoke asks that a host may not connect any more.
type Revoke struct {
	Host string `json:"host"`
	// Key is the one that is meant, where the hub does not know it any more; "": the host's.
	Key string `json:"key,omitempty"`
}

// Revoked is the answer to Revoke.
type Revoked struct {
	Host Host `json:"host,omitzero"`
	// Nodes that have closed its connections, by name.
	Nodes []string `json:"nodes,omitempty"`
	Refused
}

// HostList is the answer to HostsSubject.
type HostList struct {
	Hosts []Host `json:"hosts"`
	// Damaged are keys of rows that cannot be read.
	Damaged []string `json:"damaged,omitempty"`
	Refused
}

// Refused says in an answer why something was not done; the zero value says that it was.
type Refused struct {
	Kind string `json:"kind,omitempty"` // one of the constants below, "" where it was done
	Why  string `json:"why,omitempty"`
}

// Why something is refused.
const (
	BadInput    = "bad-input"
	Taken       = "name-taken"
	Spent       = "spent"
	Expired     = "expired"
	Unknown     = "unknown"
	Unavailable = "unavailable" // no quorum, no space, …: nothing was done, or it is not known
)

// Names are the other hosts of a hub, as a host keeps them where its commands find them.
type Names struct {
	Hosts []string `json:"hosts"`
}
