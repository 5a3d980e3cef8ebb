package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// What a shim takes between writing how its step ended and either listing what
// is left or ending itself.
const (
	settleTries = 20
	settleEvery = 5 * time.Millisecond
)

// step says what is known of one attempt.
func (p *Probe) step(ctx context.Context, r fleet.Run, id string, attempt int) fleet.StepFacts {
	a := attempted{p: p, dir: r.StepDir(id, attempt), marker: r.MarkerName() + ":" + fleet.StepKey(id, attempt), work: fleet.RawPath(r.Work)}
	if s := r.Step(id); s != nil {
		a.report = s.Report
	}
	a.f = fleet.StepFacts{Step: id, Attempt: attempt, Status: fleet.Unknown[int](notEnded), Signal: fleet.Unknown[int](notEnded)}
	a.look(ctx)
	if log := filepath.Join(a.dir, "stdout.log"); isFile(log) {
		a.f.Output = fleet.Path(log)
	}
	return a.f
}

const notEnded = "it has not ended by itself"

// attempted is an attempt that is being looked at.
type attempted struct {
	p           *Probe
	dir, marker string
	work        string // the folder that reports are in
	report      string // as the step has it; "" for none
	f           fleet.StepFacts
}

func (a *attempted) is(state fleet.ProcState, why string) {
	a.f.State, a.f.Why = state, fleet.Redact(fleet.Line(why, 300))
}

func (a *attempted) look(ctx context.Context) {
	s, exit, err := shim.Read(a.dir)
	switch {
	case errors.Is(err, shim.ErrFailed):
		a.is(fleet.ProcFailed, err.Error())
	case errors.Is(err, shim.ErrNotStarted):
		a.notStarted(ctx)
	case err != nil:
		a.is(fleet.ProcUnknown, err.Error())
	default:
		a.f.Process = a.process(s.Agent, s.At.Boot)
		a.started(ctx, s, exit)
	}
}

// notStarted is about an attempt without a record.
func (a *attempted) notStarted(ctx context.Context) {
	if why, ok := note(filepath.Join(a.dir, fleet.RunNotStarted)); ok {
		a.is(fleet.ProcFailed, why)
		return
	}
	c, err := shim.ReadClaim(a.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.is(fleet.ProcNone, "")
	case err != nil:
		a.is(fleet.ProcUnknown, err.Error())
	case c.Shim.PID == 0:
		a.is(fleet.ProcFailed, "it was given up before it began")
	default:
		a.claimed(ctx, c)
	}
}

// claimed is about a shim that took the attempt and has not told what became of it.
func (a *attempted) claimed(ctx context.Context, c shim.Claim) {
	switch alive, why := a.p.lives(c.Shim, c.At.Boot); {
	case why != "":
		a.is(fleet.ProcUnknown, why)
	case alive:
		a.is(fleet.ProcUnknown, "it is just being started")
	default:
		if s, exit, err := shim.Read(a.dir); err == nil { // it finished between the two looks
			a.f.Process = a.process(s.Agent, s.At.Boot)
			a.started(ctx, s, exit)
			return
		}
		a.doubt(ctx, "its shim is gone without a record")
	}
}

// started is about an attempt that was started for certain.
func (a *attempted) started(ctx context.Context, s shim.Started, exit *shim.Exit) {
	shimLives, why := a.p.lives(s.Shim, s.At.Boot)
	if why != "" && exit == nil {
		a.is(fleet.ProcUnknown, why)
		return
	}
	if exit == nil && !shimLives { // it may have written its last word since
		if _, exit, _ = shim.Read(a.dir); exit == nil {
			a.alone(ctx, s)
			return
		}
	}
	if exit == nil {
		a.is(fleet.ProcRunning, "")
		return
	}
	a.ended(ctx, s, *exit, shimLives)
}

