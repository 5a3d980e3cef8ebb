package agents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// tells makes the conversation of one process: what happened, so many seconds ago.
func (w *world) tells(c fleet.Conversation, ago int, events ...fleet.HookEvent) func(context.Context, []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
	for i := range events {
		events[i].At, events[i].Source = fleet.Instant{Wall: w.now.Wall.Add(-time.Duration(ago) * time.Second)}, fleet.UsageTranscript
	}
	c.Events = events
	return func(_ context.Context, wanted []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
		return map[fleet.ProcessID]fleet.Conversation{wanted[0].Process: c}, nil
	}
}

// An agent that was started by hand, without hooks: its transcript tells what it is at, what
// its model is, and how full its context is.
func TestAnAgentWithoutHooksIsKnownByItsTranscript(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "codex")
	w.pane("hand", 10)
	conv := fleet.Conversation{Kind: "codex", Session: "s1", Model: "m", Turns: 3, Used: fleet.Known(int64(64600)), Window: fleet.Known(int64(258400))}
	events := []fleet.HookEvent{{Event: fleet.HookPrompt, Text: "x y"}, {Event: fleet.HookToolBegin, Tool: "exec_command", CallID: "c1"}}
	p := w.probe(t, func(o *Options) { o.Conversations = w.tells(conv, 60, events...) })
	a := see(t, p)["hand"]
	if a.State != fleet.StateWorking || a.Source != agent.SourceTranscript || !strings.Contains(a.Reason, "its transcript says that it began tool exec_command") {
		t.Errorf("%s by %s: %s", a.State, a.Source, a.Reason)
	}
	if a.Model != "m" || a.ContextPercent.Or(0) != 25 || a.ContextUsed.Or(0) != 64600 || a.ContextWindow.Or(0) != 258400 || a.Turns.Or(0) != 3 || a.SessionID != "s1" {
		t.Errorf("%+v", a)
	}
	if a.Tool == nil || a.Tool.Name != "exec_command" || a.Tool.Age != fleet.Duration(time.Minute) {
		t.Errorf("tool %+v", a.Tool)
	}
}

// When its model last answered is known by its transcript, or by the tools of which hooks tell; what
// it answered an earlier process shows nothing of the login of this one.
func TestWhenItsModelLastAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		written time.Duration // ago; 0 for not at all
		tool    time.Duration // ago, by hook
		want    time.Duration
	}{
		"by its transcript":        {written: time.Minute, want: time.Minute},
		"by a tool":                {tool: 2 * time.Minute, want: 2 * time.Minute},
		"by both":                  {written: time.Minute, tool: 2 * time.Minute, want: time.Minute},
		"by both, the tool later":  {written: 3 * time.Minute, tool: 2 * time.Minute, want: 2 * time.Minute},
		"an earlier process":       {written: 2 * time.Hour},
		"nothing was told of that": {},
	} {
		w, b := newWorld(), newLedger()
		w.proc(10, 1, "codex").Age = fleet.Duration(time.Hour)
		b.reg("one", 10)
		if c.tool > 0 {
			b.events = append(b.events, hook(w, "i-one", c.tool, fleet.HookToolBegin, "Bash", "c1"))
		}
		conv := fleet.Conversation{}
		if c.written > 0 {
			conv.Answered = w.now.Wall.Add(-c.written)
		}
		p := w.probe(t, func(o *Options) { b.options(o); o.Conversations = w.tells(conv, 60) })
		got := see(t, p)["one"].Answered
		if got.IsZero() != (c.want == 0) || !got.IsZero() && w.now.Since(got) != c.want {
			t.Errorf("%s: it was answered %s ago, want %s", name, w.now.Since(got), c.want)
		}
	}
}

// Of a context whose size is not told no percentage is guessed.
func TestNoPercentageIsGuessed(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	p := w.probe(t, func(o *Options) {
		o.Conversations = w.tells(fleet.Conversation{Used: fleet.Known(int64(190000)), Window: fleet.Unknown[int64]("not told")}, 60)
	})
	if a := see(t, p)["claude@a"]; a.ContextPercent.IsKnown() || a.ContextUsed.Or(0) != 190000 || !strings.Contains(a.ContextPercent.Why(), "size of its context is not told") {
		t.Errorf("%+v", a.ContextPercent)
	}
}

