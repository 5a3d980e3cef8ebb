// Package filereply is the action "file-reply": it puts the file of a person's reply
// to an escalation away, once the agent of the run has the reply. Nothing is
// deleted: the file gets another name, in the same folder.
package filereply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// Do is the name of the action.
const Do = "file-reply"

// Action implements act.Action.
type Action struct{}

// New makes the action.
func New() (*Action, error) { return &Action{}, nil }

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartRuns}, Deadline: fleet.Duration(10 * time.Second)}
}

// paths returns from where to where the file goes (raw); "" when the target names none.
func paths(a fleet.Action) (from, to string) {
	t := a.Target.Step
	if t == nil || t.Run.Session == nil || t.Run.Session.Answers < 1 {
		return "", ""
	}
	return t.Run.TakenReply(t.Run.Session.Answers), t.Run.FiledReply(t.Run.Session.Answers)
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	from, to := paths(a)
	if from == "" {
		return nil
	}
	return []fleet.Command{{Argv: []string{"mv", "-n", fleet.Path(from), fleet.Path(to)}, Note: "the agent has it"}}
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	r := &run{}
	if r.from, r.to = paths(a); !filepath.IsAbs(r.from) {
		return nil, errors.New("cannot file a reply: the target is no run with a reply")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot file a reply: %w", err)
	}
	switch err := r.check(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, agentrun.Unneeded("there is no %s: it is filed", fleet.Path(r.from))
	case errors.Is(err, files.ErrNotOwn), errors.Is(err, files.ErrNotRegular):
		return nil, agentrun.Refused("%s: %v", fleet.Path(r.from), err)
	case err != nil:
		return nil, fmt.Errorf("cannot look at the reply: %w", err)
	}
	return r, nil
}

// run is one file on its way (raw paths).
type run struct{ from, to string }

// check says whether it is a file that only our user may have written.
func (r *run) check() error {
	f, _, err := files.OpenOwn(r.from)
	if err == nil {
		f.Close()
	}
	return err
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot file the reply: %w", err)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("cannot file the reply: %w", err)
	}
	if _, err := os.Lstat(r.to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot file the reply: there is something at %s already", fleet.Path(r.to))
	}
	if err := os.Rename(r.from, r.to); err != nil {
		return fmt.Errorf("cannot file the reply: %w", err)
	}
	return nil
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	if _, err := os.Lstat(r.from); !errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("cannot show that the reply is filed: it lies where it lay")
	}
	return fleet.Path(r.to), nil
}

// Close implements act.Run.
func (r *run) Close() {}
