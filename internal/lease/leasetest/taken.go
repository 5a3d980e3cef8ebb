package leasetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/lease"
)

// answer is one to Acquire, and when it came.
type answer struct {
	lease.Lease
	me   lease.Holder
	err  error
	at   time.Time
	ends time.Time // when the lease does
}

// oneOfMany: of several hosts, with several goroutines each, exactly one takes a lease; on a machine
// that is so busy that its time is over before the last one has asked, one after another.
func oneOfMany(t *Attempt, p *place) {
	const hosts, each = 4, 5
	answers := make(chan answer, hosts*each)
	var all sync.WaitGroup
	for i := range hosts {
		h := p.host(t, strings.Repeat("h", i+1), "1")
		for range each {
			all.Go(func() {
				l, err := h.Acquire(t.Context(), t.Name(), 0)
				now := time.Now()
				answers <- answer{l, h.me, err, now, now.Add(l.Until.Since(h.now()))}
			})
		}
	}
	all.Wait()
	close(answers)
	won := map[uint64]answer{} // by epoch
	var lost []answer
	for a := range answers {
		switch {
		case a.err == nil && a.Holder == a.me && won[a.Epoch].Epoch == 0:
			won[a.Epoch] = a
		case errors.Is(a.err, lease.ErrHeld):
			lost = append(lost, a)
		case a.err == nil:
			t.Unsafe("%v has taken %+v, and so has %v", a.me, a.Lease, won[a.Epoch].me)
		default:
			t.Errorf("%v has asked for it: %v", a.me, a.err)
		}
	}
	if len(won) == 0 {
		t.Error("nobody took it")
	}
	oneAfterAnother(t, won)
	for _, a := range lost {
		if w := won[a.Epoch]; a.Holder != w.me {
			t.Errorf("%v is told of %+v; in that epoch it is held by %v", a.me, a.Lease, w.me)
		}
	}
}

// oneAfterAnother holds those who took a lease against the ones before them.
func oneAfterAnother(t *Attempt, won map[uint64]answer) {
	t.Helper()
	var last answer
	for _, epoch := range slices.Sorted(maps.Keys(won)) {
		if a := won[epoch]; a.at.Before(last.ends) {
			t.Unsafe("%v took it %v before the end of %v", a.me, last.ends.Sub(a.at), last.me)
		}
		last = won[epoch]
	}
}

