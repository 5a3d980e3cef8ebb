package control

import (
	"context"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// port is what knownAlerts has besides.
type port = Alerts

// knownAlerts are alerts in memory.
type knownAlerts struct {
	port
	list []fleet.Alert
}

func (k knownAlerts) Alerts(context.Context, bool) ([]fleet.Alert, error) { return k.list, nil }

// Of what is over, those are listed that people could have been told of: what was true for
// less than its rule wants was no alert.
func TestWhatNeverFiredWasNoAlert(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	alert := func(rule string, s fleet.AlertStatus, fired fleet.Instant) fleet.Alert {
		return fleet.Alert{AlertKey: fleet.AlertKey{Rule: rule}, Status: s, Since: at, FiredAt: fired, EndedAt: at}
	}
	c := &Control{Now: func() fleet.Instant { return at }, Vitals: func(context.Context) view.Vitals { return view.Vitals{} },
		Alerts: knownAlerts{list: []fleet.Alert{alert("over", fleet.AlertResolved, at), alert("a-moment", fleet.AlertResolved, fleet.Instant{}), alert("begins", fleet.AlertPending, fleet.Instant{})}}}
	got, err := c.alertList(t.Context(), Call{Ask: func(string) string { return "true" }})
	if err != nil || len(got.Alerts) != 2 || got.Alerts[0].Rule != "begins" || got.Alerts[1].Rule != "over" {
		t.Errorf("%+v, %v", got.Alerts, err)
	}
}

// What lies under a number may change: a person says which item of a vault they were shown, by
// its digest or by the hash of what was offered.
func TestSawContent(t *testing.T) {
	item := &fleet.VaultItem{Name: "ops/pending/a.md", Digest: "0123456789abcdef"}
	actions := []fleet.Action{{Do: "remove-lock"}, {Do: "approve-vault-item", Subject: fleet.Subject{Kind: fleet.KindVault, Name: item.Name}, Target: fleet.Target{Vault: item}}}
	for name, c := range map[string]struct {
		order api.ApproveOrder
		ok    bool
	}{
		"its digest":      {api.ApproveOrder{Digest: "0123456789ab"}, true},
		"an offer":        {api.ApproveOrder{Seen: "hash"}, true},
		"nothing":         {api.ApproveOrder{}, false},
		"too little":      {api.ApproveOrder{Digest: "0123456789a"}, false},
		"another one":     {api.ApproveOrder{Digest: "0123456789ac"}, false},
		"more than it is": {api.ApproveOrder{Digest: "0123456789abcdef0"}, false},
	} {
		if err := sawContent(actions, c.order); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sawContent(actions[:1], api.ApproveOrder{}); err != nil {
		t.Errorf("where nothing of the kind is: %v", err)
	}
}
