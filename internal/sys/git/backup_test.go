package git_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

func backup(t *testing.T, top string) (git.Backup, error) {
	t.Helper()
	p, err := git.At(top)
	if err != nil {
		t.Fatal(err)
	}
	return git.NewWriter(git.New(git.Options{}), git.WriterOptions{}).Backup(t.Context(), p)
}

// restore reads every file of a commit, byte for byte.
func restore(t *testing.T, r *gittest.Repo, commit string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range strings.Split(r.Git(r.Top, "ls-tree", "-r", "-z", "--full-tree", commit), "\x00") {
		meta, path, ok := strings.Cut(e, "\t")
		if !ok {
			continue
		}
		cols := strings.Fields(meta)
		content, err := r.Try(r.Top, "cat-file", "blob", cols[2])
		if err != nil {
			t.Fatal(err)
		}
		if cols[0] == "120000" {
			content = "-> " + content
		}
		files[path] = content
	}
	return files
}

// mess makes a worktree in which everything is different.
func mess(r *gittest.Repo, top string) {
	r.Git(r.Top, "config", "core.autocrlf", "input") // a filter that would change bytes
	r.Commit(top, "committed", "c\n")
	r.Write(top+"/README", "changed\r\nwith CR\r\n")
	os.Remove(top + "/a.txt")
	r.Write(top+"/staged", "staged\n")
	r.Git(top, "add", "staged")
	r.Write(top+"/staged", "staged, then changed\n")
	r.Write(top+"/gone", "staged, then gone\n")
	r.Git(top, "add", "gone")
	os.Remove(top + "/gone")
	r.Write(top+"/dir/new \"quoted\"\nname", "untracked\x00binary\xff")
	r.Write(top+"/dir/\xff\xfe", "no UTF-8 in the name")
	r.Write(top+"/.env", "SECRET=1\n")
	r.Write(top+"/data/deep/x.bin", "ignored, unknown\n")
	r.Write(top+"/exec", "#!/bin/sh\n")
	os.Chmod(top+"/exec", 0o755)
	os.Symlink("nowhere", top+"/link")
	os.Remove(top + "/Cargo.toml")
	r.Write(top+"/Cargo.toml/now/a/folder", "x")
	r.Write(top+"/intent", "")
	r.Git(top, "add", "-N", "intent")
}

func TestBackupHoldsEveryByteAndTouchesNothing(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	mess(r, top)
	r.Write(top+"/node_modules/p/index.js", "reproducible\n")
	lost := r.Commit(top, "amended", "first version\n")
	r.Git(top, "commit", "-q", "--amend", "-m", "another message")
	mine := gittest.Files(t, top)
	delete(mine, "node_modules/p/index.js")
	index, _ := os.ReadFile(filepath.Join(r.Top, ".git/worktrees/w/index"))
	head, status := r.Git(top, "rev-parse", "HEAD"), r.Git(top, "--no-optional-locks", "status", "--porcelain", "--ignored")

	b, err := backup(t, top)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.Ref, "refs/custos/backup/w/") || r.Git(r.Top, "rev-parse", b.Ref) != b.Commit {
		t.Errorf("backup %+v", b)
	}
	if got := restore(t, r, b.Commit); !maps.Equal(got, mine) {
		t.Errorf("restored %q\nwant     %q", got, mine)
	}
	if now, _ := os.ReadFile(filepath.Join(r.Top, ".git/worktrees/w/index")); string(now) != string(index) {
		t.Error("the index was touched")
	}
	if r.Git(top, "rev-parse", "HEAD") != head || r.Git(top, "rev-parse", b.Commit+"^1") != head {
		t.Error("HEAD was touched, or is not the first parent")
	}
	if r.Git(top, "--no-optional-locks", "status", "--porcelain", "--ignored") != status {
		t.Error("the status changed")
	}
	if r.Git(r.Top, "show", b.Commit+"^2:staged") != "staged" || r.Git(r.Top, "show", b.Commit+"^2:gone") != "staged, then gone" {
		t.Error("the index is not kept")
	}
	if out, err := r.Try(r.Top, "merge-base", "--is-ancestor", lost, b.Ref); err != nil {
		t.Errorf("a commit that only the reflog knew is not kept: %s", out)
	}
	if mode := r.Git(r.Top, "ls-tree", b.Commit, "exec"); !strings.HasPrefix(mode, "100755") {
		t.Errorf("mode of exec: %s", mode)
	}
}

func TestBackupSurvivesRemovalAndGarbageCollection(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	mess(r, top)
	mine := gittest.Files(t, top)
	b, err := backup(t, top)
	if err != nil {
		t.Fatal(err)
	}
	r.Git(r.Top, "worktree", "remove", "--force", top)
	r.Git(r.Top, "branch", "-D", "w")
	r.Git(r.Top, "reflog", "expire", "--expire=now", "--all")
	r.Git(r.Top, "gc", "-q", "--prune=now")
	if got := restore(t, r, b.Commit); !maps.Equal(got, mine) {
		t.Errorf("restored %q\nwant     %q", got, mine)
	}
	// The way the documentation names.
	again := filepath.Join(r.Dir, "again")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", again, b.Ref)
	if got := gittest.Files(t, again); !maps.Equal(got, mine) {
		t.Errorf("restored as a worktree %q\nwant %q", got, mine)
	}
}

