// Package checkpoint is the action "checkpoint": it writes down where an agent's
// work stands, without asking it and without disturbing it. What HEAD does not
// hold is kept in a backup ref; HEAD, index and files are not touched. When there
// is nothing new since the last checkpoint, no ref is made.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Do is the name of the action.
const Do = "checkpoint"

// Options of the action.
type Options struct {
	World  agentrun.World    `toml:"-"`
	Git    *git.Reader       `toml:"-"` // default git.New
	Backup git.WriterOptions `toml:"-"` // bounds of a backup
}

// Action implements act.Action.
type Action struct{ agentrun.Saver }

// New checks the options.
func New(o Options) (*Action, error) {
	world, err := o.World.Check()
	if err != nil {
		return nil, fmt.Errorf("cannot set up checkpoint: %w", err)
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	return &Action{agentrun.Saver{World: world, Git: o.Git, Writer: git.NewWriter(o.Git, o.Backup)}}, nil
}

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true, Gentle: true,
		Touches:  []fleet.PartName{fleet.PartAgents, fleet.PartRepos},
		Deadline: fleet.Duration(10 * time.Minute),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	dir := t.Worktree
	if dir == "" {
		dir = t.CWD.Or("<its folder>")
	}
	return []fleet.Command{{Argv: []string{"git", "-C", dir, "update-ref", git.BackupRefs + "<branch>/<UTC time>", "<commit>"},
		Note: "of what HEAD does not hold, if that is anything new; HEAD, index and files stay as they are"}}
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	t := a.Target.Agent
	if t == nil {
		return nil, errors.New("cannot make a checkpoint: the target is no agent")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot make a checkpoint: %w", err)
	}
	if !t.Owner.MayTouch() {
		return nil, agentrun.Refused("it is not ours")
	}
	reg, err := x.Registration(ctx, t.Name, a.Target.Registration)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		return nil, agentrun.Refused("it is not registered: there is no record to write a checkpoint into")
	}
	r := &run{x: x, reg: *reg, dir: agentrun.Folder(*reg)}
	if r.dir == "" {
		r.dir = fleet.RawPath(t.CWD.Or(""))
	}
	if err := x.CheckPlace(*reg, r.dir, false); err != nil {
		return nil, err
	}
	if r.reg.SessionID == "" {
		r.reg.SessionID = t.SessionID
	}
	return r, nil
}

type run struct {
	x     *Action
	reg   fleet.Registration
	dir   string // raw
	fresh bool
	made  *fleet.Checkpoint
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot make a checkpoint: %w", err)
	}
	c, fresh, err := r.x.Save(ctx, r.reg, r.dir)
	if err != nil {
		return err
	}
	r.made, r.fresh = &c, fresh
	return nil
}

// Verify implements act.Run. A backup was read back when it was made; what the
// ledger knows is read once more, because a backup takes its time, and only the
// checkpoint is ours to change.
func (r *run) Verify(ctx context.Context) (string, error) {
	if reg, err := r.x.Registration(ctx, r.reg.Name, nil); err == nil && reg != nil {
		r.reg = *reg
	}
	return agentrun.Saved(*r.made, r.fresh), nil
}

// Learned returns the checkpoint, for the ledger.
func (r *run) Learned() *fleet.Registration {
	if r.made == nil {
		return nil
	}
	reg := r.reg
	reg.Checkpoint = r.made
	return &reg
}

// Close implements act.Run.
func (r *run) Close() {}
