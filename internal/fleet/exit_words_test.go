package fleet_test

import (
	"testing"

	"custos/internal/fleet"
)

// What an end came with is told by all that tell of it: above all which terminal server
// took the agent along, where there are several.
func TestWhatAnEndCameWith(t *testing.T) {
	for want, e := range map[string]fleet.Exit{
		"":                                       {},
		", out of memory":                        {OOM: true},
		", with terminal server /tmp/tmux-0/two": {Server: "/tmp/tmux-0/two"},
		", asked by ann":                         {Asked: "ann"},
		fleet.TooEarly:                           {Early: true},
		", out of memory, with terminal server /s, asked by ann": {OOM: true, Server: "/s", Asked: "ann"},
	} {
		if got := e.Besides(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
