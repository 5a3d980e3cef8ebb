package ledger

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// meantOtherwise are names that are read as somebody else's: of people, of Custos, of a
// group, of nobody who can be named.
var meantOtherwise = []string{"overseer", "Overseer", "custos", "CUSTOS", "parent", "@all", "@custos", "@webhook", "@x", "role/worker", "agent/lead", "?", "ann (a person)"}

// Nobody becomes an agent with a name that means somebody else: by a spawn, an adoption,
// or whatever registers one. One that is called so already is told, stopped and recovered.
func TestNamesOfOthersAreNotGiven(t *testing.T) {
	for _, name := range meantOtherwise {
		r := reg(name)
		_, err := Register(nil, r, Bounds{}, fleet.ByCustos, at(0))
		want(t, err, ErrIllegal)
		_, err = Adopt(nil, fleet.Agent{Name: name, Kind: "claude", Process: fleet.ProcessID{PID: 7}}, "ann", at(0))
		want(t, err, ErrIllegal)
		for do, refused := range map[fleet.OrderDo]bool{fleet.OrderSpawn: true, fleet.OrderAdopt: true, fleet.OrderStop: false, fleet.OrderRecover: false} {
			if err := CheckOrder(fleet.Order{ID: "o", Do: do, Agent: name, By: "ann"}); (err != nil) != refused {
				t.Errorf("%s %q: %v", do, name, err)
			}
		}
	}
	for _, name := range []string{"overseer2", "parents", "roles", "custos-dev", "agent", "lead"} {
		if err := CheckNewName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckNewName("overseer"); err == nil || !strings.Contains(err.Error(), `"overseer" means the people`) || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("no reason, or no way out: %v", err)
	}
}

// A person's own name is no agent's: what such an agent says would be taken for that person's word.
func TestNamesOfPeopleAreNotGiven(t *testing.T) {
	if err := CheckNewName("Ann", "root", "ann"); err == nil || !strings.Contains(err.Error(), "a person's name") {
		t.Errorf("%v", err)
	}
}