func TestBackupOfARebase(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Commit(top, "a.txt", "1\nmine\n3\n4\n5\n6\n7\n8\n")
	r.Commit(r.Top, "a.txt", "1\ntheirs\n3\n4\n5\n6\n7\n8\n")
	r.Write(top+"/README", "stashed away\n")
	_, _ = r.Try(top, "rebase", "--autostash", "main")
	r.Write(top+"/a.txt", "half resolved\n")
	mine := gittest.Files(t, top)
	b, err := backup(t, top)
	if err != nil {
		t.Fatal(err)
	}
	if got := restore(t, r, b.Commit); !maps.Equal(got, mine) {
		t.Errorf("restored %q\nwant     %q", got, mine)
	}
	for stage, want := range map[string]string{"1": "2", "2": "theirs", "3": "mine"} {
		if got := r.Git(r.Top, "show", b.Commit+"^2:.custos-stages/"+stage+"/a.txt"); !strings.Contains(got, want) {
			t.Errorf("stage %s: %q", stage, got)
		}
	}
	if n := r.Git(r.Top, "log", "-1", "--format=%P", b.Commit); len(strings.Fields(n)) < 3 {
		t.Errorf("no parent for the autostash: %s", n)
	}
}

func TestBackupOfAMissingWorktree(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Git(top, "checkout", "-q", "--detach")
	head := r.Commit(top, "b", "b\n")
	r.Write(top+"/staged", "staged\n")
	r.Git(top, "add", "staged")
	p, err := git.At(top)
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(top)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
	b, err := w.Backup(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if r.Git(r.Top, "rev-parse", b.Commit+"^1") != head || r.Git(r.Top, "show", b.Commit+"^2:staged") != "staged" {
		t.Error("HEAD or index is not kept")
	}
	if err := w.RemoveWorktree(t.Context(), p, nil); err != nil {
		t.Error(err)
	}
	if list := r.Git(r.Top, "worktree", "list"); strings.Contains(list, "/w ") {
		t.Errorf("still listed: %s", list)
	}
}

func TestBackupRefusesWhatItWouldLose(t *testing.T) {
	for name, make := range map[string]func(r *gittest.Repo, top string){
		"nested repository": func(r *gittest.Repo, top string) { r.Git(top, "init", "-q", "inner"); r.Write(top+"/inner/x", "x") },
		"nested in ignored": func(r *gittest.Repo, top string) { r.Git(top, "init", "-q", "data/inner") },
		"changed submodule": func(r *gittest.Repo, top string) { r.Git(top, "submodule", "add", "-q", r.Dir+"/origin.git", "mod") },
		"too big": func(r *gittest.Repo, top string) {
			r.Write(top+"/big", "")
			if err := os.Truncate(top+"/big", 300<<20); err != nil {
				r.T.Fatal(err)
			}
		},
		"pipe in ignored": func(r *gittest.Repo, top string) {
			r.Write(top+"/data/x", "")
			if err := syscall.Mkfifo(top+"/data/pipe", 0o600); err != nil {
				r.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			top := r.Worktree("w")
			make(r, top)
			if b, err := backup(t, top); !errors.Is(err, git.ErrWouldLose) {
				t.Errorf("backup %+v, %v, want a refusal", b, err)
			}
			if refs := r.Git(r.Top, "for-each-ref", "refs/custos"); refs != "" {
				t.Errorf("refs left: %s", refs)
			}
		})
	}
}

func TestTwoBackupsInOneSecond(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	p, _ := git.At(top)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{Now: func() time.Time { return time.Unix(1e9, 0) }})
	seen := map[string]bool{}
	for range 3 {
		b, err := w.Backup(t.Context(), p)
		if err != nil || seen[b.Ref] {
			t.Fatalf("backup %+v, %v", b, err)
		}
		seen[b.Ref] = true
	}
}

func TestClear(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Write(top+"/target/deep/x", "x")
	r.Write(r.Dir+"/outside/keep", "x")
	os.Symlink(r.Dir+"/outside", top+"/target/link")
	os.Symlink(r.Dir+"/outside", top+"/node_modules")
	os.Chmod(top+"/target/deep", 0o500)
	r.Write(r.Dir+"/.custos-clearing-w-0123456789ab/left", "of an interrupted one")
	r.Write(r.Dir+"/.custos-clearing-w-b-0123456789ab/other", "of another worktree")
	p, _ := git.At(top)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
	for _, rel := range []string{"..", "../outside", ".", "", "/", "node_modules", "README", "absent"} {
		if err := w.Clear(t.Context(), p, rel); err == nil {
			t.Errorf("cleared %q", rel)
		}
	}
	if err := w.Clear(t.Context(), p, "target"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"w/target": false, "outside/keep": true, "w/README": true,
		".custos-clearing-w-0123456789ab": false, ".custos-clearing-w-b-0123456789ab/other": true} {
		if _, err := os.Lstat(filepath.Join(r.Dir, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
