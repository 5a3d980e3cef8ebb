package loop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/fleet"
)

// Board is what the loop needs of the observe stage.
type Board interface {
	// First returns when every probe has looked once, or has run out of time.
	First(ctx context.Context)
	// Await is First for some parts only.
	Await(ctx context.Context, parts ...fleet.PartName)
	// Snapshot copies what was last seen.
	Snapshot() fleet.Snapshot
	// Touched makes parts pending and has them looked at again at once.
	Touched(parts ...fleet.PartName)
}

// Actor is what the loop needs of the act stage.
type Actor interface {
	// Start commits the turn, and starts its actions beside the loop.
	Start(ctx context.Context, t fleet.Turn) error
	// Wait returns when no action runs any more.
	Wait(ctx context.Context) error
}

// History is the past that judging and planning ask about.
type History interface {
	Past(ctx context.Context, at fleet.Instant) (fleet.Past, error)
}

// Journal is told of every patrol.
type Journal interface {
	Journal(p fleet.Pass, done []fleet.Result) error
}

// Options are what a Loop is made of.
type Options struct {
	Board  Board
	Rules  assess.Rules
	Policy func(fleet.PatrolOrder) fleet.Policy
	// Due says what may run by itself, by what is seen; nil: nothing.
	Due func(seen *fleet.Snapshot) fleet.RunPolicy
	// Holds says in seen what the expressions of open gates come to; nil: nothing is known of them.
	Holds func(past fleet.Past, seen *fleet.Snapshot)
	// Hub says in seen how this host stands with what it shares with others, and Want has the leases
	// and claims be got that a plan is acted on by, or would be; nil: nothing is shared.
	Hub     func(seen *fleet.Snapshot)
	Want    func(leases, claims []string)
	History History
	Act     Actor
	Journal Journal
	Touches func(do string) []fleet.PartName // what an action of this name touches
	Seen    func(fleet.Snapshot)             // told of every pass; nil: nobody
	Every   time.Duration                    // between two patrols
	IdleMax time.Duration                    // between two patrols at most, while nothing happens; not above Every: it is always Every
	Tick    time.Duration                    // between two passes for rules that wait for time
	Lull    time.Duration                    // so long after a pass that was idle such a moment is let go by; 0: none is
	Log     *slog.Logger
}

// Loop is the cycle and its clock.
type Loop struct {
	o       Options
	turns   sync.Mutex // one pass at a time, whoever asks for it
	wake    chan string
	wanted  chan struct{}          // a patrol, by a step of a formula
	trouble atomic.Pointer[string] // why the last pass could not be finished; nil: it was
	results results
	alarm   alarm // of turns
	pace    *pace
}

// New returns a Loop that has not begun.
func New(o Options) *Loop {
	return &Loop{o: o, wake: make(chan string, 1), wanted: make(chan struct{}, 1), pace: &pace{every: o.Every, longest: o.IdleMax}}
}

// Wake asks for a pass soon. Wakes that come together are one.
func (l *Loop) Wake(reason string) {
	select {
	case l.wake <- reason:
	default:
	}
}

// Done takes the result of an action: the parts it touched are looked at
// again, and the next pass tells of it.
func (l *Loop) Done(r fleet.Result) {
	l.results.add(r)
	l.o.Board.Touched(l.o.Touches(r.Do)...)
	l.Stir()
	l.Wake("result of " + r.Do)
}

// Stir brings the next patrol near when it was put off because nothing happened:
// something did (a death, a hook, a reply), whatever comes of it.
func (l *Loop) Stir() { l.pace.stir() }

// Interval is how long after the last patrol the next one is due.
func (l *Loop) Interval() time.Duration { return l.pace.now() }

// Trouble says why the last pass could not be finished; "" when it was.
func (l *Loop) Trouble() string {
	if why := l.trouble.Load(); why != nil {
		return *why
	}
	return ""
}

// Run passes until ctx ends: a patrol at once (see patience), on its clock and when a step of a
// formula awaits one, a pass on every wake and tick. An error ends a pass, never the loop.
func (l *Loop) Run(ctx context.Context) {
	clock := l.pace.start()
	defer l.pace.stop()
	defer l.firstLooks(ctx)()
	l.patrol(ctx)
	l.turnAround(ctx, clock)
}

// patience is how long the first patrol waits for first looks: as long as an
// ordinary one may take. One that takes longer (of a huge tree) delays only what
// rests on it. What has been seen by soon is judged then, and alerts of it wait for no
// tree.
const patience, soon = 10 * time.Second, time.Second

// firstLooks waits for the first looks, until patience ends, with a pass on the way where
// they take long. Those that go on then bring a pass when the last of them ends; the
// returned function waits for that.
func (l *Loop) firstLooks(ctx context.Context) (wait func()) {
	looked, limit, early := make(chan struct{}), time.NewTimer(patience), time.NewTimer(soon)
	defer limit.Stop()
	defer early.Stop()
	var looks sync.WaitGroup
	looks.Go(func() {
		defer close(looked)
		l.o.Board.First(ctx)
	})
	for {
		select {
		case <-looked:
			return looks.Wait
		case <-early.C:
			l.pass(ctx, "the first looks that have ended")
		case <-limit.C:
			looks.Go(func() {
				<-looked
				l.Wake("the last first look")
			})
			return looks.Wait
		}
	}
}

