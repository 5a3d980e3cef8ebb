package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// What is kept and said of tests that failed.
const (
	mostTests     = 50 // of a group: more are counted only
	shownTests    = 3  // in one line
	shownTestName = 60 // runes of a name there
)

// GateTests is what the reports of a run of gates say.
type GateTests struct {
	Failed []fleet.MergeTest // of the gates that failed, each once
	Flaky  []fleet.MergeTest // that failed and passed within the run
	More   int               // how many more failed
	Whole  bool              // each gate that failed by itself has named each test that did
	Notes  []string
}

// testsOf reads the reports of a run of gates, as its steps have them on record.
func testsOf(run *fleet.Run) (t GateTests) {
	t.Whole = true
	for n := range run.Steps {
		s := &run.Steps[n]
		if s.State == fleet.StepFailed && (s.Exit == nil || !s.Tests.Whole() || len(s.Tests.Failed) == 0) {
			t.Whole = false
		}
		if s.Report == "" || s.State != fleet.StepFailed && s.State != fleet.StepDone {
			continue
		}
		if note := noteOf(s); note != "" {
			t.Notes = append(t.Notes, fleet.Line(s.ID+": "+note, 400))
		}
		t.Flaky = append(t.Flaky, named(s.ID, s.Tests.Flaky, fleet.MergeTest{Flaky: true})...)
		if s.State == fleet.StepFailed {
			t.Failed, t.More = append(t.Failed, named(s.ID, s.Tests.Failed, fleet.MergeTest{Reds: 1})...), t.More+s.Tests.More
		}
	}
	return t
}

func named(gate string, names []string, like fleet.MergeTest) (out []fleet.MergeTest) {
	for _, name := range names {
		like.Gate, like.Name = gate, name
		out = append(out, like)
	}
	return out
}

// noteOf is what is to be said of the report of a gate: it changes nothing of its verdict.
func noteOf(s *fleet.RunStep) string {
	switch {
	case s.Tests.Why != "":
		return s.Tests.Why
	case s.State == fleet.StepFailed && s.Exit != nil && len(s.Tests.Failed) == 0:
		return fmt.Sprintf("it failed, and its report of %s has none that failed", fleet.Counted(s.Tests.Ran, "test"))
	case s.State == fleet.StepDone:
		return InSpiteOf(s.Tests)
	}
	return ""
}

// InSpiteOf says of a step that ended well that its report has failures; "" where it has none. The
// exit status counts: who writes "|| true" behind tests, or has those that fail put up with, wants it so.
func InSpiteOf(t fleet.TestReport) string {
	if len(t.Failed) == 0 {
		return ""
	}
	return fmt.Sprintf("it ended with exit status 0, which counts, and its report has %s: %s", fleet.Counted(len(t.Failed)+t.More, "failed test"), testNames(t.Failed, t.More))
}

