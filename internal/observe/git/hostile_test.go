package git_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/observe/git"
	sysgit "custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// One foreign agent that stands in a hostile worktree is enough to be looked at,
// and makes nothing run: at the first look and at the next.
func TestTheProbeRunsNothingOfTheRepository(t *testing.T) {
	for _, h := range gittest.HostileRepos() {
		t.Run(h.Name, func(t *testing.T) {
			_, top, untouched := h.Run(t)
			p, err := git.New(git.Options{Discover: func() []string { return []string{top} }, Standing: nobody, Holding: nothing})
			if err != nil {
				t.Fatal(err)
			}
			w := worktree(t, lookAgain(t, p), top)
			untouched("the first look")
			lookAgain(t, p)
			untouched("the next look")
			_, dirty := w.Dirty.Get()
			if _, removable := w.Removable.Get(); h.Hides && (dirty || removable) {
				t.Errorf("dirty %v, removable %v: want both unknown", w.Dirty, w.Removable)
			}
		})
	}
}

// nothing says that nobody holds anything open.
func nothing(context.Context) (*sysgit.Holders, error) { return sysgit.NewHolders(nil), nil }

// A worktree that nothing else stands against is in use where a file of it is
// open, and not known to be free where others cannot be seen. The process table
// is gone through for that at most once a look, and not for what may not go anyway.
func TestWhoHoldsAFileIsInside(t *testing.T) {
	r := gittest.New(t)
	free, used, dirty := r.Worktree("free"), r.Worktree("used"), r.Worktree("dirty")
	r.Write(filepath.Join(dirty, "a.txt"), "9\n")
	asked, outside := 0, ""
	p, err := git.New(git.Options{Repos: []string{r.Top}, Standing: nobody, Outside: func(string) string { return outside },
		Holding: func(context.Context) (*sysgit.Holders, error) {
			asked++
			return sysgit.NewHolders([]sysgit.Held{{PID: none + 1, Path: used + "/README"}, {PID: none + 2, Path: used + "-other/README"}}), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	seen := lookAgain(t, p)
	if w := worktree(t, seen, used); w.Removable.Or(true) || !slices.Equal(w.Occupied.Or(nil), []int{none + 1}) {
		t.Errorf("used: removable %v, occupied %v", w.Removable, w.Occupied)
	}
	if w := worktree(t, seen, free); !w.Removable.Or(false) {
		t.Errorf("free: %v", w.Obstacles)
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	outside = "we see only our own processes"
	if w := worktree(t, lookAgain(t, p), free); w.Removable.IsKnown() || w.Occupied.IsKnown() {
		t.Errorf("removable %v, occupied %v, want unknown", w.Removable, w.Occupied)
	}
	r.Git(r.Top, "worktree", "remove", "--force", free)
	r.Git(r.Top, "worktree", "remove", "--force", used)
	asked = 0
	lookAgain(t, p)
	if asked != 0 {
		t.Errorf("asked %d times, though nothing may go", asked)
	}
}

// Who may write in a folder that a glob covers cannot make Custos mend what lies
// elsewhere, by a link; one that stays inside leads where it leads.
func TestAGlobFollowsNoLinkOutOfItsRoot(t *testing.T) {
	inside, private := gittest.New(t), gittest.New(t)
	for _, c := range []struct{ link, to string }{{"elsewhere", private.Top}, {"all", private.Dir}, {"here", inside.Top}} {
		if err := os.Symlink(c.to, filepath.Join(inside.Dir, c.link)); err != nil {
			t.Fatal(err)
		}
	}
	seen := look(t, git.Options{Repos: []string{inside.Dir + "/*", inside.Dir + "/*/repo"}, Worktrees: []string{inside.Dir + "/e*"}, Standing: nobody, Holding: nothing})
	for _, r := range seen.Repos {
		if strings.HasPrefix(r.Path, private.Dir) {
			t.Errorf("%s is seen, as %s", r.Path, r.Owner)
		}
	}
	if len(seen.Repos) != 2 { // repo, and origin.git
		t.Errorf("seen %+v", seen.Repos)
	}
	if named := look(t, git.Options{Repos: []string{inside.Dir + "/elsewhere"}, Standing: nobody, Holding: nothing}); len(named.Repos) != 1 || named.Repos[0].Path != private.Top {
		t.Errorf("a link that is named leads nowhere: %+v", named.Repos)
	}
}
