package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/config"
)

// While the file of the switch is missing Custos is frozen, and thaw does not say otherwise.
func TestTheSwitchOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Config{StateDir: filepath.Join(dir, "state"), Active: filepath.Join(dir, ".supervisor-active")}
	if why := Frozen(cfg); !strings.Contains(why, "there is no "+cfg.Active) {
		t.Errorf("without the file it is frozen by %q", why)
	}
	if was, err := thaw(cfg); err != nil || was != "" || Frozen(cfg) == "" {
		t.Errorf("thaw says %q (%v), and then it is frozen by %q", was, err, Frozen(cfg))
	}
	if err := os.WriteFile(cfg.Active, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if why := Frozen(cfg); why != "" {
		t.Errorf("with the file it is frozen by %q", why)
	}
	if err := freeze(cfg, "me", "lunch"); err != nil || Frozen(cfg) != "me: lunch" {
		t.Errorf("frozen by %q, %v", Frozen(cfg), err)
	}
	cfg.Active, cfg.StateDir = filepath.Join(cfg.Active, "below"), t.TempDir() // which cannot be looked at
	if why := Frozen(cfg); !strings.Contains(why, "cannot tell") {
		t.Errorf("what cannot be told is %q", why)
	}
}
