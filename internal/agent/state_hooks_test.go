package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

var noon = fleet.Instant{Wall: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}

// script makes hook events from words: "prompt", "tool-begin Bash 1 args",
// "permission Bash 1", …, one a second, the last one a minute before noon.
func script(words ...string) (events []fleet.HookEvent) {
	for i, w := range words {
		var name, tool, id, args string
		fmt.Sscan(w, &name, &tool, &id, &args)
		e := fleet.HookEvent{ID: fmt.Sprint(i), At: noon.Add(-time.Minute - time.Duration(len(words)-1-i)*time.Second), Event: fleet.HookName(name),
			Context: fleet.Unknown[float64]("not told"), Instance: "i1"}
		switch name {
		case "failure":
			e.Text = tool
		default:
			e.Tool, e.CallID, e.Args = tool, id, args
		}
		events = append(events, e)
	}
	return events
}

func TestHear(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		state  fleet.AgentState
		tool   string
	}{
		"nothing":                               {nil, "", ""},
		"session began":                         {[]string{"session-start"}, "", ""},
		"prompt":                                {[]string{"session-start", "prompt"}, "working", ""},
		"tool":                                  {[]string{"prompt", "tool-begin Bash 1"}, "working", "Bash"},
		"tool ended":                            {[]string{"prompt", "tool-begin Bash 1", "tool-end Bash 1"}, "working", ""},
		"turn ended":                            {[]string{"prompt", "tool-begin Bash 1", "stop"}, "idle", ""},
		"asks":                                  {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1"}, "waiting", "Bash"},
		"asks, and its tool ended":              {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "tool-end Bash 1"}, "working", ""},
		"asks, and another tool ended":          {[]string{"prompt", "tool-begin Bash 1", "tool-begin Read 2", "permission Bash 1", "tool-end Read 2"}, "waiting", "Bash"},
		"asks, and another tool began":          {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "tool-begin Read 2"}, "waiting", "Read"},
		"asks without naming the call":          {[]string{"prompt", "tool-begin Bash 1", "permission Bash", "tool-end Bash 1"}, "working", ""},
		"asks without naming it, another ended": {[]string{"prompt", "tool-begin Bash 1", "tool-begin Bash 2", "permission Bash", "tool-end Bash 1"}, "waiting", "Bash"},
		"asks, and a notice":                    {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "notice", "status", "compact"}, "waiting", "Bash"},
		"asks, and a prompt":                    {[]string{"prompt", "permission Bash 1", "prompt"}, "working", ""},
		"asks, and a new session":               {[]string{"prompt", "permission Bash 1", "session-start"}, "", ""},
		"asks, and a reminder, and its end":     {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "permission", "tool-end Bash 1"}, "working", ""},
		"asks by a reminder alone":              {[]string{"prompt", "tool-begin Bash 1", "permission", "tool-end Bash 1"}, "working", ""},
		"asks before it begins":                 {[]string{"prompt", "permission"}, "waiting", ""},
		"asked before it began":                 {[]string{"prompt", "permission", "tool-begin Bash"}, "working", "Bash"},
		"tools without ids":                     {[]string{"prompt", "tool-begin Bash", "tool-begin Read", "tool-end Read"}, "working", "Bash"},
		"asks by a tool, then answered":         {[]string{"prompt", "question AskUserQuestion 1", "tool-end AskUserQuestion 1"}, "working", ""},
		"the context overflowed":                {[]string{"prompt", "failure context"}, "context_high", ""},
		"asks, and is answered":                 {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "answered - 1"}, "working", "Bash"},
		"asks, and is answered by no name":      {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "answered"}, "working", "Bash"},
		"asks, and another one is answered":     {[]string{"prompt", "tool-begin Bash 1", "tool-begin Bash 2", "permission Bash 2", "answered - 1"}, "waiting", "Bash"},
		"asks twice, and the first is answered": {[]string{"prompt", "tool-begin Bash 1", "tool-begin Bash 2", "permission Bash 1", "permission Bash 2", "answered - 1"}, "waiting", "Bash"},
		"asks twice, and both are answered":     {[]string{"prompt", "tool-begin Bash 1", "tool-begin Bash 2", "permission Bash 1", "permission Bash 2", "answered - 1", "answered - 2"}, "working", "Bash"},
		"is answered after the turn":            {[]string{"prompt", "tool-begin Bash 1", "permission Bash 1", "stop", "answered - 1"}, "idle", ""},
		"refused, and its prompt is free":       {[]string{"prompt", "permission Bash", "rest"}, "idle", ""},
		"broken off, and its prompt is free":    {[]string{"prompt", "tool-begin Bash 1", "rest"}, "idle", ""},
		"a failure, and its prompt is free":     {[]string{"prompt", "failure rate_limit", "rest"}, "rate_limited", ""},
		"its prompt is free, and a failure":     {[]string{"prompt", "rest", "failure authentication"}, "auth_lost", ""},
		"nothing but that its prompt is free":   {[]string{"session-start", "rest"}, "idle", ""},
		"question":                              {[]string{"prompt", "question"}, "waiting", ""},
		"a reminder is no question":             {[]string{"prompt", "stop", "question"}, "idle", ""},
		"rate limit":                            {[]string{"prompt", "failure rate_limit"}, "rate_limited", ""},
		"rate limit, then a prompt":             {[]string{"prompt", "failure rate_limit", "prompt"}, "working", ""},
		"login":                                 {[]string{"prompt", "failure authentication_failed"}, "auth_lost", ""},
		"credit":                                {[]string{"prompt", "failure billing_error"}, "auth_lost", ""},
		"another error":                         {[]string{"prompt", "failure server_error"}, "idle", ""},
		"the session ended":                     {[]string{"prompt", "session-end"}, "", ""},
	} {
		told := Gather(script(c.events...), "i1", noon, Deadlines{})
		tool := ""
		if told.Tool != nil {
			tool = told.Tool.Name
		}
		if told.State != c.state || tool != c.tool {
			t.Errorf("%s: %q with tool %q in flight, want %q with %q", name, told.State, tool, c.state, c.tool)
		}
	}
}

