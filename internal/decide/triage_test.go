package decide

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// An alert that began anew after the verdict is another one, unless it is known
// that nothing of the agent has moved since the judge spoke: then Custos was only
// started again, and what the judge said holds.
func TestVerdictOutlivesARestart(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(10 * time.Hour), Boot: "b"}
	key := fleet.AlertKey{Rule: "agent-stuck", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "a"}}
	said := now.Add(-5 * time.Minute)
	for name, c := range map[string]struct {
		began time.Duration // of the alert, ago
		quiet fleet.Leaf[fleet.Duration]
		sight fleet.Status
		want  bool
	}{
		"the same alert":            {10 * time.Minute, fleet.Known(fleet.Duration(0)), fleet.StatusOK, true},
		"anew, and still":           {time.Minute, fleet.Known(fleet.Duration(6 * time.Minute)), fleet.StatusOK, true},
		"anew, after it moved":      {time.Minute, fleet.Known(fleet.Duration(2 * time.Minute)), fleet.StatusOK, false},
		"anew, and not known":       {time.Minute, fleet.Unknown[fleet.Duration]("?"), fleet.StatusOK, false},
		"anew, and not seen lately": {time.Minute, fleet.Known(fleet.Duration(6 * time.Minute)), fleet.StatusStale, false},
		"the same, not seen lately": {10 * time.Minute, fleet.Unknown[fleet.Duration]("?"), fleet.StatusStale, true},
	} {
		t.Run(name, func(t *testing.T) {
			snap := fleet.Snapshot{At: now}
			snap.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: c.sight, At: now}, Value: []fleet.Agent{{Name: "a", Quiet: c.quiet}}}
			past := fleet.Past{Verdicts: []fleet.Verdict{{ID: "v", Alert: key, Word: fleet.VerdictAsk, At: said, Expires: now.Add(time.Hour)}}}
			p := newPass(&fleet.Policy{}, &snap, &fleet.Assessment{}, &past)
			f := fleet.Finding{AlertKey: key, Since: now.Add(-c.began)}
			if got := p.verdictFor(&f) != nil; got != c.want {
				t.Errorf("it counts: %v, want %v", got, c.want)
			}
		})
	}
}
