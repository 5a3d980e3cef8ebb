package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// folded reads a recording, up to a line that has a text, or to its end.
func folded(t *testing.T, name, until string) *conversation.Transcript {
	t.Helper()
	language, _, _ := strings.Cut(name, "-")
	tr := conversation.NewTranscript(language, language, "/x", true)
	for line := range strings.Lines(read(t, "conversation/testdata/transcripts/"+name+".jsonl")) {
		entries, err := conversation.Read(language, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			tr.Take(e)
		}
		if until != "" && strings.Contains(line, until) {
			return tr
		}
	}
	if until != "" {
		t.Fatalf("%s has no line with %q", name, until)
	}
	return tr
}

// What real conversations amount to at some of their moments.
func TestConversations(t *testing.T) {
	for _, c := range []struct{ name, until, want string }{
		{"claude-2.1.330-terminal", "", "turns 16 model claude-opus-5-5 used 3571 window -1 state idle"},
		{"claude-2.1.330-terminal", `"content":"please run the tool"},"uuid"`, "turns 2 model claude-opus-5-5 used 3505 window -1 state working"},
		{"claude-2.1.330-terminal", "sleep 6; echo done", "turns 13 model claude-opus-5-5 used 3561 window -1 state working tool Bash"},
		{"claude-2.1.330-terminal", "[Request interrupted by user", "turns 12 model claude-opus-5-5 used 3559 window -1 state idle"},
		{"claude-2.1.330-terminal", `"apiErrorStatus":429`, "turns 6 model claude-opus-5-5 used 3525 window -1 failed rate_limit state rate_limited"},
		{"claude-2.1.330-terminal", `"apiErrorStatus":401`, "turns 7 model claude-opus-5-5 used 3525 window -1 failed authentication state auth_lost"},
		{"claude-2.1.330-terminal", `"apiErrorStatus":500`, "turns 8 model claude-opus-5-5 used 3525 window -1 failed server_error state idle"},
		{"claude-2.1.330-headless", "", "turns 2 model claude-opus-5-5 used 3509 window -1 state idle"},
		{"claude-2.1.330-subagent", "", "side turns 1 model claude-opus-5-5 used 3519 window -1 state idle"},
		{"codex-0.169.0-headless", "", "turns 2 model mock-model used 3106 window 258400 state idle"},
		{"codex-0.169.0-failures", "usage_limit_exceeded", "turns 2 model  used -1 window 258400 failed rate_limit until 22:15 state rate_limited"},
		{"codex-0.169.0-interrupt", `\"sleep 6; echo done\"`, "turns 2 model  used -1 window 258400 state working tool exec_command"},
		{"codex-0.169.0-interrupt", "", "turns 2 model mock-model used 3106 window 258400 state idle"},
		{"codex-0.169.0-terminal", "", "turns 13 model gpt-6-luna used 3194 window 258400 state idle"},
	} {
		tr := folded(t, c.name, c.until)
		if got := conversationText(tr); got != c.want {
			t.Errorf("%s until %q:\n%s, want\n%s", c.name, c.until, got, c.want)
		}
	}
}

func conversationText(tr *conversation.Transcript) string {
	c := tr.Conversation()
	text := fmt.Sprintf("turns %d model %s used %d window %d", c.Turns, c.Model, c.Used.Or(-1), c.Window.Or(-1))
	if tr.Side() {
		text = "side " + text
	}
	if c.Failure != nil {
		text += " failed " + c.Failure.Name
		if !c.Failure.Until.IsZero() {
			text += " until " + c.Failure.Until.Format("15:04")
		}
	}
	w := GatherWritten(c, time.Time{}, fleet.Instant{Wall: c.Written.Add(time.Second)}, Deadlines{})
	text += " state " + string(w.State)
	if w.Tool != nil {
		text += " tool " + w.Tool.Name
	}
	return text
}

