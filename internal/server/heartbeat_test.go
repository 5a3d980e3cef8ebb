package server

import (
	"errors"
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/control"
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
