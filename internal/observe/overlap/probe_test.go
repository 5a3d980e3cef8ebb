package overlap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/overlap"
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// world is a repository with worktrees that agents stand in, and a probe that looks at them.
type world struct {
	t     *testing.T
	repo  *gittest.Repo
	trees []string
	files map[string][]string // that the agent of a worktree was started for
	probe *overlap.Probe
	now   time.Time
	ran   string // a line for each process of git
}

const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"

func newWorld(t *testing.T, trees ...string) *world {
	t.Helper()
	w := &world{t: t, repo: gittest.New(t), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	for _, name := range []string{"f", "deep/er/g", "odd \"n\nl"} {
		w.put(w.repo.Top, name, base)
	}
	w.commit(w.repo.Top)
	for _, name := range trees {
		w.add(name, "main")
	}
	w.ran = filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$*\" >>'"+w.ran+"'\nexec git \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	w.probe, err = overlap.New(overlap.Options{Standing: w.standing, Git: git.New(git.Options{Binary: script}), Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) standing() (all []overlap.Stand) {
	for _, dir := range w.trees {
		all = append(all, overlap.Stand{Folder: dir, Files: w.files[dir]})
	}
	return all
}

func (w *world) add(name, from string) string {
	w.t.Helper()
	tree := filepath.Join(w.repo.Dir, name)
	w.repo.Git(w.repo.Top, "worktree", "add", "-q", "-b", strings.ReplaceAll(name, "/", "-"), tree, from)
	w.trees = append(w.trees, tree)
	return tree
}

func (w *world) put(dir, name, text string) {
	w.t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit(dir string) {
	w.t.Helper()
	w.repo.Git(dir, "add", "-A")
	w.repo.Git(dir, "commit", "-qm", "work")
}

// look looks, and says what it found: by the names of worktrees.
func (w *world) look() string {
	w.t.Helper()
	put, err := w.probe.Look(w.t.Context())
	if err != nil {
		w.t.Fatalf("cut: %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	var said []string
	for _, o := range s.Overlaps.Value {
		line := fmt.Sprintf("%s+%s hot %q soft %q conflicts %q", filepath.Base(o.One), filepath.Base(o.Other), o.Hot, o.Soft, o.Conflicts.Or([]string{"?"}))
		if len(o.OfOne)+len(o.OfOther) > 0 {
			line += fmt.Sprintf(" of one %q of other %q", o.OfOne, o.OfOther)
		}
		said = append(said, line)
	}
	return strings.Join(said, "\n")
}

func (w *world) is(what, want string) {
	w.t.Helper()
	if got := w.look(); got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// processes is how many there were since it was last asked.
func (w *world) processes() string {
	b, _ := os.ReadFile(w.ran)
	_ = os.Remove(w.ran)
	return string(b)
}

// An edit that is merely saved, deep in a folder, is met as soon as the other one makes its own; and
// not any more when it is taken back.
func TestSameLines(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.is("nothing is changed", "")
	w.put(w.trees[0], "deep/er/g", strings.Replace(base, "5", "five", 1))
	w.is("one changes", "")
	w.put(w.trees[1], "deep/er/g", strings.Replace(base, "4\n5\n6", "4\nFIVE\nsix", 1))
	w.is("both change", `a+b hot ["deep/er/g:5-6"] soft [] conflicts []`)
	w.put(w.trees[2], "deep/er/g", strings.Replace(base, "9\n", "9\n10\n", 1))
	w.is("a third one changes other lines", `a+b hot ["deep/er/g:5-6"] soft [] conflicts []
a+c hot [] soft ["deep/er/g"] conflicts []
b+c hot [] soft ["deep/er/g"] conflicts []`)
	w.commit(w.trees[0])
	w.commit(w.trees[1])
	w.repo.Git(w.trees[2], "checkout", "-q", ".")
	w.is("both have committed", `a+b hot ["deep/er/g:5-6"] soft [] conflicts ["deep/er/g"]`)
	w.repo.Git(w.trees[1], "reset", "-q", "--hard", "main")
	w.is("one has taken it back", "")
}

// New files of one name, whatever they are called, and lines that only touch.
func TestNewFilesAndTouchingLines(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.put(w.trees[0], "new/odd \"n\nl", "mine")
	w.put(w.trees[1], "new/odd \"n\nl", "yours")
	w.put(w.trees[0], "odd \"n\nl", strings.Replace(base, "5", "five", 1))
	w.put(w.trees[1], "odd \"n\nl", strings.Replace(base, "6", "six", 1))
	w.is("both", `a+b hot ["new/odd \"n\\x0al" "odd \"n\\x0al:5-6"] soft [] conflicts []`)
}

// Of folders that both have made anew the first files are named, and how many more there are.
func TestManyFilesAreCounted(t *testing.T) {
	w := newWorld(t, "a", "b")
	for i := range 60 {
		w.put(w.trees[0], fmt.Sprintf("new/%02d", i), "mine")
		w.put(w.trees[1], fmt.Sprintf("new/%02d", i), "yours")
	}
	if got := w.look(); !strings.Contains(got, `"new/48" "new/49" "and 10 more"] soft`) {
		t.Error(got)
	}
}

// What both have the same, what one has from the other, and what both have from the primary branch at
// different times, is no overlap.
func TestWhatIsNoOverlap(t *testing.T) {
	w := newWorld(t, "a", "b")
	five := strings.Replace(base, "5", "five", 1)
	w.put(w.trees[0], "f", five)
	w.put(w.trees[1], "f", five)
	w.is("the same", "")
	w.commit(w.trees[0])
	stacked := w.add("stacked", "a")
	w.put(stacked, "f", strings.Replace(five, "five", "FIVE", 1))
	w.repo.Git(w.trees[1], "checkout", "-q", ".")
	w.is("one goes on from the other's commit", "")
	w.put(w.trees[0], "f", strings.Replace(five, "five", "5.0", 1))
	w.is("and the other goes on, too", `a+stacked hot ["f:5"] soft [] conflicts []`)
	w.repo.Git(w.trees[0], "checkout", "-q", ".")
	w.repo.Git(stacked, "checkout", "-q", ".")
	w.put(w.repo.Top, "f", strings.Replace(base, "1", "one", 1))
	w.commit(w.repo.Top)
	w.repo.Git(w.trees[1], "merge", "-q", "main")
	w.repo.Git(w.trees[0], "merge", "-q", "main")
	w.put(w.trees[1], "f", strings.Replace(strings.Replace(base, "1", "one", 1), "9", "nine", 1))
	w.is("both have merged the primary branch", `a+b hot [] soft ["f"] conflicts []
b+stacked hot [] soft ["f"] conflicts []`)
}

// While nothing moves no process is started; one that moved has git asked of it, and of no other.
func TestNothingMovedCostsNoProcess(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.put(w.trees[0], "f", strings.Replace(base, "5", "five", 1))
	w.put(w.trees[1], "f", strings.Replace(base, "5", "FIVE", 1))
	want := `a+b hot ["f:5"] soft [] conflicts []`
	w.is("first", want)
	if w.processes() == "" {
		t.Error("the first look asked git nothing")
	}
	w.is("again", want)
	if ran := w.processes(); ran != "" {
		t.Errorf("nothing moved, and it ran\n%s", ran)
	}
	w.put(w.trees[2], "deep/er/g", "x")
	w.is("a third one moved", want)
	if ran := w.processes(); strings.Count(ran, " diff ") != 1 {
		t.Errorf("one moved, and it ran\n%s", ran)
	}
}

// One worktree, or an agent in none, has git asked nothing; a worktree within another is its own.
func TestWhoStandsWhere(t *testing.T) {
	w := newWorld(t, "a")
	w.trees = append(w.trees, t.TempDir(), filepath.Join(w.trees[0], "deep"), filepath.Join(w.trees[0], "gone"))
	w.is("one worktree", "")
	if ran := w.processes(); ran != "" {
		t.Errorf("it ran\n%s", ran)
	}
	inner := w.add("a/inner", "main")
	w.put(w.trees[0], ".gitignore", "inner\n")
	w.put(w.trees[0], "f", strings.Replace(base, "5", "five", 1))
	w.put(inner, "f", strings.Replace(base, "5", "FIVE", 1))
	w.is("one within the other", `a+inner hot ["f:5"] soft [] conflicts []`)
}

// A branch with a root of its own shares nothing with the others, and hides nothing of theirs.
func TestABranchOfItsOwnRoot(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.repo.Git(w.trees[2], "checkout", "-q", "--orphan", "alone")
	w.commit(w.trees[2])
	w.put(w.trees[0], "f", strings.Replace(base, "5", "five", 1))
	w.put(w.trees[1], "f", strings.Replace(base, "5", "FIVE", 1))
	w.put(w.trees[2], "f", "mine")
	w.is("two of three", `a+b hot ["f:5"] soft [] conflicts []`)
	w.is("again", `a+b hot ["f:5"] soft [] conflicts []`)
}

// A repository that cannot be looked at is told, and the others are seen.
func TestABrokenOneIsTold(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.put(w.trees[0], "f", strings.Replace(base, "5", "five", 1))
	w.put(w.trees[1], "f", strings.Replace(base, "5", "FIVE", 1))
	if err := os.WriteFile(filepath.Join(w.repo.Top, ".git/worktrees/c/HEAD"), []byte("ref: refs/heads/none\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	put, err := w.probe.Look(t.Context())
	if cut, is := err.(observe.Cut); !is || !strings.Contains(string(cut), w.trees[2]) {
		t.Errorf("told: %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	if len(s.Overlaps.Value) != 1 {
		t.Errorf("seen: %+v", s.Overlaps.Value)
	}
}

// A look that is costly is taken less often; not so rarely where something moves.
func TestCostlyLooksAreRare(t *testing.T) {
	w := newWorld(t, "a", "b")
	start, asked := w.now, 0
	probe, err := overlap.New(overlap.Options{Standing: func() []overlap.Stand { asked++; return w.standing() }, Now: func() time.Time { w.now = w.now.Add(time.Second); return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	for w.now.Before(start.Add(3 * time.Minute)) { // each look takes a second by this clock
		if _, err := probe.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 3 {
		t.Errorf("looked %d times in three minutes at what takes a second and stands", asked)
	}
	for i, end := 0, w.now.Add(3*time.Minute); w.now.Before(end); i++ {
		w.put(w.trees[0], "f", fmt.Sprint(i))
		if _, err := probe.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked < 8 || asked > 16 {
		t.Errorf("looked %d times in three minutes at what takes a second and moves", asked-3)
	}
}

// What an agent was started for, and another changes, is told, whether or not it has changed it, too:
// by path, folder or pattern, from its worktree or from the main one; not what both were started for.
func TestWhatAnotherWasStartedFor(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	a, b := w.trees[0], w.trees[1]
	w.files = map[string][]string{a: {filepath.Join(a, "deep"), filepath.Join(w.repo.Top, "x*.go"), a, "/elsewhere/f"}, b: {filepath.Join(b, "f")}}
	w.put(a, "deep/er/g", strings.Replace(base, "1", "one", 1))
	w.put(b, "f", strings.Replace(base, "1", "one", 1))
	w.is("each changes its own", "")
	w.put(b, "deep/er/g", strings.Replace(base, "9", "nine", 1))
	w.put(b, "x1.go", "new")
	w.is("one changes the other's", `a+b hot [] soft ["deep/er/g"] conflicts [] of one ["deep/er/g" "x1.go"] of other []`)
	w.processes()
	w.is("again", `a+b hot [] soft ["deep/er/g"] conflicts [] of one ["deep/er/g" "x1.go"] of other []`)
	if ran := w.processes(); ran != "" {
		t.Errorf("nothing moved, and it ran\n%s", ran)
	}
	w.put(w.trees[2], "f", strings.Replace(base, "9", "nine", 1))
	w.files[w.trees[2]] = nil
	w.is("a third one", `a+b hot [] soft ["deep/er/g"] conflicts [] of one ["deep/er/g" "x1.go"] of other []
b+c hot [] soft ["f"] conflicts [] of one ["f"] of other []`)
	w.files[b] = append(w.files[b], filepath.Join(b, "deep/er"))
	w.files[w.trees[2]] = w.files[b]
	w.repo.Git(w.trees[2], "checkout", "-q", ".")
	w.is("both were started for it", `a+b hot [] soft ["deep/er/g"] conflicts [] of one ["x1.go"] of other []`)
}

// What is made in folders that git tracks nothing of is seen, one after the other: in one that was empty
// when it was looked at, one below another, and in a file that was new already.
func TestFoldersThatNothingIsTrackedIn(t *testing.T) {
	w := newWorld(t, "a", "b")
	a, b := w.trees[0], w.trees[1]
	w.put(a, "new/one", "mine")
	for _, dir := range []string{"new/er", "empty/er"} {
		if err := os.MkdirAll(filepath.Join(b, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.is("folders alone", "")
	w.is("they stand", "")
	for _, f := range []string{"new/one", "new/two", "new/er/three", "empty/four", "empty/er/five"} {
		w.put(a, f, "mine")
		w.put(b, f, "yours")
		w.look()
		if got := w.look(); !strings.Contains(got, strconv.Quote(f)) {
			t.Errorf("%s: %s", f, got)
		}
	}
	w.put(a, "new/one", "ours")
	w.put(b, "new/one", "ours")
	w.look()
	if got := w.look(); strings.Contains(got, `"new/one"`) || !strings.Contains(got, `"new/two"`) {
		t.Errorf("both have the same now: %s", got)
	}
	w.look()
	w.processes()
	w.look()
	if ran := w.processes(); ran != "" {
		t.Errorf("nothing moved, and it ran\n%s", ran)
	}
}

// What one has from the primary branch, since the other parted from it, is none of its own: neither where
// it has merged it nor where it was begun later; its own changes are, and so are those of who works on that branch.
func TestWhatIsOfThePrimaryBranch(t *testing.T) {
	w := newWorld(t, "a", "b")
	a, b := w.trees[0], w.trees[1]
	w.files = map[string][]string{a: {filepath.Join(a, "f"), filepath.Join(a, "deep")}}
	w.put(a, "f", strings.Replace(base, "5", "five", 1))
	w.put(w.repo.Top, "f", strings.Replace(base, "5", "FIVE", 1))
	w.commit(w.repo.Top)
	w.repo.Git(b, "merge", "-q", "main")
	w.is("one has merged it", "")
	c := w.add("c", "main")
	w.is("one was begun later", "")
	w.put(b, "deep/er/g", strings.Replace(base, "5", "five", 1))
	w.commit(b)
	w.put(c, "f", strings.Replace(base, "5", "FIVE!", 1))
	w.is("their own changes", `a+b hot [] soft [] conflicts [] of one ["deep/er/g"] of other []
a+c hot ["f:5"] soft [] conflicts [] of one ["f"] of other []`)
	w.repo.Git(w.repo.Top, "merge", "-q", "b")
	w.repo.Git(c, "checkout", "-q", ".")
	w.is("what it has was brought in", `a+b hot ["f:5"] soft [] conflicts [] of one ["deep/er/g" "f"] of other []`)
	w.trees = append(w.trees, w.repo.Top)
	w.is("one committed on that branch", `a+b hot ["f:5"] soft [] conflicts [] of one ["deep/er/g" "f"] of other []
a+repo hot ["f:5"] soft [] conflicts [] of one ["deep/er/g" "f"] of other []`)
}

// Who brings each commit into the primary branch at once is told of all the same, by whatever way; and who has only pulled
// is not, neither beside it nor for what of it does not merge.
func TestWhatWasBroughtInIsStillOfWhoDidIt(t *testing.T) {
	w := newWorld(t, "a", "b")
	a, b := w.trees[0], w.trees[1]
	w.put(b, "f", strings.Replace(base, "5", "five", 1))
	w.commit(b)
	w.repo.Git(w.repo.Top, "merge", "-q", "--ff-only", "b")
	w.put(a, "f", strings.Replace(base, "5", "FIVE", 1))
	w.commit(a)
	want := `a+b hot ["f:5"] soft [] conflicts ["f"]`
	w.is("it was brought in", want)
	w.trees = append(w.trees, w.repo.Top)
	w.is("who works where it was brought in to has not changed it", want)
	c := w.add("c", "main")
	w.put(a, "deep/er/g", strings.Replace(base, "5", "five", 1))
	w.put(c, "deep/er/g", strings.Replace(base, "5", "FIVE", 1))
	w.is("who was begun later changes something else", want+`
a+c hot ["deep/er/g:5"] soft [] conflicts []`)
}

// A repository without a branch that is known for its primary one: all is everybody's own, and git is not asked for it again.
func TestNoPrimaryBranch(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.repo.Git(w.repo.Top, "branch", "-m", "main", "trunk")
	w.repo.Git(w.repo.Top, "update-ref", "-d", "refs/remotes/origin/main")
	w.put(w.trees[0], "f", strings.Replace(base, "5", "five", 1))
	w.put(w.trees[1], "f", strings.Replace(base, "5", "FIVE", 1))
	w.is("both", `a+b hot ["f:5"] soft [] conflicts []`)
	w.processes()
	w.is("again", `a+b hot ["f:5"] soft [] conflicts []`)
	if ran := w.processes(); ran != "" {
		t.Errorf("nothing moved, and it ran\n%s", ran)
	}
}

// A probe that cannot be set up says why.
func TestBadOptions(t *testing.T) {
	if _, err := overlap.New(overlap.Options{Every: "soon"}); err == nil || !strings.Contains(err.Error(), "every") {
		t.Errorf("%v", err)
	}
}
