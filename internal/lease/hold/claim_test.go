package hold

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/lease"
)

// registry is where claims are kept in memory: it can be cut off.
type registry struct {
	mu    sync.Mutex
	of    map[string]lease.Holder
	cut   error
	asked int
	takes time.Duration
}

// desk is the registry as one holder has it.
type desk struct {
	*registry
	me lease.Holder
}

func (d desk) Claim(ctx context.Context, key string) (lease.Claim, error) {
	if d.takes > 0 {
		select {
		case <-time.After(d.takes):
		case <-ctx.Done():
			return lease.Claim{}, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.cut != nil {
		return lease.Claim{}, d.cut
	}
	if _, is := d.of[key]; !is {
		d.of[key] = d.me
	}
	return lease.Claim{Key: key, Holder: d.of[key]}, nil
}

// claiming makes claims for a host until the test ends, and says how often something changed.
func claiming(t *testing.T, d desk) (*Claims, *int) {
	changed := new(int)
	var mu sync.Mutex
	c := NewClaims(ClaimOptions{Claims: d, Me: d.me, Now: now, Changed: func() { mu.Lock(); defer mu.Unlock(); *changed++ }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return c, changed
}

func shown(c *Claims) string {
	var out []string
	for _, x := range c.All() {
		out = append(out, fmt.Sprintf("%s mine=%t holder=%s why=%s", x.Key, x.Mine, x.Holder, x.Why))
	}
	return strings.Join(out, "; ")
}

// TestClaims: what is wanted is asked for once, and known from then on; another run of a host is another holder.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{of: map[string]lease.Holder{}}
		a, changed := claiming(t, desk{r, lease.Holder{Host: "a", Run: "1"}})
		b, _ := claiming(t, desk{r, lease.Holder{Host: "b", Run: "1"}})
		again, _ := claiming(t, desk{r, lease.Holder{Host: "a", Run: "2"}})
		for _, c := range []*Claims{a, b, again} {
			for range 3 {
				c.Want("k")
				synctest.Wait()
			}
		}
		for c, want := range map[*Claims]string{a: "k mine=true holder=a why=", b: "k mine=false holder=a why=", again: "k mine=false holder=a why="} {
			if got := shown(c); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if r.asked != 3 || *changed != 1 {
			t.Errorf("it was asked %d times by three, and told %d times of one", r.asked, *changed)
		}
	})
}

// TestClaimsThatAreNotAnswered: nothing is known then, it is said why, and asked again as long as something wants it.
func TestClaimsThatAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{of: map[string]lease.Holder{}, cut: errors.New("no answer")}
		a, changed := claiming(t, desk{r, lease.Holder{Host: "a", Run: "1"}})
		a.Want("k")
		synctest.Wait()
		if got := shown(a); got != "k mine=false holder= why=no answer" {
			t.Errorf("cut off: %s", got)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if r.asked < 25 || r.asked > 40 {
			t.Errorf("wanted once, it was asked for %d times", r.asked)
		}
		if *changed != 1 {
			t.Errorf("one and the same reason was told %d times", *changed)
		}
		r.mu.Lock()
		r.cut = nil
		r.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.of) != 0 {
			t.Error("what nothing wants any more is claimed")
		}
		a.Want("k")
		synctest.Wait()
		if got := shown(a); got != "k mine=true holder=a why=" {
			t.Errorf("when it answers: %s", got)
		}
	})
}

// TestClaimsThatAreLate: a question that takes too long is given up, and keeps no other one waiting.
func TestClaimsThatAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{of: map[string]lease.Holder{}, takes: time.Hour}
		a, _ := claiming(t, desk{r, lease.Holder{Host: "a", Run: "1"}})
		a.Want("k", "l")
		time.Sleep(answersWithin + time.Second)
		synctest.Wait()
		if got := shown(a); got != "k mine=false holder= why=context deadline exceeded; l mine=false holder= why=context deadline exceeded" {
			t.Errorf("%s", got)
		}
	})
}

// answers are always the same, whatever is asked.
type answers struct{ always lease.Claim }

func (a answers) Claim(context.Context, string) (lease.Claim, error) { return a.always, nil }

// TestClaimsOfSomethingElse: an answer about another key says nothing of this one.
func TestClaimsOfSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClaims(ClaimOptions{Claims: answers{lease.Claim{Key: "other", Holder: lease.Holder{Host: "a", Run: "1"}}}, Me: lease.Holder{Host: "a", Run: "1"}, Now: now, Changed: func() {}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		c.Want("k")
		synctest.Wait()
		if got := shown(c); got != "k mine=false holder= why=the answer names nobody for it" {
			t.Error(got)
		}
		cancel()
		<-done
	})
}

// TestClaimsAreForgotten: those that nothing has wanted for a day, and the oldest of very many.
func TestClaimsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{of: map[string]lease.Holder{}}
		a, _ := claiming(t, desk{r, lease.Holder{Host: "a", Run: "1"}})
		a.Want("first")
		for i := range mostKnown {
			time.Sleep(time.Second)
			a.Want(fmt.Sprint("k", i))
		}
		synctest.Wait()
		if n := len(a.All()); n != mostKnown || strings.HasPrefix(shown(a), "first") {
			t.Errorf("%d are known, the first one among them: %t", n, strings.HasPrefix(shown(a), "first"))
		}
		time.Sleep(knownFor + time.Hour)
		a.Want("last")
		synctest.Wait()
		if got := shown(a); got != "last mine=true holder=a why=" {
			t.Errorf("after a day: %.100s", got)
		}
		a.Want("first")
		synctest.Wait()
		if got := a.All()[0]; !got.Mine {
			t.Errorf("what was forgotten is then %+v", got)
		}
	})
}