// What ended its turn is known by its transcript too, for who has no hooks or hooks that do
// not tell it; a prompt that its hooks told of since has begun another.
func TestAFailureInATranscript(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []fleet.HookEvent // 10 s before the failure, or after it
		after time.Duration
		want  string
	}{
		"no hooks":                 {nil, 0, "server_error"},
		"a prompt before":          {[]fleet.HookEvent{{Event: fleet.HookPrompt}}, -10 * time.Second, "server_error"},
		"the next prompt since":    {[]fleet.HookEvent{{Event: fleet.HookPrompt}}, 10 * time.Second, ""},
		"an end that tells no why": {[]fleet.HookEvent{{Event: fleet.HookPrompt}, {Event: fleet.HookStop}}, -10 * time.Second, "server_error"},
	} {
		w, b := newWorld(), newLedger()
		w.proc(10, 1, "codex")
		b.reg("a", 10).Kind = "codex"
		for _, e := range c.hooks {
			e.Instance, e.At, e.Context = "i-a", w.now.Add(-time.Minute+c.after), fleet.Unknown[float64]("")
			b.events = append(b.events, e)
		}
		p := w.probe(t, func(o *Options) {
			b.options(o)
			o.Conversations = w.tells(fleet.Conversation{}, 60, fleet.HookEvent{Event: fleet.HookFailure, Text: "server_error"})
		})
		// ps shows the beginning of a reason
		if a := see(t, p)["a"]; a.Failure != c.want || a.State == fleet.StateIdle && c.want != "" && !strings.HasPrefix(a.Reason, c.want+" ended its last turn; ") {
			t.Errorf("%s: %q ended its turn, want %q (%s: %s)", name, a.Failure, c.want, a.State, a.Reason)
		}
	}
}

// A limit is told with its end, and holds until then.
func TestALimitInATranscript(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "codex")
	until := w.now.Wall.Add(time.Hour)
	p := w.probe(t, func(o *Options) {
		o.Conversations = w.tells(fleet.Conversation{}, 60, fleet.HookEvent{Event: fleet.HookFailure, Text: "rate_limit", Until: fleet.Instant{Wall: until}})
	})
	if a := see(t, p)["codex@a"]; a.State != fleet.StateRateLimited || a.Source != agent.SourceTranscript || !a.RateLimitedUntil.Wall.Equal(until) || a.RateLimitedAt.IsZero() {
		t.Errorf("%s by %s until %v", a.State, a.Source, a.RateLimitedUntil)
	}
	w.pass(2 * time.Hour)
	if a := see(t, p)["codex@a"]; a.State == fleet.StateRateLimited {
		t.Errorf("%s: %s", a.State, a.Reason)
	}
}

// What an earlier process wrote in a conversation that is gone on with tells nothing of this one.
func TestAnEarlierProcessWroteIt(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "codex").Age = fleet.Duration(time.Minute)
	p := w.probe(t, func(o *Options) {
		o.Conversations = w.tells(fleet.Conversation{Turns: 4}, 120, fleet.HookEvent{Event: fleet.HookFailure, Text: "authentication"})
	})
	if a := see(t, p)["codex@a"]; a.State == fleet.StateAuthLost || a.Turns.Or(0) != 4 {
		t.Errorf("%s: %s", a.State, a.Reason)
	}
}

// Conversations that cannot be read take nothing from what is seen otherwise, and are said.
func TestConversationsThatCannotBeRead(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.pane("hand", 10).Title = "⠂ x"
	p := w.probe(t, func(o *Options) {
		o.Conversations = func(context.Context, []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
			return nil, errors.New("cannot read /home/dev/.claude/projects: permission denied")
		}
	})
	if a := see(t, p)["hand"]; a.State != fleet.StateWorking || !strings.Contains(a.ContextUsed.Why(), "permission denied") {
		t.Errorf("%s: %+v", a.State, a.ContextUsed)
	}
}

