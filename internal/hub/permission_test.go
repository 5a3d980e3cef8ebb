package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// soon is how long is waited for what should come, and for what should not.
const soon = 400 * time.Millisecond

// host is one that has joined, with what the server refused it.
type host struct {
	*nats.Conn
	credential.Joined
	mu      sync.Mutex
	refused []string
}

func connect(t *testing.T, j credential.Joined) *host {
	t.Helper()
	h := &host{Joined: j}
	h.Conn = hubtest.Connect(t, j, wire.Options{Name: j.Host, OnChange: func(c wire.Change) {
		if c.Err != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.refused = append(h.refused, c.Err.Error())
		}
	}})
	return h
}

// isRefused says whether the server refuses something with these words, soon.
func (h *host) isRefused(words string) bool {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if h.wasRefused(words) {
			return true
		}
		_ = h.Flush() // what was refused comes before the answer to this, and is told by another goroutine
	}
	return false
}

// wasRefused says whether the server has refused something with these words by now.
func (h *host) wasRefused(words string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.refused, func(r string) bool { return strings.Contains(r, words) })
}

// kv opens a bucket.
func (h *host) kv(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	js, err := jetstream.New(h.Conn, jetstream.WithDefaultTimeout(soon))
	if err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, bucket)
}

// TestOneNode are the tests that one hub of one node is enough for.
func TestOneNode(t *testing.T) {
	t.Parallel()
	c := hubtest.Start(t, 1)
	t.Run("permitted", func(t *testing.T) { permitted(t, c) })
	t.Run("every row is needed", func(t *testing.T) { everyRowIsNeeded(t, c) })
	t.Run("forbidden", func(t *testing.T) { forbidden(t, c) })
	t.Run("confused deputies", func(t *testing.T) { deputies(t, c) })
	t.Run("confused deputies, in the account of streams", func(t *testing.T) { inTheAccountOfStreams(t, c) })
	t.Run("a forged ask", func(t *testing.T) { forgedAsk(t, c) })
	t.Run("a strange reply", func(t *testing.T) { strangeReply(t, c) })
}

// may is what a host does, each with the connection of another.
var may = map[string]func(ctx context.Context, a, b *host) error{
	"take a lease that ends": func(ctx context.Context, a, _ *host) error {
		kv, err := a.kv(ctx, protocol.Leases)
		if err == nil {
			_, err = kv.Create(ctx, "x"+nats.NewInbox()[7:], []byte("a"), jetstream.KeyTTL(time.Hour))
		}
		return err
	},
	"ask the leader for a lease": func(ctx context.Context, a, _ *host) error {
		m, err := a.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.KV_custos_leases", []byte(`{"last_by_subj":"$KV.custos_leases.none"}`))
		if err == nil && !strings.Contains(string(m.Data), "no message found") {
			err = fmt.Errorf("it says %s", m.Data)
		}
		return err
	},
	"claim": func(ctx context.Context, a, _ *host) error {
		kv, err := a.kv(ctx, protocol.Claims)
		if err == nil {
			_, err = kv.Create(ctx, "x"+nats.NewInbox()[7:], []byte("a"))
		}
		return err
	},
	"tell, and take back": func(ctx context.Context, a, _ *host) error {
		kv, err := a.kv(ctx, protocol.Fleet)
		if err == nil {
			_, err = kv.Put(ctx, a.Host+".agents", []byte("one"))
		}
		if err == nil {
			err = kv.Purge(ctx, a.Host+".agents")
		}
		return err
	},
	"read who has joined": func(ctx context.Context, a, b *host) error {
		kv, err := a.kv(ctx, protocol.Hosts)
		if err != nil {
			return err
		}
		e, err := kv.Get(ctx, b.Host)
		if err == nil {
			_, err = kv.GetRevision(ctx, b.Host, e.Revision())
		}
		return err
	},
	"watch one key":       watches("b.>"),
	"watch several":       watches("b.agents", "b.else"),
	"watch what is large": watchMuch,
	"ask and be answered": ask,
	"answer":              func(ctx context.Context, a, b *host) error { return ask(ctx, b, a) },
}

