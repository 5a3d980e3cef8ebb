package nats

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// TestEveryLeaseHasATTL: whatever is done with a lease, what is written of it has a TTL, of whole
// seconds and not shorter than the lease. A key without one would be held for ever.
func TestEveryLeaseHasATTL(t *testing.T) {
	_, js := one(t)
	seen := make(chan *nats.Msg, 100)
	if _, err := js.Conn().ChanSubscribe("$KV."+Bucket+".>", seen); err != nil {
		t.Fatal(err)
	}
	a := host(js, "a", 10600*time.Millisecond, 0)
	l, err := a.Acquire(t.Context(), "k", 0)
	for range 3 {
		if err == nil {
			l, err = a.Renew(t.Context(), l)
		}
	}
	if err = errors.Join(err, a.Release(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
	if _, err = a.Acquire(t.Context(), "k", 1000); err != nil { // over what was given back, by a larger epoch
		t.Fatal(err)
	}
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	var ttls []string
	for len(seen) > 0 {
		m := <-seen
		if strings.HasSuffix(m.Subject, "."+baseName) {
			continue
		}
		ttls = append(ttls, m.Header.Get("Nats-TTL"))
	}
	// The last Acquire asks twice: it takes the key for one that was never held at first.
	if got, want := strings.Join(ttls, " "), "11s 11s 11s 11s 1m0s 11s 11s"; got != want {
		t.Errorf("the TTLs are %q, want %q", got, want)
	}
	m, err := a.get(t.Context(), a.subject("k"))
	if err != nil || !strings.Contains(string(m.Header), "Nats-TTL: 11s\r\n") {
		t.Errorf("what is kept has the header %q, %v", m.Header, err)
	}
}

// TestAnAnswerThatComesTooLate: when a renewal is answered after the time of the lease was over, the
// server may have been about to take it out: it is not relied on, and the next question tells.
func TestAnAnswerThatComesTooLate(t *testing.T) {
	_, js := one(t)
	var now time.Duration
	var step time.Duration
	a := New(js, Options{TTL: time.Minute, Me: lease.Holder{Host: "a", Run: "1"}, Clock: func() fleet.Instant {
		now += step
		return fleet.Instant{Wall: time.Unix(0, 0).Add(now), Up: fleet.Duration(now), Boot: "test"}
	}})
	l, err := a.Acquire(t.Context(), "k", 0)
	if err != nil {
		t.Fatal(err)
	}
	now, step = 20*time.Second, 20*time.Second // sent at 40 s, answered at 60
	if next, err := a.Renew(t.Context(), l); err == nil || errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld) {
		t.Errorf("answered at its end, it was renewed to %+v: %v", next, err)
	}
	step = 0
	over, err := a.Acquire(t.Context(), "over", 0)
	if err != nil {
		t.Fatal(err)
	}
	now = time.Duration(over.Until.Up)
	if _, err := a.Renew(t.Context(), over); !errors.Is(err, lease.ErrLost) {
		t.Errorf("at its end: %v", err)
	}
	if kept, err := a.last(t.Context(), "over"); err != nil || kept.seq != over.Token {
		t.Errorf("something was written at its end: %+v, %v", kept, err)
	}
	now = 60 * time.Second
	if err := a.Release(t.Context(), l); err != nil {
		t.Error(err)
	}
	own, err := a.Acquire(t.Context(), "k", 0)
	if !errors.Is(err, lease.ErrHeld) || own.Until.Up != fleet.Duration(100*time.Second) {
		t.Fatalf("it was renewed at 40 s, for a minute; it is told of %+v, %v", own, err)
	}
	if _, err := a.Renew(t.Context(), own); err != nil {
		t.Error(err)
	}
}

// TestEpochOfWhatWasGivenBack: the next epoch is larger, also when who asks has not heard yet that
// epochs begin with a larger number.
func TestEpochOfWhatWasGivenBack(t *testing.T) {
	_, js := one(t)
	a := host(js, "a", testTTL, 0)
	if _, err := a.put(t.Context(), message{subject: a.subject("k"), ttl: markerTTL, free: true, value: value{V: version, Key: []byte("k"), Epoch: 1000}}); err != nil {
		t.Fatal(err)
	}
	if l, err := a.Acquire(t.Context(), "k", 0); err != nil || l.Epoch <= 1000 {
		t.Errorf("after 1000 comes %d: %v", l.Epoch, err)
	}
}

// TestNoServer: nobody answers, and that is neither held nor lost.
func TestNoServer(t *testing.T) {
	s, js := one(t)
	a := host(js, "a", time.Minute, 300*time.Millisecond)
	l, err := a.Acquire(t.Context(), "k", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Shutdown()
	began := time.Now()
	_, renewed := a.Renew(t.Context(), l)
	_, acquired := a.Acquire(t.Context(), "other", 0)
	for _, err := range []error{renewed, acquired, a.Release(t.Context(), l)} {
		if err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) {
			t.Errorf("without a server: %v", err)
		}
	}
	if took := time.Since(began); took > 6*time.Second { // less than three times as long as where nothing is said of it
		t.Errorf("that took %v", took)
	}
}

// TestNoBucket: a bucket that is not there, or is another one, is no answer.
func TestNoBucket(t *testing.T) {
	s := start(t, options(t.TempDir()))
	a := host(dial(t, s.ClientURL(), admin), "a", testTTL, time.Second)
	if l, err := a.Acquire(t.Context(), "k", 0); err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) {
		t.Errorf("without a bucket: %+v, %v", l, err)
	}
	if err := a.Watch(t.Context(), nil, func(lease.Lease) {}); err == nil {
		t.Error("a watch without a bucket is none")
	}
}

