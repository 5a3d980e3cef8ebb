package runs

import (
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// builtin is something a step may use: a named part of one patrol. The step asks
// for the patrol and awaits its number; the loop is never entered again.
type builtin struct {
	name string
	// stage is where in a pass it is done. A step whose needs were parts of a
	// patrol, none of them of a later stage, is a part of that same patrol; 0: it
	// always wants a patrol of its own.
	stage int
	// open says what the step still waits for, once its patrol is committed.
	open func(*advance) string
}

func builtins() []builtin {
	const look, judge, act, write = 1, 2, 3, 4
	return []builtin{
		{name: "patrol", open: actionsOver},
		{name: "observe", stage: look},
		{name: "assess", stage: judge},
		{name: "act", stage: act, open: actionsOver},
		{name: "report", stage: act},
		{name: "journal", stage: write},
		{name: "health", stage: act},
		{name: "orphans", stage: act},
		{name: "gc", stage: act, open: actionsOver},
		{name: "spawns", stage: act},
		{name: "costs", stage: act},
		{name: "handoff", stage: write},
		{name: "mail", stage: act},
		{name: "gates", stage: act},
		{name: "convoys", stage: act},
		{name: "dependencies", stage: act},
		{name: "plugins", stage: act},
	}
}

// Uses lists what a step may use.
func Uses() (names []string) {
	for _, b := range builtins() {
		names = append(names, b.name)
	}
	return names
}

func builtinOf(name string) (builtin, bool) {
	all := builtins()
	i := slices.IndexFunc(all, func(b builtin) bool { return b.name == name })
	if i < 0 {
		return builtin{}, false
	}
	return all[i], true
}

// actionsOver waits for the actions that were planned up to the patrol; what runs as
// a step of a formula is none of them.
func actionsOver(a *advance) string {
	for i := range a.past.Actions {
		rec := &a.past.Actions[i]
		if rec.Open() && rec.Target.Step == nil && !a.past.PatrolAt.Before(rec.PlannedAt) {
			return rec.Do + " " + rec.Subject.String()
		}
	}
	return ""
}

// use begins a step that uses something built in.
func (a *advance) use(r *fleet.Run, s *fleet.RunStep) {
	b, ok := builtinOf(s.Uses)
	if !ok {
		ledger.SetStep(s, fleet.StepFailed, "nothing built in is called "+fleet.Line(s.Uses, 40)+"; there are "+strings.Join(Uses(), ", "), a.at)
		return
	}
	ledger.SetStep(s, fleet.StepRunning, "", a.at)
	s.Attempt++
	s.Patrol = shared(r, s, b)
	if s.Patrol == 0 {
		s.Patrol = max(a.past.Patrol, a.snap.Patrol) + 1
	}
	a.used(r, s)
}

// shared returns the patrol whose part the step is because its needs were; 0 when
// it is not.
func shared(r *fleet.Run, s *fleet.RunStep, b builtin) (patrol int64) {
	for _, n := range s.Needs {
		need := r.Step(n)
		of, ok := builtinOf(need.Uses)
		if need.Do != fleet.StepUses || !ok || of.stage == 0 || of.stage > b.stage {
			return 0
		}
		patrol = max(patrol, need.Patrol)
	}
	return patrol
}

// used settles a step once its patrol was made and what it waits for is over.
func (a *advance) used(r *fleet.Run, s *fleet.RunStep) {
	b, _ := builtinOf(s.Uses)
	wants := ""
	switch {
	case a.past.Patrol < s.Patrol && a.snap.Patrol >= s.Patrol:
		wants, a.out.Wake = "patrol to be committed", true
	case a.past.Patrol < s.Patrol:
		wants, a.out.Patrol = "patrol", true
	case b.open != nil:
		wants = b.open(a)
	}
	switch limit := timeoutOf(s); {
	case wants == "":
		ledger.SetStep(s, fleet.StepDone, "", a.at)
	case a.out.Passed(a.at, s.Since, time.Duration(limit)):
		a.settle(r, s, endTimeout+limit.String()+", waiting for "+wants)
	default:
		a.wait("step %s awaits %s", s.ID, wants)
	}
}
