package installation

import (
	"slices"
	"testing"

	"custos/internal/agent"
	"custos/internal/doctor"
)

// A kind that no program belongs to is known all the same: an agent of it is no fault.
func TestDoctorKnowsEveryKind(t *testing.T) {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	list := KindPrograms(kinds)
	for _, name := range kinds.Names() {
		if !slices.ContainsFunc(list, func(p doctor.Program) bool { return p.Name == name }) {
			t.Errorf("%s is not known", name)
		}
	}
	if i := slices.IndexFunc(list, func(p doctor.Program) bool { return p.Name == agent.Generic }); i < 0 || list[i].Path != "" {
		t.Errorf("the program of any command: %+v", list)
	}
}
