package hold

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

const (
	// wantedFor is how long a claim is asked for after something last wanted it: four of the passes of an idle host.
	wantedFor = time.Minute
	// claimAgain is after which one that was not answered is asked for again.
	claimAgain = 2 * time.Second
	// claimsAtOnce is how many are asked for side by side.
	claimsAtOnce = 8
	// knownFor is how long it is remembered whose a claim is after something last wanted it, and mostKnown how many
	// are: whoever wants one that was forgotten is told the same by the store.
	knownFor  = 24 * time.Hour
	mostKnown = 1000
)

// ClaimOptions are what claims of a host are made by.
type ClaimOptions struct {
	Claims lease.Claims
	Me     lease.Holder
	Now    func() fleet.Instant
	// Changed is told that something else is known of some key than before.
	Changed func()
}

// Claims are those that a host wants. They are safe for concurrent use.
type Claims struct {
	o    ClaimOptions
	kick chan struct{} // something may be to be asked

	mu   sync.Mutex
	keys map[string]*claim
}

// claim is what is known of one key.
type claim struct {
	wanted fleet.Instant // when something last wanted it
	whose  lease.Holder  // nobody: it is not known
	why    string        // why that was not answered last; "" when it was, or was not asked yet
	due    fleet.Instant // when it is asked next; zero: at once
	busy   bool          // it is being asked
}

// Claimed is whose a key is, as far as it is known.
type Claimed struct {
	Key    string
	Mine   bool
	Holder string // the host whose it is; "" not known
	Why    string // why that was not answered; "" when it was, or was not asked yet
}

// NewClaims makes claims once it runs.
func NewClaims(o ClaimOptions) *Claims {
	return &Claims{o: o, kick: make(chan struct{}, 1), keys: map[string]*claim{}}
}

// Want has keys be claimed, unless somebody has claimed them, and found out whose they are.
func (c *Claims) Want(keys ...string) {
	if len(keys) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	for _, key := range keys {
		if c.keys[key] == nil {
			c.forget(now)
			c.keys[key] = &claim{}
		}
		c.keys[key].wanted = now
	}
	c.hurry()
}

// forget makes room for one more.
func (c *Claims) forget(now fleet.Instant) {
	maps.DeleteFunc(c.keys, func(_ string, x *claim) bool { return !x.busy && now.Since(x.wanted) > knownFor })
	for len(c.keys) >= mostKnown {
		c.forgetOldest()
	}
}

func (c *Claims) forgetOldest() {
	var oldest string
	for key, x := range c.keys {
		if is := c.keys[oldest]; is == nil || x.wanted.Before(is.wanted) {
			oldest = key
		}
	}
	delete(c.keys, oldest)
}

// All is whose each key is that something has wanted lately, in their order.
func (c *Claims) All() (out []Claimed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		x := c.keys[key]
		out = append(out, Claimed{Key: key, Mine: x.whose == c.o.Me, Holder: x.whose.Host, Why: x.why})
	}
	return out
}

// Run asks for them until ctx ends. What was claimed stays so.
func (c *Claims) Run(ctx context.Context) {
	var asked sync.WaitGroup
	defer asked.Wait()
	for ctx.Err() == nil {
		keys, next := c.due()
		for _, key := range keys {
			asked.Go(func() { c.ask(ctx, key) })
		}
		c.rest(ctx, next)
	}
}

// due are the keys that are to be asked for now, and in what time to look again.
func (c *Claims) due() (keys []string, next time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, busy := c.o.Now(), 0
	for _, x := range c.keys {
		if x.busy {
			busy++
		}
	}
	next = time.Minute
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		x := c.keys[key]
		switch {
		case x.busy || !x.whose.IsNobody() || now.Since(x.wanted) > wantedFor || busy >= claimsAtOnce: // who has been asked for looks again
		case now.Before(x.due):
			next = min(next, x.due.Since(now))
		default:
			x.busy = true
			busy++
			keys = append(keys, key)
		}
	}
	return keys, next
}

func (c *Claims) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-c.kick:
	case <-t.C:
	}
}

func (c *Claims) hurry() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// ask asks for one key, and notes what came of it: after an error, and of an answer about something else, nothing is known.
func (c *Claims) ask(ctx context.Context, key string) {
	within, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	got, err := c.o.Claims.Claim(within, key)
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case got.Key != key || got.Holder.IsNobody():
		why = "the answer names nobody for it"
	}
	if c.note(key, got.Holder, why) && ctx.Err() == nil {
		c.o.Changed()
	}
	c.hurry()
}

// note says whether something else is known than before.
func (c *Claims) note(key string, whose lease.Holder, why string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.keys[key]
	if x == nil {
		return false // it was forgotten meanwhile
	}
	is := why == "" || x.why != why
	x.busy, x.why = false, why
	if why == "" {
		x.whose = whose
	} else {
		x.due = c.o.Now().Add(claimAgain)
	}
	return is
}
