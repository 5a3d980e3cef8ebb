package decide

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// The actions on runs of formulas that have preconditions of their own.
const (
	doRunStep    = "run-step"
	doEndStep    = "end-step"
	doPrepareRun = "prepare-run"
	doRemoveTree = "remove-worktree"
	doFileReply  = "file-reply"
	doHoldLock   = "hold-lock"
	doFreeLock   = "release-lock"
)

// ruleRun stands for a rule in the key of what a run asks for.
const ruleRun = "run"

// parallelSteps is how many steps of a run are done at once, unless it says.
const parallelSteps = 4

// remedyOfRuns is how often one and the same thing is tried for a run: a step's
// own retries are other attempts, and paced by its own backoff.
func remedyOfRuns() fleet.Remedy {
	const second, minute = fleet.Duration(1e9), fleet.Duration(60e9)
	return fleet.Remedy{Mode: fleet.ModeAuto, Cooldown: 10 * second, Attempts: fleet.Attempts{Max: 5, In: 60 * minute}}
}

// carryRuns judges what the runs of formulas ask for, in the order they were
// begun. What is to be ended comes first, of all runs.
func (p *pass) carryRuns() {
	for i := range p.past.Runs {
		if run := &p.past.Runs[i]; !run.IsOver() {
			p.endSteps(run)
		}
	}
	for i := range p.past.Runs {
		run := &p.past.Runs[i]
		p.fileReply(run)
		p.keepLock(run)
		switch {
		case run.IsOver():
			p.clearAfter(run)
		case run.Cancel == "":
			p.prepare(run)
			p.beginSteps(run)
		}
	}
}

// endSteps ends the processes of steps that took too long, were cancelled, or
// ended and left some behind. Where nothing of it is alive there is nothing to end.
func (p *pass) endSteps(run *fleet.Run) {
	for i := range run.Steps {
		s := &run.Steps[i]
		if s.End == "" || s.State != fleet.StepRunning {
			continue
		}
		facts, seen := p.attempt(run, s.ID, s.Attempt)
		if seen && p.snap.Runs.Fresh() && facts.State != fleet.ProcRunning && facts.State != fleet.ProcUnknown && len(facts.Left) == 0 {
			continue
		}
		r := p.stepRequest(run, s, doEndStep, s.Attempt)
		if r.wish.Target.Step.Why = s.End; p.snap.Runs.Fresh() {
			r.unseen = unseenAttempt(s.Attempt, facts, seen)
		}
		p.judge(r)
	}
}

func unseenAttempt(n int, facts fleet.StepFacts, seen bool) string {
	switch {
	case !seen:
		return "attempt " + strconv.Itoa(n) + " at it was not seen yet"
	case facts.State == fleet.ProcUnknown:
		return "it cannot be told what attempt " + strconv.Itoa(n) + " does: " + facts.Why
	}
	return ""
}

// beginSteps begins the steps that are ready, as many at once as the run allows.
func (p *pass) beginSteps(run *fleet.Run) {
	busy := 0
	for i := range run.Steps {
		if s := &run.Steps[i]; s.State == fleet.StepRunning && s.Do != fleet.StepProse {
			busy++
		}
	}
	for i := range run.Steps {
		s := &run.Steps[i]
		if s.Do != fleet.StepRun || s.State != fleet.StepReady {
			continue
		}
		r := p.stepRequest(run, s, doRunStep, s.Attempt+1)
		if r.granted, r.wish.Limit = busy, run.Parallel; r.wish.Limit <= 0 {
			r.wish.Limit = parallelSteps
		}
		if p.snap.Runs.Fresh() {
			r.unseen = p.begunAlready(run, s.ID, s.Attempt+1)
		}
		if p.judge(r) {
			busy++
		}
	}
}

// begunAlready says why it is not certain that nothing of an attempt was started;
// "" when it is: the attempt was looked for, and there is no trace of it.
func (p *pass) begunAlready(run *fleet.Run, step string, n int) string {
	if p.facts(run) == nil {
		return "run " + run.ID + " was not looked at yet"
	}
	facts, seen := p.attempt(run, step, n)
	switch {
	case !seen:
		return "attempt " + strconv.Itoa(n) + " was not looked for yet"
	case facts.State == fleet.ProcNone:
		return ""
	case facts.State == fleet.ProcUnknown || facts.State == "":
		return "it cannot be told whether attempt " + strconv.Itoa(n) + " was begun: " + facts.Why
	}
	return "attempt " + strconv.Itoa(n) + " was begun already: it is " + string(facts.State)
}

