package agent

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestAVersionIsTaughtNewerOrCannotBeTold(t *testing.T) {
	k := Kind{Proven: []string{"2.1.197", "2.1.330", "2.1.41"}}
	for version, outgrown := range map[string]bool{
		"2.1.330": false, "2.1.197": false, "2.1.200": false, "2.0.999": false, "2.1.330.0": false, "v2.1.330": false, "2.1.330-beta.1": false, "2.1.330-linux-x64": false,
		"2.1.331": true, "2.2": true, "2.10.0": true, "3.0.0-rc.1": true, "v2.1.1000": true, "2.1.330.1": true,
		"": false, "latest": false, "dev": false, "2": false, "2.x": false, "9.9.9 of something": false,
	} {
		if got := k.Outgrown(version); got != "" && got != "2.1.330" || (got != "") != outgrown {
			t.Errorf("%q outgrows %q, want %v", version, got, outgrown)
		}
	}
	if got := (Kind{}).Outgrown("9.9.9"); got != "" {
		t.Errorf("of a kind that was never proven: %q", got)
	}
	if dates := (Kind{Proven: []string{"2026.9.30", "2026.11.20"}}); dates.Newest() != "2026.11.20" || dates.Outgrown("2026.12.1") == "" || dates.Outgrown("2026.9.31") != "" {
		t.Errorf("of dates the newest is %s", dates.Newest())
	}
	_, aside, _ := ParseWith([]Source{{"/k/claude.toml", []byte("proven = [\"newest\"]\n")}})
	if len(aside) != 1 || !strings.Contains(aside[0].Error(), `/k/claude.toml:1: kind "claude": proven: "newest" is no version`) {
		t.Errorf("a version that is none: %v", aside)
	}
}

// Of what is not proven something is missing, and it is said what.
func TestAPolicyGapIsSaid(t *testing.T) {
	k := Kind{Name: "x", Denies: []string{"1.2", "1.3"}, DeniesSubagents: []string{"1.3"}}
	for version, says := range map[string]string{"1.3": "", "1.2": "not for its sub-agents", "1.4": "not proven to be heard by x 1.4", "": "not proven to be heard by x"} {
		if got := k.PolicyGap(version); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%q: %q, want %q", version, got, says)
		}
	}
	if got := (Kind{Name: "y"}).PolicyGap("1"); !strings.Contains(got, "nothing holds it to it") {
		t.Errorf("of a kind that asks nobody: %q", got)
	}
	_, aside, _ := ParseWith([]Source{{"/k/claude.toml", []byte("denies = [\"newest\"]\n")}})
	if len(aside) != 1 || !strings.Contains(aside[0].Error(), `/k/claude.toml:1: kind "claude": denies: "newest" is no version`) {
		t.Errorf("a version that is none: %v", aside)
	}
}

// What the screen of a newer version shows alone is a hint, and stays what it was where the
// CLI itself tells the same; nothing else becomes less certain.
func TestAScreenOfANewerVersionIsAHint(t *testing.T) {
	claude, now := kindOf(t, "claude"), fleet.Instant{Up: fleet.Duration(1e12), Boot: "b"}
	told := func(s fleet.AgentState) Reported {
		return Reported{State: s, Says: "its hooks say so", Since: now.Add(-1e10), Last: now.Add(-1e10), Turn: now.Add(-1e10)}
	}
	begun := Gather([]fleet.HookEvent{{Event: fleet.HookSessionStart, Text: "startup", At: now.Add(-1e10)}, {Event: fleet.HookStatus, At: now.Add(-1e9)}}, "", now, Deadlines{})
	for name, c := range map[string]struct {
		s     Signals
		state fleet.AgentState
		hint  bool
	}{
		"an idle prompt alone":              {Signals{Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, true},
		"an idle title that needs a prompt": {Signals{Title: fleet.Known("✳ x"), Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, true},
		"a dialog alone":                    {Signals{Screen: fleet.Known(claudeAsks)}, fleet.StateWaiting, true},
		"a title that says working":         {Signals{Title: fleet.Known("⠂ x"), Screen: fleet.Known(claudePrompt)}, fleet.StateWorking, false},
		"a hook that says idle":             {Signals{Told: told(fleet.StateIdle), Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, false},
		"a hook that says waiting":          {Signals{Told: told(fleet.StateWaiting), Screen: fleet.Known(claudeAsks)}, fleet.StateWaiting, false},
		"a hook that says it began":         {Signals{Told: begun, Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, false},
		"it began, and shows a dialog":      {Signals{Told: begun, Screen: fleet.Known(claudeAsks)}, fleet.StateWaiting, true},
		"a transcript that says idle":       {Signals{Written: told(fleet.StateIdle), Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, false},
		"a registry file that says idle":    {Signals{Registry: fleet.Known(Registry{Status: "idle"}), Screen: fleet.Known(claudePrompt)}, fleet.StateIdle, false},
		"processor time":                    {Signals{CPU: fleet.Known(50.0), Screen: fleet.Known(claudePrompt)}, fleet.StateWorking, false},
	} {
		c.s.Kind, c.s.Now = claude, now
		before := State(c.s)
		if before.Hint || before.State != c.state {
			t.Errorf("%s, of a version that was taught: %s by %s, hint %v", name, before.State, before.Source, before.Hint)
		}
		c.s.Version, c.s.Outgrown = "2.2.0", claude.Outgrown("2.2.0")
		v := State(c.s)
		if v.State != c.state || v.Hint != c.hint {
			t.Errorf("%s: %s by %s, hint %v, want %v", name, v.State, v.Source, v.Hint, c.hint)
		}
		if says := strings.Contains(v.Reason, "claude 2.2.0 is newer than "+claude.Newest()+", which Custos was taught: what its screen shows is a hint only"); says != c.hint {
			t.Errorf("%s: the reason is %q", name, v.Reason)
		}
	}
}

func TestTheProgramThatRuns(t *testing.T) {
	p := func(exe, cwd string, args ...string) fleet.Process {
		return fleet.Process{Exe: fleet.Known(exe), CWD: fleet.Known(cwd), Args: args}
	}
	for want, proc := range map[string]fleet.Process{
		"/m/@openai/codex/bin/codex": p("/m/@openai/codex/bin/codex", "/w", "codex"),
		"/bin/gemini":                p("/usr/bin/node", "/w", "node", "--x", "/bin/gemini", "-p", "hi"),
		"/w/cli.js":                  p("/usr/bin/node", "/w", "node", "./cli.js"),
	} {
		if got := Program(proc); got != want {
			t.Errorf("%v is %q, want %q", proc.Args, got, want)
		}
	}
	for _, proc := range []fleet.Process{p("/m/codex (deleted)", "/w", "codex"), p("/usr/bin/node", "/w", "node", "-e", "1"), {}} {
		if got := Program(proc); got != "" {
			t.Errorf("%v is %q", proc.Args, got)
		}
	}
}
