package remote

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/api"
)

// TestPlace: the host with the fewest agents for its processors comes first, and of each other one it is said why
// it cannot be.
func TestPlace(t *testing.T) {
	host := func(name, status string, o api.Offers) api.HostLook {
		return api.HostLook{HostSeen: api.HostSeen{Name: name, Status: status}, Offers: o}
	}
	gpu := []string{"gpu", "big"}
	list := []api.HostLook{
		host("full", "ok", api.Offers{Labels: gpu, Acts: true, CPUs: 64, Agents: 5, Most: 5}),
		host("busy", "ok", api.Offers{Labels: gpu, Acts: true, CPUs: 2, Agents: 4, Most: 50}),
		host("idle", "ok", api.Offers{Labels: gpu, Acts: true, CPUs: 8, Agents: 4, Most: 50}),
		host("also", "ok", api.Offers{Labels: gpu, Acts: true, CPUs: 8, Agents: 4, Most: 50}),
		host("shut", "ok", api.Offers{Labels: gpu, CPUs: 8, Most: 50}),
		host("ice", "ok", api.Offers{Labels: gpu, Acts: true, Frozen: true, Most: 50}),
		host("gone", "unknown", api.Offers{Labels: gpu, Acts: true, Most: 50}),
		host("new", "pending", api.Offers{Labels: gpu, Acts: true, Most: 50}),
		host("plain", "ok", api.Offers{Labels: []string{"big"}, Acts: true, Most: 50}),
	}
	fit, not := Place(list, gpu)
	if want := []string{"also", "idle", "busy"}; !slices.Equal(fit, want) {
		t.Errorf("%v, want %v", fit, want)
	}
	for _, want := range []string{"full has room for no more agents: 5 run, 5 at most", "shut lets nobody order", "ice is frozen", "gone is not known now", "new is not known now: it is being asked", "plain lacks the label gpu"} {
		if !slices.ContainsFunc(not, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not said: %q", want, not)
		}
	}
}

// TestPlaceLeavesNobodyOut: each host is one that fits or one of which it is said why not.
func TestPlaceLeavesNobodyOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) api.HostLook {
			return api.HostLook{HostSeen: api.HostSeen{Name: rapid.StringMatching("[a-c]").Draw(t, "name"), Status: rapid.SampledFrom([]string{"ok", "unknown"}).Draw(t, "status")},
				Offers: api.Offers{Acts: rapid.Bool().Draw(t, "acts"), Most: rapid.IntRange(0, 3).Draw(t, "most"), Agents: rapid.IntRange(-1, 3).Draw(t, "agents"), CPUs: rapid.IntRange(-1, 3).Draw(t, "cpus")}}
		})).Draw(t, "hosts")
		fit, not := Place(list, nil)
		if len(fit)+len(not) != len(list) {
			t.Fatalf("%v and %v of %d", fit, not, len(list))
		}
	})
}
