package runs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Add(d), Up: fleet.Duration(time.Hour + d), Boot: "b"}
}

func want(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "cannot ") {
		t.Errorf("%q does not say what cannot be done", err)
	}
}

// proseRun is a run of two steps of prose, worked on by an agent.
func proseRun() fleet.Run {
	return fleet.Run{ID: "r1", Formula: "f", Project: "p", By: "ann", Mode: fleet.RunInTmux, Dir: "/state/runs/r1", Work: "/w",
		Session: &fleet.RunSession{Agent: "r1", Kind: "claude", Memory: 1 << 30, Recover: 1, Repo: "/w", Set: []string{"FORGE_API=https://forge/api"}},
		Steps:   []fleet.RunStep{{ID: "look", Do: fleet.StepProse, Text: "look"}, {ID: "write", Do: fleet.StepProse, Text: "write", Needs: []string{"look"}}}}
}

func template(formula, project string) fleet.Run {
	return fleet.Run{Formula: formula, Project: project, Mode: fleet.RunSteps, Dir: "/state/runs",
		Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}}}}
}

func merge(all, changed []fleet.Registration) []fleet.Registration {
	for _, c := range changed {
		if r := ledger.Registration(all, c.Name); r != nil {
			*r = c
		} else {
			all = append(all, c)
		}
	}
	return all
}