func TestHearIgnoresOtherInstances(t *testing.T) {
	events := script("prompt", "tool-begin Bash 1")
	events[0].Instance, events[1].Instance = "old", "old"
	if told := Gather(events, "i1", noon, Deadlines{}); told.State != "" || !told.Last.IsZero() || told.Tool != nil {
		t.Errorf("events of an old instance were heard: %+v", told)
	}
	events[0].Instance = ""
	if told := Gather(events, "i1", noon, Deadlines{}); told.State != fleet.StateWorking || told.Tool != nil {
		t.Errorf("an event without an instance was not heard: %+v", told)
	}
}

// Events may come late and in any order: what was stored by way of a spool.
func TestHearSortsByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := script("session-start", "prompt", "tool-begin Bash 1", "permission Bash 1", "tool-end Bash 1", "stop")
		shuffled := rapid.Permutation(events).Draw(t, "order")
		if told := Gather(shuffled, "i1", noon, Deadlines{}); told.State != fleet.StateIdle || told.Tool != nil {
			t.Fatalf("%+v", told)
		}
	})
}

func TestRateLimitEndsAtItsReset(t *testing.T) {
	events := script("prompt", "failure rate_limit")
	events[1].Until = noon.Add(time.Minute)
	if told := Gather(events, "", noon, Deadlines{}); told.State != fleet.StateRateLimited || told.Until != events[1].Until {
		t.Errorf("before the reset: %+v", told)
	}
	if told := Gather(events, "", noon.Add(time.Minute), Deadlines{}); told.State != fleet.StateIdle || !told.Until.IsZero() {
		t.Errorf("after the reset: %+v", told)
	}
}

