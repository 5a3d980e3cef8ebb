package leasetest

import (
	"errors"
	"time"

	"custos/internal/lease"
)

// livesWhileRenewed: a lease lives past its first time while it is renewed, and then ends after its
// last time, and not before. Another host asks for it all along.
func livesWhileRenewed(t *Attempt, p *place) {
	a, b := p.two(t)
	first := take(t, a, t.Name(), 0)
	last := first
	for at := time.NewTicker(p.o.TTL / 5); a.now().Since(first.Until) < p.o.TTL/2; <-at.C {
		next, err := a.Renew(t.Context(), last)
		if err != nil {
			t.Fatalf("%v before its end it is not renewed: %v", last.Until.Since(a.now()), err)
		}
		last = next
		isHeld(t, b, t.Name(), a.me, first.Epoch)
	}
	p.endsAt(t, a, b, last)
}

// ends: a lease that is not renewed ends after its time, and not before; then it is lost.
func ends(t *Attempt, p *place) {
	a, b := p.two(t)
	sent := a.now()
	l := take(t, a, t.Name(), 0)
	if l.Until.Since(sent) < p.o.TTL || l.Until.Since(a.now()) > p.o.TTL {
		t.Errorf("asked for between %v and %v, it may be relied on until %v", sent, a.now(), l.Until)
	}
	p.endsAt(t, a, b, l)
	if _, err := a.Renew(t.Context(), l); !errors.Is(err, lease.ErrLost) {
		t.Errorf("what has ended is renewed: %v", err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Errorf("what has ended is given back: %v", err)
	}
}

// endsUnseen: a lease that has ended is lost, though nobody else has taken it.
func endsUnseen(t *Attempt, p *place) {
	a, _ := p.two(t)
	l := take(t, a, t.Name(), 0)
	poll(t, p.o.TTL+time.Second, "its time is not over", func() bool { return !a.now().Before(l.Until) })
	if next, err := a.Renew(t.Context(), l); !errors.Is(err, lease.ErrLost) {
		t.Errorf("what has ended is renewed to %+v: %v", next, err)
	}
}

// endsAt has another host take a lease of the first one when it has ended: the moment at which
// it was taken is not before the one until which the first relies on it.
func (p *place) endsAt(t *Attempt, a, b *host, l lease.Lease) {
	t.Helper()
	next, _ := waitFree(t, b, l.Key, p.o.TTL+p.o.Late+time.Second)
	early, late := l.Until.Since(a.now()), a.now().Since(l.Until)
	if early > 0 {
		t.Unsafe("it was another's %v before its end", early)
	}
	if late > p.o.Late {
		t.Errorf("it was free only %v after its end", late)
	}
	if next.Epoch <= l.Epoch {
		t.Unsafe("the epoch %d comes after %d", next.Epoch, l.Epoch)
	}
	isHeld(t, a, l.Key, b.me, next.Epoch)
}

// epochs: each holder's is larger than the one before, also when a lease was given back.
func epochs(t *Attempt, p *place) {
	a, b := p.two(t)
	last := uint64(0)
	for range 3 {
		for _, h := range []*host{a, b, b} {
			l := take(t, h, t.Name(), 0)
			if l.Epoch <= last {
				t.Unsafe("the epoch %d comes after %d", l.Epoch, last)
			}
			last = l.Epoch
			if err := h.Release(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// floor: an epoch is not less than what was asked for, and the ones after it are larger still,
// whoever takes the lease.
func floor(t *Attempt, p *place) {
	a, b := p.two(t)
	last := uint64(0)
	for _, floor := range []uint64{0, 1, 1000, 0, 900, 5000, 1, 5001, 1 << 40, 0, 1<<40 + 7, 1 << 41} {
		for _, h := range []*host{a, b} {
			l := take(t, h, t.Name(), floor)
			if l.Epoch <= last {
				t.Unsafe("the epoch %d comes after %d", l.Epoch, last)
			}
			isHeld(t, a, t.Name(), h.me, l.Epoch) // it is the same for who reads it
			renewed, err := h.Renew(t.Context(), l)
			if err != nil || renewed.Epoch != l.Epoch {
				t.Fatalf("%+v was renewed to %+v: %v", l, renewed, err)
			}
			isHeld(t, b, t.Name(), h.me, l.Epoch)
			last = l.Epoch
			if err := h.Release(t.Context(), renewed); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// floorOfWhatEnded: what was asked for holds for the next one, too, where nobody gave the lease back.
func floorOfWhatEnded(t *Attempt, p *place) {
	a, b := p.two(t)
	l := take(t, a, t.Name(), 1<<42)
	next, _ := waitFree(t, b, t.Name(), p.o.TTL+p.o.Late+time.Second)
	if next.Epoch <= l.Epoch {
		t.Unsafe("the epoch %d comes after %d", next.Epoch, l.Epoch)
	}
	if _, err := a.Acquire(t.Context(), t.Name()+" too large", 1<<64-1); err == nil || errors.Is(err, lease.ErrHeld) {
		t.Errorf("the largest number is an epoch: %v", err)
	}
}
