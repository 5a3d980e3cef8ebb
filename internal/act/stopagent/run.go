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
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/shim"
)

// run is an agent that is held, with all that it started.
type run struct {
	*agentrun.Live
	x      *Action
	by     string
	known  bool // its kind is
	root   bool // the agent itself is held, not only what it left
	tree   agentrun.Tree
	rungs  []string // what was done, for people
	closed bool
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	if r.tree.Size() > 0 {
		if err := r.end(ctx); err != nil {
			return err
		}
	}
	return r.closePlace(ctx)
}

func (r *run) end(ctx context.Context) error {
	if _, err := r.tree.Look(ctx); err != nil {
		return err
	}
	if err := r.mayDisturb(ctx); err != nil {
		return err
	}
	r.sayAsked()
	r.bePolite(ctx)
	sent, err := r.tree.End(ctx, r.x.term, r.x.kill)
	r.rungs = append(r.rungs, sent...)
	if err != nil && r.root && !r.Handle.Ended() {
		_ = r.x.takeBack(r.Agent.Instance, r.by)
	}
	return err
}

// sayAsked writes down beside the instance who asked for its end, before it is asked
// to: the look that sees it end reads that, too. What the ledger learns comes
// after the end.
func (r *run) sayAsked() {
	if r.root && shim.IsKey(r.Agent.Instance) {
		_ = shim.SayAsked(shim.Dir(r.Shims, r.Agent.Instance), asker(r.by), fleet.IsPerson(r.by)) // the ledger will say so
	}
}

// takeBack leaves an agent that outlived its stop without a word that would explain
// its end another day.
func (x *Action) takeBack(instance, by string) error {
	if !shim.IsKey(instance) {
		return nil
	}
	return shim.UnsayAsked(shim.Dir(x.Shims, instance), asker(by))
}

// asker is who asked for a stop; Custos, where a rule did.
func asker(by string) string { return cmp.Or(by, fleet.ByCustos) }

// bePolite asks the agent to exit, and interrupts it first where it works.
// Whatever goes wrong with that, the hard way is left.
func (r *run) bePolite(ctx context.Context) {
	if r.Provider == nil || !r.root || !r.known && !r.Headless() {
		return
	}
	if r.askNow(ctx) && r.gone(ctx, r.x.ask) {
		return
	}
	if !r.interruptNow(ctx) {
		return
	}
	_ = agentrun.Wait(ctx, r.x.interrupt, func(ctx context.Context) bool { return r.Handle.Ended() || r.isIdle(ctx) })
	if !r.Handle.Ended() && r.askNow(ctx) {
		r.gone(ctx, r.x.ask)
	}
}

func (r *run) isIdle(ctx context.Context) bool {
	if r.Headless() {
		return false
	}
	v, err := r.Look(ctx)
	ready, known := v.Ready.Get()
	return err == nil && known && ready && v.Undisturbed() == nil
}

// askNow types what ends the program, where it is idle and its input line empty.
func (r *run) askNow(ctx context.Context) bool {
	if !r.isIdle(ctx) {
		return false
	}
	var err error
	if r.Kind.ExitCommand == "" {
		err = r.Press(ctx, r.Kind.Exit)
	} else {
		err = r.Provider.Type(ctx, r.Pane, session.Input{Text: r.Kind.ExitCommand, Agent: r.Agent.Process})
		if err == nil {
			_ = agentrun.Wait(ctx, time.Second, func(ctx context.Context) bool { return !r.isIdle(ctx) })
			err = r.Press(ctx, []string{string(session.KeyEnter)})
		}
	}
	if err == nil && len(farewell(r.Kind)) > 0 {
		r.rungs = append(r.rungs, "asked it to exit")
		return true
	}
	return false
}

// farewell is what ends a program of the kind, as it is typed.
func farewell(k agent.Kind) []string {
	if k.ExitCommand != "" {
		return []string{k.ExitCommand, string(session.KeyEnter)}
	}
	return k.Exit
}

