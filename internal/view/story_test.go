package view

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// The look at the runs is older than what was written down since: a run says why it stands
// where it does by its record.
func TestARunSaysWhyByItsRecord(t *testing.T) {
	of := fleet.Subject{Kind: fleet.KindRun, Name: "retry-1"}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: instant(0)}}
	p.Snapshot.Runs.Status = fleet.StatusOK
	p.Snapshot.Runs.Value = []fleet.RunFacts{{ID: "retry-1", Formula: "retry", State: fleet.RunOpen, Why: "waits: step a runs; it is not seen now"}}
	p.Past.Runs = []fleet.Run{{ID: "retry-1", Formula: "retry", State: fleet.RunOpen, Why: "waits: step a begins again at 09:00:04: attempt 1 failed"}}
	got := strings.Join(Story(StoryOf{Subject: of}, p, nil, nil, noTeller{}).Facts, "\n")
	if !strings.Contains(got, "Why: waits: step a begins again at 09:00:04: attempt 1 failed") || strings.Contains(got, "step a runs") {
		t.Errorf("%q", got)
	}
	if p.Snapshot.Runs.Value[0].Why != "waits: step a runs; it is not seen now" {
		t.Error("the look itself was changed")
	}
}

type noTeller struct{}

func (noTeller) Commands(fleet.Action) []fleet.Command { return nil }
