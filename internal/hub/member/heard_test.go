package member

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/rows"
)

// TestAHostThatWasNotHeardYet: of a host that was not heard since it is listened to it is not known whether it is there,
// for who tells of silent hosts, and for who counts its workers, though the hub has all that it told once.
func TestAHostThatWasNotHeardYet(t *testing.T) {
	for name, c := range map[string]struct {
		h    rows.Host
		want fleet.Leaf[fleet.Duration]
		last time.Duration
	}{
		"heard":       {rows.Host{Run: "r", Heard: true, Age: 4 * time.Second}, fleet.Known(fleet.Duration(0)), 0},
		"silent":      {rows.Host{Run: "r", Silent: true, Missed: time.Minute, Age: 3 * time.Hour}, fleet.Known(fleet.Duration(time.Minute)), 3 * time.Hour},
		"not yet":     {rows.Host{Run: "r", Age: 3 * time.Minute}, fleet.Unknown[fleet.Duration]("it was not heard yet, since it is listened to"), 3 * time.Minute},
		"never heard": {rows.Host{}, fleet.Unknown[fleet.Duration]("it was never heard"), -1},
	} {
		c.h.Name = "box2"
		if got := peer(c.h); got.Silent != c.want || got.Last.Or(-1) != fleet.Duration(c.last) {
			t.Errorf("%s: it is silent for %+v, and told last %+v ago; want %+v, %s", name, got.Silent, got.Last, c.want, c.last)
		}
		if got := has("box2", rows.Snapshot{Hosts: []rows.Host{c.h}, Whole: true}).Silent; c.h.Run != "" && got != c.want {
			t.Errorf("%s: its workers are those of a host that is silent for %+v, want %+v", name, got, c.want)
		}
	}
}

// TestNodesOfAHub: a host is told of each how it stands; of a hub of one there is nothing to tell.
func TestNodesOfAHub(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 3)
	m, _ := host(t, hub.Join(t, "box1"), nil)
	states := func() (all string) {
		for _, n := range m.Seen(now()).Value.Nodes {
			all += n.State + " "
		}
		return all
	}
	eventually(t, "all are there", func() bool { s := states(); return strings.Count(s, "follows") == 2 && strings.Contains(s, "leads") })
	hub.Stop(1)
	eventually(t, "one is gone", func() bool { s := states(); return strings.Count(s, "gone") == 1 && strings.Contains(s, "leads") })
	hub.Restart(1)
	hubtest.Eventually(t, 2*time.Minute, "it is back", func() bool { s := states(); return strings.Count(s, "follows") == 2 && strings.Contains(s, "leads") })
}

// TestAHubWithoutAQuorum: that too few nodes are there is said in words, with what to do.
func TestAHubWithoutAQuorum(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 3)
	m, _ := host(t, hub.Join(t, "box1"), nil)
	eventually(t, "it is well", func() bool { return m.Seen(now()).Status == fleet.StatusOK })
	hub.Stop(1)
	hub.Stop(2)
	eventually(t, "it says so", func() bool {
		seen := m.Seen(now())
		return seen.Status == fleet.StatusUnknown && strings.Contains(seen.Why, "too few of its nodes are there")
	})
}
