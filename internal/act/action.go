// Package act is the fourth stage of the cycle, and the only one that changes
// the world. Each folder beneath it is one action. What acts re-checks identity
// and precondition at the instant of acting, is written down before it begins
// and when it ends, and measures that it worked.
package act

import (
	"context"
	"errors"

	"custos/internal/fleet"
)

// Errors that Prepare returns (or wraps) to say why there is nothing to do.
var (
	// ErrUnneeded: the thing is already as it should be (the file is gone, the process has ended).
	ErrUnneeded = errors.New("unneeded")
	// ErrRefused: the precondition does not hold at the instant of acting.
	ErrRefused = errors.New("refused")
	// ErrInDoubt: Do cannot tell whether it was done. What is known of it is looked at
	// before it is done again.
	ErrInDoubt = errors.New("in doubt")
	// ErrLasting is an ErrRefused that no waiting changes: a name that is no name, a
	// folder that is not there. An order that meets it is at an end.
	ErrLasting error = lasting{}
)

type lasting struct{}

func (lasting) Error() string { return ErrRefused.Error() }
func (lasting) Unwrap() error { return ErrRefused }

// Action is one way to change the world.
type Action interface {
	// Ability says what the action needs and promises, here and now.
	Ability() fleet.Ability
	// Commands returns exactly what would be run for a, from a alone: no I/O.
	Commands(a fleet.Action) []fleet.Command
	// Prepare re-reads identity and precondition and holds on to them (a pidfd,
	// an open file, the measure taken before). It changes nothing. It fails with
	// ErrUnneeded, ErrRefused or ErrLasting, or with what kept it from looking.
	Prepare(ctx context.Context, a fleet.Action) (Run, error)
}

// Run is a prepared action. The caller writes the journal between Prepare and
// Do, calls Do at most once, Verify only after a Do without error, and Close
// always.
type Run interface {
	// Do changes the world, and nothing but what Prepare checked.
	Do(ctx context.Context) error
	// Verify measures the effect and says it in words ("41 MB freed"). An error
	// means that it could not be shown to have worked.
	Verify(ctx context.Context) (effect string, err error)
	// Close releases what Prepare held.
	Close()
}

// Withdrawer is an Action that is not done for as long as it may be refused: what it
// is to end is still there. One that an earlier Custos had begun, and that is refused
// now, is refused like any other; without this it is in doubt.
type Withdrawer interface {
	// Withdraw takes back what was written down when it began.
	Withdraw(ctx context.Context, a fleet.Action) error
}

// learner is a Run that learns something of an agent which the ledger is to
// know: its instance, its end, its checkpoint. It is asked once, after Do and
// Verify, however they ended; nil is nothing.
type learner interface {
	Learned() *fleet.Registration
}

// Foreteller is a Run that learns something of an agent long before it ends: an
// agent that is started again lives for as long as it takes to show that it is
// ready. Foretell is called once, before Do; tell may be called from Do and Verify.
type Foreteller interface {
	Foretell(tell func(fleet.Registration))
}

// arriver is a Run that gives an agent something. It is asked once, after Do and Verify,
// however they ended; nil means that nothing was given.
type arriver interface {
	Arrived() *fleet.Arrival
}

// judged is a Run that asked a judge. It is asked once, after Do and Verify,
// however they ended: what was spent counts. nil is no question.
type judged interface {
	Judged() *fleet.Verdict
}

// merger is a Run that builds or lands a merge group. It is asked once, after Do and
// Verify, however they ended; nil means that nothing was learned.
type merger interface {
	Merged() *fleet.MergeOutcome
}