// testNames are the first names, and how many more there are.
func testNames(names []string, more int) string {
	var shown []string
	for _, name := range names[:min(len(names), shownTests)] {
		shown = append(shown, fleet.Line(name, shownTestName))
	}
	text := strings.Join(shown, ", ")
	if more += len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// NoteTests notes in a group what the reports of its last run say. A test that failed in an
// earlier run is flaky once the same tree has passed.
func NoteTests(g *fleet.MergeGroup, end GateEnd) {
	g.Notes = end.Tests.Notes
	list := slices.Clone(g.Tests)
	if end.Passed {
		for n := range list {
			list[n].Flaky = true
		}
	}
	if len(end.Red) > 0 {
		for _, t := range end.Tests.Failed {
			list = withTest(list, t)
		}
		g.More = end.Tests.More
	}
	for _, t := range end.Tests.Flaky {
		list = withTest(list, t)
	}
	if len(end.Red) > 0 && end.Tests.Whole && len(list) <= mostTests {
		g.Told++
	}
	g.More += max(0, len(list)-mostTests)
	g.Tests = list[:min(len(list), mostTests)]
}

// withTest adds a test to those of a group, or counts it once more.
func withTest(list []fleet.MergeTest, t fleet.MergeTest) []fleet.MergeTest {
	for n := range list {
		if list[n].Gate == t.Gate && list[n].Name == t.Name {
			list[n].Reds, list[n].Flaky = list[n].Reds+t.Reds, list[n].Flaky || t.Flaky
			return list
		}
	}
	return append(list, t)
}

// failures are the tests that failed in the groups that a condition names.
type failures struct {
	tests []fleet.MergeTest
	reds  int
	told  int
	more  int
}

func (b *MergeBook) failures(of func(*fleet.MergeGroup) bool) (f failures) {
	for n := range b.Groups {
		g := &b.Groups[n]
		if g.Gates != b.Queue.Digest || g.Reds == 0 || !of(g) {
			continue
		}
		f.reds, f.told, f.more = f.reds+g.Reds, f.told+g.Told, g.More
		for _, t := range g.Tests {
			f.tests = withTest(f.tests, t)
		}
	}
	return f
}

// each are the tests that failed in every run.
func (f failures) each() (out []fleet.MergeTest) {
	for _, t := range f.tests {
		if t.Reds == f.reds {
			out = append(out, t)
		}
	}
	return out
}

// sure says whether of each run each test that failed is known.
func (f failures) sure() bool { return f.reds > 0 && f.told == f.reds }

func without(list, others []fleet.MergeTest) (out []fleet.MergeTest) {
	for _, t := range list {
		if !slices.ContainsFunc(others, func(o fleet.MergeTest) bool { return o.Gate == t.Gate && o.Name == t.Name }) {
			out = append(out, t)
		}
	}
	return out
}

// MergeFound is what the reports of gates say of an item that failed alone, beside what
// they say of its target.
type MergeFound struct {
	Own    []fleet.MergeTest // that failed with it, and not on the target
	Shared []fleet.MergeTest // that failed with it, and on the target without it
	More   int               // how many more failed with it
	Runs   int               // that failed with it
	Brings bool              // it is certain that it brings failures of its own to a target that fails
}

// Found says what the tests that failed with an item alone, in a group, say of it.
//
// On a target that fails it brings failures of its own only where nothing may have hidden them
// there: each run on both sides has named all that failed, one test at least failed in every run on
// the target and in every run with the item (else it may have mended what kept others from being
// run), and one failed in every run with the item that never did on the target.
func (b *MergeBook) Found(i *fleet.MergeItem, g *fleet.MergeGroup) MergeFound {
	with := b.failures(func(o *fleet.MergeGroup) bool { return o.Tree == g.Tree && g.Tree != "" && !o.At.Before(i.Since) })
	target := b.failures(func(o *fleet.MergeGroup) bool { return len(o.Items) == 0 && o.Base == g.Base && g.Base != "" })
	own := without(with.tests, target.tests)
	found := MergeFound{Own: own, Shared: without(with.tests, own), More: with.more, Runs: with.reds}
	kept := target.each()
	found.Brings = with.sure() && target.sure() && len(kept) > 0 && len(without(kept, with.each())) == 0 && len(without(with.each(), target.tests)) > 0
	return found
}

// Words names the tests, in one line: what comes with an item beside what is the target's; "" where
// no gate has named any.
func (f MergeFound) Words(target string) string {
	switch {
	case len(f.Shared) > 0 && len(f.Own) > 0:
		return fmt.Sprintf("on %s itself fails %s; what fails besides: %s", target, TestWords(f.Shared, 0), TestWords(f.Own, f.More))
	case len(f.Shared) > 0:
		return fmt.Sprintf("on %s itself fails the same: %s", target, TestWords(f.Shared, f.More))
	}
	return TestWords(f.Own, f.More)
}

// TestWords names the first of some tests, and says how many more there are.
func TestWords(list []fleet.MergeTest, more int) string {
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return testNames(names, more)
}

// besides says of an item that waits for a target that fails which tests fail there, and which only
// with it.
func (b *MergeBook) besides(i *fleet.MergeItem, broken string) string {
	g := b.Alone(i)
	if g == nil || g.Base != broken {
		g = &fleet.MergeGroup{Base: broken}
	}
	target := b.failures(func(o *fleet.MergeGroup) bool { return len(o.Items) == 0 && o.Base == broken })
	text := ""
	if words := TestWords(target.tests, target.more); words != "" {
		text = ": " + words
	}
	if found := b.Found(i, g); len(found.Own) > 0 && text != "" {
		text += "; with it fails besides: " + TestWords(found.Own, found.More)
	}
	return fleet.Line(text, 400)
}
