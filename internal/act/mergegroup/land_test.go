package mergegroup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act"
	"custos/internal/act/mergegroup"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

// built is a group that has passed its gates.
func (w *world) built(items ...fleet.MergeItem) *fleet.MergeTarget {
	w.T.Helper()
	t := w.target(items...)
	w.build(t)
	return t
}

// Somebody else was first: nothing is forced, and it is learned where the target stands.
func TestTheTargetMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.built(w.branch("one", "one", "1\n"))
	theirs := w.clone("theirs", "theirs\n")
	o, err := w.land(target)
	if err == nil || !strings.Contains(err.Error(), "it is built anew") || o.Base != theirs || o.Commit != "" || w.main() != theirs {
		t.Errorf("%v; %+v; main is at %s", err, o, w.main())
	}
	target = w.built(target.Items...)
	if target.Group.Base != theirs {
		t.Fatalf("built on %s", target.Group.Base)
	}
	// Another push lands while ours is on its way.
	w.Git(filepath.Join(w.Dir, "other"), "commit", "-q", "--allow-empty", "-m", "racer")
	racer := w.Git(filepath.Join(w.Dir, "other"), "rev-parse", "HEAD")
	w.Git(filepath.Join(w.Dir, "other"), "push", "-q", "origin", "HEAD:refs/heads/racer")
	w.hook("pre-receive", "unset GIT_QUARANTINE_PATH; test -e ../raced || { touch ../raced; git update-ref refs/heads/main "+racer+"; }\n")
	o, err = w.land(target)
	if err == nil || o.Base != racer || o.Declined != "" || w.main() != racer {
		t.Errorf("%v; %+v; main is at %s, want %s", err, o, w.main(), racer)
	}
	target = w.built(target.Items...)
	w.landed(target)
	for _, c := range []string{theirs, racer, target.Items[0].Commit} {
		w.Git("origin.git", "merge-base", "--is-ancestor", c, "main")
	}
	if n := w.Git("origin.git", "rev-list", "--count", "--merges", "main"); n != "1" {
		t.Errorf("%s merges", n)
	}
}

// What the remote declines holds the queue, in the remote's own words and without its secrets.
func TestTheRemoteDeclines(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-receive", "update"} {
		w := newWorld(t)
		target := w.built(w.branch("one", "one", "1\n"))
		before := w.main()
		w.hook(hook, "echo 'release freeze until Monday \x1b[31m token=glpat-aaaaaaaaaaaaaaaaaaaa' >&2; exit 1\n")
		o, err := w.land(target)
		if err == nil || !strings.Contains(o.Declined, "release freeze until Monday") || w.main() != before {
			t.Errorf("%s: %v; %+v", hook, err, o)
		}
		if strings.Contains(o.Declined, "glpat-a") || strings.Contains(o.Declined, "\x1b") {
			t.Errorf("%s: %q", hook, o.Declined)
		}
	}
}

// The connection breaks after the push has landed: that is read back, and nothing is pushed
// twice. A push of which it stays unknown is in doubt, and a second try finds it.
func TestAPushOfWhichNobodySaysWhetherItLanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	count := filepath.Join(w.Dir, "pushes")
	w.hook("post-receive", "echo x >> "+count+"; kill -9 $PPID; kill -9 $(awk '{print $4}' /proc/$PPID/stat) 2> /dev/null\n")
	target := w.built(w.branch("one", "one", "1\n"))
	w.landed(target)
	if b, _ := os.ReadFile(count); string(b) != "x\n" {
		t.Fatalf("pushes: %q", b)
	}
	if _, err := w.land(target); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("again: %v", err)
	}
	// The remote is gone for good right after it.
	w.hook("post-receive", "echo x >> "+count+"; mv ../origin.git ../lost.git; kill -9 $PPID\n")
	w.Git(w.Top, "fetch", "-q")
	target = w.built(w.from("origin/main", "two", "two", "2\n"))
	o, err := w.land(target)
	if !errors.Is(err, act.ErrInDoubt) || o.Commit != "" || o.Base != "" || o.Declined != "" {
		t.Errorf("%v; %+v", err, o)
	}
	if err := os.Rename(filepath.Join(w.Dir, "lost.git"), filepath.Join(w.Dir, "origin.git")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.land(target); !errors.Is(err, act.ErrUnneeded) || w.main() != target.Group.Commit {
		t.Errorf("%v; main is at %s", err, w.main())
	}
	if b, _ := os.ReadFile(count); string(b) != "x\nx\n" {
		t.Errorf("pushes: %q", b)
	}
}

