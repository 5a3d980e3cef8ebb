package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/uninstall"
)

// programs are those that run in this town, by the name of their program.
func (w *town) programs() (out []string) {
	for _, pid := range w.inhabitants() {
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
			out = append(out, filepath.Base(at))
		}
	}
	slices.Sort(out)
	return out
}

// livingTown is a town whose daemon is down, and an agent in a terminal and one without
// live on.
func livingTown(t *testing.T) (w *town, pids []int) {
	t.Helper()
	w = newTown(t, "")
	w.spawn("ann", "work 1h", false)
	w.spawn("bob", "work 1h", true)
	if out, code := w.says("down"); code != 0 {
		t.Fatalf("down: %d %s", code, out)
	}
	_ = w.up.Wait()
	living, err := uninstall.Alive(w.cfg)
	if err != nil || len(living) != 2 {
		t.Fatalf("alive: %+v, %v", living, err)
	}
	for _, l := range living {
		pids = append(pids, l.PID)
	}
	return w, pids
}

// TestUninstallRefusesUntilTold: with living agents nothing goes before somebody said what
// is to become of them.
func TestUninstallRefusesUntilTold(t *testing.T) {
	w, pids := livingTown(t)
	out, code := w.says("uninstall", "--yes")
	if code == 0 || !strings.Contains(out, "ann") || !strings.Contains(out, "bob") || !strings.Contains(out, w.cfg.StateDir) {
		t.Errorf("%d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(w.cfg.StateDir, "custos.db")); err != nil || !runs(pids[0]) || !runs(pids[1]) {
		t.Errorf("something is gone: %v, %v", err, w.programs())
	}
}

// TestUninstallStops: after it nothing of Custos is left, and no agent lives.
func TestUninstallStops(t *testing.T) {
	w, pids := livingTown(t)
	if out, code := w.says("uninstall", "--agents", "stop", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool { return len(w.programs()) == 0 })
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if left, err := os.ReadDir(w.cfg.StateDir); err != nil || len(left) != 1 || left[0].Name() != "journal" {
		t.Errorf("nothing but the journal is to be left: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "custos.toml")); err != nil {
		t.Errorf("the configuration is the user's own: %v", err)
	}
}

// TestUninstallLeaves: the agents run on with what they need, and nothing else is left; a
// second uninstall, when they have ended, takes the rest.
func TestUninstallLeaves(t *testing.T) {
	w, pids := livingTown(t)
	if out, code := w.says("uninstall", "--agents", "leave", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	for _, pid := range pids {
		if !runs(pid) {
			t.Errorf("process %d is gone", pid)
		}
	}
	for _, p := range w.programs() {
		if p == "custos" {
			t.Errorf("a Custos runs: %v", w.programs())
		}
	}
	if _, err := os.Stat(filepath.Join(w.cfg.StateDir, "custos.db")); !os.IsNotExist(err) {
		t.Errorf("the database: %v", err)
	}
	living, err := uninstall.Alive(w.cfg)
	if err != nil || len(living) != 2 {
		t.Errorf("they are no longer known: %+v, %v", living, err)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool {
		living, err := uninstall.Alive(w.cfg)
		return err == nil && len(living) == 0
	})
	if out, code := w.says("uninstall", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool { return len(w.programs()) == 0 })
	if _, err := os.Lstat(w.cfg.RuntimeDir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", w.cfg.RuntimeDir, err)
	}
}

// TestUninstallKnowsAllThatCustosMakes holds the tables of what Custos makes against what a
// daemon, agents, hooks, a run of a formula, a trusted tree and a lost database leave behind.
func TestUninstallKnowsAllThatCustosMakes(t *testing.T) {
	app := filepath.Join(t.TempDir(), "app")
	layFile(t, filepath.Join(app, ".custos/plugins/x/plugin.md"), "---\nname: x\ngate: {type: manual}\n---\n", 0o644)
	layFile(t, filepath.Join(app, ".custos/plugins/x/run.sh"), "#!/bin/sh\necho ran\n", 0o755)
	git(t, app, "init", "-q", "-b", "main")
	git(t, app, "add", ".")
	git(t, app, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "-q", "-m", "x")
	w := foundTown(t, "[formulas]\nprojects = { app = \""+app+"\" }\n[plugins]\nprojects = [\"app\"]\n")
	says := func(words ...string) string {
		t.Helper()
		out, code := w.says(words...)
		if code != 0 {
			t.Fatalf("%v: %d %s", words, code, out)
		}
		return out
	}
	digest := regexp.MustCompile(`--digest ([0-9a-f]{12})`).FindStringSubmatch(says("trust", app))
	if digest == nil {
		t.Fatal("no digest")
	}
	says("trust", app, "--digest", digest[1])
	says("plugin", "run", "x")
	w.start()
	w.spawn("ann", "work 1h", false)
	w.spawn("bob", "work 1h", true)
	await(t, w.said.String, func() bool {
		ended, err := filepath.Glob(filepath.Join(w.cfg.StateDir, "runs/*/steps/*/exit.json"))
		return err == nil && len(ended) > 0
	})
	says("formula", "disable", "patrol")
	says("freeze", "because")
	says("down")
	_ = w.up.Wait()
	layFile(t, filepath.Join(w.cfg.StateDir, "custos.db.corrupt-20261123T114810Z-wal"), "noise", 0o600)
	layFile(t, filepath.Join(w.cfg.RuntimeDir, "spool", "00000000000000000001-x.json"), "{}", 0o600)
	says("thaw")
	for _, folder := range []string{"bin", "disabled", "runs", "trusted", "run/agents", "run/hooks", "run/spool"} {
		if left, err := os.ReadDir(filepath.Join(w.cfg.StateDir, folder)); err != nil || len(left) == 0 {
			t.Errorf("nothing was made in %s, so nothing is shown of it: %v", folder, err)
		}
	}
	says("uninstall", "--agents", "stop", "--yes")
	if left, err := os.ReadDir(w.cfg.StateDir); err != nil || len(left) != 1 || left[0].Name() != "journal" {
		out, _ := exec.Command("find", w.cfg.StateDir).CombinedOutput()
		t.Errorf("nothing but the journal is to be left: %v\n%s", err, out)
	}
}

// TestUninstallLeavesWhatIsNotOurs: in folders that a person has named, or has put something
// into, nothing of theirs goes, whatever it is called; and what stays is said.
func TestUninstallLeavesWhatIsNotOurs(t *testing.T) {
	w := foundTown(t, "")
	if out, code := w.says("patrol"); code != 0 {
		t.Fatalf("patrol: %d %s", code, out)
	}
	theirs := []string{"thesis.txt", "sub/notes.md", "disabled/essay", "bin/tool", "trusted/x/y", ".git/HEAD", "forge/talk.json", "run/others.txt", "run/agents/k/diary", "run/removed/k/diary", "runs/r/essay", "replies/letter"}
	for _, name := range theirs {
		layFile(t, filepath.Join(w.cfg.StateDir, name), "mine", 0o600)
	}
	elsewhere := filepath.Join(w.dir, "elsewhere")
	layFile(t, filepath.Join(elsewhere, "claim"), "mine", 0o600)
	layFile(t, filepath.Join(elsewhere, "started.json"), "mine", 0o600)
	if err := os.Symlink(elsewhere, filepath.Join(w.cfg.RuntimeDir, "agents", "a841c74d1b26c56b")); err != nil {
		t.Fatal(err)
	}
	asked, code := w.says("uninstall")
	if code == 0 || !strings.Contains(asked, "thesis.txt") || !strings.Contains(asked, "custos.db") {
		t.Errorf("without a yes: %d %s", code, asked)
	}
	out, code := w.says("uninstall", "--yes")
	if code != 0 || !strings.Contains(out, "thesis.txt") {
		t.Errorf("%d: %s", code, out)
	}
	for _, path := range append([]string{"../elsewhere/claim", "../elsewhere/started.json"}, theirs...) {
		if b, err := os.ReadFile(filepath.Join(w.cfg.StateDir, path)); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.cfg.StateDir, "custos.db")); !os.IsNotExist(err) {
		t.Errorf("the database: %v", err)
	}
}

// TestUninstallEndsTheTerminalServer: the server in which agents ran ends with them; one in
// which a person has a session runs on, can be reached, and is told.
func TestUninstallEndsTheTerminalServer(t *testing.T) {
	for name, guest := range map[string]bool{"alone": false, "with a person's session": true} {
		t.Run(name, func(t *testing.T) {
			w, _ := livingTown(t)
			server, err := strconv.Atoi(w.tmux("display-message", "-p", "#{pid}"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(server, syscall.SIGKILL) }()
			if guest {
				w.tmux("new-session", "-d", "-s", "mine", "sleep", "1000")
			}
			out, code := w.says("uninstall", "--agents", "stop", "--yes")
			_, gone := os.Lstat(filepath.Join(w.cfg.RuntimeDir, "tmux.sock"))
			if !guest {
				if code != 0 || runs(server) || !os.IsNotExist(gone) {
					t.Errorf("%d: it runs: %v, its socket: %v: %s", code, runs(server), gone, out)
				}
				return
			}
			if code != 3 || !strings.Contains(out, "(mine)") || !strings.Contains(out, "custos.db") || !runs(server) || gone != nil {
				t.Errorf("%d: it runs: %v, its socket: %v: %s", code, runs(server), gone, out)
			}
			if has := w.tmux("list-sessions", "-F", "#{session_name}"); has != "mine" {
				t.Errorf("sessions: %q", has)
			}
			w.tmux("kill-session", "-t", "=mine")
			await(t, func() string { return "the server does not end with the last session" }, func() bool { return !runs(server) })
		})
	}
}
