package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Each registered agent of two that change the same lines is written to of the other, again only when twice as many files
// are met; not of files that both change elsewhere, not where a person has silenced it, and not of what is not seen now.
func TestAgentsAreWrittenToOfOverlaps(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	agent := func(name string, pid int) fleet.Agent {
		return fleet.Agent{Name: name, Process: fleet.ProcessID{PID: pid}, CWD: fleet.Known("/t/" + name)}
	}
	pass := func(change func(*fleet.Pass, *fleet.Overlap, *fleet.Alert)) fleet.Pass {
		p := fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{{Name: "one"}, {Name: "two"}}}}
		p.Snapshot.At = now
		p.Snapshot.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: []fleet.Agent{agent("one", 1), agent("two", 2), agent("beside", 3)}}
		o := fleet.Overlap{Name: "x", One: "/t/one", Other: "/t/two", OneIn: []string{"/t/one"}, OtherIn: []string{"/t/two"}, Hot: []string{"main.go:3"}, Conflicts: fleet.Known[[]string](nil)}
		a := fleet.Alert{AlertKey: fleet.AlertKey{Rule: sameLines, Subject: fleet.Subject{Kind: fleet.KindOverlap, Name: "x"}}, Status: fleet.AlertFiring, Number: 7}
		p.Snapshot.Overlaps.Status = fleet.StatusOK
		change(&p, &o, &a)
		p.Snapshot.Overlaps.Value, p.Assessment.Alerts = []fleet.Overlap{o}, []fleet.Alert{a}
		return p
	}
	said := func(p fleet.Pass) (list []string) {
		for _, m := range News(p, nil) {
			list = append(list, fmt.Sprintf("%s: %s [%s] %t", m.To[0], m.Subject, m.Key, strings.Contains(m.Body, "main.go:3")))
		}
		slices.Sort(list)
		return list
	}
	both := []string{"one: two and you change the same lines [agents-edit-same-lines/one/7/1] true", "two: one and you change the same lines [agents-edit-same-lines/two/7/1] true"}
	for what, c := range map[string]struct {
		change func(*fleet.Pass, *fleet.Overlap, *fleet.Alert)
		want   []string
	}{
		"both":                {func(*fleet.Pass, *fleet.Overlap, *fleet.Alert) {}, both},
		"it is silenced":      {func(_ *fleet.Pass, _ *fleet.Overlap, a *fleet.Alert) { a.SilencedUntil = now.Add(time.Minute) }, nil},
		"that is over":        {func(_ *fleet.Pass, _ *fleet.Overlap, a *fleet.Alert) { a.SilencedUntil = now.Add(-time.Minute) }, both},
		"it is pending":       {func(_ *fleet.Pass, _ *fleet.Overlap, a *fleet.Alert) { a.Status = fleet.AlertPending }, nil},
		"agents are not seen": {func(p *fleet.Pass, _ *fleet.Overlap, _ *fleet.Alert) { p.Snapshot.Agents.Status = fleet.StatusStale }, nil},
		"overlaps are not seen": {func(p *fleet.Pass, _ *fleet.Overlap, _ *fleet.Alert) {
			p.Snapshot.Overlaps.Status = fleet.StatusUnknown
		}, nil},
		"one does not run":      {func(p *fleet.Pass, _ *fleet.Overlap, _ *fleet.Alert) { p.Snapshot.Agents.Value[1].Process.PID = 0 }, nil},
		"one is not registered": {func(p *fleet.Pass, _ *fleet.Overlap, _ *fleet.Alert) { p.Past.Registrations = p.Past.Registrations[:1] }, both[:1]},
		"more files": {func(_ *fleet.Pass, o *fleet.Overlap, _ *fleet.Alert) { o.Hot = append(o.Hot, "b:1", "c:1") },
			[]string{strings.Replace(both[0], "/7/1", "/7/2", 1), strings.Replace(both[1], "/7/1", "/7/2", 1)}},
	} {
		if got := said(pass(c.change)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// Of files that one was started for and another changes each is written to in its own way; so are both, of both.
func TestAgentsAreWrittenToOfAssignedFiles(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	p := fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{{Name: "one"}, {Name: "two"}}}}
	p.Snapshot.At = at
	p.Snapshot.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}}
	for i, name := range []string{"one", "two"} {
		p.Snapshot.Agents.Value = append(p.Snapshot.Agents.Value, fleet.Agent{Name: name, Process: fleet.ProcessID{PID: i + 1}, CWD: fleet.Known("/t/" + name)})
	}
	o := fleet.Overlap{Name: "x", One: "/t/one", Other: "/t/two", OneIn: []string{"/t/one"}, OtherIn: []string{"/t/two"}, OfOne: []string{"a.go"}}
	p.Assessment.Alerts = []fleet.Alert{{AlertKey: fleet.AlertKey{Rule: assignedFiles, Subject: fleet.Subject{Kind: fleet.KindOverlap, Name: "x"}}, Status: fleet.AlertFiring, Number: 7}}
	p.Snapshot.Overlaps.Status = fleet.StatusOK
	said := func() (list []string) {
		p.Snapshot.Overlaps.Value = []fleet.Overlap{o}
		keys := map[string]bool{}
		for _, m := range News(p, nil) {
			list = append(list, m.To[0]+": "+m.Subject+" | "+strings.ReplaceAll(m.Body, "\n", " | "))
			keys[m.Key] = true
		}
		if len(keys) != len(list) {
			t.Errorf("two mails have one key: %v", keys)
		}
		slices.Sort(list)
		return list
	}
	want := []string{
		`one: two changes files that you were started for | In a.go | It works in /t/two | Before you commit, agree with it who changes them: custos mail send two "…"`,
		`two: You change files that one was started for | In a.go | It works in /t/one | Leave them to it, or agree with it before you commit: custos mail send one "…"`,
	}
	if got := said(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	o.OfOther = []string{"b.go"}
	if got := said(); len(got) != 4 || !strings.HasPrefix(got[0], "one: You change files that two was started for | In b.go") {
		t.Errorf("%q", got)
	}
}