// No provider counts in longer windows than a week: what is said beyond that, by a
// hook or a status line, is not believed.
func TestRateLimitIsAWeekAtMost(t *testing.T) {
	for _, words := range [][]string{{"prompt", "failure rate_limit"}, {"status", "prompt", "failure rate_limit"}, {"prompt", "failure rate_limit", "status"}} {
		events := script(words...)
		for i, w := range words {
			if w == "status" || len(words) == 2 && i == 1 {
				events[i].Until = noon.Add(10 * 365 * 24 * time.Hour)
			}
		}
		last := events[len(events)-1].At.Add(7 * 24 * time.Hour)
		if told := Gather(events, "", noon, Deadlines{}); told.State != fleet.StateRateLimited || told.Until.IsZero() || last.Before(told.Until) {
			t.Errorf("%v: %+v", words, told)
		}
		if told := Gather(events, "", last, Deadlines{}); told.State != fleet.StateIdle {
			t.Errorf("%v, a week later: %+v", words, told)
		}
	}
}

func TestMoreThatHooksTell(t *testing.T) {
	events := script("prompt", "tool-begin Bash 1", "session-start")
	events[2].Text = "compact"
	if told := Gather(events, "", noon, Deadlines{}); told.State != fleet.StateWorking || told.Tool == nil {
		t.Errorf("compaction in mid-turn: %+v", told)
	}
	for reason, state := range map[string]fleet.AgentState{"clear": fleet.StateIdle, "new": fleet.StateIdle, "startup": "", "resume": ""} {
		events = script("prompt", "stop", "session-end", "session-start")
		events[3].Text = reason
		if told := Gather(events, "", noon, Deadlines{}); told.State != state || !told.Ended.IsZero() || told.Begun.IsZero() {
			t.Errorf("a session that begins by %q: %+v", reason, told)
		}
	}
	for _, more := range []string{"prompt", "tool-begin Bash 1", "permission", "question", "stop", "rest", "failure rate_limit", "session-end"} {
		if told := Gather(script("session-start", more), "", noon, Deadlines{}); !told.Begun.IsZero() {
			t.Errorf("after %s it still counts as just begun", more)
		}
	}
	events = script("prompt", "tool-begin Bash 1", "tool-end Bash 1")
	events[2].Text = "interrupted"
	if told := Gather(events, "", noon, Deadlines{}); told.State != fleet.StateIdle {
		t.Errorf("broken off: %+v", told)
	}
	reset := fleet.Instant{Wall: noon.Wall.Add(time.Hour)} // as CLIs tell it: without a boot
	for name, words := range map[string][]string{"before": {"status", "prompt", "failure rate_limit"}, "after": {"prompt", "failure rate_limit", "status"}} {
		events = script(words...)
		for i := range events {
			if events[i].Event == fleet.HookStatus {
				events[i].Until = reset
			}
		}
		if told := Gather(events, "", noon, Deadlines{}); told.State != fleet.StateRateLimited || told.Until != reset {
			t.Errorf("reset told by a status line %s: %+v", name, told)
		}
		if told := Gather(events, "", noon.Add(time.Hour), Deadlines{}); told.State != fleet.StateIdle {
			t.Errorf("after the reset: %+v", told)
		}
	}
	events = script("prompt", "notice")
	events[0].Session, events[1].Session = "mine", "hidden"
	if told := Gather(events, "", noon, Deadlines{}); told.Session != "mine" {
		t.Errorf("session %s", told.Session)
	}
}

func TestToolDeadlines(t *testing.T) {
	d := Deadlines{Tools: map[string]time.Duration{"Bash": time.Hour}}
	told := Gather(script("prompt", "tool-begin Bash 1", "tool-begin Read 2"), "i1", noon, d)
	if told.Tool == nil || told.Tool.Name != "Bash" || told.Tool.Over() || time.Duration(told.Tool.Deadline) != time.Hour {
		t.Errorf("in flight: %+v, want the one with most time left", told.Tool)
	}
	if told = Gather(script("prompt", "tool-begin Read 2"), "i1", noon.Add(time.Hour), d); !told.Tool.Over() {
		t.Errorf("an hour of Read is within %v", told.Tool.Deadline)
	}
}

