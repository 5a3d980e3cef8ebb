package agentrun_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act/recover"
	"custos/internal/act/spawn"
	"custos/internal/fleet"
)

// An agent is started again in the place that was named for it only: where its folder
// leads somewhere else by now, it is not, and nothing runs there. One whose record does
// not say where it led goes on as before, and says so from then on.
func TestRecoverGoesNowhereElse(t *testing.T) {
	g := newGround(t)
	top := t.TempDir()
	dir, other := filepath.Join(top, "work"), filepath.Join(top, "other")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := g.readyIn("one", dir)
	if r.Real != fleet.Path(dir) {
		t.Errorf("its folder leads to %q, says its record; want %q", r.Real, dir)
	}
	g.kill("one")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, dir); err != nil {
		t.Fatal(err)
	}
	_, err := g.recover("one")
	wantNever(t, err, "leads to")
	if err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the refusal does not say where its folder leads, and led: %v", err)
	}
	r = g.ledger["one"]
	r.Real = ""
	g.ledger["one"] = r
	g.must(g.recover("one"))
	if got := g.ledger["one"].Real; got != fleet.Path(other) {
		t.Errorf("an old record says %q now, want %q", got, other)
	}
}

// Where its folder leads is asked again at the very start: a backup may take long.
func TestRecoverGoesNowhereElseMeanwhile(t *testing.T) {
	g := newGround(t)
	top := t.TempDir()
	dir, other := filepath.Join(top, "work"), filepath.Join(top, "other")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := g.readyIn("one", dir)
	g.kill("one")
	x, err := recover.New(recover.Options{Launcher: g.launcher, Home: g.home, Settle: "1s", Boot: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := x.Prepare(t.Context(), fleet.Action{ID: "again", Subject: fleet.Subject{Kind: "agent", Name: "one"}, Target: fleet.Target{Registration: &r}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := errors.Join(os.Remove(dir), os.Symlink(other, dir)); err != nil {
		t.Fatal(err)
	}
	wantNever(t, run.Do(t.Context()), "leads to")
}

// readyIn starts an agent in a folder, and waits until it is ready.
func (g *ground) readyIn(name, dir string) fleet.Registration {
	g.t.Helper()
	g.register(fleet.Registration{Name: name, Dir: fleet.Path(dir)})
	g.must(g.spawn(spawn.Options{}, name))
	g.awaitReady(name)
	return g.ledger[name]
}
