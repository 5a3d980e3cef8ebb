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
)

// Action is one way to change the world.
type Action interface {
	// Ability says what the action needs and promises, here and now.
	Ability() fleet.Ability
	// Commands returns exactly what would be run for a, from a alone: no I/O.
	Commands(a fleet.Action) []fleet.Command
	// Prepare re-reads identity and precondition and holds on to them (a pidfd,
	// an open file, the measure taken before). It changes nothing. It fails with
	// ErrUnneeded or ErrRefused, or with what kept it from looking.
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

// Learner is a Run that learns something of an agent which the ledger is to
// know: its instance, its end, its checkpoint. It is asked once, after Do and
// Verify, however they ended; nil is nothing.
type Learner interface {
	Learned() *fleet.Registration
}

// Judged is a Run that asked a judge. It is asked once, after Do and Verify,
// however they ended: what was spent counts. nil is no question.
type Judged interface {
	Judged() *fleet.Verdict
}
