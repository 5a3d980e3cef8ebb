package report

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

func TestJournalTellsOfContainersCIAndForges(t *testing.T) {
	ok := fleet.Sight{Status: fleet.StatusOK}
	var s fleet.Snapshot
	for _, status := range []fleet.Status{"", fleet.StatusAbsent, fleet.StatusUnknown, fleet.StatusPending} {
		s.Engine.Status, s.CI.Status, s.Forge.Status = status, status, status
		if got := elsewhere(s); len(got) != 0 {
			t.Errorf("of what is %q it says %q", status, got)
		}
	}
	s.Engine = fleet.Part[fleet.Engine]{Sight: ok, Value: fleet.Engine{Containers: []fleet.Container{{State: fleet.Known("running")}, {State: fleet.Known("exited")}, {}}}}
	s.CI = fleet.Part[fleet.CI]{Sight: ok, Value: fleet.CI{Pipelines: []fleet.Pipeline{{State: fleet.Known("running")}, {State: fleet.Known("pending")}, {State: fleet.Known("success")}, {}},
		Workers: []fleet.Worker{{Healthy: fleet.Known(false)}, {Healthy: fleet.Known(true)}, {}}}}
	s.Forge = fleet.Part[fleet.Forge]{Sight: fleet.Sight{Status: fleet.StatusStale}, Value: fleet.Forge{Pulls: make([]fleet.PullRequest, 3), Projects: []fleet.Project{
		{Ready: fleet.Known(2), InProgress: fleet.Known(1), Blocked: fleet.Known(0)},
		{Ready: fleet.Known(3), InProgress: fleet.Known(1), Blocked: fleet.Unknown[int]("half a page")}}}}
	want := []string{"Docker: 3 containers, 1 running", "CI: 1 running, 1 pending, 1 of 3 workers unhealthy",
		"Issues: ready 5, in progress 2, blocked ?; pull requests: 3 open"}
	if got := elsewhere(s); !slices.Equal(got, want) {
		t.Errorf("it says %q", got)
	}
}

// One of a thing is one, not "1 containers".
func TestOneIsTold(t *testing.T) {
	var s fleet.Snapshot
	s.Engine = fleet.Part[fleet.Engine]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Engine{Containers: make([]fleet.Container, 1)}}
	if got := elsewhere(s); !slices.Equal(got, []string{"Docker: 1 container, 0 running"}) {
		t.Errorf("it says %q", got)
	}
	var p fleet.Pass
	p.Assessment.Blind = make([]fleet.CannotTell, 1)
	if got, want := nothing(p), "No issues found, as far as is known: 1 answer is not known (custos preflight)"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
