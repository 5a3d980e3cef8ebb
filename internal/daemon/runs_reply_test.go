package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// A reply is written whole, for our user alone, and never over another one.
func TestReplyIsWrittenOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "replies")
	run := fleet.Run{ID: "nightly-1", Session: &fleet.RunSession{Reply: fleet.Path(filepath.Join(dir, fleet.ReplyFile("nightly")))}}
	if err := replyToRun(t.Context(), run, "take main"); err != nil {
		t.Fatal(err)
	}
	if err := replyToRun(t.Context(), run, "take next"); !errors.Is(err, ledger.ErrTaken) || !strings.Contains(err.Error(), "nightly-1-escalation-reply has not been taken") {
		t.Errorf("a second one: %v", err)
	}
	file := filepath.Join(dir, "nightly-1-escalation-reply")
	text, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if err != nil || string(text) != "take main" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", text, info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := replyToRun(t.Context(), fleet.Run{ID: "old"}, "x"); !errors.Is(err, ledger.ErrIllegal) {
		t.Errorf("a run without a spool: %v", err)
	}
}
