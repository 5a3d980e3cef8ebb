package decide

import "custos/internal/fleet"

// keepLock takes the factory's own lock before a run begins, again when the Custos
// that took it has ended, and gives it back once the run is over.
func (p *pass) keepLock(run *fleet.Run) {
	facts := p.facts(run)
	if run.Lock == "" || facts == nil {
		return
	}
	held, known := facts.Held.Get()
	other, told := facts.Locked.Get()
	switch {
	case !known:
	case run.IsOver():
		if run.Holding != "" && held != "" {
			p.askLock(run, doFreeLock)
		}
	case held != fleet.HoldOurs && told && other == "" && p.policy.Abilities[doHoldLock].Cannot == "":
		p.askLock(run, doHoldLock)
	}
}

func (p *pass) askLock(run *fleet.Run, do string) {
	p.judge(p.runRequest(run, do, run.ID, fleet.Target{Step: &fleet.StepTarget{Run: *run}}))
}