func TestLoops(t *testing.T) {
	var words []string
	add := func(n int, args string) {
		for range n {
			id := fmt.Sprint(len(words))
			words = append(words, "tool-begin Bash "+id+" "+args, "tool-end Bash "+id)
		}
	}
	add(loopAfter-1, "x")
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Errorf("%d calls made a loop", loopAfter-1)
	}
	words = append(words, "tool-begin Bash open x")
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Error("a call that runs was counted")
	}
	words = words[:len(words)-1]
	add(1, "x")
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != loopAfter || l.Tool != "Bash" {
		t.Errorf("%+v, want %d", l, loopAfter)
	}
	add(1, "y")
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Error("another call did not end the loop")
	}
	add(loopAfter, "")
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Error("calls of unknown arguments made a loop")
	}
	add(loopAfter, "z")
	if l := Gather(script(append(words, "stop")...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Error("a loop outlived its turn")
	}
}

// TestACallThatIsToldTwiceIsOne: by hooks that a launch gave and by those that are installed, as of a
// plugin that its CLI loads twice.
func TestACallThatIsToldTwiceIsOne(t *testing.T) {
	words := []string{"prompt", "prompt"}
	for i := range loopAfter - 1 {
		id := fmt.Sprint(i)
		words = append(words, "tool-begin Bash "+id+" x", "tool-begin Bash "+id+" x", "tool-end Bash "+id, "tool-end Bash "+id)
	}
	if l := Gather(script(words...), "", noon, Deadlines{}).Loop; l.Times != 0 {
		t.Errorf("%d calls that were told twice made a loop of %d", loopAfter-1, l.Times)
	}
	told := Gather(script(append(words, "tool-begin Bash 0 x")...), "", noon, Deadlines{})
	if told.Tool != nil {
		t.Errorf("a call that has ended and is told again is in flight: %+v", told.Tool)
	}
}

// Hooks are trusted first; what they cannot tell is read from what is newer.
func TestStateWithHooks(t *testing.T) {
	claude := kindOf(t, "claude")
	reg := func(status string, ago time.Duration) fleet.Leaf[Registry] {
		return fleet.Known(Registry{Status: status, Updated: noon.Wall.Add(-ago)})
	}
	for name, c := range map[string]struct {
		events        []string
		s             Signals
		state, source string
	}{
		"working":                          {[]string{"prompt"}, Signals{}, "working", SourceHook},
		"above an older registry":          {[]string{"prompt"}, Signals{Registry: reg("idle", time.Hour)}, "working", SourceHook},
		"below a newer registry":           {[]string{"prompt"}, Signals{Registry: reg("idle", time.Second)}, "idle", SourceRegistry},
		"its end not told of yet":          {[]string{"prompt"}, Signals{Registry: reg("idle", endSettles-1)}, "working", SourceHook},
		"interrupted, told by title":       {[]string{"prompt"}, Signals{Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt), Activity: seconds(5)}, "idle", SourceTitle},
		"old title":                        {[]string{"prompt"}, Signals{Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt), Activity: seconds(90)}, "working", SourceHook},
		"interrupted as soon as it began":  {[]string{"prompt"}, Signals{Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt), Activity: seconds(61)}, "idle", SourceTitle},
		"asks, the title is idle":          {[]string{"permission Bash"}, Signals{Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt), Activity: seconds(5)}, "waiting", SourceHook},
		"asked, and was answered":          {[]string{"permission Bash"}, Signals{Title: fleet.Known("⠂ x"), Activity: seconds(1)}, "working", SourceTitle},
		"a fake dialog while idle":         {[]string{"stop"}, Signals{Screen: fleet.Known(claudeAsks)}, "idle", SourceHook},
		"cpu while idle":                   {[]string{"stop"}, Signals{CPU: fleet.Known(80.0)}, "idle", SourceHook},
		"suspended":                        {[]string{"prompt"}, Signals{Suspended: true}, "stopped", SourceProcess},
		"limited, not by the screen alone": {[]string{"failure rate_limit"}, Signals{Screen: fleet.Known(claudePrompt)}, "rate_limited", SourceHook},
		"never told that it began":         {nil, Signals{Hooked: true, Age: seconds(60)}, "starting", SourceHook},
		"never told, but has a title":      {nil, Signals{Hooked: true, Age: seconds(60), Title: fleet.Known("⠂ x")}, "working", SourceTitle},
		"told that it began":               {[]string{"session-start"}, Signals{Hooked: true, Age: seconds(60)}, "unknown", SourceNone},
		"without hooks":                    {nil, Signals{Age: seconds(60)}, "unknown", SourceNone},
	} {
		c.s.Kind, c.s.Now = claude, noon
		c.s.Told = Gather(script(c.events...), "i1", noon, Deadlines{})
		if v := State(c.s); string(v.State) != c.state || v.Source != c.source || v.Reason == "" {
			t.Errorf("%s: %s by %s (%s), want %s by %s", name, v.State, v.Source, v.Reason, c.state, c.source)
		}
	}
}

