package daemon_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// scratch makes the tree of scripts/scratch, where everything is wrong that the
// supervisor of the seed knows of.
func scratch(t *testing.T) (dir string, cfg config.Config) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "scratch")
	if out, err := exec.Command(script(t), dir).CombinedOutput(); err != nil {
		t.Fatalf("cannot make the scratch tree: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		pids, _ := os.ReadFile(filepath.Join(dir, "pids"))
		for _, line := range strings.Fields(string(pids)) {
			var pid int
			if fmt.Sscan(line, &pid); pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	t.Setenv("HOME", filepath.Join(dir, "home"))
	return dir, load(t, dir)
}

func script(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../scripts/scratch")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, dir string) config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{File: filepath.Join(dir, "custos.toml"), Sections: daemon.Sections()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// custos is one command: a Custos of its own, closed when f returns.
func custos(t *testing.T, cfg config.Config, f func(context.Context, *api.Client)) {
	t.Helper()
	var said bytes.Buffer
	l, err := daemon.Ephemeral(t.Context(), cfg, daemon.Options{Version: "test", Stderr: &said, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	f(t.Context(), api.NewClient(api.InProcess(l.Handler())))
}

func patrol(t *testing.T, cfg config.Config) (r api.PatrolReport) {
	t.Helper()
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		var err error
		if r, err = c.Patrol(ctx, api.PatrolOrder{Apply: true}); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// fingerprint describes every file of a tree: name, kind, size, time, content.
func fingerprint(t *testing.T, dir string, skip ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if slices.Contains(skip, filepath.Base(path)) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[name] += " " + string(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// what is safe to mend in the scratch tree, and by which action.
var safe = []string{
	"abort-rebase rebasing",
	"remove-lock locks/dev-agent-project.lock", "remove-lock locks/gardener-poll.lock", "remove-lock locks/reused-run.lock",
	"remove-worktree wt/built", "remove-worktree wt/clean-merged", "remove-worktree wt/crashed", "remove-worktree wt/crashed-merged", "remove-worktree wt/squash-merged",
	"rotate-log logs/agent.log",
}

// wholeLook is the first look as it is once repositories are seen: it waits for nobody
// itself, and a busy machine takes longer.
func wholeLook(ctx context.Context, t *testing.T, c *api.Client) api.FirstLook {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		look, err := c.FirstLook(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unseen := slices.ContainsFunc(look.CannotTell, func(x api.Doubt) bool { return strings.HasSuffix(x.Subject, "repos") }) ||
			slices.ContainsFunc(look.Worktrees, cutShort)
		if !unseen || time.Now().After(end) {
			return look
		}
	}
}

// cutShort says whether time was up before a worktree was looked at whole.
func cutShort(w api.Worktree) bool {
	return strings.Contains(strings.Join(w.WhyNot, " "), "deadline exceeded")
}

func TestLookChangesNothing(t *testing.T) {
	dir, cfg := scratch(t)
	before := fingerprint(t, dir)
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		look := wholeLook(ctx, t, c)
		var could []string
		for _, d := range look.CouldDo {
			if len(d.Commands) == 0 {
				t.Errorf("%s %s shows no command", d.Do, d.Subject)
			}
			could = append(could, d.Do+" "+tail(dir, d.Subject))
		}
		slices.Sort(could)
		if diff := cmp.Diff(safe, could); diff != "" {
			t.Errorf("could do (-want +got):\n%s", diff)
		}
		if look.ModelCalls != 0 {
			t.Errorf("%d model calls", look.ModelCalls)
		}
	})
	if diff := cmp.Diff(before, fingerprint(t, dir)); diff != "" {
		t.Errorf("a look changed the tree (-before +after):\n%s", diff)
	}
}

// tail cuts "kind /dir/name" and "kind//dir/name" to "name" below dir.
func tail(dir, subject string) string {
	_, name, _ := strings.Cut(subject, dir+"/")
	return name
}

func TestPatrolMendsWhatIsSafeAndNothingElse(t *testing.T) {
	dir, cfg := scratch(t)
	kept := filepath.Join(t.TempDir(), "kept") // the tree as it was
	if out, err := exec.Command("cp", "-a", dir, kept).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	report := patrol(t, cfg)
	var done []string
	for _, o := range report.Done {
		if o.Status != "done" || o.Effect == "" {
			t.Errorf("%s %s: %s %s %s", o.Do, o.Subject, o.Status, o.Why, o.Effect)
		}
		done = append(done, o.Do+" "+tail(dir, o.Subject))
	}
	slices.Sort(done)
	if diff := cmp.Diff(safe, done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	t.Run("restores byte for byte", func(t *testing.T) { restores(t, dir, kept) })
	t.Run("keeps the rest", func(t *testing.T) { keepsTheRest(t, dir, kept) })
	t.Run("keeps the log", func(t *testing.T) { keepsTheLog(t, dir, kept) })
	t.Run("keeps the locks", func(t *testing.T) { keepsTheLocks(t, dir, kept) })
	t.Run("aborts the rebase", func(t *testing.T) { abortsTheRebase(t, dir) })
	t.Run("finds nothing more", func(t *testing.T) {
		if again := patrol(t, cfg); len(again.Done)+len(again.Planned) != 0 {
			t.Errorf("a second run planned %v and did %v", again.Planned, again.Done)
		}
	})
	t.Run("says why not", func(t *testing.T) { saysWhyNot(t, cfg, dir) })
}

// restores checks out the backup of every removed worktree and compares it with
// what was there.
func restores(t *testing.T, dir, kept string) {
	for _, name := range []string{"built", "clean-merged", "crashed", "crashed-merged", "squash-merged"} {
		if _, err := os.Stat(filepath.Join(dir, "wt", name)); err == nil {
			t.Errorf("%s is still there", name)
		}
		ref := git(t, filepath.Join(dir, "project"), "for-each-ref", "--format=%(refname)", "refs/custos/backup/"+name)
		if ref == "" {
			t.Errorf("%s has no backup", name)
			continue
		}
		to := filepath.Join(t.TempDir(), name)
		git(t, filepath.Join(dir, "project"), "worktree", "add", "--detach", to, ref)
		skip := []string{".git", "node_modules"} // where git lives, and what is reproducible
		if diff := cmp.Diff(fingerprint(t, filepath.Join(kept, "wt", name), skip...), fingerprint(t, to, skip...)); diff != "" {
			t.Errorf("%s came back otherwise (-was +is):\n%s", name, diff)
		}
		git(t, filepath.Join(dir, "project"), "worktree", "remove", "--force", to)
		if branch := git(t, filepath.Join(dir, "project"), "rev-parse", name); branch == "" {
			t.Errorf("branch %s is gone", name)
		}
	}
}

func keepsTheRest(t *testing.T, dir, kept string) {
	for _, name := range []string{"wt/dirty", "wt/untracked", "wt/precious", "wt/unpushed", "wt/stashed", "wt/occupied", "wt/young", "phases"} {
		if diff := cmp.Diff(fingerprint(t, filepath.Join(kept, name)), fingerprint(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("%s changed (-was +is):\n%s", name, diff)
		}
	}
	if stash := git(t, filepath.Join(dir, "project"), "stash", "list"); !strings.Contains(stash, "stashed") {
		t.Errorf("the stash is gone: %q", stash)
	}
}

func keepsTheLog(t *testing.T, dir, kept string) {
	was, err := os.ReadFile(filepath.Join(kept, "logs/agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "logs/agent.log.custos.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	head, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := os.ReadFile(filepath.Join(dir, "logs/agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(head, rest...), was) {
		t.Errorf("head (%d bytes) and rest (%d) are not the log of %d bytes", len(head), len(rest), len(was))
	}
}

func keepsTheLocks(t *testing.T, dir, kept string) {
	for _, name := range []string{"dev-agent-project.lock", "gardener-poll.lock", "reused-run.lock"} {
		aside, _ := filepath.Glob(filepath.Join(dir, "locks", ".custos-removed-"+name+"-*"))
		if len(aside) != 1 {
			t.Errorf("%s was set aside as %v", name, aside)
			continue
		}
		was, _ := os.ReadFile(filepath.Join(kept, "locks", name))
		if is, _ := os.ReadFile(aside[0]); !bytes.Equal(was, is) || len(is) == 0 {
			t.Errorf("%s held %q, its copy holds %q", name, was, is)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "locks/live-run.lock")); err != nil {
		t.Error("the lock of a living process is gone")
	}
}

func abortsTheRebase(t *testing.T, dir string) {
	repo := filepath.Join(dir, "rebasing")
	if status := git(t, repo, "status"); strings.Contains(status, "rebas") && !strings.Contains(status, "On branch topic") {
		t.Errorf("the rebase is still there:\n%s", status)
	}
	if refs := git(t, repo, "for-each-ref", "refs/custos/backup"); refs == "" {
		t.Error("no backup was made of the rebase")
	}
}

func saysWhyNot(t *testing.T, cfg config.Config, dir string) {
	want := map[string]string{"dirty": "changed", "untracked": "untracked", "precious": ".env", "unpushed": "unpushed", "stashed": "stashed"}
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		look := wholeLook(ctx, t, c)
		for _, w := range look.Worktrees {
			if why := want[filepath.Base(w.Path)]; why == "" || !strings.Contains(strings.Join(w.WhyNot, " "), why) {
				t.Errorf("%s is kept because %q, want %q", w.Path, w.WhyNot, why)
			}
			delete(want, filepath.Base(w.Path))
		}
	})
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
}

// TestRecordingPlansTheSameAnywhere judges one recording in other folders,
// homes, time zones and processes.
func TestRecordingPlansTheSameAnywhere(t *testing.T) {
	_, cfg := scratch(t)
	var recording []byte
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		var err error
		if recording, err = c.Record(ctx); err != nil {
			t.Fatal(err)
		}
	})
	file := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(file, recording, 0o600); err != nil {
		t.Fatal(err)
	}
	first := map[string][]byte{}
	for _, tz := range []string{"UTC", "UTC", "Asia/Kathmandu", "America/New_York"} {
		for _, form := range []string{"--json=true", "--json=false"} {
			cmd := exec.Command(os.Args[0], "plan", "--recording", file, form)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"HOME=" + t.TempDir(), "TZ=" + tz, "PATH=" + os.Getenv("PATH"), "CUSTOS_AS_COMMAND=1"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
			}
			if first[form] == nil {
				first[form] = out
			}
			if !bytes.Equal(first[form], out) {
				t.Errorf("in %s the plan is another:\n%s", tz, cmp.Diff(string(first[form]), string(out)))
			}
			if !bytes.Contains(out, []byte("remove-worktree")) {
				t.Errorf("the plan is empty:\n%s", out)
			}
		}
	}
}
