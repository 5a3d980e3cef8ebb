package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"custos/internal/policy"
	"custos/internal/policy/source"
)

// TestTheLiveHookAgrees: what custos policy test says of each case of the policies that Custos brings
// (internal/policy/source) is what the hook, as its own process and with no daemon, tells the CLI of it.
func TestTheLiveHookAgrees(t *testing.T) {
	all, wrong, err := source.Policies(nil)
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	type one struct{ name, file, verdict, rule, command string }
	var cases []one
	for name, p := range all {
		places := policy.Places{
			Worktree: "/home/dev/trees/app-1", GitDir: "/home/dev/app/.git/worktrees/app-1", Common: "/home/dev/app/.git", Home: "/home/dev",
			Others: []string{"/home/dev/app", "/home/dev/trees/app-2"}, Custos: []string{"/home/dev/.local/state/custos", "/home/dev/.config/custos"}, Branch: "feature", Default: "main"}
		text, err := policy.Compiled{Agent: "bob", Instance: "i1", Policy: p, Places: places}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := os.ReadFile("../../internal/policy/source/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
			if len(f) == 3 && !strings.HasPrefix(line, "# ") {
				cases = append(cases, one{name, file, f[0], f[1], strings.NewReplacer("␤", "\n", "␍", "\r", "␀", "\x00").Replace(f[2])})
			}
		}
	}
	if len(cases) < 500 {
		t.Fatalf("%d cases, want 500", len(cases))
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, c := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			payload, err := json.Marshal(map[string]any{"tool_name": "Bash", "cwd": "/home/dev/trees/app-1", "tool_input": map[string]string{"command": c.command}})
			if err != nil {
				t.Error(err)
				return
			}
			if got, want := heard(answered(t, c.file, "claude", "PreToolUse", string(payload))), c.verdict+" "+c.rule; got != want {
				t.Errorf("%s: %q: the hook says %s, want %s", c.name, c.command, got, want)
			}
		})
	}
	wg.Wait()
	t.Logf("%d cases", len(cases))
}

// heard is the verdict and the rule of what claude is told.
func heard(said string) string {
	if said == "" {
		return "- -"
	}
	var o output
	if err := json.Unmarshal([]byte(said), &o); err != nil || o.Specific == nil {
		return fmt.Sprintf("%q", said)
	}
	verdict, told := o.Specific.Decision, o.Specific.Reason
	if verdict == "" {
		verdict, told = "warn", o.Specific.Context
	}
	_, rule, _ := strings.Cut(told, "rule ")
	rule, _, _ = strings.Cut(rule, ":")
	return verdict + " " + rule
}