// TestWarn: a watch tells of what it cannot read, by its key, and goes on.
func TestWarn(t *testing.T) {
	_, js := one(t)
	a := host(js, "a", testTTL, 0)
	warned := make(chan error, 10)
	a.o.Warn = func(err error) { warned <- err }
	if _, err := a.Acquire(t.Context(), "the key", 0); err != nil {
		t.Fatal(err)
	}
	corrupt(js)(t, "the key")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() { _ = a.Watch(ctx, nil, func(lease.Lease) {}) }()
	select {
	case err := <-warned:
		if !strings.Contains(err.Error(), `"the key"`) {
			t.Errorf("it is told that %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing is told")
	}
}

// TestAGap: a watch that has missed a message is lost, whether the next one shows it or silence does.
func TestAGap(t *testing.T) {
	told := func(consumer int) *nats.Msg {
		return &nats.Msg{Sub: &nats.Subscription{}, Subject: "$KV." + Bucket + "." + name("k"), Reply: fmt.Sprintf("$JS.ACK.KV_%s.c.1.7.%d.1700000000000000000.0", Bucket, consumer)}
	}
	idle := func(last string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{"Status": {"100"}, "Nats-Last-Consumer": {last}}}
	}
	for name, c := range map[string]struct {
		said []*nats.Msg
		lost bool
	}{
		"all":                    {[]*nats.Msg{idle("0"), told(1), idle("1"), told(2), idle("2")}, false},
		"one missing":            {[]*nats.Msg{told(1), told(3)}, true},
		"the first missing":      {[]*nats.Msg{told(2)}, true},
		"the last missing":       {[]*nats.Msg{told(1), idle("2")}, true},
		"silence says nothing":   {[]*nats.Msg{idle("")}, true},
		"something else is said": {[]*nats.Msg{{Sub: &nats.Subscription{}, Subject: "x", Reply: "y"}}, true},
	} {
		w := watch{store: New(nil, Options{}), tell: func(lease.Lease) {}, held: map[string]string{}}
		var err error
		for _, m := range c.said {
			if err == nil {
				err = w.heard(m)
			}
		}
		if (err != nil) != c.lost {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNames: every key has a name of its own, which means nothing to NATS.
func TestNames(t *testing.T) {
	token := regexp.MustCompile(`^[A-Za-z0-9_=-]+$`)
	keys := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 512), rapid.SliceOfN(rapid.Byte(), longestName-1, longestName+1), rapid.SliceOfN(rapid.SampledFrom([]byte("a.*>=")), 1, 4))
	rapid.Check(t, func(t *rapid.T) {
		a, b := string(keys.Draw(t, "a")), string(keys.Draw(t, "b"))
		if (name(a) == name(b)) != (a == b) || !token.MatchString(name(a)) || len(name(a)) > 171 || name(a) == baseName {
			t.Errorf("%q is called %q, and %q %q", a, name(a), b, name(b))
		}
	})
}

// FuzzRead: whatever is kept, it is a lease of its key, or free, or an error that names the key.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"key":"aw==","holder":{"host":"a","run":"1"},"base":0}`), false)
	f.Add([]byte(`{"v":1,"key":"aw==","epoch":7}`), true)
	f.Add([]byte(`{"v":2}`), false)
	f.Add([]byte(``), true)
	f.Fuzz(func(t *testing.T, data []byte, purged bool) {
		s := New(nil, Options{})
		h := nats.Header{}
		if purged {
			h.Set(opHeader, opPurge)
		}
		e, err := s.read(s.subject("k"), 7, h, data)
		switch {
		case err != nil && (e.held || !strings.Contains(err.Error(), `"k"`)):
			t.Errorf("%+v, %v", e, err)
		case err == nil && (e.held == purged || e.held && (e.lease.Key != "k" || e.lease.Holder.IsNobody() || e.lease.Token != 7)):
			t.Errorf("%+v", e)
		}
	})
}
