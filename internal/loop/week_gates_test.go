package loop_test

import (
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// gates: 42, six of each type, each with a moment at which what it waits for comes.
func (s *scripting) gates() {
	w := s.w
	for i := range 42 {
		g := fleet.Gate{Type: fleet.GateTypes()[i%7], Title: fmt.Sprintf("gate %d", i), Waiters: []string{w.agents[i].name}}
		if i%5 == 0 {
			g.Waiters = append(g.Waiters, fleet.Overseer)
		}
		made := s.between(0.05, 0.6)
		comes := s.between(made+0.01, 0.95)
		s.gate(i, made, comes, g)
	}
}

func (s *scripting) gate(i int, made, comes float64, g fleet.Gate) {
	w := s.w
	id, come := "", func() {}
	name := fmt.Sprintf("%s/p%d#%d", "wp", i%5, i)
	switch g.Type {
	case fleet.GateTimer:
	case fleet.GateEvent:
		g.On = fmt.Sprintf("trigger:n%d", i)
		come = func() {
			w.must(func(fleet.Records) (fleet.Records, error) {
				return fleet.Records{Triggers: []fleet.Trigger{{Name: fmt.Sprintf("n%d", i), By: "ann", At: w.now()}}}, nil
			})
		}
	case fleet.GateCondition:
		if i%2 == 0 {
			g.When = fmt.Sprintf("host.cpus == %d", i)
			come = func() { w.locked(func() { w.holds[g.When] = true }) }
		} else {
			g.Check = []string{"true"}
			come = func() { w.locked(func() { w.checks[id] = true }) }
		}
	case fleet.GateRun:
		g.Run = name
		w.pipes[name] = &fleet.Pipeline{Name: name, Project: "p0", System: "wp", Owner: fleet.OwnerConfigured, State: fleet.Known("running"), Running: fleet.Known(fleet.Duration(0)),
			Pending: fleet.Known(fleet.Duration(0)), Ended: fleet.Known(fleet.Duration(0))}
		come = func() {
			w.locked(func() { w.pipes[name].State = fleet.Known([]string{"success", "failure"}[i%2]) })
		}
	case fleet.GatePull:
		ref := fleet.Ref(fleet.PullName(weekProject(i), i))
		g.Of = ref
		w.pulls[ref] = weekPull(ref, weekProject(i), i)
		come = func() { w.locked(func() { w.merge(ref, i%2 == 0) }) }
	case fleet.GateHuman:
		come = func() { w.closeGate(id) }
	case fleet.GateMail:
		g.From, g.To, g.Subject = fleet.ByAgent("a10"), "a11", fmt.Sprintf("ready %d", i)
		come = func() {
			w.must(func(all fleet.Records) (fleet.Records, error) {
				m := fleet.Mail{From: fleet.ByAgent("a10"), To: []string{"a11"}, Priority: fleet.P3, Subject: fmt.Sprintf("ready %d, go on", i), At: w.now()}
				return fleet.Records{Mails: []fleet.Mail{m}}, nil
			})
		}
	}
	s.add(made, func() {
		g.State, g.By, g.At, g.Since = fleet.GateOpen, "ann", w.now(), w.now()
		if g.Type == fleet.GateTimer {
			g.Until = w.now().Add(time.Duration((comes - made) * float64(w.lasts)))
		}
		id = w.must(func(fleet.Records) (fleet.Records, error) { return fleet.Records{Gates: []fleet.Gate{g}}, nil }).Gates[0].ID
		if len(g.Check) > 0 {
			w.locked(func() { w.checks[id] = false })
		}
		w.truth.gates[id] = &weekGate{Gate: g, came: g.Until}
	})
	if g.Type != fleet.GateTimer {
		s.add(comes, func() {
			w.truth.gates[id].came = w.now()
			come()
			w.wake("a gate")
		})
	}
}

// merge ends a pull request, merged or not.
func (w *week) merge(ref fleet.Ref, merged bool) {
	p := w.pulls[ref]
	delete(w.pulls, ref)
	w.ended = append(w.ended, fleet.EndedPull{Name: p.Name, Project: p.Project, Number: p.Number, Merged: merged, Ended: fleet.Known(fleet.Duration(0))})
}

func (w *week) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func weekPull(ref fleet.Ref, project string, number int) *fleet.PullRequest {
	none := fleet.Known(fleet.Duration(0))
	return &fleet.PullRequest{Name: string(ref), Project: project, Number: number, Title: "a pull request", Owner: fleet.OwnerConfigured, Age: none, Pushed: none,
		Checks: fleet.Known("success"), Checked: none, Conflict: fleet.Known(false), Review: fleet.Known("approved")}
}

// closeGate is a person's word.
func (w *week) closeGate(id string) {
	w.must(func(all fleet.Records) (fleet.Records, error) {
		return ledger.CloseGate(*ledger.Gate(all, id), fleet.GatePassed, "go", "ann", w.now())
	})
}
