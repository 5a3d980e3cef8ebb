package control

import (
	"context"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// sightOf are records that nobody changes, and what was seen by now.
type sightOf struct {
	Records
	past fleet.Past
	seen *fleet.Snapshot
}

func (r sightOf) Seen(context.Context) (fleet.Past, fleet.Snapshot, error) {
	return r.past, *r.seen, nil
}

// Without a daemon the list of gates, and one of them, are told once what they wait for was
// looked at, and one that the next pass closes as that; where a daemon looks, or nothing is
// hidden, nobody waits for a look.
func TestGatesAreToldAsTheyAreSeen(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	command := fleet.Gate{Head: fleet.Head{ID: "g1"}, Type: fleet.GateCondition, Check: []string{"true"}, State: fleet.GateOpen}
	timer := fleet.Gate{Head: fleet.Head{ID: "g1"}, Type: fleet.GateTimer, Until: now, State: fleet.GateOpen}
	for name, k := range map[string]struct {
		gate    fleet.Gate
		watched bool
		looks   int
		blind   bool
	}{
		"nobody looked":       {command, false, 1, false},
		"a daemon looks":      {command, true, 0, true},
		"a timer that is due": {timer, false, 0, false},
	} {
		for way, ask := range map[string]func(*Control) (api.Gate, error){
			"list": func(c *Control) (api.Gate, error) {
				l, err := c.gateList(t.Context(), Call{Ask: func(string) string { return "" }})
				return l.Gates[0], err
			},
			"show": func(c *Control) (api.Gate, error) { return c.gateShown(t.Context(), Call{ID: "g1"}) },
		} {
			var snap fleet.Snapshot
			snap.At, snap.Checks.Status, snap.Checks.Why = now, fleet.StatusPending, "not looked yet"
			looks := 0
			c := &Control{Watched: k.watched, Now: func() fleet.Instant { return now },
				Records: sightOf{past: fleet.Past{Records: fleet.Records{Gates: []fleet.Gate{k.gate}}}, seen: &snap},
				Look: func(context.Context, time.Duration) (fleet.Pass, error) {
					looks++
					snap.Checks.Status, snap.Checks.Value = fleet.StatusOK, []fleet.GateCheck{{Gate: "g1", Holds: fleet.Known(true)}}
					return fleet.Pass{}, nil
				}}
			if g, err := ask(c); err != nil || looks != k.looks || g.Blind != k.blind || g.Closing == k.blind {
				t.Errorf("%s, %s: %d looks, %+v, %v", name, way, looks, g, err)
			}
		}
	}
}
