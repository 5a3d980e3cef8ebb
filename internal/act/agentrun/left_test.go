package agentrun_test

import (
	"strings"
	"testing"

	"custos/internal/act/stopagent"
	"custos/internal/fleet"
)

// sessions are those of the private tmux server, by name.
func (g *ground) sessions() string {
	panes, _ := g.world.Providers[fleet.WhereTmux].Panes(g.t.Context())
	var names []string
	for _, p := range panes {
		names = append(names, p.Session)
	}
	return strings.Join(names, " ")
}

// A stop that was planned with an agent that has ended meanwhile closes what it has left,
// however it ended: a Custos that was killed in the middle of the stop takes it up with
// the pane as it was then.
func TestAStopClosesThePaneThatDiedSinceItWasPlanned(t *testing.T) {
	g := newGround(t)
	x, err := stopagent.New(stopagent.Options{World: g.world, AskWait: "3s", TermWait: "1s", Watch: "200ms"})
	if err != nil {
		t.Fatal(err)
	}
	g.ready("cut")
	planned := fleet.Action{By: "eve", Target: fleet.Target{Agent: g.seen("cut", fleet.StateIdle)}}
	g.kill("cut")
	g.await("its pane to be dead", func() bool { a := g.seen("cut", ""); return a.Pane != nil && a.Pane.Dead })
	if effect := g.must(g.perform(x, planned)); !strings.Contains(effect, "its place is closed") {
		t.Errorf("stop: %q", effect)
	}
	if left := g.sessions(); strings.Contains(left, "cut~") {
		t.Errorf("there are still %q", left)
	}
}
