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
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
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
	r.Real, r.Folder = "", nil
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

// strangers puts a person's own repository where the folder of an agent was, and takes
// that away; back takes it away and puts the folder back.
func strangers(t *testing.T, dir string) (theirs *gittest.Repo, back func()) {
	t.Helper()
	theirs = gittest.New(t)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := errors.Join(os.Rename(dir, gone), os.Rename(theirs.Top, dir)); err != nil {
		t.Fatal(err)
	}
	return theirs, func() {
		if err := errors.Join(os.Rename(dir, theirs.Top), os.Rename(gone, dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// A person's repository that stands where an agent's worktree was is not the agent's:
// it is not started there, nothing of it is backed up as the agent's work, and no ref is
// made in it. An old record, which does not say which folder it was, says of which
// repository.
func TestAnothersRepositoryAtThePlaceOfAWorktreeIsLeftAlone(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	g.register(fleet.Registration{Name: "one", Repo: fleet.Path(repo.Top), Branch: "b1"})
	g.must(g.spawn(spawn.Options{}, "one"))
	g.awaitReady("one")
	g.kill("one")
	is := g.ledger["one"]
	dir := fleet.RawPath(is.Worktree)
	theirs, back := strangers(t, dir)
	before := theirs.Git(dir, "for-each-ref") + theirs.Git(dir, "status", "--porcelain")
	for name, folder := range map[string]*fleet.FolderID{"recorded": is.Folder, "an old record": nil} {
		r := is
		r.Folder = folder
		g.ledger["one"] = r
		for _, by := range []string{"", "eve"} {
			_, err := g.recoverBy(by, "one", recover.Options{})
			wantNever(t, err, "not the one")
		}
		_, err := g.checkpoint("one")
		wantRefused(t, err, "not the one")
		if got := g.ledger["one"]; got.Checkpoint != nil || got.Instance != is.Instance {
			t.Errorf("%s: it was started there, or something of it was noted: %+v", name, got)
		}
		if after := theirs.Git(dir, "for-each-ref") + theirs.Git(dir, "status", "--porcelain"); after != before {
			t.Errorf("%s: the person's repository was changed:\n%s\n%s", name, before, after)
		}
	}
	back()
	g.must(g.checkpoint("one"))
	g.must(g.recover("one"))
	if g.ledger["one"].Folder == nil {
		t.Error("an old record does not say which folder it is after it was started there")
	}
}

// The worktree of another branch of the very same repository is another folder, and a
// plain folder that was made anew is, too. Only a person has it started there: who may
// have made its folder again. What is in it now is not backed up as its work.
func TestAnotherFolderAtTheSamePathIsAnother(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	g.register(fleet.Registration{Name: "one", Repo: fleet.Path(repo.Top), Branch: "b1"})
	g.must(g.spawn(spawn.Options{}, "one"))
	g.awaitReady("one")
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	g.readyIn("two", plain)
	g.kill("one")
	g.kill("two")
	dir := fleet.RawPath(g.ledger["one"].Worktree)
	repo.Git(repo.Top, "worktree", "move", dir, filepath.Join(repo.Dir, "moved"))
	repo.Git(repo.Top, "worktree", "add", "-b", "b2", dir)
	if err := errors.Join(os.Rename(plain, plain+".old"), os.Mkdir(plain, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		_, err := g.recover(name)
		wantNever(t, err, "not the one")
		_, err = g.checkpoint(name)
		wantRefused(t, err, "not the one")
		if effect := g.must(g.recoverBy("eve", name, recover.Options{})); !strings.Contains(effect, "without a backup") {
			t.Errorf("a person had it started in a folder that was made again, and it is said: %s", effect)
		}
	}
}

// Which folder it is, is asked again after the backup, and by the backup itself.
func TestAnothersRepositoryThatComesMeanwhileIsLeftAlone(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	g.register(fleet.Registration{Name: "one", Repo: fleet.Path(repo.Top), Branch: "b1"})
	g.must(g.spawn(spawn.Options{}, "one"))
	g.awaitReady("one")
	g.kill("one")
	r := g.ledger["one"]
	x, err := recover.New(recover.Options{Launcher: g.launcher, Home: g.home, Settle: "1s", Boot: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := x.Prepare(t.Context(), fleet.Action{ID: "again", Subject: fleet.Subject{Kind: "agent", Name: "one"}, Target: fleet.Target{Registration: &r}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	dir := fleet.RawPath(r.Worktree)
	theirs, _ := strangers(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "theirs.txt"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantNever(t, run.Do(t.Context()), "not the one")
	if refs := theirs.Git(dir, "for-each-ref", git.BackupRefs); refs != "" {
		t.Errorf("what a person has not committed was backed up as the agent's: %s", refs)
	}
}
