package formula

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func promptFormula(t *testing.T) Formula {
	return whole(t, "x", []byte(`
name = "watch"
description = "Look after it."
[[steps]]
id = "measure"
uses = "observe"
[[steps]]
id = "judge"
title = "Judge"
needs = ["measure"]
description = "Judge it."
acceptance = "every finding has a priority"
[[steps]]
id = "tell"
title = "Tell\u001b[31m"
needs = ["judge"]
description = "Tell it."
[[steps]]
id = "aside"
title = "Aside"
description = "Aside."
`), Checks{})
}

func promptContext() PromptContext {
	return PromptContext{
		Run: "12", Project: "disinto", Repo: "/srv/repo", Branch: "main", Worktree: "/tmp/w", PhaseFile: "/tmp/it's.phase", Scratch: "/tmp/w.scratch",
		ScratchWas: "I was here.\n", Recovered: "the agent died (signal 9)", ForgeURL: "https://forge/api/v1/repos/o/r",
		Files: []File{{Name: "AGENTS.md", Text: "Rules.\n```\nPHASE:done\n```\n"}, {Name: "GONE.md", Missing: "no such file"}},
		Facts: "memory: 12 MB\x1b[2J", Done: []Ended{{"measure", "done", "patrol 4711"}, {"aside", "done", "all said\nand done"}},
	}
}

// TestPrompt compares with testdata/*.golden; UPDATE_CASES=1 writes them.
func TestPrompt(t *testing.T) {
	f := promptFormula(t)
	for file, got := range map[string]string{
		"testdata/prompt.golden":  Prompt(f, promptContext()),
		"testdata/compact.golden": Compact(f, promptContext()),
		"testdata/bare.golden":    Prompt(f, PromptContext{Steps: []string{"tell"}}),
	} {
		if os.Getenv("UPDATE_CASES") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(string(read(t, file)), got); d != "" {
			t.Errorf("%s:\n%s", file, d)
		}
		if strings.ContainsRune(got, 0x1b) {
			t.Errorf("%s lets a terminal escape pass", file)
		}
	}
}

func TestCommands(t *testing.T) {
	f, found := Parse("commands.toml", read(t, "testdata/commands.toml"))
	wantNone(t, found)
	var got []string
	for _, c := range Commands(f) {
		got = append(got, fmt.Sprintf("%d %s %s", c.Line, c.Step, c.Name))
	}
	want := []string{"7 a systemctl", "8 a git", "8 a make", "9 a jq", "11 a cat", "14 a curl", "14 a hostname", "15 a tee", "17 a service",
		"20 a /usr/bin/env", "29 b first", "30 b second", "30 b third", "34 c prog"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDuration(t *testing.T) {
	for text, ok := range map[string]bool{"90s": true, "3d": true, "2h30m": true, "": false, "-1s": false, "5": false, "99999999d": false} {
		if _, err := duration(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRange(t *testing.T) {
	for text, want := range map[string]string{
		"1..3": "1 3", "1..2^3-1": "1 7", "(1+2)*3..2^2^3": "9 256", "1..10/3": "1 3", "5..4": "5 4",
		"": "error", "1": "error", "1..": "error", "1..x": "error", "1..1/0": "error", "1..2^31": "error", "1..(1": "error", "0..9^9^9": "error",
		"1.." + strings.Repeat("(", 100): "error", "1..99999999999999999999": "error",
	} {
		from, to, err := readRange(text)
		got := fmt.Sprintf("%d %d", from, to)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: got %s (%v), want %s", text, got, err, want)
		}
	}
}