// A conversation is asked for by the name that the newest hook gave it, else by that of its
// record, and with the folder that it was started with.
func TestWhichConversationIsAskedFor(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	recorded := []fleet.Registration{{Name: "a", Kind: "claude", Owner: fleet.OwnerCustos, Instance: "i", Process: id(10), Desired: fleet.DesiredRunning, ConfigDir: "/accounts/work"}}
	event := func(session string, ago int) fleet.HookEvent {
		return fleet.HookEvent{ID: session, Process: id(10), Event: fleet.HookPrompt, Session: session, At: w.now.Add(-time.Duration(ago) * time.Second)}
	}
	var asked []Conversing
	p := w.probe(t, func(o *Options) {
		o.Registered = func(context.Context) ([]fleet.Registration, error) { return recorded, nil }
		o.Hooks = func(context.Context) ([]fleet.HookEvent, error) {
			return []fleet.HookEvent{event("new", 5), event("old", 50)}, nil
		}
		o.Conversations = func(_ context.Context, c []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
			asked = c
			return nil, nil
		}
	})
	see(t, p)
	if len(asked) != 1 || asked[0].Session != "new" || asked[0].CWD != "/work/a" || asked[0].Home != "/accounts/work" || w.now.Wall.Sub(asked[0].Since) != 5*time.Hour {
		t.Errorf("%+v", asked)
	}
}

// A variable that names the folder of many programs holds that of the kind below it.
func TestTheFolderBelowTheOneThatAnAgentIsGiven(t *testing.T) {
	for dir, want := range map[string]string{"/data": "/data/opencode", "": ""} {
		w := newWorld()
		w.proc(10, 1, "opencode")
		var asked []Conversing
		see(t, w.probe(t, func(o *Options) {
			o.Registered = func(context.Context) ([]fleet.Registration, error) {
				return []fleet.Registration{{Name: "a", Kind: "opencode", Owner: fleet.OwnerCustos, Process: id(10), Desired: fleet.DesiredRunning, ConfigDir: dir}}, nil
			}
			o.Conversations = func(_ context.Context, c []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) {
				asked = c
				return nil, nil
			}
		}))
		if len(asked) != 1 || asked[0].Home != want {
			t.Errorf("%q: %+v", dir, asked)
		}
	}
}

// How much of its plan an agent uses, its status line tells, else its transcript: the window
// that is fullest, and not one that has ended since.
func TestHowMuchOfAPlanIsUsed(t *testing.T) {
	q := func(percent float64, until time.Duration) fleet.Quota {
		return fleet.Quota{Window: "5h", Percent: percent, Resets: newWorld().now.Wall.Add(until), At: newWorld().now.Wall}
	}
	for what, c := range map[string]struct {
		status, written []fleet.Quota
		want            fleet.Leaf[float64]
	}{
		"nothing":        {},
		"its status":     {status: []fleet.Quota{q(20, time.Hour), q(60, time.Hour)}, written: []fleet.Quota{q(90, time.Hour)}, want: fleet.Known(60.0)},
		"its transcript": {written: []fleet.Quota{q(90, time.Hour)}, want: fleet.Known(90.0)},
		"of before":      {written: []fleet.Quota{q(90, -time.Hour)}, want: fleet.Unknown[float64]("no agent tells how much of its plan is used")},
	} {
		w := newWorld()
		w.proc(10, 1, "claude")
		a := see(t, w.probe(t, func(o *Options) {
			o.Conversations = w.tells(fleet.Conversation{Quota: c.written}, 60)
			o.Hooks = func(context.Context) ([]fleet.HookEvent, error) {
				return []fleet.HookEvent{{ID: "1", Process: id(10), Event: fleet.HookStatus, At: w.now, Status: &fleet.StatusReport{Quota: c.status}}}, nil
			}
		}))["claude@a"]
		if a.QuotaPercent != c.want {
			t.Errorf("%s: %+v", what, a.QuotaPercent)
		}
	}
}