// It has landed, and more on top of it: that is no reason to do anything.
func TestItHasLandedAndMainGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.built(w.branch("one", "one", "1\n"))
	w.landed(target)
	w.clone("more", "more\n")
	if _, err := w.land(target); !errors.Is(err, act.ErrUnneeded) {
		t.Error(err)
	}
}

// Five landings by the remote, and a person's checkout in the middle of work is the same, byte
// for byte: files, index, HEAD, stash, what is not tracked, refs, configuration.
func TestAPersonsCheckoutIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var items []fleet.MergeItem
	for n := range 5 {
		items = append(items, w.branch(fmt.Sprint("b", n), fmt.Sprint("f", n), "x\n"))
	}
	w.Write("repo/README", "stashed\n")
	w.Git(w.Top, "stash", "-q")
	w.Write("repo/README", "staged\n")
	w.Git(w.Top, "add", "README")
	w.Write("repo/README", "dirty\n")
	w.Write("repo/untracked", "u\n")
	w.Write("repo/data/ignored", "i\n")
	w.Write("repo/.git/MERGE_HEAD", items[0].Commit+"\n")
	if err := os.Chmod(filepath.Join(w.Top, "a.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := w.checkout()
	for _, i := range items {
		target := w.built(i)
		w.landed(target)
		target.Group.State = fleet.GroupLanded
		w.isCleared(target)
	}
	if after := w.checkout(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if n := w.Git("origin.git", "rev-list", "--count", "--first-parent", "main"); n != "6" {
		t.Errorf("%s commits", n)
	}
}

// A target in the repository itself is moved where nobody has it checked out; else the queue
// is held.
func TestATargetInTheRepositoryItself(t *testing.T) {
	t.Parallel()
	w := local(t)
	target := w.built(w.branch("one", "one", "1\n"))
	w.landed(target)
	if log := w.Git(w.Top, "reflog", "-1", "main"); !strings.Contains(log, "custos: land") {
		t.Errorf("main's reflog says %q of it", log)
	}
	target = w.built(w.branch("two", "two", "2\n"))
	at := w.main()
	w.Git(w.Top, "checkout", "-q", "main")
	before := w.checkout()
	o, err := w.land(target)
	if err == nil || !strings.Contains(o.Declined, "the branch is checked out in") || w.main() != at {
		t.Errorf("%v; %+v", err, o)
	}
	if w.checkout() != before {
		t.Error("the checkout was touched")
	}
	w.Git(w.Top, "checkout", "-q", "mine")
	w.Git(w.Top, "update-ref", "refs/heads/main", w.branch("three", "three", "3\n").Commit)
	if o, err := w.land(target); err == nil || o.Base != w.main() || o.Declined != "" {
		t.Errorf("moved by another: %v; %+v", err, o)
	}
}

// What lands is what was built, whatever gates did to the repository before they ended well:
// to refs of Custos', to their own worktree, to branches.
func TestGatesChangeNothingOfWhatLands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.branch("one", "one", "1\n")
	evil := w.branch("evil", "evil", "evil\n").Commit
	target := w.built(one)
	gate := fleet.RawPath(target.Group.Worktree)
	for _, ref := range strings.Fields(w.refs()) {
		w.Git(gate, "update-ref", ref, evil)
	}
	w.Git(gate, "update-ref", "refs/custos/merge/shop/target", evil)
	w.Git(gate, "symbolic-ref", "refs/custos/merge/shop/other", "refs/heads/main")
	w.Git(gate, "checkout", "-q", "-f", evil)
	w.Git(gate, "update-ref", "refs/remotes/origin/main", evil)
	w.Git(gate, "tag", "main", evil)
	w.Git(gate, "tag", "one", evil)
	w.Git(gate, "replace", target.Group.Commit, evil)
	w.landed(target)
	if w.Git("origin.git", "show", "main:one") != "1" || gittest.Files(t, gate)["evil"] == "" {
		t.Error("something else landed")
	}
	if out, err := w.Try("origin.git", "show", "main:evil"); err == nil {
		t.Errorf("what no gate has seen landed: %s", out)
	}
	w.Git(w.Top, "update-ref", "-d", "refs/custos/merge/shop/other")
	w.Git(w.Top, "update-ref", "-d", "refs/custos/merge/shop/target")
	target.Group.State = fleet.GroupLanded
	w.isCleared(target)
	// One that moves a branch of the queue has it looked at again.
	target = w.built(w.from("main", "two", "two", "2\n"))
	w.Git(w.Top, "update-ref", "refs/heads/two", evil)
	if o, err := w.land(target); err == nil || len(o.Left) != 1 || o.Left[0].Commit != evil {
		t.Errorf("%v; %+v", err, o)
	}
}

// A repository's hooks and monitors do not run, wherever its configuration has them; a filter
// does, in the worktree of the gates alone.
func TestProgramsOfTheRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	canary := filepath.Join(w.Dir, "canary")
	for _, dir := range []string{filepath.Join(w.Top, ".git/hooks"), filepath.Join(w.Dir, "hooks")} {
		for _, h := range []string{"post-checkout", "pre-push", "reference-transaction", "post-index-change", "pre-auto-gc", "post-merge", "pre-merge-commit", "commit-msg", "prepare-commit-msg", "push-to-checkout"} {
			w.program(filepath.Join(dir, h), "echo "+h+" >> "+canary+"\n")
		}
	}
	one := w.branch("one", "one", "1\n")
	for k, v := range map[string]string{"core.hooksPath": w.Dir + "/hooks", "core.fsmonitor": "echo fsmonitor >> " + canary, "alias.push": "!echo alias >> " + canary, "gpg.program": canary, "commit.gpgSign": "true",
		"push.gpgSign": "if-asked", "merge.ours.driver": "echo driver >> " + canary, "diff.external": "echo diff >> " + canary, "core.editor": "echo editor >> " + canary, "push.followTags": "true", "push.default": "matching", "remote.origin.mirror": "false",
		"fetch.prune": "true", "remote.origin.fetch": "+refs/heads/*:refs/heads/*", "remote.origin.push": "+refs/heads/*:refs/heads/*", "user.useConfigOnly": "true", "i18n.commitEncoding": "latin1", "core.bare": "false"} {
		w.Git(w.Top, "config", k, v)
	}
	_ = os.Remove(canary)
	w.Git("origin.git", "update-ref", "refs/heads/here", "main")
	target := w.built(one)
	w.landed(target)
	target.Group.State = fleet.GroupLanded
	w.isCleared(target)
	if b, err := os.ReadFile(canary); err == nil {
		t.Errorf("ran: %s", b)
	}
	if refs := w.Git("origin.git", "for-each-ref", "--format=%(refname)"); refs != "refs/heads/here\nrefs/heads/main" {
		t.Errorf("the remote has %q", refs)
	}
	if out, err := w.Try(w.Top, "rev-parse", "--verify", "refs/heads/here"); err == nil {
		t.Errorf("a branch came into the repository: %s", out)
	}
}

