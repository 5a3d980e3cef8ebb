//go:build conformance

package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
)

// noTouch denies a harmless command, and says why in words that nothing else says.
const noTouch = `[agents]
policy = "lab"
[[policy.lab.rule]]
id      = "no-touch"
verdict = "deny"
program = ["touch"]
why     = "that program is not for you"
instead = "say that you wanted to"
`

// judging are the kinds whose hook is answered with a verdict: see docs/policy.md.
var judging = map[string]bool{"claude": true, "codex": true, "gemini": true, "qwen": true, "opencode": true, "pi": true}

// TestPolicy has a real agent call a tool that its policy denies: nothing was done, nobody was asked, and the model is
// told why.
func TestPolicy(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		f := startFleet(t, c, noTouch)
		defer func() {
			if t.Failed() {
				t.Log(f.tellAll(t))
			}
		}()
		f.spawn(t)
		if !judging[c.kind] {
			f.lacks(t, "nothing holds it to it")
			t.Skipf("nothing is enforced of %s, and custos ps says so", c.kind)
		}
		f.say(t, "now run the tool")
		f.isDenied(t, 1)
		if c.kind == "claude" || c.kind == "opencode" {
			f.lacks(t, "") // what of its sub-agents is true is seen below
		} else {
			f.lacks(t, "not for its sub-agents")
		}
		t.Run("of a sub-agent", func(t *testing.T) {
			if !slices.ContainsFunc(f.home.model.Asked(), func(a Asked) bool { return slices.ContainsFunc(a.Tools, isHelper) }) {
				t.Skipf("%s offers its model no tool for sub-agents that is known", c.kind)
			}
			if c.kind == "qwen" {
				t.Skip("qwen runs a sub-agent in the background, where it does not what it would ask a person for, and asks no hook either (seen with 0.24.4)")
			}
			f.say(t, "let a helper act")
			f.isDenied(t, 2)
		})
	})
}

// lacks wants it to be said what of its policy an agent is not proven to be held to; "" for nothing.
func (f *custos) lacks(t *testing.T, words string) {
	t.Helper()
	f.until(t, "its version is told", startLimit, func() bool { return f.show(t).Agent.Version != "" })
	if a := f.show(t).Agent; a.Policy != "lab" || (a.PolicyGap == "") != (words == "") || !strings.Contains(a.PolicyGap, words) {
		t.Errorf("%s %s is judged by %q, and lacks %q, want %q", a.Kind, a.Version, a.Policy, a.PolicyGap, words)
	}
}

// isDenied waits until Custos has counted so many denied calls and the turn is over, with a person who allows what they
// are asked, and wants nothing to have been done.
func (f *custos) isDenied(t *testing.T, n int) {
	t.Helper()
	f.until(t, "the call is told as denied", time.Minute, func() bool {
		if f.show(t).Dialog != nil { // some ask the person first, and their hook after that
			_, _ = f.try(nil, "answer", f.who, "yes", "--wait", "30s")
		}
		told, _ := f.command("feed", "--limit", "1000").Output()
		return strings.Count(string(told), "denied by no-touch") >= n
	})
	f.is(t, "idle")
	if _, err := os.Lstat(filepath.Join(f.home.project, proof)); err == nil {
		t.Errorf("it was done: %s is there", proof)
	}
	if screen, _ := f.command("peek", f.who).Output(); strings.Contains(string(screen), "rule no-touch: that program is not for you") {
		t.Log("and its screen says why")
	}
}
