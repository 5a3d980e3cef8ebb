// Package stop is the action "stop-tree": it ends a stale one-shot agent and
// everything below it. Each process is held by a pidfd before anything is
// sent, so that a signal reaches the very process that was judged, or none.
// First SIGTERM to all, root first, so that the CLI can save its session; what
// is left after a wait gets SIGKILL; then it looks again for what was forked
// meanwhile, until nothing is left.
package stop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// Do is the name of the action.
const Do = "stop-tree"

// Options is the section [stop_tree] of custos.toml.
type Options struct {
	// Watch is how long the tree is watched before it may be stopped: if it
	// works, begins a process or moves data meanwhile, it is left alone. Default "1s".
	Watch string `toml:"watch" is:"duration 1ms..1m"`
	// TermWait is how long SIGTERM may take. Default "5s".
	TermWait string `toml:"term_wait" is:"duration 1ms..1m"`
	// KillWait is how long the kernel may take to end what got SIGKILL. Default "5s".
	KillWait string `toml:"kill_wait" is:"duration 1ms..1m"`
	// MaxCPU is how much of one core, in percent, the tree may use while it is
	// watched and still be at rest. Default 5.
	MaxCPU float64 `toml:"max_cpu" is:"0..50"`

	Boot   func() (string, error) `toml:"-"` // id of this boot; default proc.BootID
	Hosted agentrun.Hosted        `toml:"-"` // asks tmux servers in a tree; nil: whatever lives on one is left alone
}

// Action implements act.Action.
type Action struct {
	rest       agentrun.Rest
	term, kill time.Duration
	boot       func() (string, error)
	hosted     agentrun.Hosted
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{rest: agentrun.Rest{MaxCPU: o.MaxCPU}, boot: o.Boot, hosted: o.Hosted}
	var errs [3]error
	x.rest.Watch, errs[0] = agentrun.Duration("watch", o.Watch, time.Second)
	x.term, errs[1] = agentrun.Duration("term_wait", o.TermWait, 5*time.Second)
	x.kill, errs[2] = agentrun.Duration("kill_wait", o.KillWait, 5*time.Second)
	if x.rest.MaxCPU == 0 {
		x.rest.MaxCPU = 5
	}
	err := errors.Join(errs[:]...)
	if x.rest.MaxCPU < 0 || x.rest.MaxCPU > 50 {
		err = errors.Join(err, fmt.Errorf("cannot use max_cpu = %v: want 0 to 50", o.MaxCPU))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot set up stop-tree: %w", err)
	}
	if x.boot == nil {
		x.boot = proc.BootID
	}
	return x, nil
}

// Ability implements act.Action. What is stopped is stopped by pid and start
// time: doing it twice reaches no other process.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true,
		Touches:  []fleet.PartName{fleet.PartAgents, fleet.PartProcesses, fleet.PartSessions, fleet.PartHost},
		Deadline: fleet.Duration(x.rest.Watch + x.term + agentrun.Rounds*x.kill + 10*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Agent == nil {
		return nil
	}
	return agentrun.KillCommands(a.Target.Agent, x.term, "and what was begun meanwhile")
}

// Prepare implements act.Action. It takes hold of the tree and watches it for a moment.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	agent := a.Target.Agent
	if agent == nil {
		return nil, errors.New("cannot stop: the target is no agent")
	}
	r, err := x.prepare(ctx, agent)
	switch {
	case errors.Is(err, act.ErrUnneeded):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("cannot stop: %w", err)
	}
	return r, nil
}

func (x *Action) prepare(ctx context.Context, a *fleet.Agent) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := x.qualifies(a); err != nil {
		return nil, err
	}
	tree, err := x.hold(a)
	if err != nil {
		return nil, err
	}
	r := &run{x: x, tree: tree}
	if err := r.ready(ctx, a.Args); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// qualifies asks what the snapshot said; none of it may be unknown.
func (x *Action) qualifies(a *fleet.Agent) error {
	boot, err := x.boot()
	switch {
	case err != nil:
		return err
	case !a.Owner.MayTouch():
		return agentrun.Refused("it is not ours")
	case !a.OneShot:
		return agentrun.Refused("it is no one-shot")
	case a.Progress != fleet.ProgressNone:
		return agentrun.Refused("its progress was %q, not none", a.Progress)
	case a.Process.PID <= 1 || a.Process.PID == os.Getpid():
		return agentrun.Refused("never process %d", a.Process.PID)
	case a.Process.Boot == "" || len(a.Args) == 0:
		return agentrun.Refused("its boot or its command line was not seen")
	case a.Process.Boot != boot:
		return agentrun.Unneeded("the machine was started anew since it was seen")
	}
	return nil
}

// hold opens the root by identity. When the root has ended but others of its
// tree live, they belong to no one-shot any more: that is for a new look.
func (x *Action) hold(a *fleet.Agent) (*agentrun.Tree, error) {
	t := &agentrun.Tree{Also: agentrun.Also(a), Hosted: x.hosted, Folder: agentrun.FolderOf(a)}
	root, err := proc.Open(t.Also[0])
	if err == nil {
		t.Take(root)
		return t, nil
	}
	if !errors.Is(err, proc.ErrGone) {
		return nil, err
	}
	left := 0
	for _, id := range t.Also[1:] {
		if h, err := proc.Open(id); err == nil {
			h.Close()
			left++
		}
	}
	if left > 0 {
		return nil, agentrun.Refused("it has ended by itself, and %d of its processes live on", left)
	}
	return nil, agentrun.Unneeded("the process has ended")
}
