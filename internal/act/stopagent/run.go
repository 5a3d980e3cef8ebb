package stopagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// rounds is how often the tree is looked for again after SIGKILL: a process
// may have forked between the look and the signal.
const rounds = 5

// run is an agent that is held, with all that it started.
type run struct {
	*agentrun.Live
	x      *Action
	by     string
	known  bool                     // its kind is
	root   bool                     // Handle holds the agent itself
	also   []proc.ID                // as known before
	held   map[proc.ID]*proc.Handle // everything ever found
	spared []error                  // what was found in it late and must not be signalled
	rungs  []string                 // what was done, for people
	closed bool
}

// tree looks for the tree, and refuses one that must not be touched.
func (r *run) tree(ctx context.Context) ([]proc.Member, error) {
	tree, err := r.Handle.Tree(ctx, proc.TreeOptions{Also: r.also, Marker: agentrun.Marker(r.Agent.Name, r.Agent.Instance)})
	if err != nil {
		return nil, fmt.Errorf("cannot stop: %w", err)
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return nil, fmt.Errorf("cannot stop: %w", err)
	}
	for _, m := range tree {
		if err := agentrun.Allowed(m, lineage); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// hold opens what is not held yet; one that has ended meanwhile needs no holding.
func (r *run) hold(tree []proc.Member) error {
	for _, m := range tree {
		if r.held[m.ID] != nil {
			continue
		}
		h, err := proc.Open(m.ID)
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot stop: %w", err)
		}
		r.held[m.ID] = h
	}
	return nil
}

// again looks for the tree once more and takes hold of what is new in it. What
// must not be signalled is spared, and Verify says so.
func (r *run) again(ctx context.Context) error {
	if r.Handle == nil {
		return nil
	}
	tree, err := r.Handle.Tree(ctx, proc.TreeOptions{Also: r.also, Marker: agentrun.Marker(r.Agent.Name, r.Agent.Instance)})
	if err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	lineage, err := proc.Lineage()
	if err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	r.spared = nil
	return r.hold(slices.DeleteFunc(tree, func(m proc.Member) bool {
		err := agentrun.Allowed(m, lineage)
		if err != nil {
			r.spared = append(r.spared, err)
		}
		return err != nil
	}))
}

// live lists what has not ended, oldest first: parents before their children.
func (r *run) live() []*proc.Handle {
	var out []*proc.Handle
	for _, h := range r.held {
		if !h.Ended() {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *proc.Handle) int {
		x, y := a.ID(), b.ID()
		if x.Start != y.Start {
			return int(int64(x.Start) - int64(y.Start))
		}
		return x.PID - y.PID
	})
	return out
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	if len(r.held) > 0 {
		if _, err := r.tree(ctx); err != nil {
			return err
		}
		if !fleet.IsPerson(r.by) {
			if err := r.mayDisturb(ctx); err != nil {
				return err
			}
		}
		r.bePolite(ctx)
		if err := r.beHard(ctx); err != nil {
			return err
		}
	}
	return r.closePlace(ctx)
}

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

// beHard ends what is left: SIGTERM, a wait, SIGKILL, and again what came late.
func (r *run) beHard(ctx context.Context) error {
	if err := r.again(ctx); err != nil {
		return err
	}
	for round := range rounds {
		left := r.live()
		if len(left) == 0 {
			return nil
		}
		sigs, wait, say := []syscall.Signal{syscall.SIGKILL}, r.x.kill, "SIGKILL"
		if round == 0 {
			// SIGCONT because a stopped process would not see SIGTERM.
			sigs, wait, say = []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}, r.x.term, "SIGTERM"
		}
		r.rungs = append(r.rungs, fmt.Sprintf("%s to %d processes", say, len(left)))
		if err := send(left, sigs...); err != nil {
			return err
		}
		if err := r.settle(ctx, wait); err != nil {
			return err
		}
	}
	return nil // Verify says what is left
}

func send(to []*proc.Handle, sigs ...syscall.Signal) error {
	for _, h := range to {
		for _, sig := range sigs {
			if err := h.Signal(sig); err != nil && !errors.Is(err, proc.ErrGone) {
				return fmt.Errorf("cannot stop all of it: %w", err)
			}
		}
	}
	return nil
}

// glance is how often the tree is looked for while it ends: a child that leaves
// its session is found only as long as its parent lives.
const glance = 100 * time.Millisecond

// settle waits until all of the tree has ended, at most d.
func (r *run) settle(ctx context.Context, d time.Duration) error {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for within.Err() == nil {
		live := r.live()
		if len(live) == 0 {
			break
		}
		soon, done := context.WithTimeout(within, glance)
		_ = live[0].Wait(soon) // its error is that time is up
		done()
		if err := r.again(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot wait for its end: %w", err)
	}
	return nil
}

// closePlace removes a place of ours once nothing runs in it; a terminal that
// somebody else opened stays. The shim is given time to write how it ended.
func (r *run) closePlace(ctx context.Context) error {
	if r.Provider == nil || r.Agent.Owner != fleet.OwnerCustos || len(r.live()) > 0 {
		return nil
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
	if err := r.again(ctx); err != nil {
		return "", fmt.Errorf("cannot show that nothing is left: %w", err)
	}
	if len(r.spared) > 0 {
		return "", errors.Join(r.spared...)
	}
	var left []string
	for _, h := range r.live() {
		left = append(left, fmt.Sprint(h.ID().PID))
	}
	if len(left) > 0 {
		return "", fmt.Errorf("cannot end process %s, after: %s", strings.Join(left, ", "), strings.Join(r.rungs, "; "))
	}
	says := r.rungs
	if len(r.held) > 0 {
		says = append(says, fmt.Sprintf("nothing is left of %d processes", len(r.held)))
	}
	if r.closed {
		says = append(says, "its place is closed")
	}
	return strings.Join(says, "; "), nil
}

// Learned returns how it ended, and who asked for it.
func (r *run) Learned() *fleet.Registration {
	if r.Reg == nil || len(r.live()) > 0 || r.Reg.Instance != r.Agent.Instance {
		return nil
	}
	reg, asked := *r.Reg, r.by
	if asked == "" {
		asked = fleet.ByCustos
	}
	x := fleet.Exit{Instance: reg.Instance, Process: r.Agent.Process, At: r.x.Now(), Source: "none", Asked: asked,
		Status: fleet.Unknown[int]("nobody saw it"), Signal: fleet.Unknown[int]("nobody saw it")}
	if shim.IsKey(reg.Instance) {
		if s, exit, err := shim.Read(shim.Dir(r.Shims, reg.Instance)); err == nil && exit != nil {
			x = agentrun.Exit(s, *exit, asked)
		}
	}
	if !r.root && reg.Exit != nil {
		return nil // it had ended before, and nobody had asked for that
	}
	reg.Exit = &x
	return &reg
}

// Close implements act.Run.
func (r *run) Close() {
	for _, h := range r.held {
		h.Close()
	}
}
