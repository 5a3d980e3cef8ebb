package decide_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/decide"
	"custos/internal/fleet"
)

// TestMayAsk: what was asked about alerts and what was asked about people's words
// come out of one budget.
func TestMayAsk(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(48 * time.Hour), Boot: "b"}
	ago := func(d time.Duration, price int64) fleet.Verdict {
		return fleet.Verdict{ID: d.String(), At: now.Add(-d), MicroUSD: price, Priced: price >= 0}
	}
	p := fleet.TriagePolicy{PerHour: 2, PerDay: 3, MoneyPerDay: 1000, CallPrice: 400}
	for name, c := range map[string]struct {
		policy   fleet.TriagePolicy
		verdicts []fleet.Verdict
		want     string
	}{
		"nothing yet":     {p, nil, ""},
		"no budget":       {fleet.TriagePolicy{}, nil, "no call"},
		"one this hour":   {p, []fleet.Verdict{ago(time.Minute, 1)}, ""},
		"two this hour":   {p, []fleet.Verdict{ago(2*time.Minute, 1), ago(time.Minute, 1)}, "2 of 2 calls"},
		"three today":     {p, []fleet.Verdict{ago(9*time.Hour, 1), ago(8*time.Hour, 1), ago(7*time.Hour, 1)}, "3 of 3 calls"},
		"too dear":        {p, []fleet.Verdict{ago(8*time.Hour, 601)}, "are spent"},
		"price not known": {p, []fleet.Verdict{ago(8*time.Hour, -1), ago(7*time.Hour, -1)}, "are spent"},
		"yesterday":       {p, []fleet.Verdict{ago(25*time.Hour, 1000)}, ""},
	} {
		got := decide.MayAsk(c.policy, fleet.Past{Verdicts: c.verdicts}, now)
		for what, past := range map[string]fleet.Past{"set aside": {Verdicts: c.verdicts, Amnesia: true}, "cannot be read": {Verdicts: c.verdicts, Blind: "locked"}} {
			if got := decide.MayAsk(c.policy, past, now); !strings.Contains(got, what) {
				t.Errorf("%s: what was asked before is not known, and it may be asked: %q, want %q", name, got, what)
			}
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
