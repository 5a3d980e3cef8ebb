package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// landing is a repository with a commit To that main of origin may move to.
func landing(t testing.TB) (*gittest.Repo, *git.Writer, git.Landing) {
	t.Helper()
	r := gittest.New(t)
	top := r.Worktree("work")
	l := git.Landing{Remote: "origin", Branch: "main", From: r.Git(r.Top, "rev-parse", "main"), To: r.Commit(top, "new", "new\n")}
	return r, git.NewWriter(git.New(git.Options{}), git.WriterOptions{}), l
}

// clone is somebody else's, with one commit more on main.
func clone(r *gittest.Repo) (top, commit string) {
	r.T.Helper()
	r.Git(r.Dir, "clone", "-q", "origin.git", "other")
	top = filepath.Join(r.Dir, "other")
	return top, r.Commit(top, "theirs", "theirs\n")
}

func at(r *gittest.Repo, branch string) string {
	r.T.Helper()
	return r.Git("origin.git", "rev-parse", "refs/heads/"+branch)
}

// hook is a program of the remote.
func hook(r *gittest.Repo, name, script string) {
	r.T.Helper()
	path := filepath.Join(r.Dir, "origin.git", "hooks", name)
	r.Write(path, "#!/bin/sh\n"+script)
	must(r.T, os.Chmod(path, 0o755))
}

func TestLand(t *testing.T) {
	r, w, l := landing(t)
	r.Git("origin.git", "config", "receive.denyNonFastForwards", "true")
	canary := filepath.Join(r.Dir, "canary")
	r.Write("repo/.git/hooks/pre-push", "#!/bin/sh\ntouch '"+canary+"'\n")
	must(t, os.Chmod(filepath.Join(r.Top, ".git/hooks/pre-push"), 0o755))
	tracking := r.Git(r.Top, "for-each-ref")
	for range 2 { // what has landed may land again
		if err := w.Land(t.Context(), r.Top, l); err != nil || at(r, "main") != l.To {
			t.Fatalf("%v; main is at %s", err, at(r, "main"))
		}
	}
	if _, err := os.Lstat(canary); err == nil || r.Git(r.Top, "for-each-ref") != tracking {
		t.Error("a hook ran, or a ref of the repository moved")
	}
}

func TestLandRefusesBeforehand(t *testing.T) {
	r, w, l := landing(t)
	other := r.Git(r.Top, "commit-tree", "-m", "other", "-p", l.From, "main^{tree}")
	for name, bad := range map[string]git.Landing{
		"from nothing":    {l.Remote, "main", "", l.To},
		"from zeros":      {l.Remote, "main", strings.Repeat("0", 40), l.To},
		"from a branch":   {l.Remote, "main", "main", l.To},
		"to nothing":      {l.Remote, "main", l.From, ""},
		"to another line": {l.Remote, "main", other, l.To},
		"back":            {l.Remote, "main", l.To, l.From},
		"to what is not":  {l.Remote, "main", l.From, strings.Repeat("1", 40)},
		"a refspec":       {l.Remote, "main:refs/heads/x", l.From, l.To},
		"no branch":       {l.Remote, "", l.From, l.To},
		"no remote":       {"nowhere", "main", l.From, l.To},
	} {
		err := w.Land(t.Context(), r.Top, bad)
		if err == nil || errors.Is(err, git.ErrRejected) || errors.Is(err, git.ErrDeclined) || at(r, "main") != l.From {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLandWhereAnotherWasFirst(t *testing.T) {
	r, w, l := landing(t)
	top, theirs := clone(r)
	r.Git(top, "push", "-q")
	for range 2 {
		if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrRejected) || at(r, "main") != theirs {
			t.Fatalf("%v; main is at %s, want %s", err, at(r, "main"), theirs)
		}
		r.Git(r.Top, "fetch", "-q") // that it is known changes nothing
	}
	r.Git("origin.git", "update-ref", "-d", "refs/heads/main")
	if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrRejected) || r.Git("origin.git", "for-each-ref") != "" {
		t.Errorf("a branch that is gone: %v", err)
	}
}

// Another is first between git's look at the remote and its move: only the remote itself can see that.
func TestLandWhereAnotherIsFirstAtTheRemote(t *testing.T) {
	r, w, l := landing(t)
	top, theirs := clone(r)
	r.Git(top, "push", "-q", "origin", theirs+":refs/heads/side")
	hook(r, "pre-receive", "unset GIT_QUARANTINE_PATH; exec git update-ref refs/heads/main "+theirs+"\n")
	if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrRejected) || at(r, "main") != theirs {
		t.Errorf("%v; main is at %s, want %s", err, at(r, "main"), theirs)
	}
}