func (r *run) interruptNow(ctx context.Context) bool {
	keys := r.Kind.Interrupt
	if r.Headless() {
		keys = []string{string(session.KeyInterrupt)}
	} else if v, err := r.Look(ctx); err != nil || v.Undisturbed() != nil {
		return false
	}
	if len(keys) == 0 || r.Handle.Ended() || r.Press(ctx, keys) != nil {
		return false
	}
	r.rungs = append(r.rungs, "interrupted it")
	return true
}

// gone waits for the agent itself to end.
func (r *run) gone(ctx context.Context, d time.Duration) bool {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return r.Handle.Wait(within) == nil
}

// isPlaceOurs says whether Custos has made the place that an agent is in, though it was
// adopted: what was known of it was lost.
func isPlaceOurs(a fleet.Agent) bool {
	return a.Owner == fleet.OwnerCustos || a.Owner == fleet.OwnerAdopted && shim.IsKey(a.Instance)
}

// findLeft looks for the place that the instance has left, where the one that was planned
// with is not there as it was: of a pane that has died since, only the number is the same.
func (r *run) findLeft(ctx context.Context) error {
	if r.Provider != nil || !isPlaceOurs(r.Agent) {
		return nil
	}
	p, pane, err := r.Find(ctx, &fleet.Agent{Instance: r.Agent.Instance, Owner: r.Agent.Owner})
	switch {
	case err == nil:
		r.Provider, r.Pane = p, pane.ID
	case !errors.Is(err, act.ErrRefused):
		return err
	}
	return nil
}

// closePlace removes a place of ours once nothing runs in it; a terminal that
// a person or another program opened stays. The shim is given time to write how it ended.
func (r *run) closePlace(ctx context.Context) error {
	if !isPlaceOurs(r.Agent) || !r.tree.Gone() {
		return nil
	}
	if err := r.findLeft(ctx); r.Provider == nil {
		return err
	}
	if shim.IsKey(r.Agent.Instance) {
		_ = agentrun.Wait(ctx, 2*time.Second, func(context.Context) bool {
			_, x, err := shim.Read(shim.Dir(r.Shims, r.Agent.Instance))
			return x != nil || err != nil
		})
	}
	if err := r.Provider.Close(ctx, r.Pane); err != nil {
		return err
	}
	r.closed = true
	return nil
}

// Verify implements act.Run: nothing that was ever part of it lives.
func (r *run) Verify(ctx context.Context) (string, error) {
	if err := r.tree.Over(ctx); err != nil {
		return "", fmt.Errorf("%w, after: %s", err, strings.Join(r.rungs, "; "))
	}
	says := r.rungs
	if on := r.tree.RunsOn(); len(on) > 0 {
		says = append(says, on...)
	} else if n := r.tree.Size(); n > 0 {
		says = append(says, "nothing is left of "+fleet.Counted(n, "process"))
	}
	if r.closed {
		says = append(says, "its place is closed")
	}
	for _, why := range r.tree.Left {
		says = append(says, "left alone: "+why)
	}
	return strings.Join(says, "; "), nil
}

// Learned returns how it ended, and who asked for it.
func (r *run) Learned() *fleet.Registration {
	if r.Reg == nil || !r.tree.Gone() || r.Reg.Instance != r.Agent.Instance {
		return nil
	}
	reg, asked := *r.Reg, asker(r.by)
	x := fleet.Exit{Instance: reg.Instance, Process: r.Agent.Process, At: r.x.Now(), Source: "none", Asked: asked,
		Status: fleet.Unknown[int]("it was not seen"), Signal: fleet.Unknown[int]("it was not seen")}
	if shim.IsKey(reg.Instance) {
		if s, exit, err := shim.Read(shim.Dir(r.Shims, reg.Instance)); err == nil && exit != nil {
			x = agentrun.Exit(s, *exit, asked)
		}
	}
	if !r.root && reg.Exit != nil {
		return nil // it had ended before, and no stop had asked for that
	}
	reg.Exit = &x
	return &reg
}

// Close implements act.Run.
func (r *run) Close() { r.tree.Close() }