func TestContextHigh(t *testing.T) {
	for used, want := range map[float64]fleet.AgentState{79: fleet.StateIdle, 80: fleet.StateContextHigh} {
		events := script("prompt", "stop")
		events[1].Context = fleet.Known(used)
		if v := State(Signals{Kind: kindOf(t, "claude"), Told: Gather(events, "", noon, Deadlines{}), Now: noon}); v.State != want {
			t.Errorf("idle at %.0f %%: %s", used, v.State)
		}
		events = append(events, script("prompt")...)
		if v := State(Signals{Kind: kindOf(t, "claude"), Told: Gather(events, "", noon, Deadlines{}), Now: noon}); v.State != fleet.StateWorking {
			t.Errorf("working at %.0f %%: %s", used, v.State)
		}
	}
}

func TestEnded(t *testing.T) {
	unknown := fleet.Unknown[int]("lost")
	exit := func(status, signal fleet.Leaf[int]) *fleet.Exit {
		return &fleet.Exit{Status: status, Signal: signal, Source: "pidfd", At: noon}
	}
	asked, oom := exit(unknown, fleet.Known(9)), exit(unknown, fleet.Known(9))
	asked.Asked, oom.OOM = "anna", true
	hungUp := exit(fleet.Known(0), unknown)
	hungUp.Hangup = true
	alone, quit, nobody := exit(fleet.Known(0), unknown), exit(fleet.Known(0), unknown), exit(unknown, unknown)
	alone.ShimGone, quit.ShimGone, nobody.ShimGone = true, true, true
	quit.Quit = "its own exit command"
	for name, c := range map[string]struct {
		end    End
		state  fleet.AgentState
		source string
	}{
		"killed":                        {End{Exit: exit(unknown, fleet.Known(9))}, "crashed", "pidfd"},
		"killed, a shell is left":       {End{Exit: exit(unknown, fleet.Known(9)), Shell: true}, "crashed", "pidfd"},
		"above what tmux says":          {End{Exit: exit(fleet.Known(3), unknown), PaneDead: true, Status: fleet.Known(0)}, "crashed", "pidfd"},
		"finished":                      {End{Exit: exit(fleet.Known(0), unknown)}, "finished", "pidfd"},
		"left its closed terminal":      {End{Exit: hungUp}, "stopped", "pidfd"},
		"left it, was to run":           {End{Exit: hungUp, Wanted: fleet.DesiredRunning}, "crashed", "pidfd"},
		"well, its shim gone":           {End{Exit: alone, Wanted: fleet.DesiredRunning}, "crashed", "pidfd"},
		"the same, not registered":      {End{Exit: alone}, "crashed", "pidfd"},
		"the same, to be stopped":       {End{Exit: alone, Wanted: fleet.DesiredStopped}, "stopped", "pidfd"},
		"the same, a person ended it":   {End{Exit: quit, Wanted: fleet.DesiredRunning}, "stopped", "pidfd"},
		"the same, nobody saw it":       {End{Exit: nobody, Wanted: fleet.DesiredRunning}, "crashed", "pidfd"},
		"ended by TERM":                 {End{Exit: exit(fleet.Known(143), unknown)}, "stopped", "pidfd"},
		"killed because somebody asked": {End{Exit: asked}, "stopped", "pidfd"},
		"killed while to be stopped":    {End{Exit: exit(unknown, fleet.Known(9)), Wanted: fleet.DesiredStopped}, "stopped", "pidfd"},
		"killed while to run":           {End{Exit: oom, Wanted: fleet.DesiredRunning}, "crashed", "pidfd"},
		"nobody saw it":                 {End{Exit: exit(unknown, unknown)}, "unknown", "pidfd"},
		"reboot":                        {End{Exit: &fleet.Exit{Source: ExitReboot}, Wanted: fleet.DesiredRunning}, "unknown", ExitReboot},
		"nothing is left":               {End{}, "unknown", SourceProcess},
		"nothing is left, was to stop":  {End{Wanted: fleet.DesiredStopped}, "unknown", SourceProcess},
	} {
		if v := State(Signals{End: &c.end}); v.State != c.state || v.Source != c.source || v.Reason == "" {
			t.Errorf("%s: %s by %s (%s), want %s by %s", name, v.State, v.Source, v.Reason, c.state, c.source)
		}
	}
}

