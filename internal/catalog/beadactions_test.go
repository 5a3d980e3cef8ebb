package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/beadwrite"
	"custos/internal/fleet"
	"custos/internal/sys/beadstest"
)

// TestCloseBead: by way of custos.toml, with a command that answers as bd does.
func TestCloseBead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bd, err := beadstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for what, status := range map[string]string{"show": "open", "after-close": "closed"} {
		if err := bd.Say(what, `[{"id":"hq-a1","status":"`+status+`"}]`); err != nil {
			t.Fatal(err)
		}
	}
	w, err := world(t, fmt.Sprintf("[beads]\ndirs = [%q]\ncommand = %q\n", dir, bd.Command()))
	if err != nil {
		t.Fatal(err)
	}
	actions, err := Actions(w)
	if err != nil {
		t.Fatal(err)
	}
	x := actions[slices.IndexFunc(actions, func(a act.Action) bool { return a.Ability().Do == beadwrite.Close })]
	a := fleet.Action{Do: beadwrite.Close, Text: "merged", Target: fleet.Target{Bead: &fleet.Bead{ID: "hq-a1", Project: "shop", State: fleet.WorkOpen}}}
	acttest.Do(t, x, a)
	if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("again: %v", err)
	}
	if !slices.Contains(bd.Calls(), "close hq-a1 --reason=merged") {
		t.Errorf("bd was asked %q", bd.Calls())
	}
}
