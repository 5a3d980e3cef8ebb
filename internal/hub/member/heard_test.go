package member

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// TestAHostThatWasNotHeardYet: of a host that was not heard since it is listened to it is not known whether it is there,
// for who tells of silent hosts, and for who counts its workers, though the hub has all that it told once.
func TestAHostThatWasNotHeardYet(t *testing.T) {
	for name, c := range map[string]struct {
		h    rows.Host
		want fleet.Leaf[fleet.Duration]
	}{
		"heard":       {rows.Host{Run: "r", Heard: true}, fleet.Known(fleet.Duration(0))},
		"silent":      {rows.Host{Run: "r", Silent: true, Missed: time.Minute}, fleet.Known(fleet.Duration(time.Minute))},
		"not yet":     {rows.Host{Run: "r", Age: 3 * time.Minute}, fleet.Unknown[fleet.Duration]("it was not heard yet, since it is listened to")},
		"never heard": {rows.Host{}, fleet.Unknown[fleet.Duration]("it was never heard")},
	} {
		c.h.Name = "box2"
		if got := peer(c.h).Silent; got != c.want {
			t.Errorf("%s: it is silent for %+v, want %+v", name, got, c.want)
		}
		if got := has("box2", rows.Snapshot{Hosts: []rows.Host{c.h}, Whole: true}).Silent; c.h.Run != "" && got != c.want {
			t.Errorf("%s: its workers are those of a host that is silent for %+v, want %+v", name, got, c.want)
		}
	}
}