// held: who holds a lease, and in which epoch, is told to who asks for it.
func held(t *Attempt, p *place) {
	a, b := p.two(t)
	l := take(t, a, t.Name(), 0)
	isHeld(t, b, t.Name(), a.me, l.Epoch)
	l, err := a.Renew(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	isHeld(t, b, t.Name(), a.me, l.Epoch)
	clone := p.host(t, a.me.Host, "2") // of the same name
	isHeld(t, clone, t.Name(), a.me, l.Epoch)
	if _, err := clone.Renew(t.Context(), l); !errors.Is(err, lease.ErrLost) {
		t.Errorf("another run of the same host renews it: %v", err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	take(t, b, t.Name(), 0)
}

// heldByOneself: the answer to who took a lease was lost, and another question tells how to go on.
func heldByOneself(t *Attempt, p *place) {
	a, b := p.two(t)
	lost := take(t, a, t.Name(), 0)
	l := isHeld(t, a, t.Name(), a.me, lost.Epoch)
	if !l.Until.IsZero() && l.Until.Since(lost.Until) > 0 {
		t.Errorf("it may be relied on until %v, and was asked for to %v", l.Until, lost.Until)
	}
	sent := a.now()
	next, err := a.Renew(t.Context(), l)
	if err != nil || next.Epoch != lost.Epoch || next.Holder != a.me || next.Until.Since(sent) < p.o.TTL {
		t.Fatalf("by what is told of one's own lease, it is renewed to %+v: %v", next, err)
	}
	again := isHeld(t, a, t.Name(), a.me, lost.Epoch) // the answer to a renewal was lost, too
	if _, err := a.Renew(t.Context(), again); err != nil {
		t.Error(err)
	}
	isHeld(t, b, t.Name(), a.me, lost.Epoch)
}

// renewed: a renewal keeps the epoch and has a token of its own; by the one before it is lost.
func renewed(t *Attempt, p *place) {
	a, b := p.two(t)
	first := take(t, a, t.Name(), 0)
	sent := a.now()
	second, err := a.Renew(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if second.Epoch != first.Epoch || second.Token == first.Token || second.Key != first.Key || second.Holder != a.me {
		t.Errorf("%+v was renewed to %+v", first, second)
	}
	if got := second.Until.Since(sent); got < p.o.TTL || second.Until.Since(a.now()) > p.o.TTL {
		t.Errorf("it may be relied on for %v from before it was asked for, and lasts %v", got, p.o.TTL)
	}
	if _, err := a.Renew(t.Context(), first); !errors.Is(err, lease.ErrLost) {
		t.Errorf("it is renewed by the token before: %v", err)
	}
	if _, err := b.Renew(t.Context(), second); !errors.Is(err, lease.ErrLost) {
		t.Errorf("another host renews it: %v", err)
	}
	if _, err := a.Renew(t.Context(), second); err != nil {
		t.Errorf("what was no renewal has done something: %v", err)
	}
	if _, err := a.Renew(t.Context(), lease.Lease{Key: t.Name() + " not held", Holder: a.me, Epoch: 1, Token: 1}); !errors.Is(err, lease.ErrLost) {
		t.Errorf("what nobody holds is renewed: %v", err)
	}
}

// givenBackLate: who gives back what is another's by now takes nothing from it.
func givenBackLate(t *Attempt, p *place) {
	a, b := p.two(t)
	first := take(t, a, t.Name(), 0)
	second, err := a.Renew(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // by a token that is not the last one: nothing; by the last one; and once more
		if err := a.Release(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		isHeld(t, b, t.Name(), a.me, second.Epoch)
	}
	for range 2 {
		if err := a.Release(t.Context(), second); err != nil {
			t.Fatal(err)
		}
	}
	l := take(t, b, t.Name(), 0)
	for _, old := range []lease.Lease{first, second} {
		if err := a.Release(t.Context(), old); err != nil {
			t.Errorf("what is lost already is given back: %v", err)
		}
		if _, err := a.Renew(t.Context(), old); !errors.Is(err, lease.ErrLost) {
			t.Errorf("what was given back is renewed: %v", err)
		}
	}
	isHeld(t, a, t.Name(), b.me, l.Epoch)
	if _, err := b.Renew(t.Context(), l); err != nil {
		t.Errorf("it was taken from who holds it: %v", err)
	}
	if err := b.Release(t.Context(), lease.Lease{Key: t.Name() + " never", Holder: b.me, Token: 1, Epoch: 1}); err != nil {
		t.Error(err)
	}
}

// contextEnds: a context that has ended, or ends, is an error at once, and no answer.
func contextEnds(t *Attempt, p *place) {
	a, b := p.two(t)
	l := take(t, a, t.Name(), 0)
	over, end := context.WithCancel(t.Context())
	end()
	began := time.Now()
	_, acquired := b.Acquire(over, t.Name(), 0)
	_, free := b.Acquire(over, t.Name()+" free", 0)
	_, renewed := a.Renew(over, l)
	released := a.Release(over, l)
	for what, err := range map[string]error{"acquire": acquired, "acquire what is free": free, "renew": renewed, "release": released} {
		if err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) {
			t.Errorf("%s, without a moment to do it: %v", what, err)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("that took %v", took)
	}
	if err := a.Watch(over, nil, func(lease.Lease) {}); err != nil {
		t.Errorf("a watch that is over: %v", err)
	}
	if _, err := a.Renew(t.Context(), l); err != nil {
		t.Errorf("what was not done has done something: %v", err)
	}
}

// noKeys: a key is needed, and not too long a one.
func noKeys(t *Attempt, p *place) {
	a, _ := p.two(t)
	for _, key := range []string{"", strings.Repeat("k", 513)} {
		if _, err := a.Acquire(t.Context(), key, 0); err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
}

// strangeKeys: whatever a key is made of, it is that key and no other.
func strangeKeys(t *Attempt, p *place) {
	a, b := p.two(t)
	for _, key := range strange(t.Name()) { // those that may be taken for another one are near it, while that is held
		l := take(t, a, key, 0)
		t.Cleanup(func() { _ = a.Release(context.Background(), l) }) // for another try
		isHeld(t, b, key, a.me, l.Epoch)
	}
}

// strange are keys of which no two are the same one.
func strange(name string) (keys []string) {
	keys = []string{"a/b:c@d#e", "*", ">", ".", "..", " ", "a b", "a  b", " a", "a ", "A B", "a.b", "a.*", "$KV.a.b", "=base", "=", "%00", "\\", "'", "\"", "';--",
		"ключ", "鍵", "é", "e\u0301", "\ufeff", "\u2028", "a\nb", "a\r\nb", "a\tb", "\xff\xfe", "\xc3\x28", "a\x00b", "a\x00", "NULL", "nil"}
	for b := 0; b < 256; b += 8 { // every byte; what is told of the key has to have it, too
		keys = append(keys, name+string([]byte{byte(b), byte(b + 1), byte(b + 2), byte(b + 3), byte(b + 4), byte(b + 5), byte(b + 6), byte(b + 7)}))
	}
	for _, n := range []int{127, 128, 129, 511} { // each twice, with another end
		for _, end := range []string{"a", "b"} {
			keys = append(keys, strings.Repeat("x", n)+end)
		}
	}
	return append(keys, strings.Repeat("\x00", 512), strings.Repeat("\xff", 512), fmt.Sprintf("%0512d", 1))
}

// unreadable: what cannot be read is neither free nor ours, and is told as an error with its key.
func unreadable(t *Attempt, p *place) {
	if p.o.Corrupt == nil {
		t.Skip("nothing can be made unreadable here")
	}
	a, b := p.two(t)
	l := take(t, a, t.Name(), 0)
	p.o.Corrupt(t, t.Name())
	for _, h := range []*host{a, b} {
		_, err := h.Acquire(t.Context(), t.Name(), 0)
		if err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), t.Name()) {
			t.Errorf("%s asks for what cannot be read: %v", h.me.Host, err)
		}
	}
	if _, err := a.Renew(t.Context(), l); err == nil {
		t.Error("what cannot be read is renewed")
	}
	w := p.watch(t, b, t.Name()) // all that is held, and what cannot be read among it
	other := take(t, a, t.Name()+" other", 0)
	w.wants(t, other)
	w.goesOn(t)
}
