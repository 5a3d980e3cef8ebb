// Package trustcode is the action "trust-code": it writes down that the formulas and
// plugins of a folder may be run as they are now in its repository's primary branch.
// It is done for a person who approved of just that, and for no other.
package trustcode

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"custos/internal/act"
	"custos/internal/fleet"
)

// Do is the name of the action.
const Do = "trust-code"

// Options is what the composition root knows.
type Options struct {
	// Look tells of the folders there are.
	Look func() []fleet.CodeFacts
	// Pin writes down that a person trusts a folder (raw) as it was shown; it refuses
	// one that has changed since.
	Pin func(ctx context.Context, dir, digest, by string) error
}

// Action implements act.Action.
type Action struct{ o Options }

// New makes the action.
func New(o Options) *Action { return &Action{o} }

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Singly: true, Touches: []fleet.PartName{fleet.PartSelf}, Deadline: fleet.Duration(60e9)}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	c := a.Target.Code
	if c == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"custos", "trust", c.Dir, "--digest", c.Digest}, Note: "only while the primary branch has just these files"}}
}

// Prepare implements act.Action: the very files that were shown, and a person who
// approved of them.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	c := a.Target.Code
	switch {
	case c == nil || c.Digest == "":
		return nil, errors.New("cannot trust it: the target is no folder whose files were seen")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot look at %s: %w", c.Dir, ctx.Err())
	case a.Approved == "":
		return nil, fmt.Errorf("cannot trust %s: no person has approved of it: %w", c.Dir, act.ErrRefused)
	}
	is, err := x.now(c.Dir)
	if err != nil {
		return nil, err
	}
	if is.Digest != c.Digest {
		return nil, fmt.Errorf("cannot trust %s: it is not what was shown: %w", c.Dir, act.ErrRefused)
	}
	if changes, known := is.Changes.Get(); known && changes == "" {
		return nil, fmt.Errorf("%s is trusted: %w", c.Dir, act.ErrUnneeded)
	}
	return &run{x: x, code: *c, by: a.Approved}, nil
}

func (x *Action) now(dir string) (fleet.CodeFacts, error) {
	list := x.o.Look()
	i := slices.IndexFunc(list, func(c fleet.CodeFacts) bool { return c.Dir == dir })
	if i < 0 {
		return fleet.CodeFacts{}, fmt.Errorf("there is nothing to be trusted in %s: %w", dir, act.ErrUnneeded)
	}
	return list[i], nil
}

type run struct {
	x    *Action
	code fleet.CodeFacts
	by   string
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot trust %s: %w", r.code.Dir, err)
	}
	return r.x.o.Pin(ctx, fleet.RawPath(r.code.Dir), r.code.Digest, r.by)
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	is, err := r.x.now(r.code.Dir)
	if err != nil {
		return "", err
	}
	if changes, known := is.Changes.Get(); !known || changes != "" || is.Digest != r.code.Digest {
		return "", fmt.Errorf("cannot show that %s is trusted as it was shown", r.code.Dir)
	}
	return fmt.Sprintf("%s trusts %s of %s, as of commit %.12s", r.by, fleet.Counted(is.Trusted, "file"), r.code.Dir, is.Commit), nil
}

// Close implements act.Run.
func (r *run) Close() {}