// A remote that was set back has taken something out: a plain push would bring it again.
func TestLandOnARemoteThatWasSetBack(t *testing.T) {
	r, w, l := landing(t)
	must(t, w.Land(t.Context(), r.Top, l))
	next := git.Landing{Remote: l.Remote, Branch: l.Branch, From: l.To, To: r.Commit(filepath.Join(r.Dir, "work"), "more", "more\n")}
	r.Git("origin.git", "update-ref", "refs/heads/main", l.From)
	if err := w.Land(t.Context(), r.Top, next); !errors.Is(err, git.ErrRejected) || at(r, "main") != l.From {
		t.Errorf("%v; main is at %s", err, at(r, "main"))
	}
}

func TestLandDeclined(t *testing.T) {
	for name, c := range map[string]struct{ hook, script, want string }{
		"before all":       {"pre-receive", "echo 'first'; printf 'not \"on\" my\\033 watch\\n' >&2; exit 1", `first\nnot \"on\" my\x1b watch`},
		"one branch":       {"update", "echo no; exit 1", `no\nerror: hook declined`},
		"without a word":   {"update", "exit 1", "hook declined"},
		"the last of many": {"pre-receive", "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done; exit 1", `line 198\nline 199"`},
	} {
		r, w, l := landing(t)
		hook(r, c.hook, c.script)
		err := w.Land(t.Context(), r.Top, l)
		if !errors.Is(err, git.ErrDeclined) || errors.Is(err, git.ErrRejected) || !strings.Contains(err.Error(), c.want) || at(r, "main") != l.From {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 900 {
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
		if err := w.Push(t.Context(), r.Top, l.Remote, l.To, l.Branch); !errors.Is(err, git.ErrDeclined) {
			t.Errorf("%s, pushed: %v", name, err)
		}
	}
}

func TestPush(t *testing.T) {
	r, w, l := landing(t)
	must(t, w.Push(t.Context(), r.Top, l.Remote, l.To, "new"))
	must(t, w.Push(t.Context(), r.Top, l.Remote, l.To, "main"))
	if at(r, "new") != l.To || at(r, "main") != l.To {
		t.Error("it is not there")
	}
	other := r.Git(r.Top, "commit-tree", "-m", "other", "-p", l.From, "main^{tree}")
	if err := w.Push(t.Context(), r.Top, l.Remote, other, "main"); !errors.Is(err, git.ErrRejected) || at(r, "main") != l.To {
		t.Errorf("by force: %v", err)
	}
}

// What became of it is not known, and not said.
func TestLandWithoutARemote(t *testing.T) {
	r, w, l := landing(t)
	r.Git(r.Top, "remote", "set-url", "origin", "https://user:planted-secret@127.0.0.1:1/x.git")
	err := w.Land(t.Context(), r.Top, l)
	if err == nil || errors.Is(err, git.ErrRejected) || errors.Is(err, git.ErrDeclined) || strings.Contains(err.Error(), "planted-secret") {
		t.Errorf("%v", err)
	}
}

func TestLandOfTwoAtOnce(t *testing.T) {
	for _, remote := range []string{"origin", ""} {
		r, w, l := landing(t)
		l.Remote, l.Branch = remote, "target"
		r.Git(r.Top, "branch", "target", l.From)
		r.Git(r.Top, "push", "-q", "origin", "target")
		const all = 4
		var errs [all]error
		var to [all]string
		for i := range all {
			to[i] = r.Commit(filepath.Join(r.Dir, "work"), "file", strings.Repeat("x\n", i+1))
		}
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				mine := l
				mine.To = to[i]
				errs[i] = w.Land(t.Context(), r.Top, mine)
			})
		}
		wg.Wait()
		dir := map[string]string{"origin": "origin.git", "": r.Top}[remote]
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				if is := r.Git(dir, "rev-parse", "refs/heads/target"); is != to[i] {
					t.Errorf("%q: it stands at %s, want %s", remote, is, to[i])
				}
			} else if !errors.Is(err, git.ErrRejected) {
				t.Errorf("%q: %v", remote, err)
			}
		}
		if won != 1 {
			t.Errorf("%q: %d landed", remote, won)
		}
	}
}

