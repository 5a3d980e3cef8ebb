// Package runs is the probe of runs of formulas: what their records say, and what
// is seen of those that are open, from outside: the phase their agent wrote, the
// factory's lock, and the processes of their steps, as their shims wrote them
// down. It changes nothing. Without a run it costs one question to the ledger.
package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// recent is for how long a run that is over is still a fact.
const recent = 24 * time.Hour

// slack is how far times of files and starts of processes may be off: both are
// rounded.
const slack = 2 * time.Second

// Options is what the composition root knows.
type Options struct {
	// Runs returns the runs that are not over, or ended within a day. Needed.
	Runs func(ctx context.Context) ([]fleet.Run, error)
	// Registered returns what the ledger knows of agents; nil: whether the agent of
	// a run lives is then not known.
	Registered func(ctx context.Context) ([]fleet.Registration, error)
	Now        func() fleet.Instant // needed
	Boot       string               // id of this boot; empty asks the kernel
	// ForeignNamespace says whether factories' locks are written in another pid
	// namespace, where a pid says nothing here; nil: that is to be found out.
	ForeignNamespace *bool
	Holder           func(pid int) (proc.Holding, error) // default proc.Holder
	Elsewhere        func(pid int) string                // why a pid that is not here may be elsewhere; default proc.NewElsewhere
	Procs            *proc.Reader                        // for what outlived its shim; default a new one
}

// Probe fills the part "runs".
type Probe struct {
	o     Options
	watch watch

	mu    sync.Mutex
	first *time.Duration // wall clock minus boot clock, at the first look
	setAt time.Time      // when a look last found that the clock had been set
}

// New checks the options.
func New(o Options) (*Probe, error) {
	if o.Runs == nil || o.Now == nil {
		return nil, errors.New("cannot look at runs: no ledger, or no clock")
	}
	if o.Boot == "" {
		boot, err := proc.BootID()
		if err != nil {
			return nil, fmt.Errorf("cannot look at runs: %w", err)
		}
		o.Boot = boot
	}
	if o.Holder == nil {
		o.Holder = proc.Holder
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func(pid int) string { return proc.NewElsewhere().Why(pid) }
	}
	if o.Procs == nil {
		o.Procs = proc.NewReader(proc.TableOptions{})
	}
	return &Probe{o: o}, nil
}

// Spec implements observe.Probe. What happens in the folders of runs has it look
// at once, when Watch runs; what ends without a trace is seen within Every.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "runs", Part: fleet.PartRuns, Every: 5 * time.Second, Deadline: 10 * time.Second, Rest: 100 * time.Millisecond}
}

// Look implements observe.Probe.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	all, err := p.o.Runs(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look at runs: %w", err)
	}
	now := p.o.Now()
	p.watchClock(now)
	p.watch.follow(all) // before anything is read: what comes after is told
	facts, alive := make([]fleet.RunFacts, 0, len(all)), p.alive(ctx, all)
	for _, r := range all {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot look at all runs: %w", ctx.Err())
		}
		if !r.IsOver() || now.Since(r.EndedAt) < recent {
			f := p.facts(ctx, r, now)
			f.Later, f.Lives = later(all, r), alive(r)
			if !r.IsOver() {
				f.Reply = reply(all, r, now)
			}
			facts = append(facts, f)
		}
	}
	return func(s *fleet.Snapshot) { s.Runs.Value = append(s.Runs.Value, facts...) }, nil
}

// facts is one run as it is seen.
func (p *Probe) facts(ctx context.Context, r fleet.Run, now fleet.Instant) fleet.RunFacts {
	f := fleet.RunFacts{
		ID: r.ID, Formula: r.Formula, Project: r.Project, State: r.State, Why: r.Why, Waits: waits(r),
		Age: fleet.Duration(max(0, now.Since(r.At))),
	}
	if s := r.Session; s != nil {
		f.Agent = s.Agent
		if s.Keep != "" {
			f.Kept = strings.TrimPrefix(s.Worktree+": "+s.Keep, ": ")
		}
	}
	if !r.IsOver() || r.Holding != "" {
		f.Held = p.held(r)
	}
	if r.IsOver() {
		const over = "the run is over"
		f.Ended = fleet.Duration(max(1, now.Since(r.EndedAt)))
		f.Phase, f.Locked, f.Reply = fleet.Unknown[fleet.Phrase](over), fleet.Unknown[string](over), fleet.Unknown[bool](over)
		return f
	}
	f.Ready = isFile(r.File(fleet.RunPromptFile))
	f.Phase, f.Locked = p.phase(r, now), p.locked(r, f.Held)
	for _, s := range r.Steps {
		if s.Do == fleet.StepRun && !s.IsOver() {
			f.Steps = append(f.Steps, p.attempts(ctx, r, s)...)
		}
	}
	return f
}

// later is the state of the newest run of the same flight that began after r.
func later(all []fleet.Run, r fleet.Run) (state fleet.RunState) {
	newest := r.At
	for _, o := range all {
		if o.ID != r.ID && o.Flight() == r.Flight() && newest.Before(o.At) {
			newest, state = o.At, o.State
		}
	}
	return state
}

// alive returns what tells whether the agent of a run's session runs. It asks the
// ledger once, and only when there is a session.
func (p *Probe) alive(ctx context.Context, all []fleet.Run) func(fleet.Run) fleet.Leaf[bool] {
	if !slices.ContainsFunc(all, func(r fleet.Run) bool { return r.Session != nil }) {
		return func(fleet.Run) fleet.Leaf[bool] { return fleet.Known(false) }
	}
	var regs []fleet.Registration
	err := errors.New("no ledger of agents")
	if p.o.Registered != nil {
		regs, err = p.o.Registered(ctx)
	}
	return func(r fleet.Run) fleet.Leaf[bool] {
		switch {
		case r.Session == nil:
			return fleet.Known(false)
		case err != nil:
			return fleet.Unknown[bool](fleet.Line(err.Error(), 200))
		}
		return p.agentLives(regs, r)
	}
}

func (p *Probe) agentLives(regs []fleet.Registration, r fleet.Run) fleet.Leaf[bool] {
	i := slices.IndexFunc(regs, func(g fleet.Registration) bool { return g.Name == r.Session.Agent && g.Run == r.ID })
	if i < 0 || regs[i].Process.PID <= 0 || regs[i].Exit != nil && regs[i].Exit.Process == regs[i].Process {
		return fleet.Known(false)
	}
	id := regs[i].Process
	alive, why := p.lives(shim.ID{PID: id.PID, Start: id.Start}, id.Boot)
	if why != "" {
		return fleet.Unknown[bool](why)
	}
	return fleet.Known(alive)
}

func waits(r fleet.Run) string {
	var ids []string
	for _, s := range r.Steps {
		if s.State == fleet.StepPerson {
			ids = append(ids, s.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// attempts are what is known of the attempt at a step that was begun last, and of
// the one that may be begun next.
func (p *Probe) attempts(ctx context.Context, r fleet.Run, s fleet.RunStep) (out []fleet.StepFacts) {
	if s.Attempt > 0 {
		out = append(out, p.step(ctx, r, s.ID, s.Attempt))
	}
	if s.State != fleet.StepRunning {
		out = append(out, p.step(ctx, r, s.ID, s.Attempt+1))
	}
	return out
}

func isFile(path string) bool {
	_, err := files.Lstat(path)
	return err == nil
}

// running lists the runs whose folders can tell something.
func running(all []fleet.Run) []fleet.Run {
	return slices.DeleteFunc(slices.Clone(all), func(r fleet.Run) bool { return r.IsOver() })
}
