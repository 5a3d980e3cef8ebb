package recover

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// plan is how an agent's conversation goes on.
type plan struct {
	first       agentrun.How
	second      *agentrun.How // when the first ends at once; nil: there is no other way
	fresh       bool          // it takes the place of one that handed over
	firstPrompt bool          // it gets the prompt that it was started for, which never arrived
}

func (p plan) resumes(b agentrun.Begin) bool {
	return p.first.Resume != "" && b.Command.Session == p.first.Resume
}

// plan works it out from what is known alone. told is what the old instance told,
// oldest first. text is what the order that asks for it has to say: then that is
// said, whatever the agent was at.
func (x *Action) plan(r fleet.Registration, seen *fleet.Agent, told []fleet.HookEvent, text string) plan {
	kind, _ := x.Kinds.Get(r.Kind)
	if kind.Generic {
		return plan{first: agentrun.How{Prompt: text}}
	}
	marks := kind.Launch
	if r.Where == fleet.WhereHeadless {
		marks = kind.Headless
	}
	if h := r.Handoff; h != nil && h.Stage == fleet.HandoffStarting && h.Instance == r.Instance {
		return plan{first: agentrun.How{Prompt: ledger.FreshPrompt(r)}, fresh: true}
	}
	if agent.NeverReported(r, told) {
		return plan{first: agentrun.How{Prompt: r.Prompt}, firstPrompt: true}
	}
	afresh := agentrun.How{Prompt: words(r, false)}
	if text != "" {
		afresh.Prompt = text
	}
	id := sessionOf(r, seen)
	if id == "" || len(marks.Resume) == 0 {
		return plan{first: afresh}
	}
	resume := agentrun.How{Resume: id}
	switch {
	case text != "":
		resume.Prompt = text
	case r.Where == fleet.WhereHeadless || atWork(told) || r.Prompt != "":
		resume.Prompt = words(r, true)
	}
	if r.Run != "" { // its contract is one recovery, and so one process
		return plan{first: resume}
	}
	return plan{first: resume, second: &afresh}
}

// sessionOf is the conversation that it was last seen in.
func sessionOf(r fleet.Registration, seen *fleet.Agent) string {
	switch {
	case r.SessionID != "":
		return r.SessionID
	case r.Checkpoint != nil && r.Checkpoint.SessionID != "":
		return r.Checkpoint.SessionID
	case seen != nil:
		return seen.SessionID
	}
	return ""
}

// atWork says whether the agent was in a turn when it ended. One that told
// nothing is taken to have been.
func atWork(told []fleet.HookEvent) bool {
	for _, e := range slices.Backward(told) {
		switch e.Event {
		case fleet.HookPrompt, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookPermission, fleet.HookQuestion, fleet.HookAnswered, fleet.HookCompact:
			return true
		case fleet.HookStop, fleet.HookRest, fleet.HookFailure, fleet.HookSessionStart, fleet.HookSessionEnd:
			return false
		}
	}
	return len(told) == 0
}

// words tell the agent what happened, and that its work is where it was.
func words(r fleet.Registration, resumed bool) string {
	var b strings.Builder
	b.WriteString(end(r.Exit))
	b.WriteString(", and Custos started you again in the same folder. What you had not committed is still there as you left it: look at git status first.")
	if resumed {
		b.WriteString(" Then go on with what you were doing.")
		return b.String() + firstPrompt(r)
	}
	b.WriteString(" The conversation you had could not be taken up again.")
	for _, part := range []struct{ says, what string }{{"Your task", r.Task}, {"It is described in", r.Spec}, {"You were last told", lastPrompt(r)}} {
		if part.what != "" {
			fmt.Fprintf(&b, " %s: %s.", part.says, fleet.Line(part.what, 400))
		}
	}
	if c := r.Checkpoint; c != nil && len(c.Files) > 0 {
		fmt.Fprintf(&b, " Files you had changed: %s.", strings.Join(c.Files[:min(len(c.Files), 20)], ", "))
	}
	if c := r.Checkpoint; c != nil && c.Summary != "" {
		b.WriteString(" What was written down of your work: " + fleet.Line(c.Summary, 1000))
	}
	b.WriteString(" See what is done already, and go on.")
	return b.String() + firstPrompt(r)
}

// end says how the agent ended: who was stopped by a word, or by keys, did not end
// unexpectedly.
func end(e *fleet.Exit) string {
	switch {
	case e == nil:
	case e.Asked == fleet.ByCustos:
		return "You were stopped by Custos"
	case e.Asked != "":
		return "You were stopped by " + fleet.Line(e.Asked, 80)
	case e.Quit != "":
		return "You were stopped at your terminal"
	}
	words := "Your process ended unexpectedly"
	if e != nil {
		if status, ok := e.Status.Get(); ok {
			return fmt.Sprintf("%s (exit status %d)", words, status)
		} else if signal, ok := e.Signal.Get(); ok {
			return fmt.Sprintf("%s (signal %d)", words, signal)
		}
	}
	return words
}

// repeated stands before a first prompt that is handed on.
const repeated = "\n\nThis was your first prompt:\n"

// firstPrompt repeats what the ledger keeps for as long as it is not acknowledged: of
// the words of an earlier recovery, only what they handed on.
func firstPrompt(r fleet.Registration) string {
	if r.Prompt == "" {
		return ""
	}
	if _, first, ok := strings.Cut(r.Prompt, repeated); ok {
		return repeated + first
	}
	return repeated + r.Prompt
}

func lastPrompt(r fleet.Registration) string {
	if r.Checkpoint == nil {
		return ""
	}
	return r.Checkpoint.LastPrompt
}
