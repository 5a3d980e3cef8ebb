package control

import (
	"testing"

	"custos/internal/fleet"
)

// TestWhichSessionIsMeant: a session is told with its terminal server, and found without
// where there is one of that name; of two, which are is said.
func TestWhichSessionIsMeant(t *testing.T) {
	pane := func(socket, session string) fleet.Pane {
		return fleet.Pane{ID: fleet.PaneID{Socket: socket, Pane: "%1"}, Session: session}
	}
	c := &Control{}
	var p fleet.Pass
	p.Snapshot.Sessions.Value = []fleet.Pane{pane("/tmp/one", "main"), pane("/tmp/two", "main"), pane("/tmp/two", "build")}
	for of, want := range map[string]string{
		"session/main:0.0@/tmp/one": "main:0.0@/tmp/one", "build:0.0": "build:0.0@/tmp/two", "session/build:0.0": "build:0.0@/tmp/two",
		"main:0.0": "", "session/main:0.0": "", "session/main:0.1": "",
	} {
		got, err := c.resolve(of, &p, nil)
		if (err != nil) != (want == "") || got.Subject.Name != want {
			t.Errorf("%s is %q, %v, want %q", of, got.Subject.Name, err, want)
		}
	}
}
