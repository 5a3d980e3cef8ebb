package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

// The status line of a user goes on: ours runs it, and stands in its place in the settings.
func TestAStatusLineIsChained(t *testing.T) {
	for _, c := range []struct{ name, before, command, then string }{
		{"none", `{"theme":"dark"}`, "/x/custos-hook claude StatusLine --run /run --made=0", ""},
		{"their own", `{"statusLine":{"type":"command","command":"~/line.sh \"a\" é","padding":0}}`, "", `"~/line.sh \"a\" é"`},
		{"no command", `{"statusLine":{"type":"static"}}`, "-", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			with, err := hooked().InstallHooks("claude", []byte(c.before), "/x/custos-hook", "/run")
			if err != nil {
				t.Fatal(err)
			}
			var s struct {
				StatusLine struct {
					Type, Command string
					Padding       *int
				}
			}
			if err := json.Unmarshal(with, &s); err != nil {
				t.Fatalf("%v in %s", err, with)
			}
			if c.command == "-" {
				if s.StatusLine.Type != "static" {
					t.Errorf("a status line of another shape was changed: %s", with)
				}
				return
			}
			if c.command != "" && s.StatusLine.Command != c.command {
				t.Errorf("command %q, want %q", s.StatusLine.Command, c.command)
			}
			if got, _ := thenOf(s.StatusLine.Command); got != c.then {
				t.Errorf("then %q, want %q", got, c.then)
			}
			if strings.Contains(c.before, "padding") && s.StatusLine.Padding == nil {
				t.Errorf("the padding of the user's own is lost: %s", with)
			}
		})
	}
}

// What is launched has a status line too: without it no interactive agent says how full
// its context is.
func TestLaunchedAgentsHaveAStatusLine(t *testing.T) {
	_, _, files, err := hooked().LaunchHooks("claude", "/x/custos-hook", "/run", "")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		StatusLine      struct{ Type, Command string }
		DisableAllHooks *bool
	}
	if err := json.Unmarshal(files["/run/hooks/claude.json"], &s); err != nil {
		t.Fatal(err)
	}
	if s.StatusLine.Type != "command" || s.StatusLine.Command != "/x/custos-hook claude StatusLine --run /run" {
		t.Errorf("got %+v", s.StatusLine)
	}
	if s.DisableAllHooks == nil || *s.DisableAllHooks { // the user's settings may have them off
		t.Errorf("disableAllHooks is %v", s.DisableAllHooks)
	}
}
