package daemon

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// TestHolds: an expression of a gate is true, false or cannot be told; stale facts
// let nobody go.
func TestHolds(t *testing.T) {
	gate := func(id, when string) fleet.Gate {
		return fleet.Gate{Head: fleet.Head{ID: id}, Type: fleet.GateCondition, When: when, State: fleet.GateOpen}
	}
	s := &system{}
	closed := gate("g5", "host.cpus > 0")
	closed.State = fleet.GateClosed
	past := fleet.Past{Records: fleet.Records{Gates: []fleet.Gate{gate("g1", "host.cpus > 1"), gate("g2", "host.cpus > 8"), gate("g3", "host.cpu > 8"),
		gate("g4", "gates.exists(g, g.id == 'g1')"), closed, {Head: fleet.Head{ID: "g6"}, Type: fleet.GateHuman, State: fleet.GateOpen}}}}
	var snap fleet.Snapshot
	snap.Host.Status, snap.Host.Value.CPUs = fleet.StatusOK, 2
	told := func() string {
		var out []string
		seen := snap
		s.holds(past, &seen)
		for _, c := range seen.Holds {
			word := "unknown"
			if is, known := c.Holds.Get(); known {
				word = map[bool]string{true: "yes", false: "no"}[is]
			}
			out = append(out, c.Gate+" "+word)
		}
		return strings.Join(out, ", ")
	}
	if got := told(); got != "g1 yes, g2 no, g3 unknown, g4 yes" {
		t.Errorf("got %s", got)
	}
	snap.Host.Status = fleet.StatusStale
	if got := told(); got != "g1 unknown, g2 unknown, g3 unknown, g4 yes" {
		t.Errorf("stale: got %s", got)
	}
	past.Records.Gates = past.Records.Gates[4:]
	if got := told(); got != "" {
		t.Errorf("got %s", got)
	}
}

// A gate that waits for an item of a vault passes when it is seen to be so far, and for as
// long as the vault is not seen it is not known.
func TestAGateWaitsForAnItem(t *testing.T) {
	when := `vaults.exists(v, v.vault == "ops" && v.id == "publish-030" && v.state == "dispatched")`
	past := fleet.Past{Records: fleet.Records{Gates: []fleet.Gate{{Head: fleet.Head{ID: "g1"}, Type: fleet.GateCondition, When: when, State: fleet.GateOpen}}}}
	item := func(state fleet.VaultState) []fleet.VaultItem {
		return []fleet.VaultItem{{Vault: "ops", ID: "other", State: fleet.VaultDispatched}, {Vault: "ops", ID: "publish-030", State: state}}
	}
	for name, c := range map[string]struct {
		status fleet.Status
		items  []fleet.VaultItem
		want   string
	}{
		"pending":    {fleet.StatusOK, item(fleet.VaultPending), "false"},
		"rejected":   {fleet.StatusOK, item(fleet.VaultRejected), "false"},
		"dispatched": {fleet.StatusOK, item(fleet.VaultDispatched), "true"},
		"gone":       {fleet.StatusOK, nil, "false"},
		"stale":      {fleet.StatusStale, item(fleet.VaultDispatched), "unknown"},
		"not seen":   {fleet.StatusUnknown, nil, "unknown"},
	} {
		var snap fleet.Snapshot
		snap.Vaults = fleet.Part[[]fleet.VaultItem]{Sight: fleet.Sight{Status: c.status}, Value: c.items}
		(&system{}).holds(past, &snap)
		got := "unknown"
		if is, known := snap.Holds[0].Holds.Get(); known {
			got = map[bool]string{true: "true", false: "false"}[is]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
