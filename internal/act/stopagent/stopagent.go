// Package stopagent is the action "stop": it ends an agent of ours, or an
// adopted one, and everything it started, in steps from kind to hard: it is asked
// to exit, interrupted and asked again, its tree gets SIGTERM, then SIGKILL; then
// nothing is left, children in sessions of their own included, and its place is
// closed. What another user runs and we may not signal runs on, and is named. A person
// may order it at any time. A rule may only end an agent of which nothing moves and all
// may be ended, and that is looked at once more at the instant.
package stopagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Do is the name of the action.
const Do = "stop"

// Options is the section [stop] of custos.toml.
type Options struct {
	// AskWait is how long an agent that was asked may take to exit. Default "5s".
	AskWait string `toml:"ask_wait" is:"duration 1ms..1h"`
	// InterruptWait is how long a turn that was interrupted may take to end.
	// Default "3s".
	InterruptWait string `toml:"interrupt_wait" is:"duration 1ms..1h"`
	// TermWait is how long SIGTERM may take. Default "5s".
	TermWait string `toml:"term_wait" is:"duration 1ms..1h"`
	// KillWait is how long the kernel may take to end what got SIGKILL. Default "5s".
	KillWait string `toml:"kill_wait" is:"duration 1ms..1h"`
	// Watch is how long an agent is watched before a rule may stop it. Default "1s".
	Watch string `toml:"watch" is:"duration 1ms..1h"`
	// MaxCPU is how much of one core, in percent, it may use meanwhile. Default 5.
	MaxCPU float64 `toml:"max_cpu" is:"0..100"`

	World agentrun.World `toml:"-"`
}

// Action implements act.Action.
type Action struct {
	agentrun.World
	ask, interrupt, term, kill time.Duration
	rest                       agentrun.Rest
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{rest: agentrun.Rest{MaxCPU: o.MaxCPU}}
	var errs [6]error
	x.World, errs[0] = o.World.Check()
	x.ask, errs[1] = agentrun.Duration("ask_wait", o.AskWait, 5*time.Second)
	x.interrupt, errs[2] = agentrun.Duration("interrupt_wait", o.InterruptWait, 3*time.Second)
	x.term, errs[3] = agentrun.Duration("term_wait", o.TermWait, 5*time.Second)
	x.kill, errs[4] = agentrun.Duration("kill_wait", o.KillWait, 5*time.Second)
	x.rest.Watch, errs[5] = agentrun.Duration("watch", o.Watch, time.Second)
	if x.rest.MaxCPU == 0 {
		x.rest.MaxCPU = 5
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("cannot set up stop: %w", err)
	}
	return x, nil
}