// The context ends in the middle: whether it landed is asked of the remote.
func TestLandCutOff(t *testing.T) {
	for _, name := range []string{"pre-receive", "post-receive"} {
		r, w, l := landing(t)
		pipe := filepath.Join(r.Dir, "pipe")
		must(t, syscall.Mkfifo(pipe, 0o600))
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		hook(r, name, "echo > '"+pipe+"'; exec sleep 60\n")
		ctx, cancel := context.WithCancel(t.Context())
		over, middle := make(chan error, 1), make(chan error, 1)
		go func() { over <- w.Land(ctx, r.Top, l) }()
		go func() {
			_, err := f.Read(make([]byte, 1))
			middle <- err
		}()
		select {
		case err := <-middle:
			must(t, err)
		case err := <-over:
			t.Fatalf("it ended without the hook: %v", err)
		}
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) || errors.Is(err, git.ErrRejected) || errors.Is(err, git.ErrDeclined) {
			t.Errorf("%s: %v", name, err)
		}
		want := map[string]string{"pre-receive": l.From, "post-receive": l.To}[name]
		if tips, err := w.RemoteBranches(t.Context(), r.Top, "origin", "main"); err != nil || tips["main"] != want {
			t.Errorf("%s: %v, %v; want %s", name, tips, err, want)
		}
	}
}

// A person's checkout of the branch stays as it is.
func TestLandBesideACheckout(t *testing.T) {
	r, w, l := landing(t)
	r.Write("repo/a.txt", "dirty\n")
	r.Write("repo/staged", "staged\n")
	r.Git(r.Top, "add", "staged")
	r.Write("repo/untracked", "untracked\n")
	state := func() map[string]string {
		files := gittest.Files(t, r.Top)
		for _, name := range []string{"HEAD", "index", "refs/heads/main", "refs/remotes/origin/main", "logs/HEAD"} {
			b, err := os.ReadFile(filepath.Join(r.Top, ".git", name))
			must(t, err)
			files[".git/"+name] = string(b)
		}
		return files
	}
	was := state()
	local := l
	local.Remote = ""
	if err := w.Land(t.Context(), filepath.Join(r.Dir, "work"), local); !errors.Is(err, git.ErrCheckedOut) || !strings.Contains(err.Error(), r.Top) {
		t.Errorf("here: %v", err)
	}
	must(t, w.Land(t.Context(), r.Top, l))
	is := state()
	for name := range was {
		if is[name] != was[name] {
			t.Errorf("%s was %q and is %q", name, was[name], is[name])
		}
	}
	if len(is) != len(was) || at(r, "main") != l.To {
		t.Errorf("%d files, want %d; main is at %s", len(is), len(was), at(r, "main"))
	}
}

func TestLandHere(t *testing.T) {
	r, w, l := landing(t)
	l.Remote, l.Branch = "", "target"
	here := func() string { return r.Git(r.Top, "for-each-ref", "--format=%(objectname)", "refs/heads/target") }
	if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrRejected) || here() != "" {
		t.Errorf("it is not there: %v", err)
	}
	r.Git(r.Top, "branch", "target", l.From)
	must(t, w.Land(t.Context(), r.Top, l))
	if log := r.Git(r.Top, "reflog", "show", "target"); here() != l.To || !strings.Contains(log, "custos: land") {
		t.Errorf("it is at %s; %s", here(), log)
	}
	if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrRejected) {
		t.Errorf("again: %v", err)
	}
	r.Git(r.Top, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	l.Branch = "alias"
	if err := w.Land(t.Context(), r.Top, l); err == nil || r.Git(r.Top, "rev-parse", "main") != l.From {
		t.Errorf("by another name: %v", err)
	}
}

