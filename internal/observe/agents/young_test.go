package agents

import (
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// What began just now is looked at again as soon as that is not true any more, the
// oldest of the young first; what is told by something else than its age is not.
func TestTheYoungAreLookedAtAgainWhenTheyComeOfAge(t *testing.T) {
	for name, c := range map[string]struct {
		ages []time.Duration
		want time.Duration
	}{
		"nobody":        {nil, 0},
		"one":           {[]time.Duration{4 * time.Second}, 11 * time.Second},
		"just born":     {[]time.Duration{0}, 15 * time.Second},
		"several":       {[]time.Duration{time.Hour, 4 * time.Second, 14 * time.Second, 5 * time.Second}, time.Second},
		"just grown up": {[]time.Duration{15 * time.Second}, 0},
	} {
		w := newWorld()
		for i, age := range c.ages {
			w.proc(10+i, 1, "claude").Age = fleet.Duration(age)
		}
		p := w.probe(t, nil)
		see(t, p)
		if got := p.Again(); got != c.want {
			t.Errorf("%s: again in %v, want %v", name, got, c.want)
		}
	}
	w := newWorld()
	w.proc(10, 1, "claude").Age = fleet.Duration(4 * time.Second)
	w.pane("work", 10).Title = "✳ x"
	w.screens[w.panes[0].ID] = "────────────\n❯ \n────────────\n  ? for shortcuts"
	p := w.probe(t, nil)
	if a, got := see(t, p)["work"], p.Again(); a.State != fleet.StateIdle || got != 0 {
		t.Errorf("%s is told by its screen, and looked at again in %v", a.State, got)
	}
}

// An agent whose CLI ignores the hooks it is started with is said to, and is not waited for.
func TestIgnoredHooksAreSaid(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "gemini")
	b.reg("one", 10)
	w.pane("one", 10).Title = "◇  Ready (x)"
	w.screens[w.panes[0].ID] = "▄▄▄▄▄▄▄▄▄▄▄▄\n >   Type your message or @path/to/file\n▀▀▀▀▀▀▀▀▀▀▀▀\n workspace\n ~/x"
	for _, c := range []struct {
		deaf, reason string
	}{
		{"root does not own /run/x", "its title says ◇ Ready, and its prompt is on the screen; its hooks are ignored"},
		{"", "its title says ◇ Ready, and its prompt is on the screen"},
	} {
		a := see(t, w.probe(t, func(o *Options) {
			b.options(o)
			o.Deaf = func(kind string) string { return map[string]string{"gemini": c.deaf}[kind] }
		}))["one"]
		said := slices.ContainsFunc(a.Signals, func(s fleet.Signal) bool { return s.Says == "its hooks are ignored: "+c.deaf })
		if a.State != fleet.StateIdle || a.Reason != c.reason || said != (c.deaf != "") {
			t.Errorf("%q: %s (%s), said: %v", c.deaf, a.State, a.Reason, said)
		}
	}
}
