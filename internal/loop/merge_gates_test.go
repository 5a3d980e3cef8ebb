package loop_test

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// mqProc is one attempt at a step of a run: the gates of a group.
type mqProc struct {
	ends   time.Duration // never: it hangs
	status int
	signal int
	doubt  bool // the machine went down beneath it
	tests  fleet.TestReport
}

const mqNever = time.Duration(1<<63 - 1)

func mqKey(run, step string, attempt int) string { return fmt.Sprintf("%s/%s/%d", run, step, attempt) }

// beginStep starts the command of a step, under its exclusive key.
func (c *mqCustos) beginStep(t *fleet.StepTarget) {
	key := mqKey(t.Run.ID, t.Step, t.Attempt)
	if c.procs[key] != nil {
		return
	}
	on := c.made[t.Run.Work]
	if on == nil {
		c.w.fail("%s: %s runs in no worktree: %q", c.name, key, t.Run.Work)
	}
	c.gateRuns++
	p := &mqProc{ends: c.w.now + c.w.takes()}
	c.procs[key], c.running[key] = p, p
	switch c.w.gate(on) {
	case mqGateFails:
		p.status, p.tests = 1, c.w.report(on)
	case mqGateDies:
		p.signal = 9
	case mqGateHangs:
		p.ends = mqNever
	}
}

func (c *mqCustos) endStep(t *fleet.StepTarget) {
	if p := c.procs[mqKey(t.Run.ID, t.Step, t.Attempt)]; p != nil && p.ends > c.w.now {
		p.ends, p.signal = c.w.now, 15
	}
}

// seen are the runs as a probe sees them.
func (c *mqCustos) seen() (out []fleet.RunFacts) {
	for _, r := range c.book.past.Runs {
		if r.IsOver() {
			continue
		}
		f := fleet.RunFacts{ID: r.ID, Formula: r.Formula, State: r.State}
		for _, s := range r.Steps {
			if s.IsOver() {
				continue
			}
			for _, attempt := range []int{s.Attempt, s.Attempt + 1} {
				f.Steps = append(f.Steps, c.seenStep(r.ID, s.ID, attempt))
			}
		}
		out = append(out, f)
	}
	return out
}

func (c *mqCustos) seenStep(run, step string, attempt int) fleet.StepFacts {
	f := fleet.StepFacts{Step: step, Attempt: attempt, State: fleet.ProcNone, Status: fleet.Unknown[int]("not yet"), Signal: fleet.Unknown[int]("not yet")}
	p := c.procs[mqKey(run, step, attempt)]
	switch {
	case p == nil:
	case p.doubt:
		f.State, f.Why = fleet.ProcInDoubt, "the machine was started again"
	case p.ends > c.w.now:
		f.State = fleet.ProcRunning
	case p.signal != 0:
		f.State, f.Signal = fleet.ProcEnded, fleet.Known(p.signal)
	default:
		f.State, f.Status, f.Tests = fleet.ProcEnded, fleet.Known(p.status), p.tests
	}
	return f
}
