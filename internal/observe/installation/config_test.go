package installation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/config"
)

// TestABrokenFileIsNoMissingOne: one that was written since Custos began, and is wrong, is
// neither missing nor good.
func TestABrokenFileIsNoMissingOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "custos.toml")
	if err := os.WriteFile(file, []byte("# a remark\nmoed = \"observe\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Options{Config: config.Config{File: file}}.configFacts()
	if f.Found || f.Changed == "" || !strings.Contains(f.Broken, `custos.toml:2: unknown key "moed"`) {
		t.Errorf("it is told as %+v", f)
	}
}
