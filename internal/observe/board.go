package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"custos/internal/fleet"
)

// What a Spec that says nothing gets. A minute is often enough for anything
// that no event tells; ten seconds is ten times what the slowest look takes.
const (
	defaultEvery    = time.Minute
	defaultDeadline = 10 * time.Second
)

// grace is how long a look may go on after its deadline before it is left
// behind: long enough to kill a child and collect it.
const grace = 500 * time.Millisecond

// Options is what a Board is made of.
type Options struct {
	// Probes fill the snapshot, in this order where they share a part.
	Probes []Probe
	// Now tells the time. It must be set.
	Now func() fleet.Instant
	// From is the vantage written into every snapshot.
	From fleet.Vantage
	// Wake, when set, is called after a look that was asked for (Touched, LookNow)
	// and after a look that went otherwise than the one before it (well, in part,
	// not at all) or saw something else (steady). It is called from the probe's goroutine and must not block.
	Wake func(reason string)
	// Forget, when set, is called by Touched and LookNow before anything is looked
	// at again. It drops what clients of the outside keep for several probes, so
	// that no look is answered with something older than what caused it.
	Forget func()
}

// Board keeps what every probe last saw. It is safe for concurrent use.
type Board struct {
	now     func() fleet.Instant
	from    fleet.Vantage
	wake    func(reason string)
	forget  func()
	entries []*entry

	mu       sync.Mutex
	overlays []*overlay
}

// New returns a board on which nothing has been looked at yet.
func New(o Options) *Board {
	b := &Board{now: o.Now, from: o.From, wake: o.Wake, forget: o.Forget}
	if b.wake == nil {
		b.wake = func(string) {}
	}
	if b.forget == nil {
		b.forget = func() {}
	}
	at, made := o.Now(), time.Now()
	for _, p := range o.Probes {
		b.entries = append(b.entries, newEntry(p, at, made))
	}
	return b
}

// Run has each probe look on its own clock, until ctx ends: at once, then at each
// multiple of Spec.Every, or at every second one (due). It returns when no look is running any
// more but those left behind.
func (b *Board) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, e := range b.entries {
		wg.Go(func() { b.drive(ctx, e) })
	}
	wg.Wait()
}

func (b *Board) drive(ctx context.Context, e *entry) {
	if e.pending() {
		b.look(ctx, e)
	}
	for {
		if !e.rest(ctx) {
			return
		}
		b.look(ctx, e)
	}
}

// First returns when no part is pending any more: every probe has looked since
// it was last touched, or its look was left behind at its deadline, or ctx
// ended. It starts the looks that nobody else has started, so it works without
// Run, for a one-shot patrol.
func (b *Board) First(ctx context.Context) {
	var wg sync.WaitGroup
	for _, e := range b.entries {
		wg.Go(func() { b.settle(ctx, e) })
	}
	wg.Wait()
}

// Await is First for some parts only.
func (b *Board) Await(ctx context.Context, parts ...fleet.PartName) {
	var wg sync.WaitGroup
	b.each(parts, func(e *entry) { wg.Go(func() { b.settle(ctx, e) }) })
	wg.Wait()
}

// Seen returns the board once a part is usable, for who asks what is there now and begins
// nothing: there a look that began after the question tells, however much is touched
// meanwhile. Besides that look it waits so long for one that was left behind, or failed;
// nobody is kept from looking meanwhile.
func (b *Board) Seen(ctx context.Context, part fleet.PartName, patience time.Duration) fleet.Snapshot {
	var wg sync.WaitGroup
	asked := map[*entry]int{}
	b.each([]fleet.PartName{part}, func(e *entry) {
		begun, _, _ := e.after(0)
		asked[e] = begun
		wg.Go(func() { b.settleOrLook(ctx, e, begun) })
	})
	wg.Wait()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := b.snapshot(asked)
	for e := range asked {
		b.wait(ctx, e, func() bool {
			if !seen.Sight(part).Usable() {
				seen = b.snapshot(asked)
			}
			return seen.Sight(part).Usable()
		})
	}
	return seen // not copied again: that could be of a moment at which something was touched
}

