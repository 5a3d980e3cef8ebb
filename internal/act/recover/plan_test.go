package recover

import (
	"strings"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
)

// How a conversation goes on, from what is known of it.
func TestPlan(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	x := &Action{Launcher: &agentrun.Launcher{World: agentrun.World{Kinds: kinds}}}
	event := func(names ...fleet.HookName) (out []fleet.HookEvent) {
		for _, n := range names {
			out = append(out, fleet.HookEvent{Event: n})
		}
		return out
	}
	known := fleet.Registration{Kind: "claude", Where: fleet.WhereTmux, SessionID: "s1", Task: "issue 7"}
	with := func(change func(*fleet.Registration)) fleet.Registration {
		r := known
		change(&r)
		return r
	}
	for _, c := range []struct {
		name           string
		r              fleet.Registration
		seen           *fleet.Agent
		told           []fleet.HookEvent
		resume, prompt string // prompt: words that are in it; "" for none
		second, first  bool
	}{
		{"in a turn", known, nil, event(fleet.HookPrompt, fleet.HookToolBegin), "s1", "go on with what", true, false},
		{"idle", known, nil, event(fleet.HookPrompt, fleet.HookStop), "s1", "", true, false},
		{"idle, with a notice", known, nil, event(fleet.HookStop, fleet.HookNotice), "s1", "", true, false},
		{"told nothing", known, nil, nil, "s1", "go on with what", true, false},
		{"its session is seen only", with(func(r *fleet.Registration) { r.SessionID = "" }), &fleet.Agent{SessionID: "s2"}, nil, "s2", "go on", true, false},
		{"its session is in the checkpoint", with(func(r *fleet.Registration) { r.SessionID, r.Checkpoint = "", &fleet.Checkpoint{SessionID: "s3"} }), nil, nil, "s3", "go on", true, false},
		{"no session", with(func(r *fleet.Registration) { r.SessionID = "" }), nil, nil, "", "issue 7", false, false},
		{"no session, with its spec and files", with(func(r *fleet.Registration) {
			r.SessionID, r.Spec, r.Checkpoint = "", "/p/spec.md", &fleet.Checkpoint{Files: []string{"a.go", "b.go"}}
		}), nil, nil, "", "Your task: issue 7. It is described in: /p/spec.md. Files you had changed: a.go, b.go.", false, false},
		{"no resume in the kind", with(func(r *fleet.Registration) { r.Kind = "aider" }), nil, nil, "", "issue 7", false, false},
		{"never told its prompt", with(func(r *fleet.Registration) { r.Prompt, r.PromptState = "do it", fleet.DeliveryUndelivered }), nil, nil, "", "do it", false, true},
		{"its prompt was sent, and it never began a turn", with(func(r *fleet.Registration) { r.Prompt, r.PromptState = "do it", fleet.DeliverySent }), nil, event(fleet.HookSessionStart), "", "do it", false, true},
		{"its prompt was sent, and it told nothing", with(func(r *fleet.Registration) { r.Prompt, r.PromptState = "do it", fleet.DeliverySent }), nil, nil, "s1", "do it", true, false},
		{"its prompt was sent, and it told of its life only", with(func(r *fleet.Registration) { r.Prompt, r.PromptState = "do it", fleet.DeliverySent }), nil, event(fleet.HookBeat), "s1", "do it", true, false},
		{"another prompt was taken", with(func(r *fleet.Registration) { r.Prompt, r.PromptState = "do it", fleet.DeliverySent }), nil, event(fleet.HookSessionStart, fleet.HookPrompt, fleet.HookStop), "s1", "do it", true, false},
		{"of a run", with(func(r *fleet.Registration) { r.Run = "r1" }), nil, nil, "s1", "go on", false, false},
		{"without a terminal", with(func(r *fleet.Registration) { r.Where = fleet.WhereHeadless }), nil, event(fleet.HookStop), "s1", "go on", true, false},
	} {
		p := x.plan(c.r, c.seen, c.told, "")
		if p.first.Resume != c.resume || (p.first.Prompt == "") != (c.prompt == "") || !strings.Contains(p.first.Prompt, c.prompt) ||
			(p.second != nil) != c.second || p.firstPrompt != c.first {
			t.Errorf("%s: %+v", c.name, p)
		}
		if p.second != nil && (p.second.Resume != "" || !strings.Contains(p.second.Prompt, "could not be taken up")) {
			t.Errorf("%s: and then %+v", c.name, p.second)
		}
	}
	// What an order has to say is said in place of that, resumed or afresh, and idle or not.
	for _, told := range [][]fleet.HookEvent{nil, event(fleet.HookPrompt), event(fleet.HookStop)} {
		if p := x.plan(known, nil, told, "step a is done"); p.first.Resume != "s1" || p.first.Prompt != "step a is done" || p.second.Prompt != "step a is done" {
			t.Errorf("%+v, %+v", p.first, p.second)
		}
	}
}

