package agent

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func seconds(n int) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(time.Duration(n) * time.Second))
}

const (
	claudePrompt   = "────────────────────\n❯ \n────────────────────\n  ? for shortcuts\n"
	opencodePrompt = "  ┃\n  ┃  Build · Mock Model\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   ~/project   tab agents  ctrl+p commands\n"
	claudeAsks     = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel · Tab to amend\n"
)

// The order of trust, one case for each step of it.
func TestStateOrder(t *testing.T) {
	claude, codex, opencode := kindOf(t, "claude"), kindOf(t, "codex"), kindOf(t, "opencode")
	reg := func(status string) fleet.Leaf[Registry] {
		return fleet.Known(Registry{Status: status, WaitingFor: "Bash"})
	}
	for name, c := range map[string]struct {
		s             Signals
		state, source string
	}{
		"nothing known":                     {Signals{Kind: claude}, "unknown", SourceNone},
		"suspended above all":               {Signals{Kind: claude, Suspended: true, Registry: reg("busy")}, "stopped", SourceProcess},
		"registry above title":              {Signals{Kind: claude, Registry: reg("busy"), Title: fleet.Known("✳ x")}, "working", SourceRegistry},
		"registry waits":                    {Signals{Kind: claude, Registry: reg("waiting"), Title: fleet.Known("⠂ x")}, "waiting", SourceRegistry},
		"registry runs a shell":             {Signals{Kind: claude, Registry: reg("shell")}, "working", SourceRegistry},
		"registry says something new":       {Signals{Kind: claude, Registry: reg("dreaming"), Title: fleet.Known("⠂ x")}, "working", SourceTitle},
		"registry idle above a fake dialog": {Signals{Kind: claude, Registry: reg("idle"), Screen: fleet.Known(claudeAsks)}, "idle", SourceRegistry},
		"busy title above a fake dialog":    {Signals{Kind: claude, Title: fleet.Known("⠂ x"), Screen: fleet.Known(claudeAsks)}, "working", SourceTitle},
		"dialog above an ambiguous title":   {Signals{Kind: claude, Title: fleet.Known("✳ x"), Screen: fleet.Known(claudeAsks)}, "waiting", SourceScreen},
		"ambiguous title alone":             {Signals{Kind: claude, Title: fleet.Known("✳ x")}, "unknown", SourceNone},
		"ambiguous title and prompt":        {Signals{Kind: claude, Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt)}, "idle", SourceTitle},
		"cpu above the screen's prompt":     {Signals{Kind: claude, CPU: fleet.Known(50.0), Screen: fleet.Known(claudePrompt)}, "working", SourceCPU},
		"opencode's prompt above cpu":       {Signals{Kind: opencode, CPU: fleet.Known(50.0), Screen: fleet.Known(opencodePrompt), Age: seconds(60)}, "idle", SourceScreen},
		"opencode's prompt above young cpu": {Signals{Kind: opencode, CPU: fleet.Known(50.0), Screen: fleet.Known(opencodePrompt), Age: seconds(5)}, "idle", SourceScreen},
		"no prompt of opencode, and cpu":    {Signals{Kind: opencode, CPU: fleet.Known(50.0), Screen: fleet.Known("x"), Age: seconds(60)}, "working", SourceCPU},
		"little cpu says nothing":           {Signals{Kind: claude, CPU: fleet.Known(2.0)}, "unknown", SourceNone},
		"a prompt that is always there":     {Signals{Kind: codex, Screen: fleet.Known("› x\n  m · /p\n  ? for shortcuts")}, "unknown", SourceNone},
		"output just now":                   {Signals{Kind: codex, Activity: seconds(1)}, "working", SourceActivity},
		"output a while ago":                {Signals{Kind: codex, Activity: seconds(60)}, "unknown", SourceNone},
		"just started":                      {Signals{Kind: codex, Age: seconds(2)}, "starting", SourceProcess},
		"a one-shot's output is no screen":  {Signals{Kind: claude, OneShot: true, Title: fleet.Known("⠂ x"), Screen: fleet.Known(claudeAsks)}, "unknown", SourceNone},
		"a shell is left":                   {Signals{End: &End{Shell: true}}, "zombie", SourceProcess},
		"dead, nobody knows how":            {Signals{End: &End{PaneDead: true}}, "unknown", SourceTmux},
		"dead by OOM or SIGKILL":            {Signals{End: &End{PaneDead: true, Signal: fleet.Known(9)}}, "crashed", SourceTmux},
		"dead by a closed terminal":         {Signals{End: &End{PaneDead: true, Signal: fleet.Known(1)}}, "stopped", SourceTmux},
		"dead with 137":                     {Signals{End: &End{PaneDead: true, Status: fleet.Known(137)}}, "crashed", SourceTmux},
		"dead with 255":                     {Signals{End: &End{PaneDead: true, Status: fleet.Known(255)}}, "crashed", SourceTmux},
	} {
		t.Run(name, func(t *testing.T) {
			v := State(c.s)
			if string(v.State) != c.state || v.Source != c.source || v.Reason == "" {
				t.Errorf("got %s by %s (%s), want %s by %s", v.State, v.Source, v.Reason, c.state, c.source)
			}
		})
	}
}