// prepare has the folder of a run made, once there is prose for its agent.
func (p *pass) prepare(run *fleet.Run) {
	offered := slices.ContainsFunc(run.Steps, func(s fleet.RunStep) bool {
		return s.Do == fleet.StepProse && (s.State == fleet.StepReady || s.State == fleet.StepRunning)
	})
	if run.Session == nil || run.Prepared != "" || !offered {
		return
	}
	p.judge(p.runRequest(run, doPrepareRun, run.ID, fleet.Target{Step: &fleet.StepTarget{Run: *run}}))
}

// fileReply puts a person's reply away once the agent has it.
func (p *pass) fileReply(run *fleet.Run) {
	if s := run.Session; s != nil && s.Answer == fleet.AnswerTold && s.Filing == "" {
		p.judge(p.runRequest(run, doFileReply, run.ID, fleet.Target{Step: &fleet.StepTarget{Run: *run}}))
	}
}

// clearAfter removes the worktree of a session that ended well, once its agent is
// gone. One that is kept, or that is no longer there, is left alone.
func (p *pass) clearAfter(run *fleet.Run) {
	s := run.Session
	if s == nil || run.State != fleet.RunDone || s.Worktree == "" || s.Keep != "" || s.Removal != "" {
		return
	}
	for i := range p.snap.Repos.Value.Worktrees {
		if w := &p.snap.Repos.Value.Worktrees[i]; w.Path == s.Worktree {
			p.judge(p.removal(run, w))
		}
	}
}

func (p *pass) removal(run *fleet.Run, w *fleet.Worktree) *request {
	r := p.runRequest(run, doRemoveTree, run.ID, fleet.Target{Worktree: w})
	r.wish.Subject = fleet.Subject{Kind: fleet.KindWorktree, Name: w.Path}
	r.finding.Parts = []fleet.PartName{fleet.PartRepos, fleet.PartAgents}
	p.weighIn(r)
	a := p.agentNamed(run.Session.Agent)
	switch _, known := w.Removable.Get(); {
	case a != nil && (a.Process.PID != 0 || !a.HasEnded()):
		r.unseen = "its agent " + word(a.Name) + " is not known to be gone"
	case !known:
		r.wish.Unknown = w.Removable.Why()
	}
	return r
}

// askTree refuses to remove the worktree of a run while something in it would be
// lost. A rule asks that itself.
func (p *pass) askTree(r *request) *refusal {
	if no := p.askKept(r.wish.Target.Worktree); no != nil {
		return no
	}
	if no := p.askComeBack(r.wish.Target.Worktree); no != nil && p.policy.ApprovedBy == "" && !r.byPerson() {
		return no
	}
	if r.run == nil || r.wish.Target.Worktree.Removable.Or(false) {
		return nil
	}
	return &refusal{why: "it is not removable: " + strings.Join(r.wish.Target.Worktree.Obstacles, "; ")}
}

// askComeBack refuses to remove what a stopped agent would come back to: a person who stopped
// it may start it again. One that crashed there is the matter of its own rule.
func (p *pass) askComeBack(w *fleet.Worktree) *refusal {
	for i := range p.past.Registrations {
		reg := &p.past.Registrations[i]
		in := w != nil && reg.Tree() == w.Path
		if in && reg.Run == "" && reg.Desired == fleet.DesiredStopped && !w.Crashed && !w.Missing {
			return &refusal{why: "its agent " + reg.Name + " was stopped by " + author(reg.DesiredBy) + ", and may be started again in it", hint: "custos clean"}
		}
	}
	return nil
}

// keptFor is how long the worktree of a run that went wrong is kept for a person:
// the 24 h of the seed's session contract.
const keptFor = 24 * time.Hour

// askKept refuses to remove what a run keeps, while it is young.
func (p *pass) askKept(w *fleet.Worktree) *refusal {
	for i := range p.past.Runs {
		run := &p.past.Runs[i]
		s := run.Session
		if w == nil || s == nil || s.Worktree != w.Path {
			continue
		}
		if !run.IsOver() {
			return &refusal{why: "run " + run.ID + " is not over"}
		}
		if s.Keep != "" && run.EndedAt.Boot != "" && p.snap.At.Since(run.EndedAt) < keptFor {
			return &refusal{why: "run " + run.ID + " keeps it for a day: " + s.Keep, until: run.EndedAt.Add(keptFor)}
		}
	}
	return nil
}

func (p *pass) agentNamed(name string) *fleet.Agent {
	return fleet.Find(p.snap.Agents.Value, func(a *fleet.Agent) bool { return a.Name == name })
}

