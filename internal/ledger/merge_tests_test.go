package ledger

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// gated is a run of one gate that ended, with a report.
func gated(exit int, tests fleet.TestReport) *fleet.Run {
	s := fleet.RunStep{ID: "test", Report: "r.xml", State: fleet.StepDone, Exit: &exit, Tests: tests}
	if exit != 0 {
		s.State = fleet.StepFailed
	}
	return &fleet.Run{Steps: []fleet.RunStep{s}}
}

// noted is a group after some runs of its gates, of which the last one passed or not.
func noted(passed bool, runs ...fleet.TestReport) fleet.MergeGroup {
	g := fleet.MergeGroup{State: fleet.GroupRed, Gates: "d"}
	for _, tests := range runs {
		g.Reds++
		NoteTests(&g, GateEnd{Over: true, Red: []string{"test"}, Tests: testsOf(gated(1, tests))})
	}
	if passed {
		NoteTests(&g, GateEnd{Over: true, Passed: true, Tests: testsOf(gated(0, fleet.TestReport{Ran: 1}))})
	}
	return g
}

func failing(names ...string) fleet.TestReport {
	return fleet.TestReport{Ran: 10, Failed: names}
}

// On a target that fails an item brings failures of its own only where that is certain.
func TestWhatAnItemBringsToATargetThatFails(t *testing.T) {
	cut := failing("old", "own")
	cut.Why = "it ends in its middle"
	more := failing("old")
	more.More = 3
	for name, c := range map[string]struct {
		target, item []fleet.TestReport
		brings       bool
	}{
		"a failure of its own":               {[]fleet.TestReport{failing("old")}, []fleet.TestReport{failing("old", "own"), failing("old", "own")}, true},
		"the same failures":                  {[]fleet.TestReport{failing("old")}, []fleet.TestReport{failing("old")}, false},
		"one that comes and goes":            {[]fleet.TestReport{failing("old")}, []fleet.TestReport{failing("old", "own"), failing("old")}, false},
		"another each time":                  {[]fleet.TestReport{failing("old")}, []fleet.TestReport{failing("old", "a"), failing("old", "b")}, false},
		"one that failed once on the target": {[]fleet.TestReport{failing("old"), failing("old", "own")}, []fleet.TestReport{failing("old", "own")}, false},
		"what it mended hid the rest":        {[]fleet.TestReport{failing("old")}, []fleet.TestReport{failing("own")}, false},
		"what it half mended hid the rest":   {[]fleet.TestReport{failing("old", "older")}, []fleet.TestReport{failing("old", "own")}, false},
		"nothing that always fails there":    {[]fleet.TestReport{failing("a"), failing("b")}, []fleet.TestReport{failing("own")}, false},
		"its report is cut off":              {[]fleet.TestReport{failing("old")}, []fleet.TestReport{cut}, false},
		"the target's has more":              {[]fleet.TestReport{more}, []fleet.TestReport{failing("old", "own")}, false},
		"the target has none":                {[]fleet.TestReport{{Why: "it is not there"}}, []fleet.TestReport{failing("own")}, false},
		"the target was not tested":          {nil, []fleet.TestReport{failing("own")}, false},
	} {
		on, with := noted(false, c.target...), noted(false, c.item...)
		on.Base, on.ID = "x", "mg1"
		with.Base, with.Tree, with.ID, with.Items = "x", "t", "mg2", []fleet.MergeMember{{ID: "mq1"}}
		b := &MergeBook{Queue: fleet.MergeQueue{Digest: "d", Target: "main"}, Groups: []fleet.MergeGroup{on, with}}
		if got := b.Found(&fleet.MergeItem{Head: fleet.Head{ID: "mq1"}}, &with); got.Brings != c.brings {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatIsNotedOfReports(t *testing.T) {
	g := noted(true, failing("a", "b"), failing("a"))
	want := []fleet.MergeTest{{Gate: "test", Name: "a", Reds: 2, Flaky: true}, {Gate: "test", Name: "b", Reds: 1, Flaky: true}}
	if !slices.Equal(g.Tests, want) || g.Told != 2 || len(g.Notes) != 0 {
		t.Errorf("%+v", g)
	}
	again := failing()
	again.Flaky = []string{"f"}
	if g := noted(false, again); !slices.Equal(g.Tests, []fleet.MergeTest{{Gate: "test", Name: "f", Flaky: true}}) || g.Told != 0 || !slices.Equal(g.Notes, []string{"test: it failed, and its report of 10 tests has none that failed"}) {
		t.Errorf("%+v", g)
	}
	passed := GateEnd{Over: true, Passed: true, Tests: testsOf(gated(0, failing("a", "b", "c", "d")))}
	NoteTests(&g, passed)
	if !slices.Equal(g.Notes, []string{"test: it ended with exit status 0, which counts, and its report has 4 failed tests: a, b, c and 1 more"}) || !slices.Equal(g.Tests, want) {
		t.Errorf("%+v", g)
	}
	var names []string
	for n := range 60 {
		names = append(names, strings.Repeat("n", 1+n))
	}
	if g := noted(false, failing(names...)); len(g.Tests) != 50 || g.More != 10 || g.Told != 0 {
		t.Errorf("%d, %d, %d", len(g.Tests), g.More, g.Told)
	}
	none := fleet.MergeGroup{}
	exit := 1
	NoteTests(&none, GateEnd{Over: true, Red: []string{"test"}, Tests: testsOf(&fleet.Run{Steps: []fleet.RunStep{{ID: "test", State: fleet.StepFailed, Exit: &exit}}})})
	if none.Told != 0 || none.Tests != nil || none.Notes != nil {
		t.Errorf("without a report something is noted: %+v", none)
	}
}
