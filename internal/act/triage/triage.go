// Package triage is the action "triage": it asks a judge, which is a model, once
// about one ambiguous alert on an agent. It gathers what can be seen of the agent
// as data, has it judged, and what comes out is one of six words with a reason: a
// fact that the next pass weighs, never a command. The agent is only looked at.
//
// In go an action on an agent that an alert fires on, and what the ledger
// remembers of that alert; out comes a fleet.Verdict, by Judged. The same evidence
// is never judged twice. How often may be asked, and at what price, is decided
// elsewhere (fleet.TriagePolicy).
package triage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/git"
	"custos/internal/sys/judge"
)

// Do is the name of the action.
const Do = "triage"

// Records is what the ledger remembers.
type Records interface {
	// Known returns the newest verdict on the evidence of this hash, and whether
	// there is one.
	Known(ctx context.Context, hash string) (fleet.Verdict, bool, error)
	// History returns what was done lately for an alert, and what was said of it,
	// each the oldest first.
	History(ctx context.Context, alert fleet.AlertKey) ([]fleet.ActionRecord, []fleet.Verdict, error)
}

// Action implements act.Action.
type Action struct {
	agentrun.World
	records  Records
	git      *git.Reader
	judge    *judge.Client
	settings judge.Settings
	expiry   time.Duration
	deadline time.Duration
	tokens   int
	screen   int // lines
	output   int // lines
	rest     agentrun.Rest
}

// New checks the options.
func New(o Options) (*Action, error) {
	x, err := o.action()
	if err != nil {
		return nil, fmt.Errorf("cannot set up triage: %w", err)
	}
	return x, nil
}

// Ability implements act.Action. What was asked may have to be paid, so it is not
// asked again after a crash.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: Do, Gentle: true, Touches: []fleet.PartName{fleet.PartAgents},
		Deadline: fleet.Duration(x.deadline + x.rest.Watch + looking)}
	switch {
	case x.judge.Kind() == "none":
		a.Cannot, a.Needs = judge.ErrNone.Error(), "the section [triage.judge] of custos.toml"
	case x.records == nil:
		a.Cannot = "what was judged before cannot be read here"
	}
	return a
}

// looking is how long gathering the evidence may take: a terminal, a log, git.
const looking = 30 * time.Second

// Commands implements act.Action. Where a key is read, and the key, are not in it.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	what := "the judge"
	if x.settings.Model != "" {
		what += " " + fleet.Line(x.settings.Model, 60)
	}
	note := fmt.Sprintf("one question to %s (%s) about %s: at most %d KiB of evidence, redacted; at most %d tokens of answer, of which one of six words counts",
		what, x.judge.Kind(), fleet.Line(t.Name, 80), mostBytes>>10, x.tokens)
	return []fleet.Command{{Argv: x.asks(), Note: note}}
}

// asks is the nearest command to the question.
func (x *Action) asks() []string {
	if x.judge.Kind() == "command" {
		return fleet.RedactArgs(x.settings.Command)
	}
	url := x.settings.BaseURL
	if url == "" {
		url = "the API of " + x.judge.Kind()
	}
	return []string{"curl", "--json", "@-", fleet.Line(fleet.Redact(url), 200)}
}

// Prepare implements act.Action. It gathers the evidence, and asks none but the
// ledger.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	return agentrun.Prepare(ctx, x.World, a.Target.Agent, func(live *agentrun.Live) *run { return &run{Live: live, x: x, action: a} }, (*run).ready)
}

// ready looks whether the alert still holds, and at all that is to be judged.
func (r *run) ready(ctx context.Context) error {
	if r.x.records == nil {
		return errors.New("cannot triage: what was judged before cannot be read here")
	}
	if err := r.same(); err != nil {
		return err
	}
	if err := r.Place(ctx); err != nil {
		return err
	}
	view, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if err := r.unmoved(view); err != nil {
		return err
	}
	if r.Agent.State == fleet.StateStuck {
		if err := r.AtRest(ctx, r.x.rest); err != nil {
			return err
		}
	}
	return r.gather(ctx, view)
}

// same refuses what is not the instance that the alert is about, or is not to run.
func (r *run) same() error {
	switch reg := r.Reg; {
	case reg == nil:
	case reg.Instance != "" && r.Agent.Instance != "" && reg.Instance != r.Agent.Instance:
		return agentrun.Refused("another instance of it runs by now")
	case reg.Desired != "" && reg.Desired != fleet.DesiredRunning:
		return agentrun.Refused("it is %s, by %s", reg.Desired, fleet.Line(reg.DesiredBy, 40))
	}
	return nil
}

// unmoved refuses an agent whose terminal shows another state than it was planned
// with.
func (r *run) unmoved(v agentrun.View) error {
	was := r.Agent.Dialog
	switch {
	case v.Pane.Dead:
		return agentrun.Refused("its terminal is dead")
	case v.Dialog == nil && was != nil:
		return agentrun.Refused("the dialog it stood at is gone")
	case v.Dialog != nil && was == nil:
		return agentrun.Refused("it stands at a dialog by now: %s", v.Dialog.Says)
	case v.Dialog != nil && v.Dialog.Hash != was.Hash:
		return agentrun.Refused("it stands at another dialog by now: %s", v.Dialog.Says)
	case r.Agent.State == fleet.StateStuck && r.Agent.Pane != nil && stirred(r.Agent.Pane.Activity, v.Pane.Activity):
		return agentrun.Refused("its terminal has changed since")
	}
	return nil
}

// silent is from when on the silence of a terminal means something: a spinner
// breaks it every few seconds and says nothing.
const silent = fleet.Duration(30 * time.Second)

// stirred says whether the silence of a terminal was broken: while nothing moves
// it only grows.
func stirred(was, now fleet.Leaf[fleet.Duration]) bool {
	before, known := was.Get()
	after, knownNow := now.Get()
	return known && knownNow && before >= silent && after+fleet.Duration(time.Second) < before // tmux tells whole seconds
}