// Attend is Run for one command that carries a run of a formula out: it watches
// over nothing else, so that it patrols only when a step of a formula awaits one.
func (l *Loop) Attend(ctx context.Context) {
	defer l.firstLooks(ctx)()
	l.pass(ctx, "begin")
	l.turnAround(ctx, nil)
}

// turnAround passes until ctx ends; clock, when there is one, asks for patrols.
func (l *Loop) turnAround(ctx context.Context, clock <-chan time.Time) {
	tick := time.NewTicker(l.o.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock:
			l.patrol(ctx)
		case <-l.wanted:
			l.patrol(ctx)
		case <-tick.C:
			if !l.pace.lulls(l.o.Lull) {
				l.pass(ctx, "tick")
			}
		case why := <-l.wake:
			l.pass(ctx, why)
		}
	}
}

func (l *Loop) pass(ctx context.Context, why string) {
	if _, err := l.turn(ctx, false, fleet.PatrolOrder{}); err != nil && ctx.Err() == nil {
		l.o.Log.Error("Cannot finish pass", "woken by", why, "err", err)
	}
}

// Pass makes one pass at once, for somebody who waits for what it decides. It waits for
// the first looks at the parts that this rests on, and for no other's.
func (l *Loop) Pass(ctx context.Context, why string, on ...fleet.PartName) error {
	l.o.Board.Await(ctx, on...)
	if _, err := l.turn(ctx, false, fleet.PatrolOrder{}); err != nil {
		return fmt.Errorf("cannot finish the pass for %s: %w", why, err)
	}
	return nil
}

// patrol is a scheduled full pass; what its actions come to is told by the
// passes that follow, and journalled by the next patrol.
func (l *Loop) patrol(ctx context.Context) {
	p, err := l.turn(ctx, true, fleet.PatrolOrder{})
	if err == nil {
		err = l.journal(p)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Log.Error("Cannot finish patrol", "err", err)
	}
}

// journal writes the entry of a patrol. What could not be written is in the next
// entry.
func (l *Loop) journal(p fleet.Pass) error {
	done := l.results.peekJournal()
	if err := l.o.Journal.Journal(p, done); err != nil {
		return err
	}
	l.results.written(len(done))
	return nil
}

// Look waits for every first look and thinks: what would be done if order were
// given, and what is done without. It writes and changes nothing. What is not seen within the given time
// is left unseen.
func (l *Loop) Look(ctx context.Context, within time.Duration, order fleet.PatrolOrder) (fleet.Pass, error) {
	first, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l.o.Board.First(first)
	p, err := l.think(ctx, false, order)
	if err == nil && order.Apply {
		itself := decide.Decide(l.o.Policy(fleet.PatrolOrder{}), p.Snapshot, p.Assessment, p.Past)
		p.Itself = &itself
	}
	return p, err
}

// rounds bounds how often a patrol acts, looks and plans again before it
// leaves the rest to the next one.
const rounds = 10

// Patrol is a whole patrol, waited for: it acts, looks again, and goes on until
// nothing is left that may be done, then writes the journal. The returned pass
// holds the last look, every action of every round, and what became of each.
func (l *Loop) Patrol(ctx context.Context, order fleet.PatrolOrder) (fleet.Pass, error) {
	l.o.Board.First(ctx)
	first, err := l.turn(ctx, true, order)
	if err != nil {
		return first, err
	}
	whole, err := l.settle(ctx, first, order)
	if err != nil {
		return whole, err
	}
	entry := first
	entry.Plan.Skipped = whole.Plan.Skipped
	if err := l.journal(entry); err != nil {
		l.o.Log.Error("Cannot write the journal; what was done is told in its next entry", "err", err)
	}
	return whole, nil
}

// settle waits for the actions of a pass, looks again and passes again until
// nothing is left to do, nor follows by itself.
func (l *Loop) settle(ctx context.Context, p fleet.Pass, order fleet.PatrolOrder) (fleet.Pass, error) {
	number, actions := p.Number, slices.Clone(p.Plan.Actions)
	for round := 1; (len(p.Plan.Actions) > 0 || p.Plan.Wake) && round < rounds; round++ {
		if err := l.o.Act.Wait(ctx); err != nil {
			return p, err
		}
		l.o.Board.First(ctx)
		next, err := l.turn(ctx, false, order)
		if err != nil {
			return p, err
		}
		p = next
		actions = append(actions, p.Plan.Actions...)
	}
	err := l.o.Act.Wait(ctx)
	p.Number, p.Plan.Actions, p.Results = number, actions, l.results.peekJournal()
	return p, err
}
