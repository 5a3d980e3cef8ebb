package daemon_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/store"
)

// TestTheWorktreeOfACrashedAgentGoesAfterItsDay: nobody marks it; that its agent crashed,
// and that nothing starts it again, is in the record of the agent. The work in it is in
// the backup. Whoever may come back keeps his.
func TestTheWorktreeOfACrashedAgentGoesAfterItsDay(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "project")
	git(t, dir, "init", "-q", "-b", "main", repo)
	git(t, repo, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "-q", "--allow-empty", "-m", "x")
	if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte("grace = \"0s\"\nstate_dir = \""+dir+"/s\"\n[git]\nrepos = [\""+repo+"\"]\nforeign_namespace = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	cfg := load(t, dir)
	patrol(t, cfg) // the ledger is made
	now := time.Now()
	since := func(ago time.Duration) fleet.Instant {
		return fleet.Instant{Wall: now.Add(-ago), Up: fleet.Duration(1000*time.Hour - ago), Boot: "before"}
	}
	crashed := func(name string, ago time.Duration, change func(*fleet.Registration)) fleet.Registration {
		tree := filepath.Join(dir, "wt", name)
		git(t, repo, "worktree", "add", "-q", "-b", name, tree)
		if err := os.WriteFile(filepath.Join(tree, "work.txt"), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		old := since(ago).Wall
		for _, top := range []string{tree, filepath.Join(repo, ".git", "worktrees", name)} {
			if out, err := exec.Command("find", top, "-exec", "touch", "-h", "-d", old.Format(time.RFC3339), "{}", "+").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		r := fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Where: fleet.WhereHeadless, Dir: tree, Worktree: tree, Repo: repo, Branch: name,
			Restart: fleet.RestartNever, Desired: fleet.DesiredRunning, DesiredBy: "ann", CreatedAt: since(ago + time.Hour),
			Exit: &fleet.Exit{Signal: fleet.Known(11), At: since(ago), Source: "shim"}}
		change(&r)
		return r
	}
	same := func(*fleet.Registration) {}
	regs := []fleet.Registration{
		crashed("gone", 25*time.Hour, same),
		crashed("young", 23*time.Hour, same),
		crashed("paused", 25*time.Hour, func(r *fleet.Registration) { r.Restart, r.Desired = fleet.RestartOnFailure, fleet.DesiredPaused }),
		crashed("stopped", 48*time.Hour, func(r *fleet.Registration) {
			r.Desired, r.DesiredAt = fleet.DesiredStopped, since(time.Hour)
		}),
	}
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(cfg.StateDir, "custos.db")})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Commit(t.Context(), fleet.Turn{At: fleet.Instant{Wall: now}, Plan: fleettest.Rows(fleet.Changes{Registrations: regs})})
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	var done []string
	report := patrol(t, cfg)
	for _, o := range report.Done {
		if o.Do == "remove-worktree" {
			done = append(done, tail(dir, o.Subject)+" "+o.Status)
		}
	}
	if !slices.Equal(done, []string{"wt/gone done"}) {
		t.Errorf("removed %q of %+v", done, report)
	}
	for _, name := range []string{"young", "paused", "stopped"} {
		if _, err := os.Stat(filepath.Join(dir, "wt", name, "work.txt")); err != nil {
			t.Error(err)
		}
	}
	ref := git(t, repo, "for-each-ref", "--format=%(refname)", "refs/custos/backup/gone")
	if got := git(t, repo, "show", ref+":work.txt"); got != "gone" {
		t.Errorf("the backup holds %q", got)
	}
}