// drawEvents makes any history of hooks.
func drawEvents(t *rapid.T) []fleet.HookEvent {
	one := rapid.Custom(func(t *rapid.T) fleet.HookEvent {
		e := fleet.HookEvent{At: noon.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "ago")) * time.Second)}
		e.Event = rapid.SampledFrom([]fleet.HookName{fleet.HookSessionStart, fleet.HookSessionEnd, fleet.HookPrompt, fleet.HookToolBegin,
			fleet.HookToolEnd, fleet.HookPermission, fleet.HookQuestion, fleet.HookAnswered, fleet.HookRest, fleet.HookStop, fleet.HookFailure, fleet.HookCompact, fleet.HookNotice}).Draw(t, "event")
		e.CallID = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "call")
		e.Tool = rapid.SampledFrom([]string{"", "Bash", "Read"}).Draw(t, "tool")
		e.Text = rapid.SampledFrom([]string{"", "rate_limit", "authentication_failed", "x"}).Draw(t, "text")
		e.Instance = rapid.SampledFrom([]string{"", "i1", "old"}).Draw(t, "instance")
		return e
	})
	return rapid.SliceOfN(one, 0, 30).Draw(t, "events")
}

// Whatever was told and seen: a live agent is never called ended, a verdict has
// a reason and a source, and what nothing tells is neither idle nor working.
func TestVerdictsOfLiveAgents(t *testing.T) {
	claude := kindOf(t, "claude")
	rapid.Check(t, func(t *rapid.T) {
		s := Signals{Kind: claude, Now: noon, Hooked: rapid.Bool().Draw(t, "hooked"), Told: Gather(drawEvents(t), "i1", noon, Deadlines{})}
		if rapid.Bool().Draw(t, "registry seen") {
			s.Registry = fleet.Known(Registry{Status: rapid.SampledFrom([]string{"busy", "idle", "waiting", "?"}).Draw(t, "status"),
				Updated: noon.Wall.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "updated")) * time.Second)})
		}
		if rapid.Bool().Draw(t, "title seen") {
			s.Title = fleet.Known(rapid.SampledFrom([]string{"⠂ x", "✳ x", "x", ""}).Draw(t, "title"))
		}
		if rapid.Bool().Draw(t, "screen seen") {
			s.Screen = fleet.Known(rapid.SampledFrom([]string{claudePrompt, claudeAsks, "x"}).Draw(t, "screen"))
		}
		if rapid.Bool().Draw(t, "activity seen") {
			s.Activity = seconds(rapid.IntRange(0, 7200).Draw(t, "wrote"))
		}
		v := State(s)
		switch v.State {
		case fleet.StateCrashed, fleet.StateFinished, fleet.StateZombie, fleet.StateStopped, fleet.StateStuck, "":
			t.Fatalf("a live agent is %q", v.State)
		}
		if v.Reason == "" || v.Source == "" {
			t.Fatalf("%s without reason or source", v.State)
		}
		blind := s.Told.State == "" && !s.Registry.IsKnown() && !s.Title.IsKnown() && !s.Screen.IsKnown() && !s.Activity.IsKnown()
		if blind && v.State != fleet.StateUnknown && v.State != fleet.StateStarting {
			t.Fatalf("%s, though nothing was seen", v.State)
		}
	})
}

