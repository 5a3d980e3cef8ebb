package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// What an ignore silences: the alert that it is about, all of a rule, or all of an agent.
func TestIgnored(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	alerts := []fleet.Alert{
		{AlertKey: fleet.AlertKey{Rule: "agent-waiting", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}}, Number: 3, Status: fleet.AlertFiring},
		{AlertKey: fleet.AlertKey{Rule: "agent-stuck", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}}, Number: 5, Status: fleet.AlertFiring}}
	for text, want := range map[string]string{
		"ignore 3":              "agent-waiting agent/builder 20m0s",
		"ignore 3 2h":           "agent-waiting agent/builder 2h0m0s",
		"ignore builder 2h":     " agent/builder 2h0m0s",
		"ignore agent-stuck 2h": "agent-stuck / 2h0m0s",
	} {
		r, _ := ledger.ParseReply(text)
		found, err := ledger.About(r, "", alerts)
		if err != nil {
			t.Fatal(text, err)
		}
		var got []string
		for _, q := range ignored(r, found, "@ann:hs", now, 20*time.Minute) {
			got = append(got, fmt.Sprintf("%s %s %s", q.Rule, q.Subject, q.Until.Since(q.From)))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
