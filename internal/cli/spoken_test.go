package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
)

// A person sees one sentence of what went wrong in a command's own Custos, and no lines
// of a log.
func TestOneCommandsLogIsOneSentence(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newSpoken(Env{Stderr: &out}))
	log.Info("Looking")
	log.With("err", errors.New("disk I/O error\x1b[31m")).Warn("Cannot read the ledger", "part", "agents")
	log.Error("Cannot trim the ledger", "err", errors.New("disk I/O error"))
	if got, want := out.String(), "custos: cannot read the ledger: disk I/O error\ntry: custos doctor\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}