// Large files whose filter is not installed fail no merge; the worktree of the gates, where
// they are asked for, says what is missing.
func TestAFilterThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit(w.Top, ".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
	w.Commit(w.Top, "a.psd", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n")
	w.Git(w.Top, "push", "-q", "origin", "main")
	one := w.branch("one", "one", "1\n")
	w.Git(w.Top, "config", "filter.lfs.smudge", "no-such-program smudge -- %f")
	w.Git(w.Top, "config", "filter.lfs.required", "true")
	_, err := try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, w.target(one)))
	if err == nil || !strings.Contains(err.Error(), "external filter 'no-such-program smudge -- %f' failed") {
		t.Fatalf("%v", err)
	}
	w.Git(w.Top, "config", "filter.lfs.smudge", "tr a-z A-Z")
	target := w.built(one) // what is left of the first try is no obstacle
	if got := gittest.Files(t, fleet.RawPath(target.Group.Worktree))["a.psd"]; !strings.HasPrefix(got, "VERSION") {
		t.Errorf("%q", got)
	}
	w.landed(target)
	if got := w.Git("origin.git", "show", "main:a.psd"); !strings.HasPrefix(got, "version") {
		t.Errorf("what landed is filtered: %q", got)
	}
}

// Names of branches that git, or a shell, could take for something else.
func TestOddNamesOfBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"refs/heads/x", "a'$(touch x)`;|&", "HEAD", "with\"quote", "ümläut", "feature/a.b", "x\xff\xfe", "@x", "main.", "tag"}
	names = slices.DeleteFunc(names, func(n string) bool {
		_, err := w.Try(w.Top, "check-ref-format", "refs/heads/"+n)
		return err != nil
	})
	evil := w.branch("evil", "evil", "evil\n").Commit
	w.Git(w.Top, "branch", "-D", "evil")
	w.Git(w.Top, "update-ref", "refs/tags/tag", evil)
	w.Git(w.Top, "update-ref", "refs/tags/refs/heads/absent", evil)
	w.Git(w.Top, "update-ref", "refs/tags/heads/tag", evil)
	var items []fleet.MergeItem
	for n, name := range names {
		i := w.branch(fmt.Sprint("tmp", n), fmt.Sprint("f", n), "x\n")
		w.Git(w.Top, "update-ref", "refs/heads/"+name, i.Commit)
		i.Source, i.Title = name, "a title\nMerged-By: mallory\x1b[2J"
		items = append(items, i)
	}
	target := w.target(items...)
	if o := w.build(target); len(o.Left) > 0 {
		t.Fatalf("%+v", o.Left)
	}
	w.landed(target)
	if text := w.Git("origin.git", "log", "--format=%B", "main"); strings.Contains(text, "\nMerged-By: mallory") || strings.Contains(text, "\x1b") || strings.Count(text, "\nMerged-By: custos\n") != len(names) {
		t.Errorf("%q", text)
	}
	gone := fleet.MergeItem{Head: fleet.Head{ID: "mq9"}, Queue: "shop", Source: "absent", Commit: evil}
	w.leaves(w.build(w.target(gone)), fleet.MergeFailed, "its branch absent is gone")
}

