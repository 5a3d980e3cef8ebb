// Package runstep is the action "run-step": it starts one attempt at a step of a
// run under custos-shim, and returns as soon as the process runs. How it ends is
// a fact that the probe of runs sees, even when Custos was not there.
//
// The key of the attempt is claimed by the shim alone: done again after a crash,
// the action finds what the first try began and starts nothing twice. No value
// of a variable is ever part of a shell's text: a script is a file of its own,
// and reads its variables from its environment.
package runstep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// Do is the name of the action.
const Do = "run-step"

// logMax is how much is kept of what a step prints, of its output and of its
// errors each: more than anybody reads.
const logMax = 4 << 20

// scriptFile is the step's script in the folder of the attempt.
const scriptFile = "script.sh"

// Options is what the composition root knows.
type Options struct {
	// Open returns the provider of processes without a terminal whose instances are
	// in a folder (raw): each run has one of its own, so that no step is ever taken
	// for an agent. Needed.
	Open func(root string) (session.Provider, error)
	// Room refuses where the disk is nearly full; nil asks nothing.
	Room    func(dirs ...string) error
	Tools   string          // folder that comes first in the PATH of steps; empty: none does
	Environ func() []string // default os.Environ
}

// Action implements act.Action.
type Action struct {
	o     Options
	turns shim.Turns
}

// New checks the options.
func New(o Options) (*Action, error) {
	if o.Open == nil {
		return nil, errors.New("cannot set up run-step: nothing starts processes")
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	return &Action{o: o}, nil
}

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true,
		Touches:  []fleet.PartName{fleet.PartRuns, fleet.PartProcesses, fleet.PartHost},
		Deadline: fleet.Duration(time.Minute),
	}
}

// Commands implements act.Action. Values of variables are not in it: what a
// script reads stays in its environment.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	l, err := planned(a.Target.Step)
	if err != nil {
		return []fleet.Command{{Argv: []string{shim.Program}, Note: fleet.Line(err.Error(), 200)}}
	}
	note := fmt.Sprintf("in %s, under its own %s, as attempt %d at step %s of run %s", fleet.Path(l.dir), shim.Program, l.attempt, l.step.ID, l.run.ID)
	if l.step.Script != "" {
		note += "; the script: " + fleet.Redact(fleet.Line(l.step.Script, 300))
	}
	return []fleet.Command{{Argv: fleet.RedactArgs(l.argv()), Note: note}}
}

// launch is one attempt, as it is to be started.
type launch struct {
	run     fleet.Run
	step    fleet.RunStep
	attempt int
	dir     string // working folder, raw
	folder  string // of the attempt, raw
	key     string
}

// planned works an attempt out from the target alone.
func planned(t *fleet.StepTarget) (launch, error) {
	if t == nil || t.Attempt < 1 {
		return launch{}, errors.New("cannot run a step: the target is no attempt at one")
	}
	s := t.Run.Step(t.Step)
	switch {
	case s == nil:
		return launch{}, fmt.Errorf("cannot run step %q: run %s has none of that name", fleet.Line(t.Step, 80), t.Run.ID)
	case s.Do != fleet.StepRun || (s.Script == "") == (len(s.Argv) == 0):
		return launch{}, fmt.Errorf("cannot run step %s: it is no one command", s.ID)
	case !filepath.IsAbs(fleet.RawPath(t.Run.Dir)) || !shim.IsKey(t.Run.ID):
		return launch{}, fmt.Errorf("cannot run step %s: run %q has no folder of its own", s.ID, fleet.Line(t.Run.ID, 80))
	}
	l := launch{run: t.Run, step: *s, attempt: t.Attempt, key: fleet.StepKey(s.ID, t.Attempt), folder: t.Run.StepDir(s.ID, t.Attempt)}
	l.dir = workDir(t.Run, *s)
	return l, nil
}

// workDir is where a step works: its own folder, seen from the project's, else
// the project's, else the run's.
func workDir(r fleet.Run, s fleet.RunStep) string {
	base := fleet.RawPath(r.Work)
	if base == "" {
		base = fleet.RawPath(r.Dir)
	}
	dir := fleet.RawPath(s.Dir)
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(base, dir)
}

func (l launch) argv() []string {
	if l.step.Script != "" {
		return []string{"/bin/sh", "-e", filepath.Join(l.folder, scriptFile)}
	}
	return l.step.Argv
}

// Prepare implements act.Action. An attempt that was begun is never begun again,
// whatever became of it.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot run a step: %w", err)
	}
	l, err := planned(a.Target.Step)
	if err != nil {
		return nil, err
	}
	if err := l.unbegun(); err != nil {
		return nil, err
	}
	if x.o.Room != nil {
		if err := x.o.Room(l.folder, l.dir); err != nil {
			return nil, err
		}
	}
	return &run{x: x, l: l}, nil
}

