package ci_test

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
)

// What these tests hold the client against was written down from the servers' public
// sources first (package citest says which), by somebody who did not know the client.

// TestAllJobsAreSeen: jobs come in pages.
func TestAllJobsAreSeen(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		run := citest.Run{Number: 1, State: "failure"}
		for n := range 130 {
			run.Steps = append(run.Steps, citest.Step{Job: fmt.Sprintf("matrix-%03d", n), Name: "go", State: "success"})
		}
		run.Steps = append(run.Steps, citest.Step{Job: "last", Name: "go", State: "failure", Exit: 1, Log: "it broke"})
		s.Add(run)
		got, err := reader(t, s).Failed(t.Context(), ci.Pipeline{ID: s.ID(1), Number: 1})
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0].Name, "last") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestAllRunnersAreSeen: so do runners.
func TestAllRunnersAreSeen(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		var all []citest.Worker
		for n := range 80 {
			all = append(all, citest.Worker{Name: fmt.Sprintf("w%02d", n)})
		}
		s.Staff(all...)
		got, _, err := reader(t, s).Workers(t.Context())
		if err != nil || len(got) != 80 {
			t.Errorf("%d workers, %v", len(got), err)
		}
	})
}

// TestTheFailedStepIsNamed: a Gitea says of each step what its job is, which names none.
func TestTheFailedStepIsNamed(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1, State: "failure", Steps: []citest.Step{
			{Job: "test", Name: "checkout", State: "success"}, {Job: "test", Name: "unit", State: "failure", Exit: 1}}})
		got, err := reader(t, s).Failed(t.Context(), ci.Pipeline{ID: s.ID(1), Number: 1})
		if err != nil || len(got) == 0 || got[0].Name != "test" && got[0].Name != "test/unit" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
