package mergegroup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/act/mergegroup"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

func TestABranchThatIsNotWhereItWasAdded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world) (now string)
		state  fleet.MergeState
		why    string
	}{
		"moved":  {func(w *world) string { return w.from("one", "more", "more", "m\n").Commit }, fleet.MergeWaiting, "its branch moved from "},
		"forced": {func(w *world) string { return w.branch("more", "more", "m\n").Commit }, fleet.MergeWaiting, "its branch moved from "},
		"gone":   {func(w *world) string { return "" }, fleet.MergeFailed, "its branch one is gone"},
	} {
		for _, when := range []string{"before it is built", "before it lands"} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newWorld(t)
				target := w.target(w.branch("one", "one", "1\n"), w.branch("two", "two", "2\n"))
				if when == "before it lands" {
					w.build(target)
				}
				now := c.change(w)
				if now == "" {
					w.Git(w.Top, "branch", "-D", "one")
				} else {
					w.Git(w.Top, "branch", "-f", "one", now)
				}
				before := w.main()
				if when == "before it is built" {
					o := w.build(target)
					if l := w.leaves(o, c.state, c.why); l.ID != "mq-one" || l.Commit != now {
						t.Errorf("%+v", l)
					}
					if w.landed(target); w.Git(w.Top, "show", target.Group.Commit+":two") != "2" {
						t.Error("the other one is not in it")
					}
					return
				}
				o, err := w.land(target)
				if err == nil || w.main() != before {
					t.Fatalf("%v; main moved: %v", err, w.main() != before)
				}
				if l := w.leaves(o, c.state, c.why); l.ID != "mq-one" || l.Commit != now || o.Base != "" {
					t.Errorf("%+v", o)
				}
			})
		}
	}
}

// A branch that was pushed and is nowhere else is read where it is, and no ref is left of that.
func TestABranchThatIsInTheRemoteOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	top := filepath.Join(w.Dir, "other")
	w.Git(w.Dir, "clone", "-q", "origin.git", "other")
	w.Git(top, "checkout", "-q", "-b", "far/away")
	commit := w.Commit(top, "far", "far\n")
	w.Git(top, "push", "-q", "origin", "far/away")
	i := fleet.MergeItem{Head: fleet.Head{ID: "mq1"}, Queue: "shop", Source: "far/away", Commit: commit}
	refs := w.Git(w.Top, "for-each-ref")
	target := w.target(i)
	w.build(target)
	w.landed(target)
	target.Group.State = fleet.GroupLanded
	w.isCleared(target)
	if got := w.Git(w.Top, "for-each-ref"); got != refs {
		t.Errorf("refs are %s, want %s", got, refs)
	}
	if p := w.Git(w.Top, "rev-parse", target.Group.Commit+"^2"); p != commit {
		t.Errorf("it merged %s, want %s", p, commit)
	}
	w.Git(top, "checkout", "-q", "--detach", "origin/main")
	w.Git(top, "commit", "-q", "--allow-empty", "-m", "other")
	w.Git(top, "push", "-q", "-f", "origin", "HEAD:far/away")
	o, err := try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, w.target(i)))
	if l := w.leaves(o, fleet.MergeWaiting, "its branch moved"); err != nil || l.Commit != w.Git(top, "rev-parse", "HEAD") {
		t.Errorf("%v; %+v", err, l)
	}
	w.Git(top, "push", "-q", "origin", ":far/away")
	o, err = try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, w.target(i)))
	if err != nil || len(o.Left) != 1 {
		t.Errorf("%v; %+v", err, o)
	}
}

