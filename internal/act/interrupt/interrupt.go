// Package interrupt is the action "interrupt": it ends the turn that an agent is
// at, by the keys that its kind has for that. It touches only an agent that
// works, and no dialog: there the same key is an answer.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/session"
)

// Do is the name of the action.
const Do = "interrupt"

// Options is the section [interrupt] of custos.toml.
type Options struct {
	// Wait is how long the turn may take to end. Default "5s".
	Wait string `toml:"wait" is:"duration 1ms..1h"`
	// Watch is how long an agent is watched before a rule may interrupt it: if it
	// moves meanwhile, it is left alone. Default "1s".
	Watch string `toml:"watch" is:"duration 1ms..1h"`
	// MaxCPU is how much of one core, in percent, it may use meanwhile. Default 5.
	MaxCPU float64 `toml:"max_cpu" is:"0..100"`

	World agentrun.World `toml:"-"`
}

// Action implements act.Action.
type Action struct {
	agentrun.World
	wait time.Duration
	rest agentrun.Rest
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{rest: agentrun.Rest{MaxCPU: o.MaxCPU}}
	var errs [3]error
	x.World, errs[0] = o.World.Check()
	x.wait, errs[1] = agentrun.Duration("wait", o.Wait, 5*time.Second)
	x.rest.Watch, errs[2] = agentrun.Duration("watch", o.Watch, time.Second)
	if x.rest.MaxCPU == 0 {
		x.rest.MaxCPU = 5
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("cannot set up interrupt: %w", err)
	}
	return x, nil
}

// Ability implements act.Action. Twice the same key may mean something else.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Touches: []fleet.PartName{fleet.PartAgents, fleet.PartSessions, fleet.PartProcesses},
		Deadline: fleet.Duration(x.wait + x.rest.Watch + 10*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	if t.Pane == nil {
		return []fleet.Command{{Argv: []string{"kill", "-INT", fmt.Sprintf("-%d", t.Process.PID)}, Note: "to its process group, held against its start time first"}}
	}
	k, _ := x.Kinds.Get(t.Kind)
	argv := append([]string{"tmux", "-S", t.Pane.ID.Socket, "send-keys", "-t", t.Pane.ID.Pane}, keysOf(k.Interrupt)...)
	return []fleet.Command{{Argv: argv, Note: "if it works, and stands at no dialog"}}
}

// keysOf are the keys of a kind; Ctrl-C where none are known.
func keysOf(keys []string) []string {
	if len(keys) == 0 {
		return []string{string(session.KeyInterrupt)}
	}
	return keys
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	return agentrun.Prepare(ctx, x.World, a.Target.Agent, func(live *agentrun.Live) *run { return &run{Live: live, x: x, ordered: fleet.IsPerson(a.By)} }, (*run).ready)
}

type run struct {
	*agentrun.Live
	x       *Action
	ordered bool // by a person
	keys    []string
	since   fleet.Instant
	lost    error
}

func (r *run) ready(ctx context.Context) error {
	if err := r.Place(ctx); err != nil {
		return err
	}
	if !r.ordered {
		if err := r.AtRest(ctx, r.x.rest); err != nil {
			return err
		}
	}
	if r.keys = keysOf(r.Kind.Interrupt); r.Headless() {
		r.keys = []string{string(session.KeyInterrupt)}
	}
	if err := agentrun.Pressable(r.keys); err != nil {
		return err
	}
	return r.works(ctx)
}

// works refuses an agent that does not work, as it shows itself at this instant.
func (r *run) works(ctx context.Context) error {
	busy := r.Agent.State == fleet.StateWorking || r.Agent.State == fleet.StateStuck || r.Agent.State == fleet.StateLooping ||
		r.Agent.State == fleet.StateRateLimited
	if r.Headless() {
		if !busy {
			return agentrun.Refused("it is %s, not working", r.Agent.State)
		}
		return nil
	}
	v, err := r.Look(ctx)
	if err != nil {
		return err
	}
	ready, known := v.Ready.Get()
	switch {
	case v.Dialog != nil:
		return agentrun.Refused("it stands at a dialog, where that key is an answer: %s", v.Dialog.Says)
	case known && ready:
		return agentrun.Unneeded("it does not work: its prompt is ready")
	case !v.Working && !busy:
		return agentrun.Refused("it is %s, and its screen does not say that it works", r.Agent.State)
	case v.Pane.InMode:
		return agentrun.Refused("its terminal is scrolled back")
	}
	return nil
}

// Do implements act.Run. An error means that no key was pressed.
func (r *run) Do(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot interrupt: %w", err)
	}
	if err := r.works(ctx); err != nil {
		return err
	}
	r.since = r.x.Now()
	r.lost, err = r.PressEach(ctx, r.keys, between)
	return err
}

// between is how long lies between two keys: sent at once, two Escapes are read
// as one key with Alt.
const between = 200 * time.Millisecond

// Verify implements act.Run: the turn has ended, as the agent tells or shows.
func (r *run) Verify(ctx context.Context) (string, error) {
	if r.lost != nil {
		return "", fmt.Errorf("cannot tell whether it was interrupted: %w", r.lost)
	}
	how := ""
	err := agentrun.Wait(ctx, r.x.wait, func(ctx context.Context) bool {
		how = r.over(ctx)
		return how != ""
	})
	if err != nil {
		return "", fmt.Errorf("it still works: %w", err)
	}
	return "interrupted by " + strings.Join(r.keys, " ") + ": " + how, nil
}

// over says by what it is seen that the turn has ended; "" when it is not.
func (r *run) over(ctx context.Context) string {
	if r.Handle.Ended() {
		return "the agent has ended"
	}
	// Some tell of a turn that was broken off only that their prompt is free.
	ends := []fleet.HookName{fleet.HookStop, fleet.HookRest, fleet.HookFailure, fleet.HookSessionEnd}
	events, err := r.Reported(ctx, r.since)
	if err == nil && slices.ContainsFunc(events, func(e fleet.HookEvent) bool {
		return slices.Contains(ends, e.Event) && !e.At.Before(r.since)
	}) {
		return "its hook says that the turn has ended"
	}
	if r.Headless() {
		return ""
	}
	v, err := r.Look(ctx)
	if ready, known := v.Ready.Get(); err == nil && known && ready && !v.Working {
		return "its prompt is ready"
	}
	return ""
}
