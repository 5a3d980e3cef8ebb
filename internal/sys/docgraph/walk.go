package docgraph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What is read of a project, at most.
const (
	MaxFiles = 5000
	MaxFile  = 1 << 20  // bytes; a longer file is left out, for half a file has other sections
	MaxBytes = 64 << 20 // of all files together

	maxEntries = 20_000 // of one folder; one with more is left out
	maxFolders = 20_000
	maxDepth   = 20
)

// kind is how a file is read.
type kind string

const (
	kindDocument kind = "document"
	kindFormula  kind = "formula"
	kindEvidence kind = "evidence"
)

type file struct {
	name string // relative to the folder, with slashes
	kind kind
}

// walker looks for files, the shallow ones first, so that what is left out of a
// huge project is what lies deep.
type walker struct {
	ctx   context.Context
	root  *os.Root
	out   map[string]string
	files []file
	next  []string // folders to look into
	seen  int      // folders
}

func (w *walker) walk() error {
	w.next = []string{"."}
	for len(w.next) > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		dir := w.next[0]
		w.next = w.next[1:]
		if w.seen++; w.seen > maxFolders {
			w.out["folders"] = fmt.Sprintf("more than %d", maxFolders)
			return nil
		}
		if err := w.folder(dir); err != nil && dir == "." {
			return err
		} else if err != nil {
			w.out[dir] = reason(err)
		}
	}
	return nil
}

var errMany = fmt.Errorf("holds more than %d entries", maxEntries)

func (w *walker) folder(dir string) error {
	f, err := w.root.OpenFile(dir, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(entries) > maxEntries:
		return errMany
	case dir != "." && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }):
		return nil // another project, or another worktree of this one
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		w.entry(path.Join(dir, e.Name()), e)
	}
	return nil
}

func (w *walker) entry(name string, e fs.DirEntry) {
	switch {
	case e.IsDir() && !skipped(e.Name()) && strings.Count(name, "/") < maxDepth:
		w.next = append(w.next, name)
	case e.Type().IsRegular():
		w.take(name)
	}
}

func (w *walker) take(name string) {
	k := kindOf(name)
	if k == "" {
		return
	}
	if len(w.files) >= MaxFiles {
		w.out["files"] = fmt.Sprintf("more than %d", MaxFiles)
		return
	}
	w.files = append(w.files, file{name, k})
}

// skipped are the folders of tools and of other people's code. Custos's own is
// looked into, for formulas.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") && name != ".custos" || name == "node_modules" || name == "vendor" || name == "testdata"
}

// kindOf says how a file is read; "" when it is not.
func kindOf(name string) kind {
	dirs := strings.Split(path.Dir(name), "/")
	ext := strings.ToLower(path.Ext(name))
	switch {
	case slices.Contains(dirs, "evidence") && slices.Contains([]string{".json", ".md", ".txt", ".yaml", ".yml", ".csv"}, ext):
		return kindEvidence
	case ext == ".md" || ext == ".markdown":
		return kindDocument
	case ext == ".toml" && dirs[len(dirs)-1] == "formulas":
		return kindFormula
	}
	return ""
}

var (
	errRegular = errors.New("no regular file")
	errLong    = fmt.Errorf("longer than %d KiB", MaxFile>>10)
	errBudget  = fmt.Errorf("after %d MiB of other files", MaxBytes>>20)
	errBinary  = errors.New("no text")
)

// read returns a regular file of at most most bytes, without waiting for anything.
func read(root *os.Root, name string, most int64) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errRegular
	case info.Size() > MaxFile:
		return "", errLong
	case info.Size() > most:
		return "", errBudget
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1)) // it may be growing
	switch {
	case err != nil:
		return "", err
	case len(b) > MaxFile:
		return "", errLong
	case strings.IndexByte(string(b[:min(len(b), 8<<10)]), 0) >= 0:
		return "", errBinary
	}
	return string(b), nil
}

// reason is why a file was left out, without its name.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