// What somebody else has merged counts as merged, however it came there; what has no commit
// of its own does not.
func TestWhatIsInTheTargetAlready(t *testing.T) {
	t.Parallel()
	push := func(w *world) {
		w.Git(w.Top, "push", "-q", "origin", "main")
	}
	for name, c := range map[string]struct {
		do    func(w *world)
		state fleet.MergeState
		why   string
	}{
		"merged by a person":                   {func(w *world) { w.Git(w.Top, "merge", "-q", "--no-ff", "one"); push(w) }, fleet.MergeMerged, "it is in main of origin already"},
		"merged, and main goes on":             {func(w *world) { w.Git(w.Top, "merge", "-q", "--no-ff", "one"); w.Commit(w.Top, "x", "x\n"); push(w) }, fleet.MergeMerged, ""},
		"main was wound forward to it":         {func(w *world) { w.Git(w.Top, "merge", "-q", "--ff-only", "one"); push(w) }, fleet.MergeMerged, ""},
		"main was wound forward to it, and on": {func(w *world) { w.Git(w.Top, "merge", "-q", "one"); w.Commit(w.Top, "x", "x\n"); push(w) }, fleet.MergeMerged, ""},
		"the branch was pushed as main":        {func(w *world) { w.Git(w.Top, "push", "-q", "origin", "one:main") }, fleet.MergeMerged, ""},
		"merged, and the branch was deleted": {func(w *world) {
			w.Git(w.Top, "merge", "-q", "--no-ff", "one")
			push(w)
			w.Git(w.Top, "branch", "-d", "one")
		}, fleet.MergeMerged, ""},
		"squashed by a person":                   {func(w *world) { w.Squash("one"); push(w) }, fleet.MergeFailed, "it changes nothing that is not in main of origin already"},
		"set to main: it has nothing of its own": {func(w *world) { w.Git(w.Top, "branch", "-q", "-f", "one", "main") }, fleet.MergeFailed, "it has no commit that main of origin has not"},
		"set to an older main": {func(w *world) {
			w.Git(w.Top, "branch", "-q", "-f", "one", "main")
			w.Commit(w.Top, "x", "x\n")
			push(w)
		}, fleet.MergeFailed, "it has no commit"},
		"rebased, and nothing was left of it": {func(w *world) { w.Squash("one"); push(w); w.rebase("one") }, fleet.MergeFailed, "it has no commit"},
		"rebased by a person, and wound up to it": {func(w *world) {
			w.Commit(w.Top, "x", "x\n")
			w.rebase("one")
			w.Git(w.Top, "merge", "-q", "--ff-only", "one")
			push(w)
		}, fleet.MergeMerged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			i := w.worked("one", "one", "1\n")
			c.do(w)
			if name, err := w.Try(w.Top, "rev-parse", "--verify", "refs/heads/one"); err == nil {
				i.Commit = strings.TrimSpace(name)
			}
			o := w.build(w.target(i))
			w.leaves(o, c.state, c.why)
			if merged := c.state == fleet.MergeMerged; (o.Left[0].Commit == w.main()) != merged || o.Worktree != "" || w.refs() != "" {
				t.Errorf("%+v, main is at %s; refs %q", o, w.main(), w.refs())
			}
		})
	}
}

func (w *world) rebase(branch string) {
	w.T.Helper()
	top := filepath.Join(w.Dir, "rebase")
	w.Git(w.Top, "worktree", "add", "-q", top, branch)
	w.Git(top, "rebase", "-q", "main")
	w.Git(w.Top, "worktree", "remove", top)
}