// What was written before a process began is not its own; what lies in the future is now.
func TestWrittenByAnEarlierProcess(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	c := fleet.Conversation{Events: []fleet.HookEvent{{Event: fleet.HookFailure, Text: "rate_limit", At: fleet.Instant{Wall: at}}}}
	now := fleet.Instant{Wall: at.Add(time.Minute), Up: fleet.Duration(time.Hour), Boot: "b"}
	if w := GatherWritten(c, at, now, Deadlines{}); w.State != fleet.StateRateLimited || now.Since(w.Last) != time.Minute {
		t.Errorf("%+v", w)
	}
	if w := GatherWritten(c, at.Add(time.Second), now, Deadlines{}); w.State != "" || !w.Last.IsZero() {
		t.Errorf("%+v", w)
	}
	c.Events[0].At.Wall = at.Add(time.Hour)
	if w := GatherWritten(c, at, now, Deadlines{}); now.Since(w.Last) != 0 {
		t.Errorf("%+v", w)
	}
}

// The place of the transcript in the order of trust, one case for each step.
func TestTheTranscriptAmongTheSignals(t *testing.T) {
	claude, codex := kindOf(t, "claude"), kindOf(t, "codex")
	now := fleet.Instant{Wall: time.Unix(2e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	ago := func(seconds int, s fleet.AgentState) Reported {
		return Reported{State: s, Says: "it is said", Last: now.Add(-time.Duration(seconds) * time.Second), Turn: now.Add(-time.Duration(seconds) * time.Second)}
	}
	prompted := func(seconds int) Reported {
		r := ago(seconds, fleet.StateWorking)
		r.Prompt = r.Last
		return r
	}
	old := func(s Signals) Signals {
		s.Now, s.Age = now, fleet.Known(fleet.Duration(time.Hour))
		return s
	}
	for name, c := range map[string]struct {
		s             Signals
		state, source string
	}{
		"alone":                                       {Signals{Kind: codex, Written: ago(60, "working")}, "working", SourceTranscript},
		"alone, idle":                                 {Signals{Kind: codex, Written: ago(60, "idle")}, "idle", SourceTranscript},
		"without a terminal":                          {Signals{Kind: claude, OneShot: true, Written: ago(60, "working")}, "working", SourceTranscript},
		"below a hook of the same age":                {Signals{Kind: claude, Told: ago(10, "idle"), Written: ago(10, "working")}, "idle", SourceHook},
		"a moment later than a hook":                  {Signals{Kind: claude, Told: ago(10, "idle"), Written: ago(9, "working")}, "idle", SourceHook},
		"newer than a hook":                           {Signals{Kind: claude, Told: ago(10, "working"), Written: ago(5, "idle")}, "idle", SourceTranscript},
		"older than a hook":                           {Signals{Kind: claude, Told: ago(5, "working"), Written: ago(10, "idle")}, "working", SourceHook},
		"a tool beside a request":                     {Signals{Kind: claude, Told: ago(10, "waiting"), Written: ago(5, "working")}, "waiting", SourceHook},
		"a new prompt after a request":                {Signals{Kind: claude, Told: ago(10, "waiting"), Written: prompted(5)}, "working", SourceTranscript},
		"the end after a request":                     {Signals{Kind: claude, Told: ago(10, "waiting"), Written: ago(5, "idle")}, "idle", SourceTranscript},
		"below the registry":                          {Signals{Kind: claude, Registry: fleet.Known(Registry{Status: "waiting"}), Written: ago(5, "working")}, "waiting", SourceRegistry},
		"below a title that asks":                     {Signals{Kind: codex, Title: fleet.Known("Action Required"), Written: ago(5, "working")}, "waiting", SourceTitle},
		"below a dialog":                              {Signals{Kind: claude, Screen: fleet.Known(claudeAsks), Written: ago(5, "working")}, "waiting", SourceScreen},
		"above the prompt on the screen":              {Signals{Kind: claude, Screen: fleet.Known(claudePrompt), Written: ago(5, "working")}, "working", SourceTranscript},
		"above the processor":                         {Signals{Kind: claude, CPU: fleet.Known(90.0), Written: ago(5, "idle")}, "idle", SourceTranscript},
		"a prompt that was taken back":                {Signals{Kind: claude, Screen: fleet.Known(claudePrompt), Activity: seconds(20), Written: ago(30, "working")}, "idle", SourceScreen},
		"a tool that is silent":                       {Signals{Kind: claude, Screen: fleet.Known(claudePrompt), Activity: seconds(20), Written: Reported{State: "working", Says: "x", Last: now.Add(-time.Minute), Turn: now.Add(-time.Minute), Tool: &fleet.ToolCall{Name: "Bash"}}}, "working", SourceTranscript},
		"a limit, without hooks":                      {Signals{Kind: claude, Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt), Written: ago(60, "rate_limited")}, "rate_limited", SourceTranscript},
		"a lost login, above the registry":            {Signals{Kind: claude, Registry: fleet.Known(Registry{Status: "idle"}), Written: ago(60, "auth_lost")}, "auth_lost", SourceTranscript},
		"a limit that hooks tell as an end":           {Signals{Kind: claude, Told: ago(60, "idle"), Written: ago(60, "rate_limited")}, "rate_limited", SourceTranscript},
		"a limit, and a prompt since that hooks tell": {Signals{Kind: claude, Told: ago(5, "working"), Written: ago(60, "rate_limited")}, "working", SourceHook},
		"too long, above the registry":                {Signals{Kind: claude, Registry: fleet.Known(Registry{Status: "idle"}), Written: ago(60, "context_high")}, "context_high", SourceTranscript},
		"too long, and hooks tell only of an end":     {Signals{Kind: claude, Told: ago(60, "idle"), Written: ago(60, "context_high")}, "context_high", SourceTranscript},
		"too long by a hook, and at rest since":       {Signals{Kind: claude, Registry: fleet.Known(Registry{Status: "idle", Updated: now.Add(-59 * time.Second).Wall}), Told: ago(60, "context_high")}, "context_high", SourceHook},
		"too long by a hook, and at work since":       {Signals{Kind: claude, Registry: fleet.Known(Registry{Status: "busy", Updated: now.Add(-59 * time.Second).Wall}), Told: ago(60, "context_high")}, "working", SourceRegistry},
		"too long, and made shorter since":            {Signals{Kind: codex, Told: ago(60, "context_high"), Written: ago(5, "idle")}, "idle", SourceTranscript},
		"too long, and made shorter by hook since":    {Signals{Kind: claude, Told: ago(5, "idle"), Written: ago(60, "context_high")}, "idle", SourceHook},
		"suspended":                                   {Signals{Kind: claude, Suspended: true, Written: ago(1, "working")}, "stopped", SourceProcess},
	} {
		t.Run(name, func(t *testing.T) {
			if v := State(old(c.s)); string(v.State) != c.state || v.Source != c.source || v.Reason == "" {
				t.Errorf("got %s by %s (%s), want %s by %s", v.State, v.Source, v.Reason, c.state, c.source)
			}
		})
	}
}

// Codex tells no hook of an error that ends its turn. Its transcript does, within a second of
// the prompt: that is newer all the same. As recorded: the hook's time, and until which line.
func TestAnErrorRightAfterThePrompt(t *testing.T) {
	codex := kindOf(t, "codex")
	for _, c := range []struct {
		name, hook, until string
		want              fleet.AgentState
	}{
		{"of the server", "00:07:23.783", "internal_server_error", fleet.StateIdle},
		{"of the login", "00:07:48.465", `"http_status_code":401`, fleet.StateAuthLost},
		{"of a limit", "00:08:13.114", `"http_status_code":429`, fleet.StateRateLimited},
		{"too long", "00:08:37.740", "context_window_exceeded", fleet.StateContextHigh},
		{"before the prompt that hooks tell", "00:08:09.284", `"http_status_code":401`, fleet.StateWorking},
		{"a moment before the prompt", "00:07:24.900", "internal_server_error", fleet.StateWorking},
		{"of an earlier prompt", "00:07:24.500", "internal_server_error", fleet.StateWorking}, // it was told before the error, and is not written yet
	} {
		written := folded(t, "codex-0.169.0-errors", c.until).Conversation()
		at, err := time.Parse("2006-01-02 15:04:05.000", "2026-11-24 "+c.hook)
		if err != nil {
			t.Fatal(err)
		}
		now := fleet.Instant{Wall: at.Add(time.Minute), Up: fleet.Duration(time.Hour), Boot: "b"}
		told := fleet.HookEvent{Event: fleet.HookPrompt, At: now.Add(-time.Minute), Context: fleet.Unknown[float64]("")}
		v := State(Signals{Kind: codex, Now: now, Told: Gather([]fleet.HookEvent{told}, "", now, Deadlines{}), Written: GatherWritten(written, time.Time{}, now, Deadlines{})})
		if v.State != c.want {
			t.Errorf("an error %s: %s by %s (%s), want %s", c.name, v.State, v.Source, v.Reason, c.want)
		}
	}
}

// Codex says farewell, and ends five seconds later (0.169.0): meanwhile it is not idle,
// whatever its transcript said last, and nothing may be typed at it. Only a prompt on the
// screen, or what was written since, says that it goes on.
func TestAfterItsFarewell(t *testing.T) {
	codex := kindOf(t, "codex")
	now := fleet.Instant{Wall: time.Unix(2e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	event := func(what fleet.HookName, ago time.Duration) fleet.HookEvent {
		return fleet.HookEvent{Event: what, Text: "other", At: now.Add(-ago), Context: fleet.Unknown[float64]("")}
	}
	over := []fleet.HookEvent{event(fleet.HookStop, 6*time.Second), event(fleet.HookSessionEnd, 2*time.Second)}
	const farewell = "  Worked for <1s • 00:04\n\nToken usage: total=52 input=11 (+ 401 cached) output=41 (reasoning 6)\nTo continue this session, run:\n  codex resume 01a20ade-2c94-7631-9e3c-d24f1bdad773\n"
	const prompt = "• MOCK answers: done.\n\n› Ask Codex to do anything\n\n  mock-model default · ~/project\n  ← for agents · ? for shortcuts\n"
	wrote := func(ago time.Duration) Reported {
		return Reported{State: fleet.StateIdle, Says: "it is written", Last: now.Add(-ago), Turn: now.Add(-ago)}
	}
	for name, c := range map[string]struct {
		events []fleet.HookEvent
		screen string
		wrote  Reported
		cpu    float64
		want   string
	}{
		"it ends":                          {over, farewell, wrote(6 * time.Second), 0, "unknown none"},
		"it is busy ending":                {over, farewell, wrote(6 * time.Second), 40, "unknown none"},
		"its prompt is there":              {over, prompt, wrote(6 * time.Second), 0, "idle transcript"},
		"it wrote since":                   {over, farewell, wrote(500 * time.Millisecond), 0, "idle transcript"},
		"another session began":            {append(slices.Clone(over), event(fleet.HookSessionStart, time.Second)), farewell, wrote(6 * time.Second), 0, "idle transcript"},
		"a status line, which is no turn":  {append(slices.Clone(over), event(fleet.HookStatus, time.Second)), farewell, wrote(6 * time.Second), 0, "unknown none"},
		"nothing was told of its farewell": {over[:1], farewell, wrote(6 * time.Second), 0, "idle hook"},
	} {
		v := State(Signals{Kind: codex, Now: now, Age: seconds(600), Title: fleet.Known(""), Screen: fleet.Known(c.screen), Activity: seconds(1), CPU: fleet.Known(c.cpu),
			Told: Gather(c.events, "", now, Deadlines{}), Written: c.wrote})
		if got := string(v.State) + " " + v.Source; got != c.want || v.State == fleet.StateUnknown && !strings.Contains(v.Reason, "session has ended") {
			t.Errorf("%s: %s (%s), want %s", name, got, v.Reason, c.want)
		}
	}
}
