package ledger

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// TakeGates returns the run of a queue's gates in the worktree of a group, as it is first written down.
func TakeGates(past fleet.Past, q fleet.MergeQueue, g *fleet.MergeGroup, at fleet.Instant) (fleet.Run, error) {
	return TakeRun(past, fleet.RunPolicy{}, gateRun(q, g), at)
}

// gateRun is the run of all gates of a queue, one after the other, in the worktree of a group.
func gateRun(q fleet.MergeQueue, g *fleet.MergeGroup) fleet.Run {
	id := fmt.Sprintf("merge-%s-%s-%d", q.Name, g.ID, g.Runs+1)
	run := fleet.Run{ID: id, Formula: "merge/" + q.Name, Project: q.Project, By: fleet.ByCustos, Mode: fleet.RunSteps, Parallel: 1,
		Dir: path.Join(q.Runs, id), Work: g.Worktree}
	for n, gate := range q.Gates {
		s := fleet.RunStep{ID: gate.Name, Do: fleet.StepRun, Argv: gate.Argv, Script: gate.Script, Timeout: gate.Timeout, Env: gate.Env, Moot: true, Report: gate.Report}
		if n > 0 {
			s.Needs = []string{q.Gates[n-1].Name}
		}
		run.Steps = append(run.Steps, s)
	}
	return run
}

// GateEnd is what came of a run of gates.
type GateEnd struct {
	Over    bool
	Passed  bool
	By      string   // the person who cancelled it
	Red     []string // gates that failed by themselves
	Unclear string   // else: what kept them from saying anything
	Tests   GateTests
}

// GatesEnd says what came of the last run of a group's gates.
func GatesEnd(past fleet.Past, g *fleet.MergeGroup) GateEnd {
	run := gatesOf(past, g)
	switch {
	case run == nil:
		return GateEnd{Over: true, Unclear: "its run " + g.Run + " is on record no more"}
	case !run.IsOver():
		return GateEnd{}
	case run.State == fleet.RunDone:
		return GateEnd{Over: true, Passed: true, Tests: testsOf(run)}
	case fleet.IsPerson(run.Cancel):
		return GateEnd{Over: true, By: run.Cancel}
	}
	end := GateEnd{Over: true, Tests: testsOf(run)}
	end.Red, end.Unclear = gatesThatFailed(run)
	return end
}

func gatesOf(past fleet.Past, g *fleet.MergeGroup) *fleet.Run {
	return fleet.Find(past.Runs, func(r *fleet.Run) bool { return r.ID == g.Run && g.Run != "" })
}

// EndGates has the run of a group's gates ended, where it goes on.
func EndGates(past fleet.Past, g *fleet.MergeGroup, why string, at fleet.Instant) []fleet.Run {
	r := gatesOf(past, g)
	if r == nil || r.IsOver() || r.Cancel != "" {
		return nil
	}
	run := r.Clone()
	EndRun(&run, fleet.ByCustos, why, at)
	return []fleet.Run{run}
}

// HasGates says whether the run of a group's gates is among some.
func HasGates(runs []fleet.Run, g *fleet.MergeGroup) bool {
	return slices.ContainsFunc(runs, func(r fleet.Run) bool { return r.ID == g.Run })
}

// mergedNews is the key of news that an item is merged: it wants no answer.
const mergedNews = "merged"

// WantsNone says whether a mail of Custos' own may come back unread without a word: it says that all went well.
func WantsNone(m fleet.Mail) bool {
	return m.From == fleet.ByCustos && m.Type == fleet.MailMergeResult && strings.Contains(m.Key, "/"+mergedNews+"/")
}

// MergeNews is a mail about an item of a merge queue.
func MergeNews(i *fleet.MergeItem, key, to, subject, body string, at fleet.Instant) fleet.Mail {
	return News(fmt.Sprintf("merge/%s/%s/%.12s/%d", i.ID, key, i.Commit, i.Since.Wall.Unix()), []string{to},
		fleet.Mail{Type: fleet.MailMergeResult, About: i.ID, Project: i.Project, Subject: subject, Body: body}, at)
}

// gatesThat names the gates that failed by themselves; else it says what kept them from saying
// anything.
func gatesThatFailed(run *fleet.Run) (red []string, unclear string) {
	for _, s := range run.Steps {
		switch {
		case s.State != fleet.StepFailed:
		case s.Exit != nil, strings.HasPrefix(s.Why, endTimeout), strings.HasPrefix(s.Why, endSignal):
			red = append(red, s.ID)
		case unclear == "":
			unclear = "gate " + s.ID + ": " + s.Why
		}
	}
	if unclear == "" {
		unclear = "its run " + run.ID + " is " + string(run.State) + ": " + run.Why
	}
	return red, unclear
}

// How package runs says that a step took too long, or was ended by a signal.
const (
	endTimeout = "it took longer than "
	endSignal  = "it ended by signal "
)

// MakeAnew is a command of a queue that makes files anew in a folder, the n-th, as the step of a run that is on no record;
// without a command for n = -1. What belongs to a run is ended by its name wherever it runs, so another Custos of the same
// user, with a queue of the same name, calls it otherwise.
func MakeAnew(q fleet.MergeQueue, g fleet.MergeGroup, n int, dir string) fleet.StepTarget {
	id := fmt.Sprintf("merge-%s-%s-anew-%.4x", q.Name, g.ID, sha256.Sum256([]byte(q.Runs)))
	run := fleet.Run{ID: id, Formula: "merge/" + q.Name, Project: q.Project, By: fleet.ByCustos, Mode: fleet.RunSteps, Parallel: 1, Dir: path.Join(q.Runs, id), Work: dir}
	if n < 0 {
		return fleet.StepTarget{Run: run}
	}
	m := q.Regenerate[n]
	run.Steps = []fleet.RunStep{{ID: fmt.Sprintf("anew-%d", n+1), Do: fleet.StepRun, Argv: m.Argv, Timeout: m.Timeout, Env: m.Env}}
	return fleet.StepTarget{Run: run, Step: run.Steps[0].ID}
}
