package mergegroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/mergegroup"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

// all is all of a world that an action could touch, but objects, which anybody may add.
func all(t *testing.T, a fleet.Action) string {
	t.Helper()
	q := a.Target.Merge.Queue
	top := fleet.RawPath(q.Repo)
	origin := filepath.Join(filepath.Dir(top), "origin.git")
	roots := []string{fleet.RawPath(q.Dir), filepath.Join(origin, "refs"), filepath.Join(origin, "packed-refs")}
	entries, err := os.ReadDir(top)
	if err != nil {
		return "gone"
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			roots = append(roots, filepath.Join(top, e.Name()))
		}
	}
	for _, name := range []string{"HEAD", "index", "config", "logs", "refs", "packed-refs", "FETCH_HEAD", "worktrees"} {
		roots = append(roots, filepath.Join(top, ".git", name))
	}
	return acttest.Tree(t, roots...)
}

// worlds are the two kinds of targets.
var worlds = map[string]func(*testing.T) *world{"remote": newWorld, "local": local}

func gone(t *testing.T, a fleet.Action) {
	if err := os.RemoveAll(fleet.RawPath(a.Target.Merge.Queue.Repo)); err != nil {
		t.Fatal(err)
	}
}

func TestBuildConforms(t *testing.T) {
	t.Parallel()
	for name, makes := range worlds {
		t.Run(name, func(t *testing.T) {
			acttest.Test(t, acttest.Case{
				Action: maker(mergegroup.Build),
				Setup: func(t *testing.T) fleet.Action {
					w := makes(t)
					return action(mergegroup.Build, w.target(w.branch("one", "one", "1\n"), w.branch("two", "two", "2\n")))
				},
				Fingerprint: all, Repeats: true,
				Changed: map[string]func(*testing.T, fleet.Action){"repository gone": gone},
			})
		})
	}
}

// again is a world as the suite has made it for an action.
func again(t *testing.T, a fleet.Action) *world {
	q := a.Target.Merge.Queue
	return &world{&gittest.Repo{T: t, Top: fleet.RawPath(q.Repo), Dir: filepath.Dir(fleet.RawPath(q.Repo))}, q}
}

func TestLandConforms(t *testing.T) {
	t.Parallel()
	for name, makes := range worlds {
		t.Run(name, func(t *testing.T) {
			acttest.Test(t, acttest.Case{
				Action: maker(mergegroup.Land),
				Setup: func(t *testing.T) fleet.Action {
					w := makes(t)
					target := w.target(w.branch("one", "one", "1\n"))
					w.build(target)
					return action(mergegroup.Land, target)
				},
				Fingerprint: all,
				Changed:     map[string]func(*testing.T, fleet.Action){"repository gone": gone},
				Gone: func(t *testing.T, a fleet.Action) {
					w, g := again(t, a), a.Target.Merge.Group
					if w.q.Remote == "" {
						w.Git(w.Top, "update-ref", "refs/heads/main", g.Commit)
					} else {
						w.Git(w.Top, "push", "-q", "origin", g.Commit+":main")
					}
				},
			})
		})
	}
}

func TestClearConforms(t *testing.T) {
	t.Parallel()
	acttest.Test(t, acttest.Case{
		Action: maker(mergegroup.Clear),
		Setup: func(t *testing.T) fleet.Action {
			w := newWorld(t)
			return action(mergegroup.Clear, w.decided(w.branch("one", "one", "1\n")))
		},
		Fingerprint: all,
		Changed:     map[string]func(*testing.T, fleet.Action){"repository gone": gone},
		Gone: func(t *testing.T, a fleet.Action) {
			w, m := again(t, a), a.Target.Merge
			w.Git(w.Top, "worktree", "remove", "--force", fleet.RawPath(m.Group.Worktree))
			w.Git(w.Top, "update-ref", "-d", "refs/custos/merge/shop/mg1")
		},
	})
}

func TestOnlyWhatIsDecidedIsCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.decided(w.branch("one", "one", "1\n"))
	for _, s := range []fleet.MergeGroupState{fleet.GroupBuilding, fleet.GroupTesting, fleet.GroupGreen} {
		target.Group.State = s
		if err := w.clear(target); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestOnlyWhatIsGreenLands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.target(w.branch("one", "one", "1\n"))
	w.build(target)
	before := w.main()
	for name, change := range map[string]func(*fleet.MergeGroup){
		"red": func(g *fleet.MergeGroup) { g.State = fleet.GroupRed }, "testing": func(g *fleet.MergeGroup) { g.State = fleet.GroupTesting },
		"no base": func(g *fleet.MergeGroup) { g.Base = "" }, "no commit": func(g *fleet.MergeGroup) { g.Commit = "" },
		"another tree":   func(g *fleet.MergeGroup) { g.Tree = strings.Repeat("1", 40) },
		"another commit": func(g *fleet.MergeGroup) { g.Commit = w.branch("evil", "evil", "evil\n").Commit },
	} {
		again := *target
		change(&again.Group)
		if _, err := w.land(&again); err == nil || !strings.Contains(err.Error(), "refused") || w.main() != before {
			t.Errorf("%s: %v; main moved: %v", name, err, w.main() != before)
		}
	}
}

// What a person is shown is what is run: the commands do the same by hand.
func TestCommandsSayWhatIsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.branch("one", "one", "1\n"), w.branch("two", "two", "2\n")
	target := w.target(one, two)
	show := func(do string) (out []string) {
		for _, c := range maker(do).Commands(action(do, target)) {
			out = append(out, strings.ReplaceAll(strings.Join(c.Argv, " "), w.Dir, "DIR"))
		}
		return out
	}
	want := []string{"git -C DIR/repo fetch --no-write-fetch-head --refmap= origin +refs/heads/main:",
		"git -C DIR/repo merge-tree --write-tree <main of origin> " + one.Commit, "git -C DIR/repo merge-tree --write-tree <merge of mq-one> " + two.Commit,
		"git -C DIR/repo worktree add --detach DIR/state/shop/mg1-1 <merge of mq-two>"}
	if got := show(mergegroup.Build); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	w.build(target)
	g := target.Group
	want = []string{"git -C DIR/repo push --atomic --force-with-lease=refs/heads/main:" + g.Base + " origin " + g.Commit + ":refs/heads/main"}
	if got := show(mergegroup.Land); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	argv := maker(mergegroup.Land).Commands(action(mergegroup.Land, target))[0].Argv
	w.Git(w.Dir, argv[1:]...)
	if w.main() != g.Commit {
		t.Error("what is shown did not land it")
	}
	want = []string{"git -C DIR/repo worktree remove --force DIR/state/shop/mg1-1", "git -C DIR/repo update-ref -d refs/custos/merge/shop/mg1"}
	if got := show(mergegroup.Clear); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	for _, c := range maker(mergegroup.Clear).Commands(action(mergegroup.Clear, target)) {
		w.Git(w.Dir, c.Argv[1:]...)
	}
	target.Group.State = fleet.GroupLanded
	if err := w.clear(target); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("what is shown did not clear it: %v", err)
	}
	target.Group.State, target.Group.Runs = fleet.GroupBuilding, 1 // what is tested again is what was built
	want = []string{"git -C DIR/repo worktree add --detach DIR/state/shop/mg1-2 " + g.Commit}
	if got := show(mergegroup.Build); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}
