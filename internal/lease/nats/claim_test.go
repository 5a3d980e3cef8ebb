package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/wire"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

// hosts are those that have joined a hub.
type hosts struct {
	hub    *hubtest.Cluster
	mu     sync.Mutex
	joined map[string]credential.Joined
}

// of is the connection of a host, with what it may do there and no more.
func (h *hosts) of(t testing.TB, name string) jetstream.JetStream {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.joined[name]; !is {
		h.joined[name] = h.hub.Join(t, name)
	}
	js, err := jetstream.New(hubtest.Connect(t, h.joined[name], wire.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func at() fleet.Instant { return fleet.Instant{Wall: time.Now().UTC(), Boot: "test"} }

func (h *hosts) claims(t testing.TB, me lease.Holder) *Claims {
	return NewClaims(h.of(t, me.Host), Options{Me: me, Clock: at})
}

func (h *hosts) open(t testing.TB, me lease.Holder) lease.Claims { return h.claims(t, me) }

// TestClaims: at a hub of one node, and at one of three, by what a host may do there.
func TestClaims(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			h := &hosts{hub: hubtest.Start(t, nodes), joined: map[string]credential.Joined{}}
			bad := h.of(t, "bad")
			leasetest.RunClaims(t, h.open, func(t testing.TB, key string) {
				if _, err := bad.Publish(t.Context(), "$KV."+ClaimBucket+"."+name(key), []byte(`{"v":1,"key":"eA==","holder":{"host":"a","run":"1"}}`)); err != nil {
					t.Fatal(err)
				}
			})
			if nodes == 1 {
				t.Run("lost answers", func(t *testing.T) { lostAnswers(t, h) })
				t.Run("a hostile host", func(t *testing.T) { hostile(t, h) })
			}
		})
	}
}

// losing is a connection on which what is written is written, or not, and not answered.
type losing struct {
	jetstream.JetStream
	writes bool
}

var errLost = errors.New("the answer was lost")

func (l losing) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if l.writes {
		if _, err := l.JetStream.PublishMsg(ctx, msg, opts...); err != nil {
			return nil, errors.Join(errLost, err)
		}
	}
	return nil, errLost
}

// lostAnswers: what became of a claim that was not answered is read; where nothing is there it is not known, and no
// other one is kept from claiming.
func lostAnswers(t *testing.T, h *hosts) {
	a, b := lease.Holder{Host: "a", Run: "1"}, lease.Holder{Host: "b", Run: "1"}
	written := NewClaims(losing{h.of(t, "a"), true}, Options{Me: a, Clock: at})
	if got, err := written.Claim(t.Context(), "written"); err != nil || got.Holder != a {
		t.Errorf("a claim that was written and not answered: %+v, %v", got, err)
	}
	gone := NewClaims(losing{h.of(t, "a"), false}, Options{Me: a, Clock: at})
	if got, err := gone.Claim(t.Context(), "not written"); !errors.Is(err, errLost) || got != (lease.Claim{}) {
		t.Errorf("one that was not written, and not answered: %+v, %v", got, err)
	}
	other := h.claims(t, b)
	for key, whose := range map[string]lease.Holder{"written": a, "not written": b} {
		if got, err := other.Claim(t.Context(), key); err != nil || got.Holder != whose {
			t.Errorf("%s: %+v, %v, want %v", key, got, err, whose)
		}
		if got, err := gone.Claim(t.Context(), key); err != nil || got.Holder != whose {
			t.Errorf("%s, by who hears no answer: %+v, %v, want %v", key, got, err, whose)
		}
	}
}

// hostile: whatever a host publishes, a claim that was made stays; one that claims in another's name, before anybody
// has, makes that one believe it, and all others too.
func hostile(t *testing.T, h *hosts) {
	a, b := h.claims(t, lease.Holder{Host: "a", Run: "1"}), h.claims(t, lease.Holder{Host: "b", Run: "1"})
	bad := h.of(t, "bad")
	if _, err := a.Claim(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	m, err := a.s.get(t.Context(), a.s.subject("k"))
	if err != nil {
		t.Fatal(err)
	}
	for what, header := range map[string]nats.Header{
		"another one":             {},
		"over the one that is":    {jetstream.ExpectedLastSubjSeqHeader: {fmt.Sprint(m.Sequence)}},
		"in its place":            {jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
		"in the place of all":     {jetstream.MsgRollup: {jetstream.MsgRollupAll}},
		"a purge":                 {opHeader: {opPurge}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
		"a mark that it is gone":  {opHeader: {"DEL"}},
		"one that ends by itself": {jetstream.MsgTTLHeader: {"1s"}},
	} {
		msg := &nats.Msg{Subject: a.s.subject("k"), Header: header, Data: []byte(`{"v":1,"key":"aw==","holder":{"host":"bad","run":"1"}}`)}
		if ack, err := bad.PublishMsg(t.Context(), msg); err == nil {
			t.Errorf("%s was written: %+v", what, ack)
		}
	}
	if _, err := bad.PublishMsg(t.Context(), &nats.Msg{Subject: a.s.subject("new"), Header: nats.Header{jetstream.MsgTTLHeader: {"1s"}}, Data: []byte("x")}); err == nil {
		t.Error("a claim that ends by itself was made")
	}
	if got, err := b.Claim(t.Context(), "k"); err != nil || got.Holder.Host != "a" {
		t.Errorf("then it is that of %+v, %v", got, err)
	}
	if _, err := bad.Publish(t.Context(), a.s.subject("f"), []byte(`{"v":1,"key":"Zg==","holder":{"host":"b","run":"1"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Claims{a, b} {
		if got, err := c.Claim(t.Context(), "f"); err != nil || got.Holder.Host != "b" {
			t.Errorf("what was claimed in the name of b is, for %v, that of %+v, %v", c.s.o.Me, got, err)
		}
	}
}