// A prompt is drawn before the CLI takes what is typed at it: gemini swallowed text
// typed 1.4 s before its session-start hook. Whose hooks are not heard at all is
// believed once its window is still.
func TestIdleIsBelievedOnceItHasBegun(t *testing.T) {
	screen := fleet.Known(read(t, "testdata/panes/gemini-05-starting-prompt.txt"))
	began := Gather([]fleet.HookEvent{{Event: fleet.HookSessionStart, At: noon}}, "", noon, Deadlines{})
	for name, c := range map[string]struct {
		s     Signals
		state fleet.AgentState
	}{
		"it has not told":                       {Signals{Hooked: true, Age: seconds(4), Activity: seconds(1)}, fleet.StateStarting},
		"nor when its window is not seen":       {Signals{Hooked: true, Age: seconds(4)}, fleet.StateStarting},
		"nor on a slow machine":                 {Signals{Hooked: true, Age: seconds(40), Activity: seconds(3)}, fleet.StateStarting},
		"it has told":                           {Signals{Hooked: true, Age: seconds(4), Activity: seconds(1), Told: began}, fleet.StateIdle},
		"it is not told to tell":                {Signals{Age: seconds(4), Activity: seconds(1)}, fleet.StateIdle},
		"its window has been still":             {Signals{Hooked: true, Age: seconds(40), Activity: seconds(12)}, fleet.StateIdle},
		"it is old, and a person types into it": {Signals{Hooked: true, Age: seconds(200), Activity: seconds(1)}, fleet.StateIdle},
		"its hooks are ignored":                 {Signals{Hooked: true, Deaf: "root does not own /run", Age: seconds(4), Activity: seconds(1)}, fleet.StateIdle},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Kind, c.s.Now, c.s.Title, c.s.Screen = kindOf(t, "gemini"), noon, fleet.Known("◇  Ready (project)"), screen
			if v := State(c.s); v.State != c.state {
				t.Errorf("got %s by %s (%s), want %s", v.State, v.Source, v.Reason, c.state)
			}
		})
	}
}

// Its title says Ready over a blank screen, and over its own menus.
func TestGeminiReadyNeedsItsPrompt(t *testing.T) {
	for name, screen := range map[string]fleet.Leaf[string]{"blank": fleet.Known(""), "not seen": {}} {
		if v := State(Signals{Kind: kindOf(t, "gemini"), Title: fleet.Known("◇  Ready (project)"), Screen: screen}); v.State != fleet.StateUnknown {
			t.Errorf("a screen that is %s: got %s by %s", name, v.State, v.Source)
		}
	}
}

// That hooks are ignored is said as long as nothing is heard of them.
func TestIgnoredHooksAreSaid(t *testing.T) {
	told := Gather([]fleet.HookEvent{{Event: fleet.HookStop, At: noon}}, "", noon, Deadlines{})
	for _, c := range []struct {
		s    Signals
		said bool
	}{{Signals{Hooked: true, Deaf: "root does not own /run"}, true}, {Signals{Hooked: true, Deaf: "root does not own /run", Told: told}, false}, {Signals{Deaf: "root does not own /run"}, false}} {
		c.s.Kind, c.s.Now = kindOf(t, "gemini"), noon
		said := slices.ContainsFunc(State(c.s).Signals, func(s fleet.Signal) bool {
			return s.Source == SourceHook && strings.Contains(s.Says, "its hooks are ignored: root does not own /run")
		})
		if said != c.said {
			t.Errorf("%+v: said %v", c.s, said)
		}
	}
}

