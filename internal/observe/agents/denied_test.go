package agents

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// What a policy denied an agent is a fact of it.
func TestDeniedCallsAreAFact(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("one", 10)
	e := hook(w, "i-one", time.Minute, fleet.HookToolBegin, "Bash", "1")
	e.Deny("delete-root")
	b.events = append(b.events, e)
	if a := see(t, w.probe(t, b.options))["one"]; a.Denied == nil || a.Denied.Rule != "delete-root" || a.Denied.Times != 1 || a.Tool != nil {
		t.Errorf("%+v, and %+v is in flight", a.Denied, a.Tool)
	}
}
