package daemon

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/onewriter"
)

// Whoever cannot write because another one holds the lock is told so, and that nothing
// came of what was asked.
func TestBesideAnotherWriterNothingIsOrdered(t *testing.T) {
	cfg := config.Config{StateDir: t.TempDir()}
	cfg.RuntimeDir = cfg.StateDir
	held, err := onewriter.Take(t.Context(), cfg, onewriter.Daemon, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Release() }()
	_, err = (&ledgerFile{cfg: cfg, what: "custos nudge"}).writer(t.Context())
	var said *api.Error
	if !errors.As(err, &said) || said.Kind != api.Held || !strings.Contains(said.Message, "another custos is writing: "+onewriter.Daemon) ||
		!strings.Contains(said.Message, "this has ordered nothing, and written down nothing") {
		t.Errorf("%v", err)
	}
}