// An agent prints anything in normal work. None of this is where the CLI itself
// would write it.
func TestAdversarialScreens(t *testing.T) {
	quoted := []string{
		"● The API said: rate limit exceeded (429), retrying in 5s\n",
		"● Here is the menu you asked for:\n  ❯ 1. Yes\n    2. No\n  Esc to cancel\n",
		"● Bash(cat log)\n  ⎿  ● API Error: Request rejected (429)\n     ✻ 429 rate limit Retrying in 5s · attempt 1/10\n",
		"● Do you want to proceed?\n",
		"● Invalid API key · Please run /login\n",
		"● Context limit reached · /compact or /clear to continue\n",
		"● Yes, I trust this folder\n  ❯ 1. Yes, I trust this folder\n  2. No, exit\n  Enter to confirm\n",
		"Pane is dead (signal 9, Fri Nov 20 08:34:22 2026)\n",
		"\x1b[31mUnauthorized\x1b[0m\n",
	}
	for _, text := range quoted {
		v := State(Signals{Kind: kindOf(t, "claude"), Title: fleet.Known("✳ Claude Code"), Screen: fleet.Known(text + claudePrompt)})
		if v.State != fleet.StateIdle {
			t.Errorf("%q above the prompt was read as %s: %s", text, v.State, v.Reason)
		}
	}
	for _, name := range kinds(t).Names() {
		for _, text := range append(quoted, claudeAsks+"\n$ echo that was a file\n", strings.Repeat("❯ 1. Yes\n", 500)) {
			for _, s := range ReadScreen(kindOf(t, name), text, "my title: Working") {
				if s.Source == SourceScreen && s.Hint != "" {
					t.Errorf("%s: the end %q was read as %s (%s)", name, text, s.Hint, s.Says)
				}
			}
		}
	}
}

func TestReadScreenOfDeadPane(t *testing.T) {
	got := ReadScreen(kindOf(t, "claude"), claudePrompt+"Pane is dead (signal 9, Fri Nov 20 08:34:22 2026)\n", "")
	if len(got) != 1 || got[0].Hint != "" || !strings.Contains(got[0].Says, "signal 9") {
		t.Errorf("%+v", got)
	}
}

func FuzzReadScreen(f *testing.F) {
	set := kinds(f)
	f.Add(claudePrompt, "✳ x")
	f.Add(claudeAsks, "⠂")
	f.Add("\xff\x1b]0;", "\x1b")
	f.Fuzz(func(t *testing.T, text, title string) {
		for _, k := range set.All() {
			for _, s := range ReadScreen(k, text, title) {
				if strings.ContainsAny(s.Says, "\x1b\x07") {
					t.Errorf("%q shows an escape", s.Says)
				}
			}
		}
	})
}