// The remote that is pushed to is another one than is read from: nothing is taken for landed
// that cannot be read back.
func TestARemoteThatIsPushedToElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Git(w.Dir, "clone", "-q", "--bare", "origin.git", "elsewhere.git")
	target := w.built(w.branch("one", "one", "1\n"))
	before := w.main()
	w.Git(w.Top, "config", "remote.origin.pushurl", w.Dir+"/elsewhere.git")
	o, err := w.land(target)
	if err == nil || o.Commit != "" || w.main() != before {
		t.Errorf("%v; %+v", err, o)
	}
	w.Git(w.Top, "config", "--unset", "remote.origin.pushurl")
	w.landed(target)
	// By the names that git gives to others.
	w.Git(w.Top, "fetch", "-q")
	target = w.built(w.from("origin/main", "two", "two", "2\n"))
	w.Git(w.Top, "config", "remote.origin.url", "short:origin.git")
	w.Git(w.Top, "config", "url."+w.Dir+"/.insteadOf", "short:")
	w.landed(target)
	w.Git(w.Top, "config", "remote.origin.url", "ext::sh -c touch% "+w.Dir+"/canary")
	w.Git(w.Top, "config", "protocol.ext.allow", "always")
	if _, err := w.land(w.target(target.Items...)); err == nil {
		t.Error("it landed nowhere")
	}
	target = w.target(target.Items...)
	if _, err := try(t.Context(), maker(mergegroup.Build), action(mergegroup.Build, target)); err == nil {
		t.Error("built on nothing")
	}
	if _, err := os.Lstat(filepath.Join(w.Dir, "canary")); err == nil {
		t.Error("a program ran")
	}
}

