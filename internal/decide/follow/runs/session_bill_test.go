package runs

import (
	"testing"

	"custos/internal/fleet"
)

// Two instances cost what both told; a look that tells nothing takes nothing back.
func TestBillAddsUpInstances(t *testing.T) {
	r := fleet.Run{ID: "r1", Session: &fleet.RunSession{Agent: "r1"}}
	look := func(instance string, cost, tokens fleet.Leaf[int64]) {
		a := &advance{agents: map[string]*fleet.Agent{"r1": {Name: "r1", Run: "r1", Instance: instance, Cost: cost, Tokens: tokens}}}
		a.bill(&r)
	}
	none := fleet.Unknown[int64]("it has not told")
	look("a", fleet.Known[int64](100), fleet.Known[int64](10))
	look("a", fleet.Known[int64](250), fleet.Known[int64](20))
	look("a", none, none)
	look("b", none, none)
	look("b", fleet.Known[int64](30), none)
	look("b", fleet.Known[int64](40), fleet.Known[int64](5))
	if r.MicroUSD != 290 || r.Tokens != 25 {
		t.Errorf("cost %d and %d tokens; want 290 and 25", r.MicroUSD, r.Tokens)
	}
	look("a", fleet.Known[int64](1), none) // of another run's agent of the same name, or an old look
	if r.MicroUSD < 290 {
		t.Errorf("the bill went back to %d", r.MicroUSD)
	}
}