// The words of a recovery are not handed on by the next one: what was asked for first is.
func TestTheFirstPromptIsHandedOnOnce(t *testing.T) {
	r := fleet.Registration{Task: "issue 7", Prompt: "mend the tests\nall of them"}
	for _, resumed := range []bool{true, false} {
		once := words(r, resumed)
		again := r
		again.Prompt = once
		if got := words(again, resumed); got != once || !strings.HasSuffix(got, "first prompt:\nmend the tests\nall of them") {
			t.Errorf("the second time it is told %q", got)
		}
	}
}

// Who was stopped, and is started again by a person, did not end unexpectedly.
func TestWordsForWhoWasStopped(t *testing.T) {
	killed := fleet.Exit{Signal: fleet.Known(15)}
	asked := func(by string) *fleet.Exit { e := killed; e.Asked = by; return &e }
	quit := killed
	quit.Quit = "typed /exit"
	for name, c := range map[string]struct {
		exit  *fleet.Exit
		begin string
	}{
		"a person":            {asked("ann"), "You were stopped by ann, and Custos started you again in the same folder."},
		"Custos":              {asked(fleet.ByCustos), "You were stopped by Custos, and Custos started you again in the same folder."},
		"at its own terminal": {&quit, "You were stopped at your terminal, and Custos started you again in the same folder."},
		"nobody":              {&killed, "Your process ended unexpectedly (signal 15), and Custos started you again in the same folder."},
		"nobody knows":        {nil, "Your process ended unexpectedly, and Custos started you again in the same folder."},
	} {
		for _, resumed := range []bool{true, false} {
			if got := words(fleet.Registration{Exit: c.exit}, resumed); !strings.HasPrefix(got, c.begin) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}

// Who takes the place of one that handed over begins afresh with its words, whatever
// conversation there was; once that one runs, it is recovered like any other.
func TestPlanAfterAHandoff(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	x := &Action{Launcher: &agentrun.Launcher{World: agentrun.World{Kinds: kinds}}}
	r := fleet.Registration{Kind: "claude", Where: fleet.WhereTmux, Instance: "i1", SessionID: "s1", Prompt: "do it", PromptState: fleet.DeliveryUndelivered,
		Handoff: &fleet.Handoff{Instance: "i1", Stage: fleet.HandoffStarting, Text: "the tests are left"}}
	if p := x.plan(r, nil, nil, ""); p.first.Resume != "" || !strings.Contains(p.first.Prompt, "the tests are left") || !p.fresh || p.firstPrompt || p.second != nil {
		t.Errorf("%+v", p)
	}
	for name, change := range map[string]func(*fleet.Registration){
		"it was not ended yet": func(r *fleet.Registration) { r.Handoff.Stage = fleet.HandoffWritten },
		"it runs since":        func(r *fleet.Registration) { r.Instance = "i2" },
		"it failed":            func(r *fleet.Registration) { r.Handoff.Stage = fleet.HandoffFailed },
	} {
		other, h := r, *r.Handoff
		other.Handoff, other.PromptState = &h, fleet.DeliveryAcknowledged
		change(&other)
		if p := x.plan(other, nil, nil, ""); p.first.Resume != "s1" || p.fresh {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
