package fleet_test

import (
	"testing"

	"custos/internal/fleet"
)

// What became of a nudge is one of three things, whatever ended it.
func TestWhatBecameOfANudge(t *testing.T) {
	delivered := &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: fleet.ProofTranscript}
	removed := &fleet.Arrival{Outcome: fleet.OutcomeNot, Why: "it still stood there"}
	for name, c := range map[string]struct {
		do     fleet.OrderDo
		result fleet.Result
		want   fleet.Outcome
	}{
		"acknowledged":         {fleet.OrderNudge, fleet.Result{Status: fleet.ResultDone, Arrival: delivered}, fleet.OutcomeDelivered},
		"taken back":           {fleet.OrderNudge, fleet.Result{Status: fleet.ResultUnverified, Arrival: removed}, fleet.OutcomeNot},
		"not told":             {fleet.OrderNudge, fleet.Result{Status: fleet.ResultUnverified}, fleet.OutcomeUnknown},
		"in doubt":             {fleet.OrderNudge, fleet.Result{Status: fleet.ResultInDoubt}, fleet.OutcomeUnknown},
		"refused for good":     {fleet.OrderNudge, fleet.Result{Status: fleet.ResultRefused, Lasting: true}, fleet.OutcomeNot},
		"refused for now":      {fleet.OrderNudge, fleet.Result{Status: fleet.ResultRefused}, ""},
		"an answer in doubt":   {fleet.OrderAnswer, fleet.Result{Status: fleet.ResultInDoubt}, fleet.OutcomeUnknown},
		"a stop gives nothing": {fleet.OrderStop, fleet.Result{Status: fleet.ResultRefused, Lasting: true}, ""},
	} {
		o := fleet.Order{Do: c.do, State: fleet.OrderOpen, Action: "x"}.After(c.result)
		var got fleet.Outcome
		if a := o.Reached(); a != nil {
			got = a.Outcome
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	expired := fleet.Order{Do: fleet.OrderNudge, State: fleet.OrderExpired, Why: "it makes progress"}
	if a := expired.Reached(); a == nil || a.Words() != "not delivered: it makes progress" {
		t.Errorf("of a nudge that was never typed it is said %+v", a)
	}
}
