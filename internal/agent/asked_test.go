package agent

import (
	"testing"

	"custos/internal/fleet"
)

// Of an end that somebody asked for it is not said that nobody knows who sent the signal.
func TestWhoAskedIsNotUnknown(t *testing.T) {
	for asked, want := range map[string]string{
		"root": "root asked it to end: ended by signal 15",
		"":     "ended by signal 15, and it is not known who sent it",
	} {
		v := State(Signals{End: &End{Exit: &fleet.Exit{Signal: fleet.Known(15), Source: "shim", Asked: asked}, Wanted: fleet.DesiredRunning}})
		if v.Reason != want {
			t.Errorf("asked by %q: %q, want %q", asked, v.Reason, want)
		}
	}
}
