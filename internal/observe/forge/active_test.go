package forge

import (
	"os"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

func TestSwitch(t *testing.T) {
	dir := t.TempDir()
	on := filepath.Join(dir, ".dev-active")
	if err := os.WriteFile(on, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fleet.Leaf[bool]{
		"":                              fleet.Known(true),
		on:                              fleet.Known(true),
		filepath.Join(dir, ".x-active"): fleet.Known(false),
		filepath.Join(dir, "no", "x"):   fleet.Known(false),
	} {
		if got := (Project{Switch: path}).active(); got != want {
			t.Errorf("%q: %+v", path, got)
		}
	}
	if _, known := (Project{Switch: filepath.Join(on, "x")}).active().Get(); known { // not a folder
		t.Error("a switch that cannot be looked at is known")
	}
}
