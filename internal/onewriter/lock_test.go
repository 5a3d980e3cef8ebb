package onewriter_test

import (
	"os"
	"path/filepath"
	"testing"

	"custos/internal/config"
	"custos/internal/onewriter"
)

// A file of that name which a person keeps in a folder that they have named for Custos is
// not written over; one of Custos that was cut short is.
func TestALockThatIsNotOursIsLeftAlone(t *testing.T) {
	for text, refused := range map[string]bool{"my lock combination: 12 34\n": true, "": false, "cust": false, "custos up, pid 1, since never\n": false} {
		cfg := config.Config{StateDir: t.TempDir(), RuntimeDir: t.TempDir()}
		name := filepath.Join(cfg.StateDir, "lock")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		held, err := onewriter.Take(t.Context(), cfg, "custos test", 0)
		if (err != nil) != refused {
			t.Errorf("of %q it says %v", text, err)
		}
		if err := held.Release(); err != nil {
			t.Error(err)
		}
		if now, err := os.ReadFile(name); err != nil || refused && string(now) != text {
			t.Errorf("of %q is left %q, %v", text, now, err)
		}
	}
}