// settleOrLook is settle, and over at the latest with a look that began after so many.
func (b *Board) settleOrLook(ctx context.Context, e *entry, begun int) {
	for ctx.Err() == nil {
		pending, changed := e.watch()
		if _, done, _ := e.after(begun); !pending || done {
			return
		}
		if b.look(ctx, e) {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// wait has a probe look until something is so, or ctx ended.
func (b *Board) wait(ctx context.Context, e *entry, is func() bool) {
	for ctx.Err() == nil {
		_, changed := e.watch()
		if is() {
			return
		}
		e.ask()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Anew looks at parts again for somebody who asks how they are now: it returns when a
// look that begins from now on has ended at each, or was left behind, or ctx ended.
// What is known of them stays on the board meanwhile.
func (b *Board) Anew(ctx context.Context, parts ...fleet.PartName) {
	b.forget()
	var wg sync.WaitGroup
	b.each(parts, func(e *entry) {
		begun, _, _ := e.after(0)
		wg.Go(func() { b.again(ctx, e, begun) })
	})
	wg.Wait()
}

// again waits for the end of a look that begins after so many have begun.
func (b *Board) again(ctx context.Context, e *entry, begun int) {
	for ctx.Err() == nil {
		_, done, changed := e.after(begun)
		if done {
			return
		}
		if b.look(ctx, e) {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (b *Board) settle(ctx context.Context, e *entry) {
	for ctx.Err() == nil {
		pending, changed := e.watch()
		if !pending {
			return
		}
		if b.look(ctx, e) {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Touched says that the world behind some parts was changed. They are pending
// until a look that begins from now on ends; it begins at once when Run runs,
// else with the next First.
func (b *Board) Touched(parts ...fleet.PartName) {
	b.forget()
	at := b.now()
	b.each(parts, func(e *entry) { e.touch(at) })
}

// LookNow has parts looked at again at once, for an event; or as soon as the
// probe has rested (Spec.Rest), so that a flood of events is a few looks. What is
// known of them stays on the board meanwhile. It does nothing unless Run runs.
func (b *Board) LookNow(parts ...fleet.PartName) {
	b.forget()
	b.each(parts, (*entry).ask)
}

// Hearer is a probe that can be told of what happened in a repository. Hear says whether it is to
// look again for that.
type Hearer interface{ Hear(repo string) bool }

// Heard has every probe that looks at a repository look again, for something that happened
// there; as soon as it has rested, as by LookNow.
func (b *Board) Heard(repo string) {
	for _, e := range b.entries {
		if h, ok := e.probe.(Hearer); ok && h.Hear(repo) {
			e.ask()
		}
	}
}

func (b *Board) each(parts []fleet.PartName, do func(*entry)) {
	for _, part := range parts {
		for _, e := range b.entries {
			if e.spec.Part == part {
				do(e)
			}
		}
	}
}

// look runs one look and returns true when it ended, or was left behind. It
// returns false at once when a look of this probe is still running.
func (b *Board) look(ctx context.Context, e *entry) bool {
	l, ok := e.begin(b.now())
	if !ok {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, e.spec.Deadline)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		put, says, err := safely(limited, e.probe)
		e.expect(says.again)
		l.calm = says.calm
		b.tell(e, e.end(l, b.now(), put, awaited(ctx, err)))
	}()
	select {
	case <-ended:
		return true
	case <-limited.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		b.tell(e, e.abandon(l, b.now(), awaited(ctx, errLeft)))
	}
	return true
}

func (b *Board) tell(e *entry, news bool) {
	if news {
		b.wake("looked: " + e.spec.Name)
	}
}

// awaited marks an error of a look whose caller ended before the look did: that says
// nothing of the probe.
func awaited(caller context.Context, err error) error {
	if caller.Err() == nil || !isLate(err) && !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnawaited, err)
}
