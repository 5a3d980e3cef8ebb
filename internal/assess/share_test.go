package assess

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestWhoTellsNext: who has told goes on to be the one until another host has the lease, or it is not known any more.
func TestWhoTellsNext(t *testing.T) {
	set := parse(t, "[rule.project-bad]\npriority='P1'\nover='project'\nexpr='true'\n")
	const key = "tell/http://forge/acme/shop"
	var past fleet.Past
	for i, c := range []struct {
		lease fleet.Lease
		sight fleet.Status
		want  string
	}{
		{fleet.Lease{}, fleet.StatusOK, notAgreed}, {fleet.Lease{Holder: "box2"}, fleet.StatusOK, "box2"}, {fleet.Lease{}, fleet.StatusOK, "box2"},
		{fleet.Lease{Holder: "box3"}, fleet.StatusOK, "box3"}, {fleet.Lease{Mine: true}, fleet.StatusOK, ""}, {fleet.Lease{}, fleet.StatusOK, ""},
		{fleet.Lease{Holder: "box2"}, fleet.StatusOK, "box2"}, {fleet.Lease{Why: "timeout"}, fleet.StatusOK, ""}, {fleet.Lease{Holder: "box2"}, fleet.StatusOK, "box2"},
		{fleet.Lease{}, fleet.StatusUnknown, ""},
	} {
		snap := healthy(start().Add(time.Duration(i) * time.Minute))
		c.lease.Key = key
		snap.Hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: c.sight, At: snap.At}, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{c.lease}}}
		snap.Forge = fleet.Part[fleet.Forge]{Sight: fleet.Sight{Status: fleet.StatusOK, At: snap.At}, Value: fleet.Forge{Projects: []fleet.Project{{Name: "ours", URL: "http://forge/acme/shop"}}}}
		got := Assess(set, snap, past)
		past = after(past, got)
		if len(got.Alerts) != 1 || got.Alerts[0].ToldBy != c.want {
			t.Errorf("look %d: %+v, want %q", i, got.Alerts, c.want)
		}
	}
}

// TestWhoTells: of hosts that see the same thing of a forge the one with its lease tells people of it. What only this
// host sees, and what cannot be known, it tells of by itself; who has it is waited for, and not for long.
func TestWhoTells(t *testing.T) {
	set := parse(t, "[rule.project-bad]\npriority='P1'\nover='project'\nexpr='true'\n[rule.host-bad]\npriority='P1'\nover='host'\nexpr='true'\n")
	const key = "tell/http://forge/acme/shop"
	ok := fleet.Sight{Status: fleet.StatusOK}
	lease := func(l fleet.Lease) fleet.Part[fleet.Hub] {
		l.Key = key
		return fleet.Part[fleet.Hub]{Sight: ok, Value: fleet.Hub{Host: "box1", Leases: []fleet.Lease{l}}}
	}
	for name, c := range map[string]struct {
		hub  fleet.Part[fleet.Hub]
		url  string
		old  bool // it fires for a minute
		want string
	}{
		"no hub":                {want: ""},
		"shares nothing":        {hub: fleet.Part[fleet.Hub]{Sight: ok}, want: ""},
		"it is not reached":     {hub: fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusUnknown}, Value: fleet.Hub{Host: "box1"}}, want: ""},
		"ours":                  {hub: lease(fleet.Lease{Mine: true}), want: ""},
		"another's":             {hub: lease(fleet.Lease{Holder: "box2"}), want: "box2"},
		"another's, for long":   {hub: lease(fleet.Lease{Holder: "box2"}), old: true, want: "box2"},
		"not agreed":            {hub: lease(fleet.Lease{}), want: notAgreed},
		"not agreed, for long":  {hub: lease(fleet.Lease{}), old: true, want: ""},
		"it cannot be asked":    {hub: lease(fleet.Lease{Why: "timeout"}), want: ""},
		"where it is, unknown":  {hub: lease(fleet.Lease{Holder: "box2"}), url: "-", want: ""},
		"by another name of it": {hub: lease(fleet.Lease{Holder: "box2"}), url: "HTTP://forge/ACME/shop", want: "box2"},
	} {
		look := func(later time.Duration, past fleet.Past) fleet.Assessment {
			snap := healthy(start().Add(later))
			snap.Hub = c.hub
			snap.Hub.Sight.At = snap.At
			url := map[string]string{"": "http://forge/acme/shop", "-": ""}
			snap.Forge = fleet.Part[fleet.Forge]{Sight: fleet.Sight{Status: fleet.StatusOK, At: snap.At}, Value: fleet.Forge{Projects: []fleet.Project{{Name: "ours", URL: url[c.url]}}}}
			if _, is := url[c.url]; !is {
				snap.Forge.Value.Projects[0].URL = c.url
			}
			return Assess(set, snap, past)
		}
		got := look(0, fleet.Past{})
		if c.old {
			got = look(time.Minute, after(fleet.Past{}, got))
		}
		for _, a := range got.Alerts {
			want := c.want
			if a.Subject.Kind == fleet.KindHost {
				want = ""
			}
			if a.ToldBy != want {
				t.Errorf("%s: %s is told by %q, want %q", name, a.AlertKey, a.ToldBy, want)
			}
		}
		if len(got.Alerts) != 2 {
			t.Errorf("%s: %+v", name, got.Alerts)
		}
	}
}
