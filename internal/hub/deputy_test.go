package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// targets are subjects to which a host would have something published that it may not publish to
// itself, with what would be there.
var targets = map[string]string{
	"$JS.API.STREAM.DELETE.KV_custos_claims": "",
	"$JS.API.STREAM.PURGE.KV_custos_hosts":   "",
	"$KV.custos_hosts.b":                     `{"name":"b","key":"forged"}`,
	"$KV.custos_hosts.forged":                "forged",
	"$KV.custos_invites.forged":              "forged",
	"$KV.custos_fleet.b.forged":              "forged",
	"custos.admin.revoke":                    `{"host":"b"}`,
	"$JS.API.INFO":                           "",
	"$SYS.REQ.CLAIMS.UPDATE":                 "forged",
}

// deputies has a host ask JetStream, which may do anything, to do what the host may not: see
// credential.Permissions. In an account that has the streams, each of these does it.
func deputies(t *testing.T, c *hubtest.Cluster) {
	a, b := connect(t, c.Join(t, "a")), connect(t, c.Join(t, "b"))
	before := state(t, c)
	for target, content := range targets {
		key := "a.content" + strings.NewReplacer("$", "", ".", "-").Replace(target)
		if err := put(t.Context(), a, key, []byte(content)); err != nil {
			t.Fatal(err)
		}
		askWithReply(t, a, "$KV.custos_fleet."+key, content, target)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if after := state(t, c); after != before {
			t.Fatalf("a host did what it may not; before:\n%s\nafter:\n%s", before, after)
		}
	}
	for name, is := range may {
		if err := is(t.Context(), a, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// askWithReply asks all that a host may ask, with the reply subject of another.
func askWithReply(t *testing.T, a *host, subject, content, target string) {
	t.Helper()
	for ask, body := range map[string]string{
		"$JS.API.DIRECT.GET.KV_custos_fleet":            `{"last_by_subj":"` + subject + `","no_hdr":true}`,
		"$JS.API.DIRECT.GET.KV_custos_fleet." + subject: "",
		"$JS.API.STREAM.MSG.GET.KV_custos_fleet":        `{"last_by_subj":"` + subject + `"}`,
		"$JS.API.STREAM.INFO.KV_custos_fleet":           "",
		"$JS.API.CONSUMER.DELETE.KV_custos_fleet.none":  "",
		"$KV.custos_fleet.a.other":                      content,
		"custos.ask.none.a":                             content,
	} {
		if err := a.PublishRequest(ask, target, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := a.Request("$JS.API.CONSUMER.CREATE.KV_custos_fleet.evil."+subject, []byte(`{"stream_name":"KV_custos_fleet","config":{"name":"evil","deliver_subject":"`+target+`","filter_subject":"`+subject+`","deliver_policy":"last","ack_policy":"none"}}`), 5*time.Second)
	if err != nil || !strings.Contains(string(m.Data), "a watch delivers to the inbox of a host") {
		t.Errorf("a consumer that delivers to %s: %v %s", target, err, m.Data)
	}
}

// inTheAccountOfStreams is the control of deputies: with the same permissions in the other account,
// what is forged is written.
func inTheAccountOfStreams(t *testing.T, c *hubtest.Cluster) {
	a := c.Join(t, "a")
	one := resigned(t, a, accountKey(t, c, "hub"), func(*jwt.UserClaims) {})
	nc, err := wire.Once(one.URLs, one.CA, one.Creds, protocol.InboxPrefix("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	h := &host{Conn: nc, Joined: one}
	if err := put(t.Context(), h, "a.control", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	before := state(t, c)
	if err := nc.PublishRequest("$JS.API.DIRECT.GET.KV_custos_fleet", "$KV.custos_fleet.b.control", []byte(`{"last_by_subj":"$KV.custos_fleet.a.control","no_hdr":true}`)); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, 5*time.Second, "the control is written", func() bool { return state(t, c) != before })
}

// state is what is in the hub, without what host a may write.
func state(t *testing.T, c *hubtest.Cluster) (out string) {
	t.Helper()
	js, err := jetstream.New(c.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	defer js.Conn().Close()
	for _, bucket := range append(protocol.Readable(), protocol.Invites) {
		kv, err := js.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(bucket, err)
		}
		keys, err := kv.Keys(t.Context())
		if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
			t.Fatal(err)
		}
		for _, key := range keys {
			if strings.HasPrefix(key, "a.") {
				continue
			}
			e, err := kv.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintln(bucket, key, e.Revision(), len(e.Value()))
		}
	}
	return out
}

// What a bad host can do, as the docstring of credential.Permissions says: an ask that seems to come
// from another. Whose it is tells its envelope.
func forgedAsk(t *testing.T, c *hubtest.Cluster) {
	a, b := connect(t, c.Join(t, "a")), connect(t, c.Join(t, "b"))
	sub, err := b.SubscribeSync(protocol.AskSubject("b", "*"))
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Flush()
	identity, err := a.Identity()
	if err != nil {
		t.Fatal(err)
	}
	subject := protocol.AskSubject("b", "other")
	e, err := credential.Sign(identity, subject, []byte("do it"), time.Now(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), a, "a.ask", text); err != nil {
		t.Fatal(err)
	}
	if err := a.PublishRequest("$JS.API.DIRECT.GET.KV_custos_fleet", subject, []byte(`{"last_by_subj":"$KV.custos_fleet.a.ask","no_hdr":true}`)); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatalf("it does not come, and the docstring may say so: %v", err)
	}
	var got credential.Envelope
	if err := json.Unmarshal(m.Data, &got); err != nil {
		t.Fatal(err)
	}
	who, err := credential.Trust{Account: b.Account, MaxSkew: time.Minute}.Verify(got, m.Subject, time.Now())
	if err != nil || who != "a" {
		t.Errorf("the ask on %s is of %q: %v", m.Subject, who, err)
	}
}

// Whoever is asked may publish to the reply subject that came with the question: it must look at it.
func strangeReply(t *testing.T, c *hubtest.Cluster) {
	a, b := connect(t, c.Join(t, "a")), connect(t, c.Join(t, "b"))
	sub, err := b.SubscribeSync(protocol.AskSubject("b", "*"))
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Flush()
	for reply, is := range map[string]bool{"$KV.custos_fleet.c.x": false, "_INBOX_b.x": false, "_INBOX_ab.x": false, "_INBOX_a": false, nats.NewInbox(): false, "_INBOX_a.x": true} {
		if err := a.PublishRequest(protocol.AskSubject("b", "a"), reply, nil); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if protocol.IsInboxOf("a", m.Reply) != is {
			t.Errorf("that %s is an inbox of a is not %t", m.Reply, is)
		}
	}
}

// With CUSTOS_TOWN=1: what is asked of one node is answered by another, by a route, and nothing
// more is done.
func TestDeputiesOfThreeNodes(t *testing.T) {
	if os.Getenv("CUSTOS_TOWN") == "" {
		t.Skip("takes ten seconds and more: CUSTOS_TOWN=1")
	}
	c := hubtest.Start(t, 3)
	for range 3 { // hosts connect to a node at random
		deputies(t, c)
	}
	permitted(t, c)
	forbidden(t, c)
}
