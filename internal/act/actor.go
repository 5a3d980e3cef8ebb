package act

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"custos/internal/fleet"
)

// Ledger is where intents and results are written down before and after the
// world is changed. An error with a method Settled() bool that answers true
// means that trying again cannot help (the action has begun or ended already).
type Ledger interface {
	// Commit writes a turn down, whole or not at all.
	Commit(ctx context.Context, t fleet.Turn) error
	// Start notes that a planned action is about to change the world. It
	// succeeds for one caller only, ever.
	Start(ctx context.Context, actionID string, at fleet.Instant) error
	// Finish notes what became of an action.
	Finish(ctx context.Context, r fleet.Result) error
}

// Options are what an Actor is made of.
type Options struct {
	Actions []Action
	Ledger  Ledger
	Frozen  func() (why string) // asked before every action; "" when not frozen; nil: never
	// Lease says why an action may not be done by a lease any more, "" while it may; fresh: two
	// thirds of its time must be left. Nil: there are no leases, and nothing is done by one.
	Lease func(f fleet.Fence, fresh bool) (why string)
	// Fenced returns a context whose writes to servers first ask may; nil: nobody asks.
	Fenced  func(ctx context.Context, may func() error) context.Context
	Now     func() fleet.Instant // for Began and Ended
	Workers int                  // actions at once; default: one per processor, 2 to 8
	Done    func(fleet.Result)   // given every result once it is written down; nil: not called
	// Learned is told what an action that goes on has learned of its agent, and
	// writes it down; nil: it is written down with the result.
	Learned func(ctx context.Context, actionID string, r fleet.Registration) error
	Log     *slog.Logger // default: discarded
}

// Actor carries plans out. It is safe for concurrent use.
type Actor struct {
	opts    Options
	actions map[string]Action
	pool    *pool
}

// How long the Actor waits for what does not come.
const (
	patience    = 10 * time.Second       // for an action that does not heed its deadline, before it is left behind
	firstRetry  = 100 * time.Millisecond // between two tries to write a result down, doubled each time
	lastRetry   = 10 * time.Second       // at most
	lastWords   = 5 * time.Second        // for writing results down while closing
	noDeadline  = time.Minute            // for an action that states none
	longestText = 500                    // runes of a reason
)

// New makes an Actor of the given actions. Of two with the same name the first
// is used, and the mistake logged.
func New(o Options) *Actor {
	if o.Workers <= 0 {
		o.Workers = min(max(runtime.GOMAXPROCS(0), 2), 8)
	}
	if o.Frozen == nil {
		o.Frozen = func() string { return "" }
	}
	if o.Lease == nil {
		o.Lease = func(fleet.Fence, bool) string { return "no leases are kept here" }
	}
	if o.Fenced == nil {
		o.Fenced = func(ctx context.Context, _ func() error) context.Context { return ctx }
	}
	if o.Done == nil {
		o.Done = func(fleet.Result) {}
	}
	if o.Learned == nil {
		o.Learned = func(context.Context, string, fleet.Registration) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Actor{opts: o, actions: map[string]Action{}, pool: newPool(o.Workers)}
	for _, action := range o.Actions {
		a.add(action)
	}
	return a
}

func (a *Actor) add(action Action) {
	do := ability(action).Do
	if _, twice := a.actions[do]; twice || do == "" {
		a.opts.Log.Error("cannot use an action: its name is taken or empty", "do", do)
		return
	}
	a.actions[do] = action
}

// Abilities returns what each action needs and promises, by its name.
func (a *Actor) Abilities() map[string]fleet.Ability {
	out := make(map[string]fleet.Ability, len(a.actions))
	for do, action := range a.actions {
		able := ability(action)
		able.Do = do
		out[do] = able
	}
	return out
}

// ability asks an action what it can; one that panics can do nothing.
func ability(action Action) (able fleet.Ability) {
	if err := safely(func() error { able = action.Ability(); return nil }); err != nil {
		return fleet.Ability{Cannot: reason(err)}
	}
	return able
}

// Commands returns exactly what would be run for action; nil for an action that
// is not known here.
func (a *Actor) Commands(action fleet.Action) (list []fleet.Command) {
	known, ok := a.actions[action.Do]
	if !ok {
		return nil
	}
	if err := safely(func() error { list = known.Commands(action); return nil }); err != nil {
		a.opts.Log.Error("cannot tell the commands of an action", "do", action.Do, "err", err)
		return nil
	}
	return list
}

// Denied is the action that is done where a person denies another; "" for none.
func (a *Actor) Denied(do string) string {
	if known, ok := a.actions[do]; ok {
		return ability(known).Denied
	}
	return ""
}

// errClosed is returned by Start of an Actor that is closed.
var errClosed = errors.New("cannot act: closed")

// Start commits the turn and hands its actions to the pool, which carries them
// out beside the caller; it returns as soon as the turn is written down. When
// that fails nothing is done. The actions outlive ctx: they end by their own
// deadlines.
func (a *Actor) Start(ctx context.Context, t fleet.Turn) error {
	if a.pool.isClosed() {
		return errClosed
	}
	if err := a.opts.Ledger.Commit(ctx, t); err != nil {
		return err
	}
	for _, action := range t.Plan.Actions {
		a.submit(task{Action: action})
	}
	return nil
}

// Recover settles the actions that an earlier Custos left without a result:
// those not begun are refused (a later pass plans them again), those that may
// be done twice are looked at and done again where they are still needed, and
// the others are in doubt. It returns at once; Wait waits for them.
func (a *Actor) Recover(_ context.Context, left []fleet.ActionRecord) {
	for _, rec := range left {
		if !rec.Open() {
			continue
		}
		t := task{Action: rec.Action, after: afterPlanned}
		if rec.Stage == fleet.StageStarted {
			t.after = afterStarted
		}
		a.submit(t)
	}
}

// Wait returns when nothing runs or waits to run any more, or with ctx's error.
func (a *Actor) Wait(ctx context.Context) error { return a.pool.wait(ctx) }

// Close begins nothing more, waits for what runs (which its deadlines bound),
// and notes what waited as refused. It may be called twice.
func (a *Actor) Close() {
	for _, j := range a.pool.close() {
		r := a.result(j.task.Action)
		r.Status, r.Why, r.Unbegun = fleet.ResultRefused, "custos stopped before it began", true
		if j.task.after == afterStarted {
			continue // its fate is still open: the next Custos recovers it
		}
		a.finish(r)
	}
	_ = a.pool.wait(context.Background())
}

func (a *Actor) submit(t task) {
	a.pool.submit(&job{id: t.ID, task: t, claims: claims(t.Action), run: func() <-chan struct{} { return a.carryOut(t) }})
}
