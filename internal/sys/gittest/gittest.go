// Package gittest builds real git repositories for tests, in t.TempDir, with no
// configuration but its own.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Repo is a scratch repository with worktrees beside it.
type Repo struct {
	T   testing.TB
	Dir string // everything lies in here
	Top string // the main worktree
}

// New makes a repository with one commit on main, and a bare origin it was
// pushed to. Configuration of the machine and of the user does not count.
func New(t testing.TB) *Repo {
	t.Helper()
	if tt, ok := t.(interface{ Setenv(k, v string) }); ok {
		tt.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
		tt.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Repo{T: t, Dir: dir, Top: filepath.Join(dir, "repo")}
	r.Git(dir, "init", "-q", "--bare", "-b", "main", "origin.git")
	r.Git(dir, "init", "-q", "-b", "main", "repo")
	r.Write("repo/README", "one\n")
	r.Write("repo/a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")
	r.Write("repo/.gitignore", "node_modules/\ntarget/\ndata/\n.env\n*.sqlite\n*.o\n__pycache__/\n")
	r.Write("repo/Cargo.toml", "[package]\n")
	r.Git(r.Top, "add", ".")
	r.Git(r.Top, "commit", "-q", "-m", "first")
	r.Git(r.Top, "remote", "add", "origin", "../origin.git")
	r.Git(r.Top, "push", "-q", "-u", "origin", "main")
	return r
}

// Git runs git in a folder (absolute, or relative to Dir) and returns what it
// wrote; a failure ends the test.
func (r *Repo) Git(dir string, args ...string) string {
	r.T.Helper()
	out, err := r.Try(dir, args...)
	if err != nil {
		r.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// Try runs git and returns its failure.
func (r *Repo) Try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	if cmd.Dir = dir; !filepath.IsAbs(dir) {
		cmd.Dir = filepath.Join(r.Dir, dir)
	}
	cmd.Env = append(os.Environ(), "GIT_EDITOR=true", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Worktree adds a linked worktree on a new branch of the same name, from main,
// and returns its folder.
func (r *Repo) Worktree(name string) string {
	r.T.Helper()
	top := filepath.Join(r.Dir, name)
	r.Git(r.Top, "worktree", "add", "-q", "-b", name, top, "main")
	return top
}

// Write writes a file; the path is absolute, or relative to Dir.
func (r *Repo) Write(path, content string) {
	r.T.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

// Commit writes a file in a worktree and commits it.
func (r *Repo) Commit(top, file, content string) string {
	r.T.Helper()
	r.Write(filepath.Join(top, file), content)
	r.Git(top, "add", "--", file)
	r.Git(top, "commit", "-q", "-m", "change "+strings.ToValidUTF8(file, "?"))
	return r.Git(top, "rev-parse", "HEAD")
}

// Squash brings a branch into main as one new commit.
func (r *Repo) Squash(branch string) {
	r.T.Helper()
	r.Git(r.Top, "merge", "-q", "--squash", branch)
	r.Git(r.Top, "commit", "-q", "-m", "squashed "+branch)
}

// Rebase leaves a rebase standing at a conflict in a worktree on branch name,
// and returns the worktree.
func (r *Repo) Rebase(name string) string {
	r.T.Helper()
	top := r.Worktree(name)
	r.Commit(top, "a.txt", "1\nmine\n3\n4\n5\n6\n7\n8\n")
	r.Commit(r.Top, "a.txt", "1\ntheirs\n3\n4\n5\n6\n7\n8\n")
	if out, err := r.Try(top, "rebase", "main"); err == nil {
		r.T.Fatalf("the rebase had no conflict: %s", out)
	}
	return top
}

// Age sets every file of the folders back by d, git's own files too.
func (r *Repo) Age(d time.Duration, folders ...string) {
	r.T.Helper()
	then := time.Now().Add(-d)
	for _, f := range folders {
		err := filepath.WalkDir(f, func(p string, e os.DirEntry, err error) error {
			if err != nil || e.Type()&os.ModeSymlink != 0 {
				return err
			}
			return os.Chtimes(p, then, then)
		})
		if err != nil {
			r.T.Fatal(err)
		}
	}
}

// Files reads a folder: path to content, git's own files left out.
func Files(t testing.TB, top string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(top, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, top+"/")
		switch {
		case rel == ".git" && e.IsDir():
			return filepath.SkipDir
		case rel == ".git" || e.IsDir():
			return nil
		case e.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(p)
			files[rel] = "-> " + to
			return err
		}
		b, err := os.ReadFile(p)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