// ask has b answer a.
func ask(ctx context.Context, a, b *host) error {
	sub, err := b.Subscribe(protocol.AskSubject(b.Host, "*"), func(m *nats.Msg) { _ = m.Respond([]byte("well")) })
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	_ = b.Flush()
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	m, err := a.RequestWithContext(ctx, protocol.AskSubject(b.Host, a.Host), []byte("how"))
	if err == nil && string(m.Data) != "well" {
		err = fmt.Errorf("the answer is %q", m.Data)
	}
	return err
}

// watches sees a row of b come.
func watches(keys ...string) func(ctx context.Context, a, b *host) error {
	return func(ctx context.Context, a, b *host) error {
		kv, err := a.kv(ctx, protocol.Fleet)
		if err != nil {
			return err
		}
		w, err := kv.WatchFiltered(ctx, slices.Clone(keys), jetstream.UpdatesOnly())
		if err != nil {
			return err
		}
		if err := put(ctx, b, "b.agents", []byte("two")); err != nil {
			return err
		}
		select {
		case e := <-w.Updates():
			if string(e.Value()) != "two" {
				return fmt.Errorf("it saw %q", e.Value())
			}
		case <-time.After(soon):
			return errors.New("the watch sees nothing")
		}
		ended := make(chan error, 1)
		go func() { ended <- w.Stop() }()
		select {
		case err := <-ended:
			return err
		case <-time.After(soon):
			return errors.New("the watch does not end")
		}
	}
}

func put(ctx context.Context, h *host, key string, value []byte) error {
	kv, err := h.kv(ctx, protocol.Fleet)
	if err == nil {
		_, err = kv.Put(ctx, key, value)
	}
	return err
}

// watchMuch reads more than the 2 MiB that are sent without being told that they were taken
// (nats-server v2.15.2, consumer.go, JsFlowControlMaxPending/16).
func watchMuch(ctx context.Context, a, b *host) error {
	const rows = 102
	for i := range rows {
		if err := put(ctx, b, fmt.Sprintf("b.much.%d", i), make([]byte, 60<<10)); err != nil {
			return err
		}
	}
	kv, err := a.kv(ctx, protocol.Fleet)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, "b.much.*")
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	for seen := 0; ; seen++ {
		select {
		case e := <-w.Updates():
			if e == nil && seen == rows {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the watch saw %d of %d", seen, rows)
		}
	}
}

func permitted(t *testing.T, c *hubtest.Cluster) {
	a, b := connect(t, c.Join(t, "a")), connect(t, c.Join(t, "b"))
	for name, try := range may {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := try(ctx, a, b); err != nil {
				t.Error(err)
			}
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.refused) > 0 {
		t.Errorf("the server refused %q", a.refused)
	}
}

// everyRowIsNeeded takes away one subject after the other, of those in which a row is written out
// for a bucket that is used, and wants something to fail.
func everyRowIsNeeded(t *testing.T, c *hubtest.Cluster) {
	b := connect(t, c.Join(t, "b"))
	joined := c.Join(t, "a")
	var all sync.WaitGroup
	for _, p := range credential.Permissions() {
		if p.Answer {
			continue // the large watch of what is permitted needs it
		}
		a := connect(t, without(t, c, joined, p))
		all.Go(func() {
			if !failsAnything(t.Context(), a, b) {
				t.Errorf("all goes well without %s", p.Subject)
			}
		})
	}
	all.Wait()
}

// failsAnything says whether something of what a host may do fails.
func failsAnything(ctx context.Context, a, b *host) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*soon)
	defer cancel()
	for name, try := range may {
		if name == "watch what is large" {
			continue // it takes long
		}
		if err := try(ctx, a, b); err != nil {
			return true
		}
	}
	return false
}

