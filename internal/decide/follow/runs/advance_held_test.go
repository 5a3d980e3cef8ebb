package runs

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestHeldRuns: of a run or a step that would begin, and does not, it is told what holds
// it back and until when.
func TestHeldRuns(t *testing.T) {
	command := func(id string, change func(*fleet.RunStep)) fleet.RunStep {
		s := fleet.RunStep{ID: id, Do: fleet.StepRun, Argv: []string{"true"}, State: fleet.StepWaiting}
		if change != nil {
			change(&s)
		}
		return s
	}
	run := func(steps ...fleet.RunStep) fleet.Run {
		return fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, State: fleet.RunOpen, At: at(0), Steps: steps}
	}
	gated := func(s *fleet.RunStep) { s.Gate, s.Awaits = &fleet.Gate{Type: fleet.GateHuman}, "k" }
	ready := func(s *fleet.RunStep) { s.State = fleet.StepReady }
	prose := func() fleet.Run {
		r := proseRun()
		r.State = fleet.RunOpen
		for i := range r.Steps {
			r.Steps[i].State = fleet.StepWaiting
		}
		return r
	}
	for name, c := range map[string]struct {
		run    fleet.Run
		past   fleet.Past
		memory fleet.Leaf[int64]
		facts  fleet.RunFacts
		want   string
	}{
		"it begins": {run: run(command("a", nil))},
		"its gate":  {run: run(command("a", gated)), past: fleet.Past{Records: fleet.Records{Gates: []fleet.Gate{{Head: fleet.Head{ID: "g1", Key: "k"}, Type: fleet.GateHuman, State: fleet.GateOpen}}}}, want: "run/r1/a waiting > ready (gate: step a waits for gate g1 (human))"},
		"its pause": {run: run(command("a", func(s *fleet.RunStep) {
			s.Attempt, s.NotBefore, s.Why = 1, at(time.Minute), "attempt 1 failed: it ended with exit status 2"
		})), want: "run/r1/a waiting > ready (cooldown: attempt 1 failed: it ended with exit status 2 until 10:01)"},
		"the others":          {run: func() fleet.Run { r := run(command("a", ready), command("b", nil)); r.Parallel = 1; return r }(), want: "run/r1/b waiting > ready (limit: 1 of its steps at once is the most)"},
		"its needs":           {run: run(command("a", ready), command("b", func(s *fleet.RunStep) { s.Needs = []string{"a"} }))},
		"its lock, not seen":  {run: func() fleet.Run { r := run(command("a", nil)); r.Lock = "/l"; return r }(), want: "run/r1 running > begun (evidence: it was not looked yet whether somebody holds its lock)"},
		"its lock, not taken": {run: func() fleet.Run { r := run(command("a", nil)); r.Lock = "/l"; return r }(), facts: fleet.RunFacts{ID: "r1", Locked: fleet.Known(""), Held: held("")}, want: "run/r1 running > begun (in-flight: its lock is not taken yet)"},
		"memory is not known": {run: prose(), want: "run/r1/look waiting > ready (evidence: it is not known how much memory is left)"},
		"too little memory": {run: func() fleet.Run {
			r := prose()
			r.Steps = append(r.Steps, command("c", ready)) // something was begun: it is not skipped
			return r
		}(), memory: fleet.Known(int64(1 << 20)), want: "run/r1/look waiting > ready (gate: less than 1024 MiB of memory are available)"},
		"skipped for want of memory": {run: prose(), memory: fleet.Known(int64(1 << 20))},
		"its agent is not started": {run: func() fleet.Run {
			r := prose()
			r.Steps[0].State, r.Session.Order = fleet.StepReady, "r1-session-1"
			return r
		}(), past: fleet.Past{Orders: []fleet.Order{{ID: "r1-session-1", Do: fleet.OrderSpawn, Agent: "r1", State: fleet.OrderQueued, Guard: fleet.GuardGate, Why: "2 of 2 agents run", Until: at(time.Minute), Hint: "custos ps"}}},
			memory: fleet.Known(int64(8 << 30)), want: "run/r1 running > its agent works (gate: 2 of 2 agents run until 10:01; custos ps)"},
	} {
		c.past.Runs = []fleet.Run{c.run}
		p := fleet.Pass{Past: c.past, Snapshot: fleet.Snapshot{At: at(0)}}
		if c.memory.IsKnown() {
			p.Snapshot.Host.Status, p.Snapshot.Host.Value.Memory.Available = fleet.StatusOK, c.memory
		}
		if p.Snapshot.Runs.Status = fleet.StatusOK; c.facts.ID != "" {
			p.Snapshot.Runs.Value = []fleet.RunFacts{c.facts}
		}
		got := ""
		for _, h := range Advance(p).Held {
			until := ""
			if !h.Until.IsZero() {
				until = " until " + h.Until.Wall.Format("15:04")
			}
			if h.Hint != "" {
				until += "; " + h.Hint
			}
			got += fmt.Sprintf("%s %s > %s (%s: %s%s)", h.Record, h.From, h.To, h.Guard, h.Held, until)
		}
		if got != c.want {
			t.Errorf("%s: held back is\n %s\nwant\n %s", name, got, c.want)
		}
	}
}
