package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Place is where a worktree lies and where git keeps what belongs to it.
type Place struct {
	Top    string // the worktree's folder; of a bare repository, the repository
	GitDir string // the worktree's own git folder: its HEAD, index and operations
	Common string // the repository's git folder: objects and refs
	Bare   bool
}

// Main returns the folder of the repository's main worktree (of a bare
// repository, the repository itself).
func (p Place) Main() string {
	if filepath.Base(p.Common) == ".git" {
		return filepath.Dir(p.Common)
	}
	return p.Common
}

// Linked says whether the place is a linked worktree.
func (p Place) Linked() bool { return p.GitDir != p.Common }

// Find looks for the worktree that path lies in, by reading files alone: no
// process is started. It fails with ErrNotRepository when there is none.
func Find(path string) (Place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Place{}, fmt.Errorf("cannot find the repository of %q: %w", path, err)
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		p, err := At(dir)
		if !errors.Is(err, ErrNotRepository) {
			return p, err
		}
		if dir == filepath.Dir(dir) {
			return Place{}, fmt.Errorf("cannot find the repository of %q: %w", path, ErrNotRepository)
		}
	}
}

// At reads the worktree or bare repository whose top is exactly dir.
func At(dir string) (Place, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bareAt(dir)
	case err != nil:
		return Place{}, fmt.Errorf("cannot look at %q: %w", dot, err)
	case info.Mode()&fs.ModeSymlink != 0:
		if dot, err = filepath.EvalSymlinks(dot); err != nil {
			return Place{}, fmt.Errorf("cannot follow %q: %w", dot, err)
		}
	case info.Mode().IsRegular():
		if dot, err = pointer(dot, "gitdir: "); err != nil {
			return Place{}, err
		}
	}
	if !isGitDir(dot) {
		return Place{}, fmt.Errorf("cannot read repository %q: its git folder %q is broken or gone", dir, dot)
	}
	return withCommon(Place{Top: dir, GitDir: dot})
}

func bareAt(dir string) (Place, error) {
	if isGitDir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "refs")); err == nil && filepath.Base(dir) != ".git" {
			return Place{Top: dir, GitDir: dir, Common: dir, Bare: true}, nil
		}
	}
	return Place{}, ErrNotRepository
}

func isGitDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil {
		return false
	}
	_, objects := os.Stat(filepath.Join(dir, "objects"))
	_, common := os.Stat(filepath.Join(dir, "commondir"))
	return objects == nil || common == nil
}

func withCommon(p Place) (Place, error) {
	p.Common = p.GitDir
	common, err := pointer(filepath.Join(p.GitDir, "commondir"), "")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return Place{}, err
	}
	p.Common = common
	return p, nil
}

// pointer reads a file that names another path, relative to its own folder.
func pointer(file, prefix string) (string, error) {
	raw, err := readSmall(file)
	if err != nil {
		return "", fmt.Errorf("cannot read %q: %w", file, err)
	}
	to, ok := strings.CutPrefix(strings.TrimSuffix(raw, "\n"), prefix)
	if !ok || to == "" {
		return "", fmt.Errorf("cannot read %q: no %q in it", file, prefix)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return filepath.Clean(to), nil
}

// readSmall reads a file that git keeps one short value in.
func readSmall(file string) (string, error) {
	raw, err := readRegular(file, 64<<10)
	return string(raw), err
}

// readRegular reads a file of git's, of at most so many bytes. An agent may have put
// something else in its place: a pipe is not waited for.
func readRegular(file string, most int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil, errors.Join(err, errors.New("not a regular file of a size that git gives it"))
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Operation is an unfinished git command.
type Operation struct {
	Name  string    // "", rebase, am, merge, cherry-pick, revert, bisect
	Moved time.Time // when its files last changed
}

// operations names the marks in a git folder, the outermost operation first:
// a rebase that stopped at a conflict also leaves CHERRY_PICK_HEAD.
var operations = [...]struct{ file, name string }{
	{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"},
	{"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
	{"sequencer", "cherry-pick"}, {"BISECT_LOG", "bisect"},
}

// Operation reads which git command is under way in the worktree. No process is
// started.
func (p Place) Operation() (Operation, error) {
	for _, o := range operations {
		path := filepath.Join(p.GitDir, o.file)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return Operation{}, fmt.Errorf("cannot look at %q: %w", path, err)
		}
		return Operation{Name: o.name, Moved: lastMoved(path, info.ModTime())}, nil
	}
	if _, err := os.Lstat(filepath.Join(p.GitDir, "HEAD")); err != nil {
		return Operation{}, fmt.Errorf("cannot look at %q: %w", p.GitDir, err)
	}
	return Operation{}, nil
}

// lastMoved returns the newest modification time of a path and what is directly in it.
func lastMoved(path string, newest time.Time) time.Time {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

// Listed is one entry of git's list of worktrees.
type Listed struct {
	Path   string
	Head   string // commit; all zeros before the first one
	Branch string // short name; "" when detached
	Bare   bool
	Locked bool
}

// Worktrees lists a repository's worktrees, the main one first.
func (r *Reader) Worktrees(ctx context.Context, dir string) ([]Listed, error) {
	out, err := r.git(ctx, dir, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	return ParseWorktrees(out)
}

// ParseWorktrees reads what "git worktree list --porcelain -z" wrote.
func ParseWorktrees(out []byte) ([]Listed, error) {
	var list []Listed
	for i, field := range strings.Split(string(out), "\x00") {
		key, value, _ := strings.Cut(field, " ")
		if key == "worktree" {
			list = append(list, Listed{Path: value})
			continue
		}
		if key == "" {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("cannot read the list of worktrees: field %d is %.80q, want a worktree", i+1, field)
		}
		list[len(list)-1].set(key, value)
	}
	return list, nil
}

func (l *Listed) set(key, value string) {
	switch key {
	case "HEAD":
		l.Head = value
	case "branch":
		l.Branch = strings.TrimPrefix(value, "refs/heads/")
	case "bare":
		l.Bare = true
	case "locked":
		l.Locked = true
	}
}