// What one that was added has no history with, changes nothing by, or is refused for.
func TestWhatCannotBeMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit(w.Top, "bin", "\x00\x01base")
	w.Git(w.Top, "push", "-q", "origin", "main")
	empty := filepath.Join(w.Dir, "empty")
	w.Git(w.Top, "worktree", "add", "-q", "-b", "empty", empty)
	w.Git(empty, "commit", "-q", "--allow-empty", "-m", "empty")
	w.Git(empty, "checkout", "-q", "--orphan", "alien")
	w.Git(empty, "commit", "-q", "-m", "alien")
	w.branch("text", "a.txt", "1\nmine\n3\n4\n5\n6\n7\n8\n")
	w.branch("binary", "bin", "\x00\x01mine")
	for _, f := range []string{"w", "x", "y", "z"} {
		top := filepath.Join(w.Dir, "many")
		if _, err := os.Lstat(top); err != nil {
			w.Git(w.Top, "worktree", "add", "-q", "-b", "many", top)
		}
		w.Commit(top, f, "mine\n")
		w.Commit(w.Top, f, "theirs\n")
	}
	w.Commit(w.Top, "bin", "\x00\x01theirs")
	w.Commit(w.Top, "a.txt", "1\ntheirs\n3\n4\n5\n6\n7\n8\n")
	w.Git(w.Top, "push", "-q", "origin", "main")
	for name, want := range map[string]struct {
		state fleet.MergeState
		why   string
		files []string
	}{
		"empty":  {fleet.MergeFailed, "it changes nothing that is not in main of origin already", nil},
		"alien":  {fleet.MergeFailed, "it has no history in common with main of origin", nil},
		"text":   {fleet.MergeConflict, "it conflicts with main of origin in a.txt", []string{"a.txt"}},
		"binary": {fleet.MergeConflict, "it conflicts with main of origin in bin", []string{"bin"}},
		"many":   {fleet.MergeConflict, "it conflicts with main of origin in w, x, y and 1 more", []string{"w", "x", "y", "z"}},
	} {
		o := w.build(w.target(w.item(name)))
		if l := w.leaves(o, want.state, want.why); !slices.Equal(l.Files, want.files) {
			t.Errorf("%s: files %q, want %q", name, l.Files, want.files)
		}
	}
	if w.refs() != "" || len(entries(t, w.q.Dir)) > 0 {
		t.Errorf("left: %s %v", w.refs(), entries(t, w.q.Dir))
	}
}

func entries(t *testing.T, path string) (names []string) {
	t.Helper()
	list, _ := os.ReadDir(fleet.RawPath(path))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Two that insert at one place conflict, unless the repository says that both are kept.
func TestTwoThatInsertAtOnePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit(w.Top, "CHANGELOG", "# Changes\n\nold\n")
	w.Commit(w.Top, "NEWS", "# News\n\nold\n")
	w.Commit(w.Top, ".gitattributes", "CHANGELOG merge=union\n")
	w.Git(w.Top, "push", "-q", "origin", "main")
	a, b := w.branch("a", "CHANGELOG", "# Changes\n\nfrom a\nold\n"), w.branch("b", "CHANGELOG", "# Changes\n\nfrom b\nold\n")
	target := w.target(a, b)
	if o := w.build(target); len(o.Left) > 0 {
		t.Fatalf("%+v", o)
	}
	if text := w.Git(w.Top, "show", target.Group.Commit+":CHANGELOG"); !strings.Contains(text, "from a") || !strings.Contains(text, "from b") || !strings.HasSuffix(text, "old") {
		t.Errorf("one is lost: %q", text)
	}
	c, d := w.branch("c", "NEWS", "# News\n\nfrom c\nold\n"), w.branch("d", "NEWS", "# News\n\nfrom d\nold\n")
	target = w.target(c, d)
	l := w.leaves(w.build(target), fleet.MergeWaiting, "it conflicts with what is merged before it (mq-c)")
	if l.ID != "mq-d" || !slices.Equal(l.Files, []string{"NEWS"}) {
		t.Errorf("%+v", l)
	}
	w.landed(target)
	l = w.leaves(w.build(w.target(d)), fleet.MergeConflict, "it conflicts with main of origin in NEWS")
	if !slices.Equal(l.Files, []string{"NEWS"}) {
		t.Errorf("%+v", l)
	}
}

// One that is in another one of its group waits for that, and is not taken for merged.
func TestOneThatIsInAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	low := w.branch("low", "low", "low\n")
	high := w.from("low", "high", "high", "high\n")
	target := w.target(high, low)
	if l := w.leaves(w.build(target), fleet.MergeWaiting, "it is in what is merged before it (mq-high)"); l.ID != "mq-low" {
		t.Errorf("%+v", l)
	}
	w.landed(target)
	if l := w.leaves(w.build(w.target(low)), fleet.MergeMerged, ""); l.Commit != w.main() {
		t.Errorf("%+v", l)
	}
	w.Git(w.Top, "fetch", "-q")
	x := w.from("origin/main", "x", "same", "same\n")
	w.Git(w.Top, "branch", "y", w.Git(w.Top, "commit-tree", "-p", "origin/main", "-m", "by another", x.Commit+"^{tree}"))
	w.leaves(w.build(w.target(x, w.item("y"))), fleet.MergeWaiting, "it changes nothing beside what is merged before it (mq-x)")
}

