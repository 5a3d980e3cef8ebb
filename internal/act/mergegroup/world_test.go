package mergegroup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/mergegroup"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

// world is a repository with a merge queue.
type world struct {
	*gittest.Repo
	q fleet.MergeQueue
}

// first is a world that each other one is a copy of: much is asked of git to make one.
var first = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "first") })

func TestMain(m *testing.M) {
	_ = os.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	_ = os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	code := m.Run()
	if dir, err := first(); err == nil {
		_ = errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+"-bin"))
	}
	os.Exit(code)
}

// still is a test whose environment is set already, so that several run at once.
type still struct{ testing.TB }

func (still) Setenv(string, string) {}

var making sync.Mutex

func newWorld(t *testing.T) *world {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	from, err := first()
	if err == nil {
		if _, err := os.Lstat(filepath.Join(from, "repo")); err != nil {
			r := gittest.New(still{t})
			if err := os.CopyFS(from, os.DirFS(r.Dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir, err2 := filepath.EvalSymlinks(t.TempDir())
	if err := errors.Join(err, err2, os.CopyFS(dir, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
	r := &gittest.Repo{T: t, Dir: dir, Top: filepath.Join(dir, "repo")}
	return &world{r, fleet.MergeQueue{Name: "shop", Repo: fleet.Path(r.Top), Target: "main", Remote: "origin", Gates: []fleet.MergeGate{{Name: "check", Argv: []string{"true"}}},
		Dir: fleet.Path(filepath.Join(r.Dir, "state", "shop"))}}
}

// local is one whose target is in the repository itself, where nothing has it checked out.
func local(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.q.Remote = ""
	w.Git(w.Top, "checkout", "-q", "-b", "mine")
	return w
}

// from makes a branch of one commit, on another one.
func (w *world) from(start, name, file, content string) fleet.MergeItem {
	w.T.Helper()
	cmd := exec.Command("git", "-C", w.Top, "fast-import", "--quiet", "--force")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("commit refs/heads/%s\ncommitter T <t@example.org> 1700000000 +0000\ndata %d\n%s\nfrom %s^0\nM 100644 inline %s\ndata %d\n%s\n",
		name, len(name), name, start, file, len(content), content))
	if out, err := cmd.CombinedOutput(); err != nil {
		w.T.Fatalf("%v: %s", err, out)
	}
	return w.item(name)
}

func (w *world) branch(name, file, content string) fleet.MergeItem {
	w.T.Helper()
	return w.from("refs/heads/main", name, file, content)
}

// worked makes a branch as somebody who works on it does.
func (w *world) worked(name, file, content string) fleet.MergeItem {
	w.T.Helper()
	top := w.Worktree(name)
	w.Commit(top, file, content)
	w.Git(w.Top, "worktree", "remove", "--force", top)
	return w.item(name)
}

// item is a branch as it is added.
func (w *world) item(name string) fleet.MergeItem {
	w.T.Helper()
	return fleet.MergeItem{Head: fleet.Head{ID: "mq-" + name}, Queue: "shop", Source: name, Commit: w.Git(w.Top, "rev-parse", "refs/heads/"+name), State: fleet.MergeWaiting}
}

// target is a group of these items, that is to be built.
func (w *world) target(items ...fleet.MergeItem) *fleet.MergeTarget {
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1"}, Queue: "shop", State: fleet.GroupBuilding, At: fleet.Instant{Wall: time.Unix(1700000000, 0)}}
	for _, i := range items {
		g.Items = append(g.Items, fleet.MergeMember{ID: i.ID, Commit: i.Commit})
	}
	return &fleet.MergeTarget{Queue: w.q, Group: g, Items: items}
}

func action(do string, t *fleet.MergeTarget) fleet.Action {
	return fleet.Action{Do: do, Target: fleet.Target{Merge: t}}
}

func maker(do string) act.Action {
	switch do {
	case mergegroup.Build:
		return mergegroup.NewBuilder(mergegroup.Options{})
	case mergegroup.Land:
		return mergegroup.NewLander(mergegroup.Options{})
	}
	return mergegroup.NewClearer(mergegroup.Options{})
}

// try carries an action out, and returns what it learned.
func try(ctx context.Context, x act.Action, a fleet.Action) (o fleet.MergeOutcome, err error) {
	run, err := x.Prepare(ctx, a)
	if err != nil {
		return o, err
	}
	defer run.Close()
	if err = run.Do(ctx); err == nil {
		_, err = run.Verify(ctx)
	}
	if m, is := run.(interface{ Merged() *fleet.MergeOutcome }); is && m.Merged() != nil {
		o = *m.Merged()
	}
	return o, err
}

// build builds a group, and takes note of it as is done when its gates have passed.
func (w *world) build(t *fleet.MergeTarget) fleet.MergeOutcome {
	w.T.Helper()
	o, err := try(context.Background(), maker(mergegroup.Build), action(mergegroup.Build, t))
	if err != nil {
		w.T.Fatal(err)
	}
	g := &t.Group
	left := map[string]bool{}
	for _, l := range o.Left {
		left[l.ID] = true
	}
	var items []fleet.MergeMember
	for _, m := range g.Items {
		if !left[m.ID] {
			items = append(items, m)
		}
	}
	g.Items, g.Base, g.Commit, g.Tree, g.Worktree, g.State = items, o.Base, o.Commit, o.Tree, o.Worktree, fleet.GroupGreen
	return o
}

func (w *world) land(t *fleet.MergeTarget) (fleet.MergeOutcome, error) {
	return try(context.Background(), maker(mergegroup.Land), action(mergegroup.Land, t))
}

// landed has a group land.
func (w *world) landed(t *fleet.MergeTarget) {
	w.T.Helper()
	o, err := w.land(t)
	if err != nil || o.Commit != t.Group.Commit || w.main() != t.Group.Commit {
		w.T.Fatalf("%v; %+v; main is at %s, want %s", err, o, w.main(), t.Group.Commit)
	}
}

// main is where the target stands.
func (w *world) main() string {
	w.T.Helper()
	if w.q.Remote == "" {
		return w.Git(w.Top, "rev-parse", "refs/heads/main")
	}
	return w.Git("origin.git", "rev-parse", "refs/heads/main")
}

// decided is a group that was built and has landed.
func (w *world) decided(items ...fleet.MergeItem) *fleet.MergeTarget {
	w.T.Helper()
	t := w.target(items...)
	w.build(t)
	t.Group.State = fleet.GroupLanded
	return t
}

// only is the one item that was left.
func (w *world) only(o fleet.MergeOutcome) fleet.MergeLeft {
	w.T.Helper()
	if len(o.Left) != 1 {
		w.T.Fatalf("left %+v, want one", o.Left)
	}
	return o.Left[0]
}

// leaves checks that one item is left, in a state and for a reason.
func (w *world) leaves(o fleet.MergeOutcome, state fleet.MergeState, why string) fleet.MergeLeft {
	w.T.Helper()
	l := w.only(o)
	if l.State != state || !strings.Contains(l.Why, why) {
		w.T.Errorf("%s: %s, want %s: %s", l.State, l.Why, state, why)
	}
	return l
}

// clone is somebody else's, who pushes a commit to main.
func (w *world) clone(file, content string) (commit string) {
	w.T.Helper()
	top := filepath.Join(w.Dir, "other")
	if _, err := os.Lstat(top); err != nil {
		w.Git(w.Dir, "clone", "-q", "origin.git", "other")
	}
	w.Git(top, "pull", "-q")
	commit = w.Commit(top, file, content)
	w.Git(top, "push", "-q", "origin", "HEAD:main")
	return commit
}

// hook is a program of the remote.
func (w *world) hook(name, script string) {
	w.T.Helper()
	w.program(filepath.Join(w.Dir, "origin.git", "hooks", name), script)
}

func (w *world) program(path, script string) {
	w.T.Helper()
	w.Write(path, "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o755); err != nil {
		w.T.Fatal(err)
	}
}

// checkout is all of a person's checkout that git or a person can see: files, index, HEAD,
// stash, refs outside of Custos'.
func (w *world) checkout() string {
	w.T.Helper()
	git := filepath.Join(w.Top, ".git")
	var roots []string
	entries, err := os.ReadDir(w.Top)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			roots = append(roots, filepath.Join(w.Top, e.Name()))
		}
	}
	for _, name := range []string{"HEAD", "index", "config", "logs", "refs/heads", "refs/tags", "refs/remotes", "refs/stash", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "info", "hooks"} {
		roots = append(roots, filepath.Join(git, name))
	}
	return acttest.Tree(w.T.(*testing.T), roots...)
}

// refs are those of Custos' own.
func (w *world) refs() string {
	w.T.Helper()
	return w.Git(w.Top, "for-each-ref", "--format=%(refname)", "refs/custos/")
}

// worktrees are those that are on record and not the main one.
func (w *world) worktrees() (list []string) {
	w.T.Helper()
	for line := range strings.Lines(w.Git(w.Top, "worktree", "list", "--porcelain")) {
		if path, is := strings.CutPrefix(strings.TrimSpace(line), "worktree "); is && path != w.Top {
			list = append(list, path)
		}
	}
	return list
}

func (w *world) clear(t *fleet.MergeTarget) error {
	_, err := try(context.Background(), maker(mergegroup.Clear), action(mergegroup.Clear, t))
	return err
}

// isCleared checks that nothing of Custos' is left.
func (w *world) isCleared(t *fleet.MergeTarget) {
	w.T.Helper()
	if err := w.clear(t); err != nil && !errors.Is(err, act.ErrUnneeded) {
		w.T.Fatal(err)
	}
	left, _ := os.ReadDir(fleet.RawPath(w.q.Dir))
	if w.refs() != "" || len(w.worktrees()) > 0 || len(left) > 0 {
		w.T.Errorf("left: refs %q, worktrees %v, folders %v", w.refs(), w.worktrees(), left)
	}
}

// stand starts a process that stands in a folder until the test ends.
func stand(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// run runs a script in a folder.
func (w *world) run(dir, script string) {
	w.T.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = filepath.Join(w.Dir, dir)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.T.Fatalf("%s: %v\n%s", script, err, out)
	}
}
