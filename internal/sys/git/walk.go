package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Bulk is a folder of reproducible output, measured.
type Bulk struct {
	Path   string // relative to the worktree
	What   string // node_modules, target, …
	Bytes  int64  // on disk; a file with several hard links once
	Newest time.Time
	// Keep lists what forbids throwing the folder away, relative to the worktree:
	// precious looking files, nested repositories, sockets, other file systems.
	// At most ten.
	Keep []string
}

// Size is what a walk through a worktree found.
type Size struct {
	Bytes     int64     // on disk, without the git folder; a file with several hard links once
	Newest    time.Time // newest modification of anything in it
	Bulk      []Bulk
	Nested    []string // repositories inside, submodules too
	Special   []string // sockets, pipes, devices
	Elsewhere []string // folders on another file system: neither entered nor counted
}

// maxNames caps how many names of one sort a walk keeps: one is enough to refuse.
const maxNames = 10

// nearTop is how deep in a folder of packages a precious looking name still
// counts: node_modules/.env and node_modules/pkg/.env do, what a package ships
// deeper down does not.
const nearTop = 2

type walker struct {
	ctx    context.Context
	top    string
	device uint64
	mounts map[string]bool
	bulk   map[string]*Bulk
	pack   map[string]bool
	seen   map[[2]uint64]bool
	size   Size
	count  int
}

// measure walks a worktree and sizes its folders of output. It enters no other
// file system and follows no link. A file that goes away meanwhile is not
// missed; a folder that cannot be read fails the walk, because what is in it is
// not known.
func measure(ctx context.Context, top string, folders []bulk) (Size, error) {
	top, err := filepath.EvalSymlinks(top) // mounts are named without links
	if err != nil {
		return Size{}, fmt.Errorf("cannot measure: %w", err)
	}
	info, err := os.Lstat(top)
	if err != nil {
		return Size{}, fmt.Errorf("cannot measure %q: %w", top, err)
	}
	mounts, err := mountsBelow(top)
	if err != nil {
		return Size{}, err
	}
	w := &walker{ctx: ctx, top: top, device: device(info), mounts: mounts, bulk: map[string]*Bulk{},
		pack: map[string]bool{}, seen: map[[2]uint64]bool{}}
	for _, f := range folders {
		w.bulk[f.rel] = &Bulk{Path: f.rel, What: f.what}
		w.pack[f.rel] = f.packages
	}
	if err := w.dir(top, "", nil); err != nil {
		return Size{}, fmt.Errorf("cannot measure %q: %w", top, err)
	}
	for _, f := range folders {
		w.size.Bulk = append(w.size.Bulk, *w.bulk[f.rel])
	}
	return w.size, nil
}

// dir walks one folder; in is the folder of output it lies in, or nil.
func (w *walker) dir(abs, rel string, in *Bulk) error {
	if w.count++; w.count%64 == 0 && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	entries, err := os.ReadDir(abs)
	if err != nil && rel != "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if rel == "" && e.Name() == ".git" {
			continue
		}
		if err := w.entry(abs, filepath.Join(rel, e.Name()), e, in); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(dir, rel string, e fs.DirEntry, in *Bulk) error {
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	abs := filepath.Join(dir, e.Name())
	if b := w.bulk[rel]; b != nil && in == nil {
		in = b
	}
	if device(info) != w.device || w.mounts[abs] {
		keep(&w.size.Elsewhere, rel)
		w.holds(in, rel)
		return nil
	}
	w.add(info, in)
	w.judge(e.Name(), rel, info, in)
	if info.IsDir() {
		return w.dir(abs, rel, in)
	}
	return nil
}

// judge notes what must not be thrown away.
func (w *walker) judge(name, rel string, info fs.FileInfo, in *Bulk) {
	switch {
	case name == ".git":
		keep(&w.size.Nested, filepath.Dir(rel))
		w.holds(in, rel)
	case info.IsDir():
	case info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice|fs.ModeIrregular) != 0:
		keep(&w.size.Special, rel)
		w.holds(in, rel)
	case in != nil && LooksPrecious(name) && !w.shipped(rel, in):
		w.holds(in, rel)
	}
}

// shipped says whether a file lies so deep in a folder of packages that it came
// with a package.
func (w *walker) shipped(rel string, in *Bulk) bool {
	below := strings.TrimPrefix(rel, in.Path+"/")
	return w.pack[in.Path] && strings.Count(below, "/") >= nearTop || strings.ToLower(filepath.Base(rel)) == "thumbs.db"
}

func (w *walker) holds(in *Bulk, rel string) {
	if in != nil {
		keep(&in.Keep, rel)
	}
}

func keep(list *[]string, s string) {
	if len(*list) < maxNames {
		*list = append(*list, s)
	}
}

func (w *walker) add(info fs.FileInfo, in *Bulk) {
	bytes := w.once(info)
	w.size.Bytes += bytes
	if info.ModTime().After(w.size.Newest) {
		w.size.Newest = info.ModTime()
	}
	if in == nil {
		return
	}
	in.Bytes += bytes
	if info.ModTime().After(in.Newest) {
		in.Newest = info.ModTime()
	}
}

// once returns the bytes a file takes on disk, and 0 for a hard link to one
// that was counted.
func (w *walker) once(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size()
	}
	if st.Nlink > 1 && !info.IsDir() {
		key := [2]uint64{uint64(st.Dev), st.Ino}
		if w.seen[key] {
			return 0
		}
		w.seen[key] = true
	}
	return st.Blocks * 512 // stat(2): always units of 512, whatever the block size
}

func device(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev)
	}
	return 0
}

// mountsBelow lists the mount points inside a folder, so that a bind mount of
// the very same file system is seen, too (proc(5), mountinfo, field 5).
func mountsBelow(top string) (map[string]bool, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cannot read the mounts: %w", err)
	}
	below := map[string]bool{}
	for _, line := range strings.Split(string(raw), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if p := unoctal(fields[4]); strings.HasPrefix(p, top+"/") {
			below[p] = true
		}
	}
	return below, nil
}

// unoctal undoes the \040 of /proc files.
func unoctal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Measure sizes a worktree and its ignored folders of reproducible output.
func (r *Reader) Measure(ctx context.Context, top string) (Size, error) {
	c, err := r.Changes(ctx, top, true)
	if err != nil {
		return Size{}, err
	}
	return measure(ctx, top, sortIgnored(top, c.Ignored).bulk)
}

// InWords writes a number of bytes for people: "41.2 MB" (powers of 1000, as
// df -H and disk makers count).
func InWords(n int64) string {
	if n < 1000 && n > -1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f := float64(n)
	for _, unit := range []string{"kB", "MB", "GB"} {
		if f /= 1000; f < 1000 && f > -1000 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TB", f/1000)
}