func TestProgress(t *testing.T) {
	unknown := fleet.Unknown[fleet.Duration]("not watched")
	for name, c := range map[string]struct {
		m     Motion
		want  fleet.Progress
		quiet int
	}{
		"all quiet":                      {Motion{CPU: seconds(1000), Activity: seconds(2000), InPane: true}, fleet.ProgressNone, 1000},
		"cpu moved":                      {Motion{CPU: seconds(10), Activity: seconds(2000), InPane: true}, fleet.ProgressSome, 10},
		"output moved, cpu unknown":      {Motion{CPU: unknown, Activity: seconds(5), InPane: true}, fleet.ProgressSome, 5},
		"cpu unknown":                    {Motion{CPU: unknown, Activity: seconds(2000), InPane: true}, fleet.ProgressUnknown, -1},
		"pane unseen":                    {Motion{CPU: seconds(1000), Activity: unknown, InPane: true}, fleet.ProgressUnknown, -1},
		"no pane, all quiet":             {Motion{CPU: seconds(1000), Activity: unknown}, fleet.ProgressNone, 1000},
		"title moved":                    {Motion{CPU: seconds(1000), Others: []fleet.Duration{fleet.Duration(time.Second)}}, fleet.ProgressSome, 1},
		"nothing seen":                   {Motion{}, fleet.ProgressUnknown, -1},
		"quiet, but not for long enough": {Motion{CPU: seconds(800)}, fleet.ProgressSome, 800},
	} {
		got, quiet := Progress(c.m, DefaultDwell)
		if n := int(time.Duration(quiet.Or(-1e9)) / time.Second); got != c.want || n != c.quiet {
			t.Errorf("%s: %s after %v, want %s after %d s", name, got, quiet, c.want, c.quiet)
		}
	}
}

// In its first 15 seconds a program reads its files and draws its screen: it starts, and
// does not work and start by turns. What tells more than that counts at once: a hook, a
// title, a screen that tells by itself; and the rest after that time.
func TestAYoungAgentStartsUntilMoreIsTold(t *testing.T) {
	for _, name := range []string{"generic", "claude"} {
		kind := kindOf(t, name)
		for _, cpu := range []fleet.Leaf[float64]{fleet.Unknown[float64]("not seen twice yet"), fleet.Known(0.0), fleet.Known(80.0)} {
			for _, wrote := range []int{0, 2, 8} {
				young := Signals{Kind: kind, Age: seconds(10), CPU: cpu, Activity: seconds(wrote)}
				if v := State(young); v.State != fleet.StateStarting {
					t.Errorf("%s, 10 s old, CPU %v, wrote %d s ago: %s (%s)", name, cpu, wrote, v.State, v.Reason)
				}
				old := young
				old.Age = seconds(16)
				if v := State(old); v.State == fleet.StateStarting || (v.State == fleet.StateWorking) != (cpu.Or(0) > 10 || wrote < 3) {
					t.Errorf("%s, 16 s old, CPU %v, wrote %d s ago: %s (%s)", name, cpu, wrote, v.State, v.Reason)
				}
				told := young
				told.Told = Reported{State: fleet.StateWorking}
				if v := State(told); v.State != fleet.StateWorking {
					t.Errorf("%s, 10 s old, told that it works: %s (%s)", name, v.State, v.Reason)
				}
			}
		}
	}
}

// Of an end that somebody asked for it is not said that nobody knows who sent the signal.
func TestWhoAskedIsNotUnknown(t *testing.T) {
	for asked, want := range map[string]string{
		"root": "root asked it to end: ended by signal 15",
		"":     "ended by signal 15, and it is not known who sent it",
	} {
		v := State(Signals{End: &End{Exit: &fleet.Exit{Signal: fleet.Known(15), Source: "shim", Asked: asked}, Wanted: fleet.DesiredRunning}})
		if v.Reason != want {
			t.Errorf("asked by %q: %q, want %q", asked, v.Reason, want)
		}
	}
}

