//go:build conformance

package conformance

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/agent"
)

// firstDialog is one that a CLI shows at its first start, and the choice that leads on.
type firstDialog struct{ id, choice string }

// firstTrust is what those ask that only want to know whether the folder is trusted.
func firstTrust(string) []firstDialog { return []firstDialog{{"trust", "yes"}} }

// firstNone is of those that ask nothing, once a provider is configured.
func firstNone(string) []firstDialog { return nil }

// TestFirstRun starts a CLI in a home that has never been used, as far as that works without
// the provider: each dialog is known for what it is, and can be answered, and then it is ready.
func TestFirstRun(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		if c.fresh == nil {
			t.Skipf("it is not known how %s starts for the first time", c.kind)
		}
		c.settle = c.fresh
		f := startFleet(t, c)
		defer func() {
			if t.Failed() {
				t.Log(f.tellAll(t))
			}
		}()
		args := []string{"spawn", f.who, "--kind", c.kind, "--dir", f.home.project, "--restart", "never", "--env", strings.Join(f.names, ","), "--", c.program()}
		f.run(t, nil, append(args, c.extra...)...)
		for _, d := range c.first(c.version) {
			f.until(t, "dialog "+d.id, lookLimit, func() bool {
				at := f.show(t)
				return at.Dialog != nil && at.Dialog.ID == d.id && slices.Contains([]string{"dialog", "waiting"}, at.Agent.State)
			})
			f.order(t, "answer", f.who, d.choice, "--wait", "30s")
		}
		f.is(t, "idle")
		f.say(t, "please say hello")
	})
}