// unbegun refuses an attempt that left a trace.
func (l launch) unbegun() error {
	switch why, err := files.Read(filepath.Join(l.folder, fleet.RunNotStarted), 4096); {
	case err == nil:
		return agentrun.Refused("attempt %d could not be started: %s", l.attempt, fleet.Line(string(why), 200))
	case !errors.Is(err, fs.ErrNotExist):
		return agentrun.Refused("whether attempt %d was begun cannot be told: %v", l.attempt, err)
	}
	s, exit, err := shim.Read(l.folder)
	switch {
	case err == nil && exit != nil:
		return agentrun.Unneeded("attempt %d was started and has ended: %s", l.attempt, agentrun.Ending(*exit))
	case err == nil:
		return agentrun.Unneeded("attempt %d was started as process %d", l.attempt, s.Agent.PID)
	case errors.Is(err, shim.ErrFailed):
		return nil // cut off before it could be written down; nothing ran
	case !errors.Is(err, shim.ErrNotStarted):
		return fmt.Errorf("cannot tell whether attempt %d was started: %w", l.attempt, err)
	}
	return l.unclaimed()
}

// unclaimed refuses an attempt that a shim has taken without saying what came of it.
func (l launch) unclaimed() error {
	c, err := shim.ReadClaim(l.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot tell whether attempt %d was started: %w", l.attempt, err)
	case c.Shim.PID == 0:
		return agentrun.Refused("attempt %d was given up", l.attempt)
	}
	return agentrun.Refused("attempt %d is in doubt: shim %d has claimed it", l.attempt, c.Shim.PID)
}

// run is one start.
type run struct {
	x       *Action
	l       launch
	missing []string
}

// Do implements act.Run. What is wrong with the step itself is written down as
// the end of this attempt: nothing ran, and nothing will.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot run the step: %w", err)
	}
	done, err := r.x.turns.Take(ctx, r.l.folder)
	if err != nil {
		return err
	}
	defer done()
	if err := r.l.unbegun(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.l.folder, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the attempt: %w", err)
	}
	if info, err := os.Stat(r.l.dir); err != nil || !info.IsDir() {
		return r.l.giveUp(fmt.Errorf("cannot run the step: its folder %s is not there", fleet.Path(r.l.dir)))
	}
	if err := r.l.writeScript(); err != nil {
		return err
	}
	return r.start(ctx)
}

func (r *run) start(ctx context.Context) error {
	p, err := r.x.o.Open(r.l.run.StepsDir())
	if err != nil {
		return err
	}
	var env []string
	env, r.missing = r.l.environment(r.x.o.Environ(), r.x.o.Tools)
	_, err = p.Launch(ctx, session.Launch{Name: r.l.run.MarkerName(), Instance: r.l.key, Argv: r.l.argv(), Env: env,
		Dir: r.l.dir, Shim: r.l.folder, LogMax: logMax})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrInDoubt):
		return fmt.Errorf("cannot tell whether the step was started: %w", err)
	case errors.Is(err, shim.ErrFailed):
		return r.l.giveUp(err)
	}
	return fmt.Errorf("cannot start the step: %w", err)
}

// giveUp writes down that the attempt could not be started.
func (l launch) giveUp(cause error) error {
	text := fleet.Redact(fleet.Line(cause.Error(), 500))
	err := os.MkdirAll(l.folder, 0o700) // a launch that fails takes an empty folder with it
	if err == nil {
		err = files.Write(filepath.Join(l.folder, fleet.RunNotStarted), []byte(text+"\n"), 0o600)
	}
	if err != nil {
		return errors.Join(cause, fmt.Errorf("cannot write that down: %w", err))
	}
	return cause
}

// writeScript puts the script into the folder, as it is.
func (l launch) writeScript() error {
	if l.step.Script == "" {
		return nil
	}
	path := filepath.Join(l.folder, scriptFile)
	if err := files.Replace(path, []byte(l.step.Script), 0o700); err != nil {
		return fmt.Errorf("cannot write the script: %w", err)
	}
	return nil
}

// Verify implements act.Run: it runs, or has ended already.
func (r *run) Verify(context.Context) (string, error) {
	s, exit, err := shim.Read(r.l.folder)
	if err != nil {
		return "", fmt.Errorf("cannot show that the step was started: %w", err)
	}
	effect := fmt.Sprintf("attempt %d started as process %d in %s, output in %s", r.l.attempt, s.Agent.PID, fleet.Path(r.l.dir),
		fleet.Path(filepath.Join(r.l.folder, "stdout.log")))
	if exit != nil {
		effect += "; it has ended: " + agentrun.Ending(*exit)
	}
	if len(r.missing) > 0 {
		effect += "; not set here: " + strings.Join(r.missing, ", ")
	}
	return effect, nil
}

// Close implements act.Run.
func (r *run) Close() {}