// Whose account an agent is that was started by hand, the folder tells that its conversation
// lies in; of an agent of ours its record does.
func TestTheAccountOfAnAgentByItsConversation(t *testing.T) {
	accounts := fleet.Accounts{{Name: "own", Kind: "claude"}, {Name: "work", Kind: "claude", ConfigDir: "/srv/work"}, {Name: "other", Kind: "codex", ConfigDir: "/srv/work"}}
	twice := append(slices.Clone(accounts), fleet.Account{Name: "own2", Kind: "claude"})
	for _, c := range []struct {
		path, recorded, want string
		accounts             fleet.Accounts
	}{
		{"/srv/work/projects/p/s.jsonl", "", "work", accounts}, {"/home/dev/.claude/projects/p/s.jsonl", "", "own", accounts}, {"/srv/work2/projects/p/s.jsonl", "", "", accounts},
		{"", "", "", accounts}, {"/srv/work/projects/p/s.jsonl", "", "", nil}, {"/home/dev/.claude/projects/p/s.jsonl", "", "", twice}, {"/srv/work/projects/p/s.jsonl", "told", "told", accounts},
	} {
		w := newWorld()
		w.proc(10, 1, "claude")
		var recorded []fleet.Registration
		if c.recorded != "" {
			recorded = []fleet.Registration{{Name: "claude@a", Kind: "claude", Owner: fleet.OwnerCustos, Process: id(10), Desired: fleet.DesiredRunning, Account: c.recorded}}
		}
		p := w.probe(t, func(o *Options) {
			o.Registered = func(context.Context) ([]fleet.Registration, error) { return recorded, nil }
			o.Home, o.Accounts, o.Conversations = "/home/dev", c.accounts, w.tells(fleet.Conversation{Path: c.path}, 60)
		})
		if a := see(t, p)["claude@a"]; a.Account != c.want {
			t.Errorf("%+v: %q", c, a.Account)
		}
	}
}

// The first prompt of an agent is acknowledged by its transcript, too.
func TestAPromptIsAcknowledgedByTheTranscript(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, _ := kinds.Get("claude")
	for _, c := range []struct {
		prompt, taken string
		want          bool
	}{{"mend it", "mend it", true}, {"/help me", "> /help me", true}, {"/help me", "/help me", true}, {"mend it", "> mend it", false}} {
		events := []fleet.HookEvent{{Event: fleet.HookPrompt, Source: fleet.UsageTranscript, Text: conversation.PromptHash(c.taken) + " " + c.taken}}
		if got := tookPrompt(k, events, c.prompt); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// Only the CLI itself knows how much its context holds, and it tells its status line; that of
// another model says nothing of the one that answers now.
func TestTheStatusLineTellsTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		model  string
		window int64
	}{"the same model": {"m", 200000}, "another model": {"n", 0}} {
		w := newWorld()
		w.proc(10, 1, "claude")
		w.pane("hand", 10)
		p := w.probe(t, func(o *Options) {
			o.Hooks = func(context.Context) ([]fleet.HookEvent, error) {
				return []fleet.HookEvent{{ID: "1", At: w.now, Process: id(10), Kind: "claude", Event: fleet.HookStatus, Context: fleet.Unknown[float64]("not told"),
					Status: &fleet.StatusReport{Model: c.model, Used: fleet.Known[int64](7), Window: fleet.Known[int64](200000), MicroUSD: fleet.Unknown[int64]("not told")}}}, nil
			}
			o.Conversations = w.tells(fleet.Conversation{Model: "m", Used: fleet.Known[int64](50000), Window: fleet.Unknown[int64]("not told")}, 60)
		})
		a := see(t, p)["hand"]
		if a.ContextUsed.Or(0) != 50000 || a.ContextWindow.Or(0) != c.window || a.Model != "m" {
			t.Errorf("%s: %v of %v (%s)", name, a.ContextUsed, a.ContextWindow, a.Model)
		}
		if percent := a.ContextPercent.Or(0); percent != 25 && c.window > 0 || percent != 0 && c.window == 0 {
			t.Errorf("%s: %v", name, a.ContextPercent)
		}
	}
}
