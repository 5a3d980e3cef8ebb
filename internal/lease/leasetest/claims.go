package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/lease"
)

// OpenClaims opens claims for a holder, at one place that all of a test share. What it opens, it closes when t ends.
type OpenClaims func(t testing.TB, h lease.Holder) lease.Claims

// RunClaims does all tests of claims. corrupt writes what cannot be read in the place of
// the claim of a key that nobody has claimed; nil: nothing can be made so.
func RunClaims(t *testing.T, open OpenClaims, corrupt func(t testing.TB, key string)) {
	for name, test := range map[string]func(*testing.T, OpenClaims){
		"made once": madeOnce, "one of many": claimedByOne, "answers that are not waited for": notWaitedFor, "strange keys": strangeClaims, "no keys": noClaims, "context": claimsEnd,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	if corrupt != nil {
		t.Run("unreadable", func(t *testing.T) { unreadableClaims(t, open, corrupt) })
	}
}

// claimant is one who claims.
type claimant struct {
	lease.Claims
	me lease.Holder
}

func (o OpenClaims) by(t *testing.T, host, run string) claimant {
	me := lease.Holder{Host: host, Run: run}
	return claimant{o(t, me), me}
}

// gets claims a key, which is then a holder's.
func (c claimant) gets(t *testing.T, key string, whose lease.Holder) lease.Claim {
	t.Helper()
	got, err := c.Claim(t.Context(), key)
	if err != nil || got.Key != key || got.Holder != whose {
		t.Fatalf("%v claims %q, which is to be that of %v: %+v, %v", c.me, key, whose, got, err)
	}
	return got
}

// madeOnce: whoever asks, and however often, is told of the first claim; another run of the same host is another
// holder, and so is a host whose run has the same name.
func madeOnce(t *testing.T, open OpenClaims) {
	a, again, b := open.by(t, "a", "1"), open.by(t, "a", "2"), open.by(t, "b", "1")
	first := a.gets(t, t.Name(), a.me)
	if first.At.IsZero() {
		t.Error("it is not told when it was made")
	}
	for range 2 {
		for _, c := range []claimant{again, b, a, open.by(t, "a", "1")} {
			if got := c.gets(t, t.Name(), a.me); got.At.Wall.Unix() != first.At.Wall.Unix() {
				t.Errorf("it was made at %v, and then at %v", first.At.Wall, got.At.Wall)
			}
		}
	}
	b.gets(t, t.Name()+" other", b.me)
}

// claimedByOne: of several that claim at once exactly one has it, and all are told which.
func claimedByOne(t *testing.T, open OpenClaims) {
	const hosts, keys = 5, 8
	var all sync.WaitGroup
	told := make([][hosts]lease.Claim, keys)
	for h := range hosts {
		c := open.by(t, strings.Repeat("h", h+1), "1")
		for k := range keys {
			all.Go(func() {
				got, err := c.eventually(t.Context(), fmt.Sprint(t.Name(), " ", k))
				if err != nil {
					t.Errorf("%v: %v", c.me, err)
				}
				told[k][h] = got
			})
		}
	}
	all.Wait()
	for k := range told {
		for h := range hosts {
			if told[k][h].Holder != told[k][0].Holder {
				t.Errorf("key %d: one was told that %+v has claimed it, and another one %+v", k, told[k][0], told[k][h])
			}
		}
	}
}

// eventually claims until there is an answer.
func (c claimant) eventually(ctx context.Context, key string) (lease.Claim, error) {
	ctx, end := context.WithTimeout(ctx, 30*time.Second)
	defer end()
	for {
		got, err := c.Claim(ctx, key)
		if err == nil || ctx.Err() != nil {
			return got, err
		}
	}
}

// notWaitedFor: hosts give up waiting at any moment, so that answers are lost, whether it was done or not; whatever
// was answered then and later is one and the same.
func notWaitedFor(t *testing.T, open OpenClaims) {
	const hosts, keys = 3, 20
	var mu sync.Mutex
	owner, lost := map[string]lease.Holder{}, 0
	note := func(key string, got lease.Claim, err error) {
		mu.Lock()
		defer mu.Unlock()
		was, is := owner[key]
		switch {
		case err != nil && got != lease.Claim{}:
			t.Errorf("%q: with the error %v comes %+v", key, err, got)
		case err != nil:
			lost++
		case is && was != got.Holder:
			t.Errorf("%q was that of %v, and then of %v", key, was, got.Holder)
		default:
			owner[key] = got.Holder
		}
	}
	var all sync.WaitGroup
	for h := range hosts {
		c := open.by(t, strings.Repeat("h", h+1), "1")
		all.Go(func() {
			for k := range keys {
				key := fmt.Sprint(t.Name(), " ", k)
				within, end := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
				got, err := c.Claim(within, key)
				end()
				note(key, got, err)
				got, err = c.eventually(t.Context(), key)
				if note(key, got, err); err != nil {
					t.Errorf("%v: %v", c.me, err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d answers were not waited for", lost)
	if lost == 0 {
		t.Error("each answer was waited for: that tells nothing")
	}
}

// strangeClaims: whatever a key is made of, it is that key and no other.
func strangeClaims(t *testing.T, open OpenClaims) {
	a, b := open.by(t, "a", "1"), open.by(t, "b", "1")
	for i, key := range strange(t.Name()) {
		first, other := a, b
		if i%2 > 0 {
			first, other = b, a
		}
		first.gets(t, key, first.me)
		other.gets(t, key, first.me)
	}
}

// noClaims: a key is needed, and not too long a one.
func noClaims(t *testing.T, open OpenClaims) {
	a := open.by(t, "a", "1")
	for _, key := range []string{"", strings.Repeat("k", 513)} {
		if got, err := a.Claim(t.Context(), key); err == nil || got != (lease.Claim{}) {
			t.Errorf("a key of %d bytes: %+v, %v", len(key), got, err)
		}
	}
}

// claimsEnd: a context that has ended is an error at once, and no answer.
func claimsEnd(t *testing.T, open OpenClaims) {
	a, b := open.by(t, "a", "1"), open.by(t, "b", "1")
	over, end := context.WithCancel(t.Context())
	end()
	if got, err := a.Claim(over, t.Name()); !errors.Is(err, context.Canceled) || got != (lease.Claim{}) {
		t.Errorf("without a moment to claim it: %+v, %v", got, err)
	}
	b.gets(t, t.Name(), b.me)
	if got, err := b.Claim(over, t.Name()); err == nil || got != (lease.Claim{}) {
		t.Errorf("without a moment to be told: %+v, %v", got, err)
	}
}

// unreadableClaims: what cannot be read is neither free nor anybody's, and is told as an error with its key.
func unreadableClaims(t *testing.T, open OpenClaims, corrupt func(testing.TB, string)) {
	a, b := open.by(t, "a", "1"), open.by(t, "b", "1")
	corrupt(t, t.Name())
	for _, c := range []claimant{a, b} {
		if got, err := c.Claim(t.Context(), t.Name()); err == nil || got != (lease.Claim{}) || !strings.Contains(err.Error(), t.Name()) {
			t.Errorf("%v claims what cannot be read: %+v, %v", c.me, got, err)
		}
	}
}
