package view_test

import (
	"testing"

	"custos/internal/fleet"
	"custos/internal/view"
)

// What an agent is kept within is in the list and in its own page; a stranger of the same name is in nothing.
func TestBoundariesAreShown(t *testing.T) {
	reg := fleet.Registration{Name: "a", Boundary: &fleet.Boundary{Name: "b", By: "bwrap", Landlock: 7, Open: []string{"x"}, Never: []string{"y"}}}
	for _, registered := range []bool{true, false} {
		a := fleet.Agent{Name: "a", Registered: registered}
		p := fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{reg}}}
		p.Snapshot.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: []fleet.Agent{a}}
		rows := view.Agents(p, view.Hints{}).Agents
		if len(rows) != 1 || (rows[0].Boundary != nil) != registered {
			t.Fatalf("registered %v: %+v", registered, rows)
		}
		if got := rows[0].Boundary; registered && (got.Name != "b" || got.By != "bwrap" || got.Landlock != 7 || got.Open[0] != "x" || got.Never[0] != "y") {
			t.Errorf("%+v", got)
		}
	}
}
