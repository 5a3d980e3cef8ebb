package git_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// look looks at a linked worktree as the probe does, with nobody inside.
func look(t *testing.T, r *gittest.Repo, top string) git.Status {
	t.Helper()
	reader := git.New(git.Options{})
	common := filepath.Join(r.Top, ".git")
	l, ok, err := reader.Registered(t.Context(), common, top)
	if err != nil || !ok {
		t.Fatalf("%q is not registered: %v", top, err)
	}
	s := reader.Look(t.Context(), reader.Ask(t.Context(), common, l, "", nil))
	s.Occupied = git.Answered([]int{}, nil)
	return s
}

func TestObstaclesOfRealWorktrees(t *testing.T) {
	for name, c := range map[string]struct {
		make func(r *gittest.Repo, top string)
		want []string // each is part of an obstacle, in order; none: removable
	}{
		"clean and merged": {func(r *gittest.Repo, top string) {}, nil},
		"merged by ancestry": {func(r *gittest.Repo, top string) {
			r.Commit(top, "b", "b\n")
			r.Git(r.Top, "merge", "-q", "--no-ff", "-m", "m", filepath.Base(top))
		}, nil},
		"merged by squash": {func(r *gittest.Repo, top string) {
			r.Commit(top, "b", "b\n")
			r.Commit(top, "b", "b2\n")
			r.Squash(filepath.Base(top))
		}, nil},
		"squashed, and built upon": {func(r *gittest.Repo, top string) {
			r.Commit(top, "b", "b\n")
			r.Squash(filepath.Base(top))
			r.Commit(r.Top, "b", "other\n")
		}, nil},
		"squashed after main moved in the same file": {func(r *gittest.Repo, top string) {
			r.Commit(top, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n")
			r.Commit(r.Top, "a.txt", "1\n2\n3\n4\n5\n6\n7\neight\n")
			r.Squash(filepath.Base(top))
		}, nil},
		"not merged, unpushed": {func(r *gittest.Repo, top string) { r.Commit(top, "b", "b\n") }, []string{`not merged into "main", and 1 unpushed`}},
		"not merged, pushed": {func(r *gittest.Repo, top string) {
			r.Commit(top, "b", "b\n")
			r.Git(top, "push", "-q", "origin", "HEAD")
		}, []string{"not merged into \"main\" (its commits are on a remote)"}},
		"partly picked": {func(r *gittest.Repo, top string) {
			one := r.Commit(top, "b", "b\n")
			r.Commit(top, "c", "c\n")
			r.Git(r.Top, "cherry-pick", one)
		}, []string{"not merged"}},
		"merge driver that lies": {func(r *gittest.Repo, top string) {
			r.Git(r.Top, "config", "merge.ours.driver", "true")
			r.Commit(r.Top, ".gitattributes", "* merge=ours\n")
			r.Commit(r.Top, "a.txt", "1\n2\n3\n4\n5\n6\n7\neight\n")
			r.Commit(top, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n")
		}, []string{"not merged"}},
		"dirty":     {func(r *gittest.Repo, top string) { r.Write(top+"/README", "two\n") }, []string{`1 changed: "README"`}},
		"deleted":   {func(r *gittest.Repo, top string) { os.Remove(top + "/README") }, []string{"1 changed"}},
		"staged":    {func(r *gittest.Repo, top string) { r.Write(top+"/n", "n"); r.Git(top, "add", "n") }, []string{"1 changed"}},
		"untracked": {func(r *gittest.Repo, top string) { r.Write(top+"/d/new", "n") }, []string{`1 untracked: "d/new"`}},
		"hidden": {func(r *gittest.Repo, top string) {
			r.Git(top, "update-index", "--skip-worktree", "README")
			r.Write(top+"/README", "secret\n")
		}, []string{"flagged"}},
		".env":             {func(r *gittest.Repo, top string) { r.Write(top+"/.env", "K=v") }, []string{`precious: ".env"`}},
		"database":         {func(r *gittest.Repo, top string) { r.Write(top+"/x.sqlite", "K=v") }, []string{`precious: "x.sqlite"`}},
		"ignored, unknown": {func(r *gittest.Repo, top string) { r.Write(top+"/data/x", "K=v") }, []string{`precious: "data/"`}},
		"build output only": {func(r *gittest.Repo, top string) {
			r.Write(top+"/node_modules/p/q/r/cert.pem", "x")
			r.Write(top+"/target/debug/x", "x")
			r.Write(top+"/x.o", "x")
		}, nil},
		"precious in build output":    {func(r *gittest.Repo, top string) { r.Write(top+"/target/debug/.env", "x") }, []string{`precious: "target/debug/.env"`}},
		"precious on top of packages": {func(r *gittest.Repo, top string) { r.Write(top+"/node_modules/.env", "x") }, []string{"precious"}},
		"a target folder without a build file": {func(r *gittest.Repo, top string) {
			r.Git(top, "rm", "-q", "Cargo.toml")
			r.Write(top+"/target/debug/x", "x")
		}, []string{"changed", `precious: "target/"`}},
		"stashed":            {func(r *gittest.Repo, top string) { r.Write(top+"/README", "x"); r.Git(top, "stash") }, []string{"1 stashed"}},
		"stashed on another": {func(r *gittest.Repo, top string) { r.Write(r.Top+"/README", "x"); r.Git(r.Top, "stash") }, nil},
		"locked":             {func(r *gittest.Repo, top string) { r.Git(r.Top, "worktree", "lock", top) }, []string{"locked"}},
		"crashed":            {func(r *gittest.Repo, top string) { r.Write(top+"/.custos-crashed", "") }, []string{"preserved after a crash"}},
		"crashed long ago": {func(r *gittest.Repo, top string) {
			r.Write(top+"/.custos-crashed", "")
			r.Age(25*time.Hour, top)
		}, nil},
		"detached, merged":   {func(r *gittest.Repo, top string) { r.Git(top, "checkout", "-q", "--detach") }, nil},
		"detached, own work": {func(r *gittest.Repo, top string) { r.Git(top, "checkout", "-q", "--detach"); r.Commit(top, "b", "b") }, []string{"not merged into \"main\", and 1 unpushed"}},
		"detached, stashed": {func(r *gittest.Repo, top string) {
			r.Git(top, "checkout", "-q", "--detach")
			r.Write(top+"/README", "x")
			r.Git(top, "stash")
		}, []string{"1 stashed"}},
		"nested repository": {func(r *gittest.Repo, top string) { r.Git(top, "init", "-q", "inner"); r.Write(top+"/inner/x", "x") }, []string{`1 untracked: "inner/"`, `holds another repository: "inner"`}},
		"nested, ignored":   {func(r *gittest.Repo, top string) { r.Git(top, "init", "-q", "target/inner") }, []string{"precious", "holds another repository"}},
		"submodule": {func(r *gittest.Repo, top string) {
			r.Git(top, "submodule", "add", "-q", r.Dir+"/origin.git", "mod")
		}, []string{"2 changed", "has submodules", "holds another repository"}},
		"socket":              {func(r *gittest.Repo, top string) { listen(r.T, top) }, []string{"holds sockets"}},
		"missing, just now":   {func(r *gittest.Repo, top string) { os.RemoveAll(top) }, []string{"it may be seen from elsewhere"}},
		"missing, long since": {func(r *gittest.Repo, top string) { os.RemoveAll(top); r.Age(25*time.Hour, r.Top+"/.git/worktrees") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			top := r.Worktree("w")
			c.make(r, top)
			list, known := git.Obstacles(look(t, r, top), time.Now())
			if !known {
				t.Errorf("not known: %q", list)
			}
			wantParts(t, list, c.want)
		})
	}
}

// listen leaves a socket in a folder; its name is short because the kernel's cap is.
func listen(t testing.TB, top string) {
	t.Helper()
	old, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(old)
	if err := os.Chdir(top); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func wantParts(t *testing.T, list, want []string) {
	t.Helper()
	if len(list) != len(want) {
		t.Fatalf("obstacles %q, want %q", list, want)
	}
	for i := range want {
		if !strings.Contains(list[i], want[i]) {
			t.Errorf("obstacle %q, want %q", list[i], want[i])
		}
	}
}

func TestNothingSeenIsNeverRemovable(t *testing.T) {
	if list, known := git.Obstacles(git.Status{}, time.Now()); known || len(list) == 0 {
		t.Errorf("the zero status: %q, %v", list, known)
	}
	r := gittest.New(t)
	top := r.Worktree("w")
	whole := look(t, r, top)
	boom := errors.New("boom")
	for name, blind := range map[string]func(s *git.Status){
		"head":      func(s *git.Status) { s.Head = git.Answered(git.Head{}, boom) },
		"changes":   func(s *git.Status) { s.Changes = git.Answered(git.Changes{}, boom) },
		"precious":  func(s *git.Status) { s.Precious = git.Answered[[]string](nil, boom) },
		"size":      func(s *git.Status) { s.Size = git.Answered(git.Size{}, boom) },
		"operation": func(s *git.Status) { s.Operation = git.Answered(git.Operation{}, boom) },
		"primary":   func(s *git.Status) { s.Primary = git.Answered(git.Primary{}, boom) },
		"merged":    func(s *git.Status) { s.Merged = git.Answered(git.Merged{}, boom) },
		"stashed":   func(s *git.Status) { s.Stashed = git.Answered(0, boom) },
		"occupied":  func(s *git.Status) { s.Occupied = git.Answered[[]int](nil, boom) },
	} {
		s := whole
		blind(&s)
		if list, known := git.Obstacles(s, time.Now()); known || len(list) != 1 || !strings.Contains(list[0], "boom") {
			t.Errorf("without %s: %q, %v", name, list, known)
		}
	}
	if list, known := git.Obstacles(whole, time.Now()); !known || len(list) != 0 {
		t.Errorf("whole: %q, %v", list, known)
	}
}

func TestStrangeNames(t *testing.T) {
	for _, name := range []string{"with space", "new\nline", "quo\"te", "back\\slash", "esc\x1b[31m", "-dash", "\xff\xfe", "*", "{a,b}", "trailing "} {
		r := gittest.New(t)
		top := filepath.Join(r.Dir, name)
		if out, err := r.Try(r.Top, "worktree", "add", "-q", "-b", "w", "--", top, "main"); err != nil {
			t.Fatalf("%q: %s", name, out)
		}
		r.Write(top+"/"+name+".untracked", "x")
		if filepath.Base(top) != name {
			t.Fatalf("%q", top)
		}
		s := look(t, r, top)
		c, err := s.Changes.Get()
		if err != nil || !slices.Equal(c.Untracked, []string{name + ".untracked"}) {
			t.Errorf("%q: untracked %q, %v", name, c.Untracked, err)
		}
		list, _ := git.Obstacles(s, time.Now())
		if len(list) != 1 || strings.ContainsAny(list[0], "\x1b\n\xff") {
			t.Errorf("%q: obstacles %q", name, list)
		}
		place, err := git.Find(filepath.Join(top))
		if err != nil || place.Top != top || place.Main() != r.Top {
			t.Errorf("%q: found %+v, %v", name, place, err)
		}
	}
}

func TestLookingChangesNothing(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Commit(top, "b", "b\n")
	r.Age(time.Hour, r.Top, top) // every stat in the index is now wrong: a refresh would rewrite it
	before := tree(t, r.Dir)
	look(t, r, top)
	if after := tree(t, r.Dir); after != before {
		t.Errorf("looking changed something:\n%s\n---\n%s", before, after)
	}
}

// tree describes every file with its time.
func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if strings.Contains(p, "/objects/") && !e.IsDir() {
			b.WriteString(p + "\n") // git may freshen the time of an object it would have written
			return nil
		}
		b.WriteString(p + " " + info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOperations(t *testing.T) {
	r := gittest.New(t)
	top := r.Rebase("w")
	for _, c := range []struct{ end, want string }{{"", "rebase"}, {"rebase --abort", ""}} {
		if c.end != "" {
			r.Git(top, strings.Fields(c.end)...)
		}
		p, err := git.At(top)
		if err != nil {
			t.Fatal(err)
		}
		if op, err := p.Operation(); err != nil || op.Name != c.want || c.want != "" && time.Since(op.Moved) > time.Minute {
			t.Errorf("operation %+v, %v, want %q", op, err, c.want)
		}
	}
	for _, c := range []struct {
		name string
		args []string
	}{{"merge", []string{"merge", "main"}}, {"cherry-pick", []string{"cherry-pick", "main"}}, {"rebase", []string{"rebase", "--apply", "main"}}} {
		_, _ = r.Try(top, c.args...)
		p, _ := git.At(top)
		if op, err := p.Operation(); err != nil || op.Name != c.name {
			t.Errorf("operation %+v, %v, want %q", op, err, c.name)
		}
		r.Git(top, c.args[0], "--abort")
	}
}

func TestHungGit(t *testing.T) {
	r := gittest.New(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "git")
	pidfile := filepath.Join(dir, "pid")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\nsleep 600 & echo $! > "+pidfile+"\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := git.New(git.Options{Binary: fake}).Worktrees(ctx, r.Top)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hung git: %v", err)
	}
	raw, err := os.ReadFile(pidfile)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(raw))
	for deadline := time.Now().Add(5 * time.Second); ; {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child of the hung git still runs: %s", stat)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestTooMuchOutput(t *testing.T) {
	r := gittest.New(t)
	if _, err := git.New(git.Options{MaxOutput: 10}).Worktrees(t.Context(), r.Top); !errors.Is(err, git.ErrTooMuch) {
		t.Errorf("capped git: %v", err)
	}
}

func TestEnvironmentOfAHookDoesNotCount(t *testing.T) {
	r, other := gittest.New(t), gittest.New(t)
	t.Setenv("GIT_DIR", filepath.Join(other.Top, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.Top, ".git", "index"))
	list, err := git.New(git.Options{}).Worktrees(t.Context(), r.Top)
	if err != nil || list[0].Path != r.Top {
		t.Errorf("worktrees %+v, %v", list, err)
	}
}

func TestBrokenRepositories(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	if err := os.Rename(filepath.Join(r.Top, ".git", "worktrees"), filepath.Join(r.Dir, "aside")); err != nil {
		t.Fatal(err)
	}
	if _, err := git.At(top); err == nil || errors.Is(err, git.ErrNotRepository) {
		t.Errorf("a worktree whose entry is gone: %v", err)
	}
	if _, err := git.Find(t.TempDir()); !errors.Is(err, git.ErrNotRepository) {
		t.Errorf("no repository: %v", err)
	}
	if p, err := git.At(filepath.Join(r.Dir, "origin.git")); err != nil || !p.Bare {
		t.Errorf("bare: %+v, %v", p, err)
	}
}

func TestPrimary(t *testing.T) {
	r := gittest.New(t)
	reader := git.New(git.Options{})
	for _, c := range []struct{ configured, want string }{{"", "main"}, {"main", "main"}, {"nope", ""}} {
		p, err := reader.Primary(t.Context(), r.Top, c.configured)
		if p.Name != c.want && c.want != "" || (err != nil) != (c.want == "") {
			t.Errorf("primary with %q configured: %+v, %v", c.configured, p, err)
		}
	}
	r.Git(r.Top, "branch", "trunk")
	r.Git(r.Top, "push", "-q", "origin", "trunk")
	r.Git(r.Top, "remote", "set-head", "origin", "trunk")
	if p, err := reader.Primary(t.Context(), r.Top, ""); err != nil || p.Name != "trunk" || len(p.Refs) != 2 {
		t.Errorf("primary by the remote's HEAD: %+v, %v", p, err)
	}
}

// none is beyond every pid there can be.
const none = 1 << 30

func TestInside(t *testing.T) {
	r := gittest.New(t)
	inner := filepath.Join(r.Top, "trees", "w")
	r.Git(r.Top, "worktree", "add", "-q", "-b", "w", inner)
	self := os.Getuid()
	rows := []git.CWD{{PID: none + 10, UID: self, Path: inner + "/x"}, {PID: none + 11, UID: self, Path: r.Top + "-other"}, {PID: none + 12, UID: self, Name: "ssh-agent"}}
	want := func(rows []git.CWD, folder string, pids []int, known bool) {
		t.Helper()
		got, err := git.Inside(rows, folder)
		if (err == nil) != known || known && !slices.Equal(got, pids) {
			t.Errorf("inside %s: %v, %v, want %v", folder, got, err, pids)
		}
	}
	os.MkdirAll(inner+"/x", 0o755)
	want(rows, inner, []int{none + 10}, true)
	want(rows, r.Top, nil, true) // a linked worktree inside is not the main one
	want(append(rows, git.CWD{PID: none + 13, UID: self, Path: r.Top}), r.Top, []int{none + 13}, true)
	link := filepath.Join(r.Dir, "link")
	os.Symlink(r.Top, link)
	want(rows, link+"/trees/w", []int{none + 10}, true)
	want(append(rows, git.CWD{PID: none + 14, UID: self, Name: "node"}), inner, nil, false)
}

func TestInsideFromAnotherMountNamespace(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Write(top+"/sub/x", "x")
	place := filepath.Join(r.Dir, "place")
	os.Mkdir(place, 0o755)
	cmd := exec.Command("sh", "-c", `mount --bind "$1" "$2" && cd "$2/sub" && echo ready && exec sleep 600`, "sh", top, place)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("this machine lets nobody make a mount namespace: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if n, _ := out.Read(make([]byte, 6)); n == 0 {
		t.Skip("this machine lets nobody mount in a namespace of his own")
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", cmd.Process.Pid))
	if err != nil || path != place+"/sub" {
		t.Fatalf("it stands in %q, %v", path, err)
	}
	rows := []git.CWD{{PID: cmd.Process.Pid, UID: os.Getuid(), Name: "sleep", Path: path}}
	if pids, err := git.Inside(rows, top); err != nil || len(pids) != 1 {
		t.Errorf("inside, under another name: %v, %v", pids, err)
	}
	if pids, err := git.Inside(rows, r.Top); err != nil || len(pids) != 0 {
		t.Errorf("inside another folder: %v, %v", pids, err)
	}
}
