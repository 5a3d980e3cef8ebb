package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// TestBeatIsTheAgentsOwn: an agent says it for itself. A person, and whoever it
// cannot be told of, would make it look alive that somebody looked.
func TestBeatIsTheAgentsOwn(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"builder", control.Marked + "builder"} {
		w.agent = name
		if got, err := client(w).Beat(t.Context()); err != nil || got.Agent != "builder" {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	w.agent = ""
	_, err := client(w).Beat(t.Context())
	wantError(t, err, api.Forbidden, "only an agent")
	w.agent, w.agentErr = "builder", errors.New("its parent is gone")
	_, err = client(w).Beat(t.Context())
	wantError(t, err, api.Forbidden, "its parent is gone")
	if !slices.Equal(w.beats, []string{"builder", "builder"}) {
		t.Errorf("noted: %q", w.beats)
	}
}

func TestPromised(t *testing.T) {
	minute := fleet.Duration(time.Minute)
	for _, c := range []struct {
		every, grace string
		want         *fleet.Heartbeat
		bad          bool
	}{
		{"", "", nil, false},
		{"10m", "", &fleet.Heartbeat{Every: 10 * minute, Grace: 5 * minute}, false},
		{"10m", "1m", &fleet.Heartbeat{Every: 10 * minute, Grace: minute}, false},
		{"10m", "0s", &fleet.Heartbeat{Every: 10 * minute}, false},
		{"", "1m", nil, true}, {"often", "", nil, true}, {"0s", "", nil, true}, {"-1m", "", nil, true}, {"10m", "-1m", nil, true},
	} {
		got, err := promised(api.SpawnRequest{Heartbeat: c.every, Grace: c.grace})
		if (err != nil) != c.bad || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%q, %q: %+v, %v; want %+v", c.every, c.grace, got, err, c.want)
		}
	}
}