func (p *pass) stepRequest(run *fleet.Run, s *fleet.RunStep, do string, attempt int) *request {
	r := p.runRequest(run, do, run.ID+"/"+s.ID, fleet.Target{Step: &fleet.StepTarget{Run: *run, Step: s.ID, Attempt: attempt}})
	if do == doRunStep {
		r.notBefore = s.NotBefore
	}
	return r
}

// runRequest turns what a run asks for into what the guards are asked about.
func (p *pass) runRequest(run *fleet.Run, do, subject string, t fleet.Target) *request {
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleRun, Subject: fleet.Subject{Kind: fleet.KindRun, Name: run.ID}}, Priority: fleet.P3,
		Since: run.At, Firing: true, Fresh: true, Summary: summary(run), Parts: []fleet.PartName{fleet.PartRuns}}
	w := &fleet.Wish{Do: do, Subject: fleet.Subject{Kind: fleet.KindRun, Name: subject}, Target: t}
	r := &request{finding: f, wish: w, remedy: remedyOfRuns(), run: run}
	p.weighIn(r)
	return r
}

func summary(run *fleet.Run) string {
	if run.Schedule != "" {
		return "formula " + run.Formula + " is run by schedule " + run.Schedule
	}
	return "formula " + run.Formula + " is run for " + author(run.By)
}

// weighIn fills in what is known of the action and of earlier tries at it.
func (p *pass) weighIn(r *request) {
	r.ability, r.able = p.policy.Abilities[r.wish.Do]
	r.tries = p.tries(r)
	r.claim = claimOf(r.wish.Subject, r.wish.Target, r.ability.Harmless)
}

func (p *pass) facts(run *fleet.Run) *fleet.RunFacts {
	return fleet.Find(p.snap.Runs.Value, func(f *fleet.RunFacts) bool { return f.ID == run.ID })
}

// attempt returns what was seen of one attempt at a step.
func (p *pass) attempt(run *fleet.Run, step string, n int) (fleet.StepFacts, bool) {
	facts := p.facts(run)
	if facts == nil {
		return fleet.StepFacts{}, false
	}
	i := slices.IndexFunc(facts.Steps, func(f fleet.StepFacts) bool { return f.Step == step && f.Attempt == n })
	if i < 0 {
		return fleet.StepFacts{}, false
	}
	return facts.Steps[i], true
}

// runOf returns the run that an order of Custos follows from; nil when none does.
// What a run orders is as much wanted as the run.
func (p *pass) runOf(o *fleet.Order) *fleet.Run {
	for i := range p.past.Runs {
		run := &p.past.Runs[i]
		if s := run.Session; s != nil && (o.By == fleet.ByCustos || o.By == run.By) && (o.ID == s.Order || o.ID == s.Told || o.ID == s.Stop) && o.Agent == s.Agent {
			return run
		}
	}
	return nil
}

// isOfRun says whether an action was asked for by a run: its pace is the run's, and
// the budget for repairs is not spent on it.
func isOfRun(a *fleet.Action) bool {
	return a.For.Rule == ruleRun && a.For.Subject.Kind == fleet.KindRun
}

// askFull caps the steps of a run that are done at once.
func askFull(r *request) *refusal {
	return &refusal{why: "the run takes at most " + strconv.Itoa(r.wish.Limit) + " steps at once"}
}

// sameAttempt leaves only what was tried of this very attempt at a step.
func sameAttempt(records []*fleet.ActionRecord, t *fleet.StepTarget) (same []*fleet.ActionRecord) {
	for _, e := range records {
		if was := e.Target.Step; was != nil && was.Attempt == t.Attempt {
			same = append(same, e)
		}
	}
	return same
}

// askSession leaves the idle session of a run that is over alone while it may be at
// work yet, or in a person's hands: it is looked at as one that is nudged.
func (p *pass) askSession(r *request, a *fleet.Agent) *refusal {
	if no := p.askJustEnded(r, a); no != nil {
		return no
	}
	if no := askTool(a); no != nil {
		return no
	}
	return p.askInput(a)
}

// lastWords is how long the session of a run that is over is left alone: the phase
// is written within a turn, and a look from before it may still say "idle".
const lastWords = 10 * time.Second

func (p *pass) askJustEnded(r *request, a *fleet.Agent) *refusal {
	dwell, known := a.Dwell.Get()
	var ended fleet.Instant
	if r.run.Session != nil {
		ended = r.run.Session.EndedAt
	}
	if known && time.Duration(dwell) < lastWords || !ended.IsZero() && p.snap.At.Since(ended) < lastWords {
		return &refusal{why: "its session has only just ended: it may be at work yet", until: p.snap.At.Add(lastWords)}
	}
	return nil
}
