// Package endstep is the action "end-step": it ends the processes of one attempt
// at a step, all of them: what took too long, what was cancelled, and what a
// step that has ended left behind. What left its parent, its session and its
// environment is still found, for the shim adopts it.
package endstep

import (
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
const Do = "end-step"

// How long what is ended has, after SIGTERM and after SIGKILL; and how long the
// shim has to write how it ended.
const (
	termWait = 5 * time.Second
	killWait = 2 * time.Second
	shimWait = 2 * time.Second
)

// rounds is how often the shim is asked anew what it has adopted.
const rounds = 3

// Options is what the composition root knows.
type Options struct {
	Boot string        // id of this boot; empty asks the kernel
	Term time.Duration // after SIGTERM; default 5 s
}

// Action implements act.Action.
type Action struct {
	boot string
	term time.Duration
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{boot: o.Boot, term: o.Term}
	if x.term <= 0 {
		x.term = termWait
	}
	if x.boot == "" {
		boot, err := proc.BootID()
		if err != nil {
			return nil, fmt.Errorf("cannot set up end-step: %w", err)
		}
		x.boot = boot
	}
	return x, nil
}

// Ability implements act.Action. Each process is held by pid and start time:
// done twice, it reaches no other process.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true,
		Touches:  []fleet.PartName{fleet.PartRuns, fleet.PartProcesses, fleet.PartHost},
		Deadline: fleet.Duration(rounds*(x.term+agentrun.Rounds*killWait) + shimWait + 10*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Step
	if t == nil {
		return nil
	}
	of := fmt.Sprintf("<processes of attempt %d at step %s of run %s>", t.Attempt, fleet.Line(t.Step, 80), fleet.Line(t.Run.ID, 80))
	return []fleet.Command{
		{Argv: []string{"kill", "-TERM", of}, Note: "through pidfds, each held against its start time first: what carries its marker, what descends from it, and what its shim has adopted"},
		{Argv: []string{"kill", "-KILL", of}, Note: fmt.Sprintf("what is left after %s", x.term)},
	}
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	t := a.Target.Step
	switch {
	case t == nil || t.Step == "" || t.Attempt < 1 || t.Run.ID == "":
		return nil, errors.New("cannot end a step: the target is no attempt at one")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot look at the step: %w", ctx.Err())
	}
	key := fleet.StepKey(t.Step, t.Attempt)
	r := &run{x: x, dir: t.Run.StepDir(t.Step, t.Attempt)}
	r.tree.Marker = agentrun.Marker(t.Run.MarkerName(), key)
	if err := r.ready(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// run is an attempt whose processes are held.
type run struct {
	x    *Action
	dir  string
	shim *proc.ID // that adopts; nil when it is not known
	tree agentrun.Tree
	sent []string
}

// ready reads who it is, and takes hold of all of it.
func (r *run) ready(ctx context.Context) error {
	s, exit, err := shim.Read(r.dir)
	switch {
	case errors.Is(err, shim.ErrNotStarted) || errors.Is(err, shim.ErrFailed):
		s = shim.Started{}
	case err != nil:
		return fmt.Errorf("cannot tell what the step started: %w", err)
	}
	if s.At.Boot == r.x.boot {
		r.shim = &proc.ID{PID: s.Shim.PID, Start: s.Shim.Start}
		if exit == nil {
			r.tree.Also = append(r.tree.Also, proc.ID(s.Agent))
		}
	}
	if err := r.take(ctx); err != nil {
		return err
	}
	if r.tree.Size() == 0 {
		return agentrun.Unneeded("nothing of it runs")
	}
	members, err := r.tree.Look(ctx)
	if err != nil {
		return err
	}
	return r.tree.Hold(members)
}

// take takes hold of what is known of it without asking for its children: its
// first process, what its shim has adopted, and what carries its marker.
func (r *run) take(ctx context.Context) error {
	adopted, err := r.adopted(ctx)
	if err != nil {
		return err
	}
	for _, id := range adopted {
		h, err := proc.Open(id)
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot take hold of what the step started: %w", err)
		}
		r.tree.Also = append(r.tree.Also, id)
		r.tree.Take(h)
	}
	return nil
}

// adopted lists what lives below the shim, and what carries the marker, but the
// shim itself: it is to write how its step ended.
func (r *run) adopted(ctx context.Context) (out []proc.ID, err error) {
	procs := proc.NewReader(proc.TableOptions{})
	table, err := procs.Table(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for what the step started: %w", err)
	}
	below := r.below(table)
	for _, p := range table {
		isShim := r.shim != nil && p.ID == *r.shim
		if isShim || p.State == "Z" {
			continue
		}
		value, marked, err := procs.Env(p.ID.PID, shim.Marker)
		if below[p.ID.PID] || err == nil && marked && shim.Marker+"="+value == r.tree.Marker {
			out = append(out, p.ID)
		}
	}
	return out, nil
}

// below lists the pids of the shim and of all that descends from it.
func (r *run) below(table []proc.Info) map[int]bool {
	below := map[int]bool{}
	for _, p := range table {
		if r.shim != nil && p.ID == *r.shim {
			below[p.ID.PID] = true
		}
	}
	for more := len(below) > 0; more; {
		more = false
		for _, p := range table {
			if below[p.PPID] && !below[p.ID.PID] {
				below[p.ID.PID], more = true, true
			}
		}
	}
	return below
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot end the step: %w", err)
	}
	for range rounds {
		sent, err := r.tree.End(ctx, r.x.term, killWait)
		r.sent = append(r.sent, sent...)
		if err != nil {
			return err
		}
		if err := r.take(ctx); err != nil {
			return err
		}
		if r.tree.Gone() {
			break
		}
	}
	r.awaitRecord(ctx)
	return nil
}

// awaitRecord gives the shim time to write how the step ended, so that the next
// look sees it. That it does not is for the look to tell.
func (r *run) awaitRecord(ctx context.Context) {
	if r.shim == nil {
		return
	}
	_ = agentrun.Wait(ctx, shimWait, func(context.Context) bool {
		_, exit, err := shim.Read(r.dir)
		h, gone := proc.Open(*r.shim)
		if gone == nil {
			h.Close()
		}
		return exit != nil && errors.Is(gone, proc.ErrGone) || err != nil
	})
}

// Verify implements act.Run: nothing that was ever part of it lives.
func (r *run) Verify(ctx context.Context) (string, error) {
	left, err := r.adopted(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("process %d is left", left[0].PID)
	}
	if err == nil {
		err = r.tree.Over(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("cannot end all of the step: %w, after: %s", err, strings.Join(r.sent, "; "))
	}
	return fmt.Sprintf("%s; nothing is left of %s", strings.Join(r.sent, "; "), fleet.Counted(r.tree.Size(), "process")), nil
}

// Close implements act.Run.
func (r *run) Close() { r.tree.Close() }