// Of what ended well by its status, what else is known of its end says that it did not.
func TestAnEndThatOnlyLooksWell(t *testing.T) {
	for name, exit := range map[string]fleet.Exit{
		"want of memory":   {OOM: true},
		"terminal server":  {Server: "/run/tmux.sock"},
		"shim":             {ShimGone: true},
		"too early":        {Early: true},
		"terminal closed":  {Hangup: true},
		"nobody knows how": {Status: fleet.Unknown[int]("gone"), Signal: fleet.Unknown[int]("gone")},
	} {
		if name != "nobody knows how" {
			exit.Status = fleet.Known(0)
		}
		exit.Source = "shim"
		v := State(Signals{End: &End{Exit: &exit, Wanted: fleet.DesiredRunning}})
		if v.State != fleet.StateCrashed {
			t.Errorf("%s: %s (%s)", name, v.State, v.Reason)
		}
		exit.Asked = "ann"
		if v := State(Signals{End: &End{Exit: &exit, Wanted: fleet.DesiredRunning}}); v.State != fleet.StateStopped {
			t.Errorf("%s, asked for: %s (%s)", name, v.State, v.Reason)
		}
	}
}

// The limits of time of the signals, to the moment.
func TestSignalsAtTheirLimits(t *testing.T) {
	kind := kindOf(t, "generic")
	at := func(d time.Duration) fleet.Leaf[fleet.Duration] { return fleet.Known(fleet.Duration(d)) }
	for _, c := range []struct {
		name string
		s    Signals
		want fleet.AgentState
	}{
		{"young", Signals{Kind: kind, Age: at(startupTime - 1)}, fleet.StateStarting},
		{"not young any more", Signals{Kind: kind, Age: at(startupTime), Activity: at(0)}, fleet.StateWorking},
		{"wrote just now", Signals{Kind: kind, Age: at(time.Hour), Activity: at(justNow)}, fleet.StateWorking},
		{"wrote a moment before that", Signals{Kind: kind, Age: at(time.Hour), Activity: at(justNow + 1)}, fleet.StateUnknown},
	} {
		if v := State(c.s); v.State != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.State, v.Reason, c.want)
		}
	}
}

// A title outweighs an older hook once that has settled, to the moment.
func TestATitleLagsBehindAHook(t *testing.T) {
	now := fleet.Instant{Wall: time.Unix(1e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	for age, want := range map[time.Duration]fleet.AgentState{hookSettles: fleet.StateWorking, hookSettles - 1: fleet.StateWaiting} {
		s := Signals{Kind: kindOf(t, "claude"), Now: now, Told: Reported{State: fleet.StateWaiting, Last: now.Add(-age), Turn: now.Add(-age)}, Title: fleet.Known("⠂ x"), Activity: seconds(1), Age: seconds(600)}
		if v := State(s); v.State != want {
			t.Errorf("a hook of %s ago: %s (%s), want %s", age, v.State, v.Reason, want)
		}
	}
}

// Behind a terminal server that does not answer only what its hooks told since is known.
func TestBehindAVeil(t *testing.T) {
	since := fleet.Instant{Wall: time.Unix(1e9, 0), Up: fleet.Duration(time.Hour), Boot: "b"}
	for name, c := range map[string]struct {
		told Reported
		want fleet.AgentState
	}{
		"nothing told":   {Reported{}, fleet.StateUnknown},
		"told before":    {Reported{State: fleet.StateWorking, Turn: since.Add(-time.Second)}, fleet.StateUnknown},
		"told of it now": {Reported{State: fleet.StateWorking, Turn: since.Add(time.Second)}, fleet.StateWorking},
	} {
		s := Signals{Kind: kindOf(t, "claude"), Now: since.Add(2 * time.Second), Veil: Veil{Why: "it is stopped", Since: since}, Told: c.told, CPU: fleet.Known(50.0), Age: seconds(600)}
		if v := State(s); v.State != c.want {
			t.Errorf("%s: %s (%s), want %s", name, v.State, v.Reason, c.want)
		}
	}
}