// A status line is drawn again and again, and tells of no turn: what was answered before it
// stays answered.
func TestStatusLinesTellOfNoTurn(t *testing.T) {
	for name, last := range map[string]fleet.HookEvent{
		"a status line": {Event: fleet.HookStatus, At: noon.Add(-time.Second)}, "a notice": {Event: fleet.HookNotice, At: noon.Add(-time.Second)},
		"a reminder": {Event: fleet.HookPermission, At: noon.Add(-time.Second)},
	} {
		asks := fleet.HookEvent{Event: fleet.HookPermission, Tool: "Bash", At: noon.Add(-10 * time.Second)}
		s := Signals{Kind: kindOf(t, "claude"), Now: noon, Told: Gather([]fleet.HookEvent{asks, last}, "i1", noon, Deadlines{}),
			Registry: fleet.Known(Registry{Status: "busy", Updated: noon.Wall.Add(-5 * time.Second)})}
		if v := State(s); v.State != fleet.StateWorking || v.Source != SourceRegistry {
			t.Errorf("%s after the answer: %s by %s (%s), want working by its registry", name, v.State, v.Source, v.Reason)
		}
	}
}

// What a person opens at a free prompt, and what a CLI asks before it takes a prompt, no
// hook tells: the hooks go on saying that the turn has ended.
func TestDialogAfterTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		kind, pane, title, last string
		ago                     int
		state                   fleet.AgentState
	}{
		"a menu":             {"codex", "codex-50-model-picker", "project", "stop", 60, fleet.StateDialog},
		"a question":         {"gemini", "gemini-61-read-outside", "◇  Ready (project)", "stop", 60, fleet.StateWaiting},
		"not drawn anew yet": {"codex", "codex-50-model-picker", "project", "stop", 3, fleet.StateIdle},
		"at work":            {"codex", "codex-50-model-picker", "project", "prompt", 60, fleet.StateWorking},
		"its prompt":         {"codex", "codex-12-ready", "project", "stop", 60, fleet.StateIdle},
	} {
		t.Run(name, func(t *testing.T) {
			told := Gather(script(c.last), "", noon, Deadlines{})
			told.Last = noon.Add(-time.Duration(c.ago) * time.Second)
			v := State(Signals{Kind: kindOf(t, c.kind), Now: noon, Told: told, Title: fleet.Known(c.title), Screen: fleet.Known(read(t, "testdata/panes/"+c.pane+".txt"))})
			if v.State != c.state {
				t.Errorf("got %s by %s (%s), want %s", v.State, v.Source, v.Reason, c.state)
			}
		})
	}
}

// Where the title itself says that the agent waits, one that says that it works is soon
// believed after the request: a person has answered, of which no hook tells. codex was
// called waiting for five seconds of each tool that a person had allowed.
func TestAnsweredByTitle(t *testing.T) {
	for name, c := range map[string]struct {
		kind, title string
		ago         int
		state       fleet.AgentState
	}{
		"answered":                        {"codex", "⠋ project", 3, fleet.StateWorking},
		"its title may lag":               {"codex", "⠋ project", 1, fleet.StateWaiting},
		"it waits":                        {"codex", "Action Required | project", 3, fleet.StateWaiting},
		"its title never says it waits":   {"claude", "⠂ project", 3, fleet.StateWaiting},
		"and is believed in five seconds": {"claude", "⠂ project", 6, fleet.StateWorking},
	} {
		t.Run(name, func(t *testing.T) {
			asks := fleet.HookEvent{Event: fleet.HookPermission, Tool: "Bash", At: noon.Add(-time.Duration(c.ago) * time.Second)}
			v := State(Signals{Kind: kindOf(t, c.kind), Now: noon, Told: Gather([]fleet.HookEvent{asks}, "", noon, Deadlines{}), Title: fleet.Known(c.title), Activity: seconds(0)})
			if v.State != c.state {
				t.Errorf("got %s by %s (%s), want %s", v.State, v.Source, v.Reason, c.state)
			}
		})
	}
}