// A rebase goes back to its branch when it ends, and bare repositories have nothing checked out.
func TestLandHereWhereABranchIsHeld(t *testing.T) {
	r := gittest.New(t)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
	top := r.Rebase("stuck")
	from := r.Git(r.Top, "rev-parse", "stuck")
	l := git.Landing{Branch: "stuck", From: from, To: r.Git(r.Top, "commit-tree", "-m", "x", "-p", from, "stuck^{tree}")}
	if err := w.Land(t.Context(), r.Top, l); !errors.Is(err, git.ErrCheckedOut) || !strings.Contains(err.Error(), top) {
		t.Errorf("in a rebase: %v", err)
	}
	bare := filepath.Join(r.Dir, "origin.git")
	from = r.Git(bare, "rev-parse", "main")
	l = git.Landing{Branch: "main", From: from, To: r.Git(bare, "commit-tree", "-m", "x", "-p", from, "main^{tree}")}
	if err := w.Land(t.Context(), bare, l); err != nil || at(r, "main") != l.To {
		t.Errorf("bare: %v", err)
	}
}

func TestRemoteBranches(t *testing.T) {
	r, w, l := landing(t)
	for _, b := range []string{"x", "a/refs/heads/x", "a/x", "y"} {
		r.Git("origin.git", "branch", b, "main")
	}
	r.Git("origin.git", "tag", "z", "main")
	tips, err := w.RemoteBranches(t.Context(), r.Top, "origin", "x", "main", "z", "none")
	if err != nil || len(tips) != 2 || tips["x"] != l.From || tips["main"] != l.From {
		t.Errorf("%v, %v", tips, err)
	}
	if tips, err := w.RemoteBranches(t.Context(), r.Top, "origin"); err != nil || len(tips) != 0 {
		t.Errorf("of none: %v, %v", tips, err)
	}
	if _, err := w.RemoteBranches(t.Context(), r.Top, "nowhere", "x"); err == nil {
		t.Error("a remote that is not there answered")
	}
}

func TestKeepRef(t *testing.T) {
	r, w, l := landing(t)
	ref := git.MergeRefs + "main/1"
	for _, to := range []string{l.From, l.To, l.To} {
		if err := w.KeepRef(t.Context(), r.Top, ref, to); err != nil || r.Git(r.Top, "rev-parse", ref) != to {
			t.Errorf("%v", err)
		}
	}
	r.Git(r.Top, "symbolic-ref", git.MergeRefs+"link", "refs/heads/main")
	if err := w.KeepRef(t.Context(), r.Top, git.MergeRefs+"link", l.To); err != nil || r.Git(r.Top, "rev-parse", "main") != l.From {
		t.Errorf("through a link: %v", err)
	}
	for range 2 {
		if err := w.DropRef(t.Context(), r.Top, ref); err != nil || strings.Contains(r.Git(r.Top, "for-each-ref"), ref) {
			t.Errorf("%v", err)
		}
	}
	was := r.Git(r.Top, "for-each-ref")
	for _, bad := range []string{"", "refs/heads/main", "main", "refs/custos/backup/x", git.MergeRefs, git.MergeRefs + "../../heads/main", git.MergeRefs + "a b", "-d"} {
		if w.KeepRef(t.Context(), r.Top, bad, l.To) == nil || w.DropRef(t.Context(), r.Top, bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, bad := range []string{"", "main", strings.Repeat("0", 40), strings.Repeat("1", 40)} {
		if w.KeepRef(t.Context(), r.Top, ref, bad) == nil {
			t.Errorf("%q was kept", bad)
		}
	}
	if r.Git(r.Top, "for-each-ref") != was {
		t.Error("a ref has moved")
	}
}