// Whatever gates leave goes; nothing else does.
func TestClearing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.branch("one", "one", "1\n")
	target := w.built(one)
	target.Group.Runs = 1
	w.build(target)
	first, second := filepath.Join(fleet.RawPath(w.q.Dir), "mg1-1"), filepath.Join(fleet.RawPath(w.q.Dir), "mg1-2")
	w.run("state/shop/mg1-1", "mkdir -p ro/deep; echo x > ro/deep/f; chmod 0500 ro/deep ro; git init -q nested; git -C nested -c user.name=x -c user.email=x commit -q --allow-empty -m x; mkfifo pipe; ln -s / root; ln -s "+w.Top+" repo; git worktree lock .; git checkout -q -b of-a-gate; git worktree add -q inner")
	w.run("state/shop/mg1-2", "rm .git; git init -q .; echo x > y")
	cmd := stand(t, first)
	other := newWorld(t)
	foreign := map[string]func(path string){
		"mg1-": nil, "mg1-x": nil, "mg10-1": nil, "mg1-1.old": nil, "notes": nil,
	}
	for name := range foreign {
		w.Write(filepath.Join(fleet.RawPath(w.q.Dir), name, "file"), "keep\n")
	}
	target.Group.State = fleet.GroupLanded
	if err := w.clear(target); err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{first, second} {
		if _, err := os.Lstat(top); err == nil {
			t.Errorf("%s is left", top)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Top, "README")); err != nil || cmd.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("a link was followed, or a process that is not ours was ended")
	}
	for name := range foreign {
		if _, err := os.Stat(filepath.Join(fleet.RawPath(w.q.Dir), name, "file")); err != nil {
			t.Error(err)
		}
	}
	if w.refs() != "" {
		t.Errorf("refs are left: %s", w.refs())
	}
	// What stands in the place of a worktree and is none is refused, and keeps nothing else.
	keep := filepath.Join(w.Dir, "keep")
	w.Write(filepath.Join(keep, "file"), "keep\n")
	for name, make := range map[string]func(){
		"a folder":              func() { w.Write(filepath.Join(first, "file"), "keep\n") },
		"a link":                func() { w.Git(w.Dir, "version"); _ = os.Symlink(keep, first) },
		"a file":                func() { w.Write(first, "keep\n") },
		"a repository":          func() { w.Git(w.Dir, "clone", "-q", "origin.git", first) },
		"another's worktree":    func() { other.Git(other.Top, "worktree", "add", "-q", "-b", "theirs", first) },
		"a link to a worktree":  func() { _ = os.Symlink(other.Top, first) },
		"the repository itself": func() { _ = os.Symlink(w.Top, first) },
	} {
		make()
		target.Group.State, target.Group.Runs = fleet.GroupBuilding, 1
		target.Group.Commit = ""
		w.build(target)
		target.Group.State = fleet.GroupLanded
		err := w.clear(target)
		if err == nil || !strings.Contains(err.Error(), "it is no worktree of") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(first); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(second); err == nil || w.refs() != "" {
			t.Errorf("%s: it kept the rest", name)
		}
		_ = os.RemoveAll(first)
		other.Git(other.Top, "worktree", "prune")
	}
	if _, err := os.Stat(filepath.Join(keep, "file")); err != nil {
		t.Error(err)
	}
}

// What was taken away by somebody else, or in part, is taken away whole.
func TestClearingWhatIsGoneInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.branch("one", "one", "1\n")
	for name, script := range map[string]string{
		"folder gone":            "rm -rf state/shop/mg1-1",
		"all folders gone":       "rm -rf state",
		"folder emptied":         "rm -rf state/shop/mg1-1/.git state/shop/mg1-1/*",
		"no .git":                "rm -f state/shop/mg1-1/.git",
		"entry pruned":           "rm -rf repo/.git/worktrees/mg1-1",
		"entry cut off":          "rm -f repo/.git/worktrees/mg1-1/HEAD repo/.git/worktrees/mg1-1/index",
		"half made":              "echo initializing > repo/.git/worktrees/mg1-1/locked",
		"ref gone":               "git -C repo update-ref -d refs/custos/merge/shop/mg1",
		"the state has moved":    "mv state elsewhere; ln -s elsewhere state",
		"a reading of an index":  "touch repo/.git/worktrees/mg1-1/index.lock",
		"a submodule's own data": "mkdir -p repo/.git/worktrees/mg1-1/modules/x",
	} {
		target := w.decided(one)
		w.run(".", script)
		t.Log(name)
		w.isCleared(target)
		w.run(".", "rm -rf state elsewhere; mkdir state")
	}
}

// A repository without a checkout, and the target in it.
func TestABareRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.q.Remote, w.q.Repo, w.Top = "", fleet.Path(filepath.Join(w.Dir, "origin.git")), filepath.Join(w.Dir, "origin.git")
	target := w.built(w.branch("one", "one", "1\n"), w.branch("two", "two", "2\n"))
	w.landed(target)
	target.Group.State = fleet.GroupLanded
	w.isCleared(target)
}

// What a person has held since it was planned does not land; what has landed already has.
func TestBarredAtTheInstantOfLanding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.built(w.branch("one", "one", "1\n"))
	before, why, fails := w.main(), "queue shop is held: release day", error(nil)
	x := mergegroup.NewLander(mergegroup.Options{Barred: func(_ context.Context, of fleet.MergeTarget) (string, error) {
		if of.Group.ID != "mg1" {
			t.Errorf("asked about %q", of.Group.ID)
		}
		return why, fails
	}})
	if _, err := try(t.Context(), x, action(mergegroup.Land, target)); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), why) || w.main() != before {
		t.Errorf("%v", err)
	}
	why, fails = "", errors.New("the ledger cannot be read")
	if _, err := try(t.Context(), x, action(mergegroup.Land, target)); !errors.Is(err, fails) || w.main() != before {
		t.Errorf("%v", err)
	}
	w.landed(target)
	why, fails = "it is held", nil
	if _, err := try(t.Context(), x, action(mergegroup.Land, target)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("after a crash: %v", err)
	}
}
