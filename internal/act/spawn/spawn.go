// Package spawn is the action "spawn": it starts a registered agent, in a new
// worktree where that is asked for, under its shim. It returns as soon as the
// agent runs; that it is ready, and that its first prompt arrived, is seen later.
// What fails is rolled back whole: the session, the worktree, the branch.
//
// Its key is the instance, made from the action's own ID and claimed by the shim:
// done again after a crash, it finds what the first try began and starts nothing
// twice.
package spawn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/git"
	"custos/internal/sys/shim"
)

// Do is the name of the action.
const Do = "spawn"

// Options is the section [spawn] of custos.toml.
type Options struct {
	// Primary is the branch that new worktrees begin at; default as the git probe
	// finds it.
	Primary string `toml:"primary" is:"name"`
	// Worktrees is the folder that new worktrees are made in when an order names
	// none; default REPOSITORY.worktrees, beside the repository. Absolute.
	Worktrees string `toml:"worktrees" is:"path"`

	Launcher *agentrun.Launcher `toml:"-"`
	Git      *git.Reader        `toml:"-"` // default git.New
}

// Action implements act.Action.
type Action struct {
	*agentrun.Launcher
	o      Options
	writer *git.Writer
}

// New checks the options.
func New(o Options) (*Action, error) {
	if o.Launcher == nil {
		return nil, errors.New("cannot set up spawn: nothing starts agents")
	}
	if o.Worktrees != "" && !filepath.IsAbs(o.Worktrees) {
		return nil, fmt.Errorf("cannot set up spawn: worktrees = %q is no absolute path", o.Worktrees)
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	return &Action{Launcher: o.Launcher, o: o, writer: git.NewWriter(o.Git, git.WriterOptions{})}, nil
}

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true, Starts: true,
		Touches:  []fleet.PartName{fleet.PartAgents, fleet.PartProcesses, fleet.PartSessions, fleet.PartRepos, fleet.PartHost},
		Deadline: fleet.Duration(5 * time.Minute), // the checkout of a large repository
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	r := a.Target.Registration
	if r == nil {
		return nil
	}
	var out []fleet.Command
	dir := r.Dir
	if t := x.tree(*r); t != nil {
		dir = fleet.Path(t.Path)
		on := []string{"-b", t.Branch}
		if t.Branch == "" {
			on = []string{"--detach"}
		}
		out = append(out, fleet.Command{Argv: slices.Concat([]string{"git", "-C", r.Repo, "worktree", "add"}, on, []string{"--", dir, "<primary branch>"})})
	}
	b, err := x.Plan(*r, agentrun.Instance(a.ID), fleet.RawPath(dir), agentrun.How{Prompt: r.Prompt, Planned: true})
	if err != nil {
		return append(out, fleet.Command{Argv: []string{shim.Program, "--", r.Kind}, Note: fleet.Line(err.Error(), 200)})
	}
	return append(out, fleet.Command{Argv: b.Command.Argv, Note: fmt.Sprintf("in %s, %s, as instance %s of its own %s", dir, r.Where, b.Launch.Instance, shim.Program)})
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Registration == nil {
		return nil, errors.New("cannot start an agent: the target is no registration")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot start an agent: %w", err)
	}
	reg, err := x.Registration(ctx, a.Target.Registration.Name, a.Target.Registration)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		return nil, agentrun.Refused("it is not registered")
	}
	r := &run{x: x, reg: *reg, instance: agentrun.Instance(a.ID)}
	if r.note, err = readNote(r.notePath()); err != nil {
		return nil, err
	}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// run is one start.
type run struct {
	x          *Action
	reg        fleet.Registration
	instance   string
	note       note // what an earlier try, cut off by a crash, had begun
	tree       *git.WorktreePlan
	made       bool // the worktree was begun in this very run
	madeParent bool // and the folder above it, too
	begin      agentrun.Begin
	learned    *fleet.Registration
	given      error // why its prompt did not reach it
}

// check asks everything that can be wrong before anything is done.
func (r *run) check(ctx context.Context) error {
	if r.reg.Desired != fleet.DesiredRunning {
		return agentrun.Refused("it is to be %s, by %s", r.reg.Desired, fleet.Line(r.reg.DesiredBy, 40))
	}
	if err := r.x.Free(r.reg, r.instance); err != nil {
		return err
	}
	dir, err := r.folder(ctx)
	if err != nil {
		return err
	}
	if err := r.x.Room(dir); err != nil {
		return err
	}
	r.begin, err = r.x.Plan(r.reg, r.instance, dir, agentrun.How{Prompt: r.reg.Prompt})
	return err
}

// folder returns where the agent is to work (raw).
func (r *run) folder(ctx context.Context) (string, error) {
	if r.tree = r.x.tree(r.reg); r.tree != nil {
		return r.tree.Path, r.checkTree(ctx)
	}
	dir := fleet.RawPath(r.reg.Dir)
	if dir == "" {
		dir = fleet.RawPath(r.reg.Worktree)
	}
	return dir, r.x.CheckPlace(r.reg, dir, fleet.IsPerson(r.reg.DesiredBy))
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot start the agent: %w", err)
	}
	if err := r.makeTree(ctx); err != nil {
		return errors.Join(err, r.undo())
	}
	got, since, err := r.x.Start(ctx, &r.begin)
	switch {
	case errors.Is(err, act.ErrInDoubt): // so nothing is rolled back
		return err
	case err != nil:
		return errors.Join(err, r.undo())
	}
	r.learn(got, since)
	r.given = r.x.Give(ctx, r.begin, got)
	removeNote(r.notePath())
	return nil
}

// learn notes what the ledger is to know.
func (r *run) learn(got session.Launched, since fleet.Instant) {
	reg := agentrun.Learned(r.reg, r.begin, got, since)
	reg.Dir, reg.Real = fleet.Path(r.begin.Launch.Dir), ""
	r.x.NotePlace(&reg, r.begin.Launch.Dir)
	if r.tree != nil {
		reg.Worktree, reg.Branch = reg.Dir, r.tree.Branch
	}
	if reg.Prompt != "" && r.begin.Command.Typed == "" {
		reg.PromptState = fleet.DeliverySent
	}
	r.learned = &reg
}

// Learned returns what the ledger is to know of the agent; nil when nothing runs.
func (r *run) Learned() *fleet.Registration {
	if r.learned != nil && r.given != nil {
		r.learned.PromptState = fleet.DeliveryUndelivered
	}
	return r.learned
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	s, exit, err := shim.Read(r.begin.Launch.Shim)
	switch {
	case err != nil:
		return "", err
	case exit != nil && (exit.Status == nil || *exit.Status != 0):
		return "", fmt.Errorf("the agent was started and has ended at once: %s", agentrun.Ending(*exit))
	case r.given != nil:
		return "", r.given
	}
	effect := fmt.Sprintf("started as process %d, instance %s, in %s", s.Agent.PID, r.instance, fleet.Path(r.begin.Launch.Dir))
	if r.reg.MemoryMax > 0 && s.Cap != "cgroup" {
		effect += "; without a memory cap: " + fleet.Line(s.CapWhy, 100)
	}
	if b := r.begin.Boundary; b != nil {
		effect += "; within boundary " + b.Name + ", by " + b.By
		if len(b.Open) > 0 {
			effect += fmt.Sprintf("; %d things that were asked for are open", len(b.Open))
		}
	}
	for _, name := range r.begin.Missing {
		effect += "; " + name + " is not set here"
	}
	return effect, nil
}

// Close implements act.Run.
func (r *run) Close() {}