// Ability implements act.Action. What is stopped is stopped by pid and start
// time: doing it twice reaches no other process.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true,
		Touches:  []fleet.PartName{fleet.PartAgents, fleet.PartProcesses, fleet.PartSessions, fleet.PartHost},
		Deadline: fleet.Duration(2*x.ask + x.interrupt + x.term + agentrun.Rounds*x.kill + x.rest.Watch + 15*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	var out []fleet.Command
	k, known := x.Kinds.Get(t.Kind)
	if t.Pane != nil && known {
		send := []string{"tmux", "-S", t.Pane.ID.Socket, "send-keys", "-t", t.Pane.ID.Pane}
		out = append(out,
			fleet.Command{Argv: append(send[:len(send):len(send)], farewell(k)...), Note: "when it is idle and its input line is empty"},
			fleet.Command{Argv: append(send[:len(send):len(send)], k.Interrupt...), Note: "when it works"})
	}
	out = append(out, agentrun.KillCommands(t, x.term, "what was begun meanwhile, what carries its marker, and what its shim has taken in")...)
	if t.Pane != nil && isPlaceOurs(*t) {
		out = append(out, fleet.Command{Argv: []string{"tmux", "-S", t.Pane.ID.Socket, "kill-pane", "-t", t.Pane.ID.Pane}, Note: "once nothing runs"})
	}
	if len(out) == 0 {
		out = []fleet.Command{{Argv: []string{"kill", "-TERM", "<what carries the marker of " + fleet.Line(t.Name, 80) + ">"}}}
	}
	return out
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	t := a.Target.Agent
	if t == nil {
		return nil, errors.New("cannot stop: the target is no agent")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at the agent: %w", err)
	}
	if !t.Owner.MayTouch() {
		return nil, agentrun.Refused("it is not ours")
	}
	reg, err := x.Registration(ctx, t.Name, nil)
	if err != nil {
		return nil, err
	}
	r := &run{x: x, by: a.By}
	r.Live = &agentrun.Live{World: x.World, Agent: *t, Reg: reg}
	r.Kind, r.known = x.Kinds.Get(t.Kind)
	r.Agent.Instance = instanceOf(t, reg)
	if err := r.ready(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Withdraw implements act.Withdrawer: an agent that lives on was not stopped.
func (x *Action) Withdraw(ctx context.Context, a fleet.Action) error {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	reg, err := x.Registration(ctx, t.Name, nil)
	if err != nil {
		return err
	}
	if alive, err := x.Lives(t.Process); err != nil || !alive {
		return err
	}
	return x.takeBack(instanceOf(t, reg), a.By)
}

// instanceOf is the instance of an agent, which its record may know alone.
func instanceOf(t *fleet.Agent, reg *fleet.Registration) string {
	if t.Instance == "" && reg != nil && reg.Process == t.Process {
		return reg.Instance
	}
	return t.Instance
}

// ready takes hold of the agent, or of what it left, and of its place.
func (r *run) ready(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	if err := r.Place(ctx); err != nil {
		if !errors.Is(err, act.ErrRefused) {
			return err // a server that does not answer; it must not be taken for gone
		}
		r.Provider = nil
	}
	if r.tree.Size() == 0 {
		if err := r.findLeft(ctx); err != nil {
			return err
		}
		if r.Provider == nil || !isPlaceOurs(r.Agent) || r.Headless() {
			return agentrun.Unneeded("it has ended, %s", cmp.Or(strings.Join(r.tree.RunsOn(), "; "), "and has left nothing"))
		}
		return nil
	}
	return r.mayDisturb(ctx)
}

// mayDisturb: a person may stop anything of ours, and an agent itself; a rule
// only what is at rest.
func (r *run) mayDisturb(ctx context.Context) error {
	if r.isOrdered() || !r.root && r.isEnding() {
		return nil
	}
	if !r.root {
		return agentrun.Refused("it has ended by itself, and %d of its processes live on", r.tree.Size())
	}
	return r.AtRest(ctx, r.x.rest)
}

// isEnding says whether the agent was ended by this very stop, which was cut off before
// it had ended the rest.
func (r *run) isEnding() bool {
	if !shim.IsKey(r.Agent.Instance) {
		return false
	}
	dir, ended := shim.Dir(r.Shims, r.Agent.Instance), r.x.Now().Wall
	if _, exit, err := shim.Read(dir); err == nil && exit != nil {
		ended = exit.At.Wall
	}
	return shim.AskedBy(dir, ended) == asker(r.by)
}

// take takes hold of the agent and of all that is part of it.
func (r *run) take(ctx context.Context) error {
	self := proc.ID{PID: r.Agent.Process.PID, Start: r.Agent.Process.Start}
	r.tree.Self, r.tree.Marker = self, agentrun.Marker(r.Agent.Name, r.Agent.Instance)
	r.tree.Hosted, r.tree.Folder, r.tree.Spares = r.x.Hosted, agentrun.FolderOf(&r.Agent), r.isOrdered()
	if err := r.roots(ctx); err != nil {
		return err
	}
	if err := r.tree.Begin(ctx); err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	if r.Handle = r.tree.Root(); r.Handle == nil {
		return nil
	}
	r.root = r.Handle.ID() == self
	return nil
}

// roots lists what is known to be part of the agent: as the plan saw it, and as the
// records of its shims and the process table tell. What former instances left is for
// people to end, and for the agent itself: a rule has judged this one alone.
func (r *run) roots(ctx context.Context) error {
	if p := r.Agent.Process; p.Boot == "" || p.Boot == r.Boot {
		r.tree.Also = agentrun.Also(&r.Agent)
	}
	if r.Agent.Instance == "" || !shim.IsKey(r.Agent.Instance) {
		return nil
	}
	r.tree.Kin, r.tree.Doubt = shim.ReadKin(r.Shims, r.Agent.Name, r.Agent.Instance, r.Boot, shim.Former(r.isOrdered()))
	return r.tree.Find(ctx)
}

// isOrdered says whether a person wants the end, or the agent itself.
func (r *run) isOrdered() bool {
	name, agent := fleet.AgentOf(r.by)
	return fleet.IsPerson(r.by) || agent && name == r.Agent.Name
}
