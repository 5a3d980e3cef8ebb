package agents

import (
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
