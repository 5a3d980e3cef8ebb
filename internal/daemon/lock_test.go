package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
)

// Whoever cannot write because another one holds the lock is told so, and that nothing
// came of what was asked.
func TestBesideAnotherWriterNothingIsOrdered(t *testing.T) {
	cfg := config.Config{StateDir: t.TempDir()}
	cfg.RuntimeDir = cfg.StateDir
	held, err := takeLock(t.Context(), cfg, asDaemon, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.release() }()
	_, err = (&ledgerFile{cfg: cfg, what: "custos nudge"}).writer(t.Context())
	var said *api.Error
	if !errors.As(err, &said) || said.Kind != api.Held || !strings.Contains(said.Message, "another custos is writing: "+asDaemon) ||
		!strings.Contains(said.Message, "this has ordered nothing, and written down nothing") {
		t.Errorf("%v", err)
	}
}

// A file of that name which a person keeps in a folder that they have named for Custos is
// not written over; one of Custos that was cut short is.
func TestALockThatIsNotOursIsLeftAlone(t *testing.T) {
	for text, refused := range map[string]bool{"my lock combination: 12 34\n": true, "": false, "cust": false, "custos up, pid 1, since never\n": false} {
		cfg := config.Config{StateDir: t.TempDir(), RuntimeDir: t.TempDir()}
		name := filepath.Join(cfg.StateDir, "lock")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		held, err := takeLock(t.Context(), cfg, "custos test", 0)
		if (err != nil) != refused {
			t.Errorf("of %q it says %v", text, err)
		}
		if err := held.release(); err != nil {
			t.Error(err)
		}
		if now, err := os.ReadFile(name); err != nil || refused && string(now) != text {
			t.Errorf("of %q is left %q, %v", text, now, err)
		}
	}
}