// Whatever both sides did to a tree, the merge has both, and the gates see it.
func TestKindsOfChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := map[string]struct{ base, one, two, check string }{
		"mode bits":       {"printf '1\n2\n3\n' > mode", "chmod +x mode", "echo two >> mode", "test -x mode && grep two mode"},
		"rename and edit": {"seq 20 > from", "git mv from to", "sed -i s/^8$/eight/ from", "grep eight to && test ! -e from"},
		"CRLF":            {"printf 'a\\r\\nb\\r\\nc\\r\\nd\\r\\n' > crlf", "sed -i 's/a/one/' crlf", "sed -i 's/d/two/' crlf", `test "$(grep -c "$(printf '\r')$" crlf)" = 4 && grep one crlf && grep two crlf`},
		"symlink":         {"ln -s README link", "ln -sfn a.txt link", "echo x > beside", `test "$(readlink link)" = a.txt`},
		"deleted":         {"echo x > deleted", "git rm -q deleted", "", "test ! -e deleted"},
		"odd names":       {"", `printf 1 > "$(printf 'a\nb\377')"`, `printf 2 > './-rf * ;'`, `test -e "$(printf 'a\nb\377')" && test -e './-rf * ;'`},
		"a deep new tree": {"", "mkdir -p d/e/f; echo 1 > d/e/f/g", "mkdir -p d/e/f; echo 1 > d/e/f/h", "test -e d/e/f/g && test -e d/e/f/h"},
		"lines apart":     {"seq 20 > lines", "sed -i s/^1$/one/ lines", "sed -i s/^20$/twenty/ lines", "grep one lines && grep twenty lines"},
		"LFS pointers":    {"echo '*.psd filter=lfs diff=lfs merge=lfs -text' > .gitattributes", lfs(1), lfs(2), "grep sha256:1 1.psd && grep sha256:2 2.psd"},
		"a submodule":     {"", "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),mod; git config -f .gitmodules submodule.mod.path mod; git config -f .gitmodules submodule.mod.url ../origin.git", "", "git ls-tree HEAD mod | grep ^160000"},
		"a new folder":    {"", "mkdir kind; echo 1 > kind/x", "mkdir -p kind; echo 2 > kind/y", "test -e kind/x && test -e kind/y"},
	}
	for _, c := range cases {
		w.run("repo", c.base)
	}
	w.Git(w.Top, "add", "-A")
	w.Git(w.Top, "commit", "-q", "-m", "base")
	w.Git(w.Top, "push", "-q", "origin", "main")
	one, two := w.Worktree("one"), w.Worktree("two")
	for _, c := range cases {
		w.run("one", c.one)
		w.run("two", c.two)
	}
	for _, top := range []string{one, two} {
		w.Git(top, "add", "-A", "--", ".", ":!mod")
		w.Git(top, "commit", "-q", "-m", "changed")
	}
	target := w.target(w.item("one"), w.item("two"))
	if o := w.build(target); len(o.Left) > 0 {
		t.Fatalf("%+v", o)
	}
	if got := w.Git(fleet.RawPath(target.Group.Worktree), "status", "--porcelain"); got != "" {
		t.Errorf("the worktree of the gates is not what was committed: %s", got)
	}
	w.landed(target)
	w.Git(w.Dir, "clone", "-q", "origin.git", "seen")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-ec", c.check)
			for _, cmd.Dir = range []string{filepath.Join(w.Dir, "seen"), fleet.RawPath(target.Group.Worktree)} {
				again := *cmd
				if out, err := again.CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v: %s", cmd.Dir, c.check, err, out)
				}
			}
		})
	}
	w.Git(w.Top, "worktree", "remove", "--force", one)
	w.Git(w.Top, "worktree", "remove", "--force", two)
	target.Group.State = fleet.GroupLanded
	w.isCleared(target)
}

// lfs makes a pointer to a large file.
func lfs(n int) string {
	return fmt.Sprintf("printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%d\\nsize 1\\n' > %d.psd", n, n)
}

