package fleettest

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func TestEachLeafCanBeBlinded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Snapshot(t)
		before, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		n := len(Leaves(&s))
		if n < len(fleet.PartNames()) {
			t.Fatalf("%d leaves: fewer than there are parts", n)
		}
		i := rapid.IntRange(0, n-1).Draw(t, "which")
		l := Leaves(&s)[i]
		l.Blind("blinded by the test")
		after, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(before) == string(after) {
			t.Fatalf("blinding %s changed nothing", l.Name)
		}
	})
}

func TestEveryPartIsListed(t *testing.T) {
	var s fleet.Snapshot
	s.Extra.Value = []fleet.Extra{{Numbers: map[string]fleet.Leaf[float64]{"b": fleet.Known(1.0), "a": fleet.Known(2.0)}}}
	s.Agents.Value = []fleet.Agent{{Pane: &fleet.Pane{}}}
	seen := map[string]bool{}
	for _, l := range Leaves(&s) {
		if seen[l.Name] {
			t.Errorf("%s is listed twice", l.Name)
		}
		seen[l.Name] = true
	}
	for _, p := range fleet.PartNames() {
		if !seen[string(p)] {
			t.Errorf("part %s is not listed", p)
		}
	}
	for _, want := range []string{"host.value.memory.available", "extra.value[0].numbers.a", "agents.value[0].pane.exit_status", "agents.value[0].cpu"} {
		if !seen[want] {
			t.Errorf("%s is not listed", want)
		}
	}
}