// alone is about an attempt whose shim is gone: nobody writes how it ends.
func (a *attempted) alone(ctx context.Context, s shim.Started) {
	switch alive, why := a.p.lives(s.Agent, s.At.Boot); {
	case why != "":
		a.is(fleet.ProcUnknown, why)
	case alive:
		a.is(fleet.ProcRunning, "its shim is gone: how it ends nobody will see")
	case s.At.Boot != a.p.o.Boot:
		a.is(fleet.ProcInDoubt, "the machine was started anew while it ran")
	default:
		a.doubt(ctx, "its shim was killed, and nobody saw how it ended")
	}
}

// doubt is about an attempt of which nobody saw the end. What carries its marker
// lives on.
func (a *attempted) doubt(ctx context.Context, why string) {
	a.is(fleet.ProcInDoubt, why)
	a.p.o.Procs.Forget()
	table, err := a.p.o.Procs.Table(ctx)
	if err != nil {
		a.is(fleet.ProcUnknown, err.Error())
		return
	}
	for _, row := range table {
		value, marked, err := a.p.o.Procs.Env(row.ID.PID, shim.Marker)
		if err == nil && marked && value == a.marker && row.State != "Z" && row.ID.PID != os.Getpid() {
			a.f.Left = append(a.f.Left, fleet.ProcessID{PID: row.ID.PID, Start: row.ID.Start, Boot: a.p.o.Boot})
		}
	}
}

// ended is about an attempt whose end is written. Its shim stays for as long as
// anything lives that it left, and lists that an instant later.
func (a *attempted) ended(ctx context.Context, s shim.Started, x shim.Exit, shimLives bool) {
	for range settleTries {
		left, err := shim.ReadLeft(a.dir)
		if err != nil {
			a.is(fleet.ProcUnknown, err.Error())
			return
		}
		if len(left) > 0 || !shimLives {
			a.over(s, x, left)
			return
		}
		select {
		case <-ctx.Done():
			a.is(fleet.ProcUnknown, "there was no time to see what it left behind")
			return
		case <-time.After(settleEvery):
		}
		shimLives, _ = a.p.lives(s.Shim, s.At.Boot)
	}
	a.is(fleet.ProcRunning, "it has ended; what it left behind is not listed yet")
}

func (a *attempted) over(s shim.Started, x shim.Exit, left []shim.Left) {
	a.is(fleet.ProcEnded, "")
	a.f.At = fleet.Instant{Wall: x.At.Wall.UTC(), Up: fleet.Duration(x.At.Up), Boot: x.At.Boot}
	if x.Status != nil {
		a.f.Status, a.f.Signal = fleet.Known(*x.Status), fleet.Unknown[int]("it was not ended by a signal")
	} else {
		a.f.Status, a.f.Signal = fleet.Unknown[int]("it was ended by a signal"), fleet.Known(*x.Signal)
	}
	if x.OOM != nil && *x.OOM {
		a.f.Why = "out of memory"
	}
	for _, l := range left {
		if alive, why := a.p.lives(l.ID, s.At.Boot); alive || why != "" {
			a.f.Left = append(a.f.Left, a.process(l.ID, s.At.Boot))
		}
	}
	if a.report != "" && len(a.f.Left) == 0 { // what is left may still write it
		a.f.Tests = a.tests(fleet.Instant{Wall: s.At.Wall, Up: fleet.Duration(s.At.Up), Boot: s.At.Boot})
	}
}

func (a *attempted) process(id shim.ID, boot string) fleet.ProcessID {
	return fleet.ProcessID{PID: id.PID, Start: id.Start, Boot: boot}
}

// lives says whether a process of some boot runs; why, when that cannot be told.
func (p *Probe) lives(id shim.ID, boot string) (alive bool, why string) {
	if boot != p.o.Boot {
		return false, ""
	}
	h, err := p.o.Holder(id.PID)
	switch {
	case errors.Is(err, proc.ErrGone):
		return false, ""
	case err != nil:
		return false, fleet.Line(err.Error(), 200)
	}
	return h.ID == proc.ID(id), ""
}

// note reads the line that run-step left of an attempt that could not be started.
func note(path string) (string, bool) {
	f, _, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := files.Head(f, files.MaxSmall)
	return string(text), err == nil
}