// A clone that has not all of history fails with a word for it, and merges where it has enough.
func TestShallowAndSparse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.branch("old", "old", "old\n")
	w.Git(w.Top, "push", "-q", "origin", "old")
	for _, f := range []string{"x", "y"} {
		w.Commit(w.Top, f, f)
	}
	w.Git(w.Top, "push", "-q", "origin", "main")
	w.Git(w.Dir, "clone", "-q", "--depth", "1", "--no-single-branch", "file://"+w.Dir+"/origin.git", "shallow")
	whole := w.Top
	w.Top = filepath.Join(w.Dir, "shallow")
	w.q.Repo = fleet.Path(w.Top)
	_, err := try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, w.target(old)))
	if err == nil || !strings.Contains(err.Error(), "the clone is shallow") {
		t.Errorf("%v", err)
	}
	target := w.target(w.branch("new", "new", "new\n"))
	w.build(target)
	w.landed(target)
	w.Git(whole, "config", "core.sparseCheckout", "true")
	w.Top, w.q.Repo, w.q.Dir = whole, fleet.Path(whole), fleet.Path(filepath.Join(w.Dir, "state", "sparse"))
	w.Git(w.Top, "sparse-checkout", "set", "--no-cone", "/README")
	target = w.target(old)
	o := w.build(target)
	if got := gittest.Files(t, fleet.RawPath(o.Worktree)); got["a.txt"] == "" || got["new"] == "" {
		t.Errorf("what is not in a sparse checkout is not tested: %v", got)
	}
	w.landed(target)
}

// Where the disk is nearly full nothing is begun.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked []string
	full := mergegroup.NewBuilder(mergegroup.Options{Room: func(dirs ...string) error { asked = dirs; return os.ErrDeadlineExceeded }})
	_, err := try(t.Context(), full, action(mergegroup.Build, w.target(w.branch("one", "one", "1\n"))))
	if err == nil || !slices.Equal(asked, []string{fleet.RawPath(w.q.Dir), w.Top}) || w.refs() != "" || len(entries(t, w.q.Dir)) > 0 {
		t.Errorf("%v, asked about %q; refs %q", err, asked, w.refs())
	}
}

// While the remote is down nothing is learned, of no item.
func TestTheRemoteIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.target(w.branch("one", "one", "1\n"))
	down := func(is bool) {
		from, to := "origin.git", "down.git"
		if !is {
			from, to = to, from
		}
		if err := os.Rename(filepath.Join(w.Dir, from), filepath.Join(w.Dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	down(true)
	o, err := try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, target))
	if err == nil || len(o.Left) > 0 || w.refs() != "" || len(w.worktrees()) > 0 {
		t.Errorf("%v; %+v", err, o)
	}
	down(false)
	w.build(target)
	before := w.main()
	down(true)
	o, err = w.land(target)
	if err == nil || len(o.Left) > 0 || o.Declined != "" || o.Base != "" {
		t.Errorf("%v; %+v", err, o)
	}
	target.Group.State = fleet.GroupDropped
	if err := w.clear(target); err != nil {
		t.Errorf("clearing needs no remote: %v", err)
	}
	if down(false); w.main() != before {
		t.Error("main moved")
	}
}

// A file that became a folder on one side is merged, though git says CONFLICT of it on the
// way: it ends with 0, and nothing conflicts.
func TestAFileThatBecameAFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("repo", "echo x > kind; seq 20 > from; git add -A")
	w.Git(w.Top, "commit", "-q", "-m", "base")
	w.Git(w.Top, "push", "-q", "origin", "main")
	for name, script := range map[string]string{"one": "git rm -q kind; mkdir kind; echo 1 > kind/x; git mv from to; git add -A", "two": "sed -i s/^8$/eight/ from; git add -A"} {
		top := w.Worktree(name)
		w.run(name, script)
		w.Git(top, "commit", "-q", "-m", name)
	}
	if o := w.build(w.target(w.item("one"), w.item("two"))); len(o.Left) > 0 {
		t.Errorf("%+v", o.Left)
	}
}
