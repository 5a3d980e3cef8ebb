package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds of what a program makes: the type bits of a mode.
const (
	IsFile   = unix.S_IFREG
	IsFolder = unix.S_IFDIR
	IsSocket = unix.S_IFSOCK
	IsPipe   = unix.S_IFIFO
)

// Made describes what a program makes in a folder. Whatever is not described, or is of
// another kind, another user's, or begins otherwise, is not ours.
type Made struct {
	Name   string        // an expression for the whole name
	Kind   uint32        // one of the kinds
	Begins []string      // of a file: what its text may begin with, "" for an empty one; nil: whatever
	Modes  []uint32      // of a file: the permissions it may have; nil: any
	In     func() []Made // of a folder: what is made in it
}

// Removal is what goes, or would go, and what stays beside it. A folder that goes is there
// without what was in it.
type Removal struct {
	Gone []string
	Left []Left
}

// Left is what stays in a folder, and so the folder. A folder of which a Left is told
// itself is not among the names.
type Left struct {
	Folder string
	Names  []string
}

// Remover removes by name what a program made, and a folder when nothing else is in it. It
// follows no link below a root, and enters no other file system.
type Remover struct {
	Do      bool // or only say what would go
	Removal Removal

	went map[place]bool // roots that are gone, or would be
	errs []error
}

type place struct{ dev, ino uint64 }

func placeOf(st unix.Stat_t) place { return place{uint64(st.Dev), st.Ino} }

// Root removes what was made in a folder, and the folder itself when keep is false and it is
// empty then. The folder may be named by a link: then the link stays, and the folder behind it.
func (r *Remover) Root(dir string, keep bool, table []Made) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	defer unix.Close(fd)
	var st, named unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Lstat(dir, &named)); err != nil {
		return fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	found, rest, empty := r.folder(fd, st, dir, table)
	if empty && !keep && placeOf(named) == placeOf(st) && r.gone(unix.Rmdir, dir) {
		r.note(placeOf(st))
		found = Removal{Gone: []string{dir}}
	} else if len(rest) > 0 || empty {
		found.Left = append(found.Left, Left{Folder: dir, Names: rest})
	}
	r.Removal.Gone, r.Removal.Left = append(r.Removal.Gone, found.Gone...), append(r.Removal.Left, found.Left...)
	return errors.Join(r.errs...)
}

func (r *Remover) note(p place) {
	if r.went == nil {
		r.went = map[place]bool{}
	}
	r.went[p] = true
}

// gone removes, if it is to, and says whether it is, or would be, gone.
func (r *Remover) gone(remove func(string) error, path string) bool {
	if !r.Do {
		return true
	}
	err := remove(path)
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTEMPTY) {
		r.errs = append(r.errs, fmt.Errorf("cannot remove %s: %w", path, err))
	}
	return err == nil || errors.Is(err, unix.ENOENT)
}

// folder removes what was made in an open folder, and returns the names of what another
// else made there.
func (r *Remover) folder(fd int, is unix.Stat_t, path string, table []Made) (out Removal, rest []string, empty bool) {
	names, err := namesIn(fd)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("cannot list %s: %w", path, err))
		return out, nil, false
	}
	empty = true
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) || err == nil && r.went[placeOf(st)] {
			continue
		}
		at := filepath.Join(path, name)
		m := describes(table, name, st)
		if err != nil || m == nil || st.Uid != uint32(os.Geteuid()) || st.Dev != is.Dev {
			rest, empty = append(rest, name), false
			continue
		}
		below, gone := r.one(fd, at, st, m)
		out.Gone, out.Left = append(out.Gone, below.Gone...), append(out.Left, below.Left...)
		if !gone && m.Kind != IsFolder {
			rest = append(rest, name)
		}
		empty = empty && gone
	}
	return out, rest, empty
}

// one removes one thing that is described, if it is that.
func (r *Remover) one(fd int, at string, st unix.Stat_t, m *Made) (out Removal, gone bool) {
	name := filepath.Base(at)
	if m.Kind == IsFolder {
		return r.below(fd, at, m)
	}
	if m.Begins != nil && !begins(fd, name, st, m.Begins) {
		return out, false
	}
	gone = r.gone(func(string) error { return unix.Unlinkat(fd, name, 0) }, at)
	if gone {
		out.Gone = []string{at}
	}
	return out, gone
}

// below removes what was made in a folder of a folder, and that when it is empty.
func (r *Remover) below(fd int, at string, m *Made) (out Removal, gone bool) {
	name := filepath.Base(at)
	in, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("cannot look into %s: %w", at, err))
		return out, false
	}
	defer unix.Close(in)
	var st unix.Stat_t
	if err := unix.Fstat(in, &st); err != nil {
		r.errs = append(r.errs, fmt.Errorf("cannot look at %s: %w", at, err))
		return out, false
	}
	out, rest, empty := r.folder(in, st, at, m.In())
	if empty && r.gone(func(string) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) }, at) {
		return Removal{Gone: []string{at}}, true
	}
	if len(rest) > 0 || empty {
		out.Left = append(out.Left, Left{Folder: at, Names: rest})
	}
	return out, false
}

// describes returns what of a table a thing is; nil for nothing of it.
func describes(table []Made, name string, st unix.Stat_t) *Made {
	for i, m := range table {
		mode := uint32(st.Mode) // which is narrower elsewhere
		fits := mode&unix.S_IFMT == m.Kind && (m.Modes == nil || slices.Contains(m.Modes, mode&0o7777))
		if fits && regexp.MustCompile(`\A(?:`+m.Name+`)\z`).MatchString(name) {
			return &table[i]
		}
	}
	return nil
}

// begins says whether a file begins with one of some texts. It must be the file that was
// looked at.
func begins(fd int, name string, st unix.Stat_t, texts []string) bool {
	in, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(in), name)
	defer f.Close()
	var is unix.Stat_t
	if err := unix.Fstat(in, &is); err != nil || placeOf(is) != placeOf(st) {
		return false
	}
	head := make([]byte, 200)
	n, _ := f.ReadAt(head, 0) // what cannot be read begins with nothing of ours
	return slices.ContainsFunc(texts, func(t string) bool {
		return t == "" && n == 0 && is.Size == 0 || t != "" && strings.HasPrefix(string(head[:n]), t)
	})
}

// namesIn lists an open folder, in order; a lock is the last, as it is held.
func namesIn(fd int) ([]string, error) {
	in, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(in), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int {
		if (a == "lock") != (b == "lock") {
			if a == "lock" {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return names, nil
}