// without are the credentials of a host without a row of the table.
func without(t *testing.T, c *hubtest.Cluster, j credential.Joined, p credential.Permission) credential.Joined {
	t.Helper()
	pattern := strings.ReplaceAll(p.Subject, "{H}", j.Host)
	is := func(subject string) bool {
		return slices.ContainsFunc(protocol.Readable(), func(bucket string) bool { return subject == strings.ReplaceAll(pattern, "{B}", bucket) })
	}
	return resigned(t, j, accountKey(t, c, "hosts"), func(user *jwt.UserClaims) {
		was := len(user.Pub.Allow) + len(user.Sub.Allow)
		user.Pub.Allow, user.Sub.Allow = slices.DeleteFunc(user.Pub.Allow, is), slices.DeleteFunc(user.Sub.Allow, is)
		if len(user.Pub.Allow)+len(user.Sub.Allow) == was {
			t.Fatalf("the host has no %s", pattern)
		}
	})
}

// resigned are the credentials of a host, changed and signed by an account.
func resigned(t *testing.T, j credential.Joined, by nkeys.KeyPair, change func(*jwt.UserClaims)) credential.Joined {
	t.Helper()
	text, err := jwt.ParseDecoratedJWT(j.Creds)
	if err != nil {
		t.Fatal(err)
	}
	user, err := jwt.DecodeUserClaims(text)
	if err != nil {
		t.Fatal(err)
	}
	change(user)
	signed, err := user.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := jwt.ParseDecoratedUserNKey(j.Creds)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if j.Creds, err = jwt.FormatUserConfig(signed, seed); err != nil {
		t.Fatal(err)
	}
	return j
}

// accountKey signs as an account does: hosts or hub.
func accountKey(t *testing.T, c *hubtest.Cluster, name string) nkeys.KeyPair {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dirs[0], "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	seed, _ := keys[name].(string)
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func forbidden(t *testing.T, c *hubtest.Cluster) {
	a := connect(t, c.Join(t, "a"))
	for _, subject := range []string{
		"$KV.custos_fleet.b.agents", "$KV.custos_fleet.a", "$KV.custos_claims.x.y", "$KV.custos_hosts.a", "$KV.custos_hosts.b", "$KV.custos_invites.x",
		"$KV.custos_leases.x.y", "$KV.else.x",
		"custos.ask.b.c", "custos.ask.b.a.c", "custos.ask.a.b", "custos.join.x", protocol.InviteSubject, protocol.RevokeSubject, protocol.HostsSubject,
		"custos.watch.KV_custos_leases.x", "_INBOX_b.x", "_INBOX_a.x", "x",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.KV_custos_invites", "$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.UPDATE.KV_custos_leases",
		"$JS.API.STREAM.DELETE.KV_custos_leases", "$JS.API.STREAM.PURGE.KV_custos_leases", "$JS.API.STREAM.MSG.DELETE.KV_custos_leases", "$JS.API.STREAM.MSG.GET.KV_custos_invites",
		"$JS.API.STREAM.SNAPSHOT.KV_custos_leases", "$JS.API.STREAM.LEADER.STEPDOWN.KV_custos_leases", "$JS.API.STREAM.PEER.REMOVE.KV_custos_leases",
		"$JS.API.CONSUMER.NAMES.KV_custos_leases", "$JS.API.CONSUMER.LIST.KV_custos_leases", "$JS.API.CONSUMER.DURABLE.CREATE.KV_custos_leases.x", "$JS.API.CONSUMER.CREATE.KV_custos_invites.x",
		"$JS.API.CONSUMER.MSG.NEXT.KV_custos_leases.x", "$JS.API.DIRECT.GET.KV_custos_invites.x", "$JS.API.META.LEADER.STEPDOWN", "$JS.ACK.KV_custos_leases.x.1.1.1.1.1",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.USER.INFO",
	} {
		if err := a.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if !a.isRefused(`Publish to "` + subject + `"`) {
			t.Errorf("a host may publish to %s", subject)
		}
	}
	for _, subject := range []string{
		">", "*", "_INBOX_b.>", "_INBOX.>", "_INBOX_*.>", "*.x", "custos.ask.b.*", "custos.ask.*.*", "custos.ask.>", "custos.join.*", "custos.admin.>", "custos.watch.>",
		"$KV.>", "$KV.custos_leases.*", "$JS.>", "$JS.EVENT.ADVISORY.>", "$SYS.>", "_R_.>",
	} {
		if _, err := a.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if !a.isRefused(`Subscription to "` + subject + `"`) {
			t.Errorf("a host may subscribe to %s", subject)
		}
	}
}
