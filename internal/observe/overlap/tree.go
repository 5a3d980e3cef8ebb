package overlap

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"custos/internal/sys/git"
)

// tree is a worktree that agents stand in, and what is known of it.
type tree struct {
	place git.Place
	in    []string // folders that they stand in, as shown

	assigned []string // what they were started for: patterns, as from its top

	index          uint64          // what head and files rest on
	head           string          // commit
	made           map[string]bool // commits that were made in it; nil: that is not known
	files          []string        // that git tracks, and their folders
	folders, fresh []string        // that git does not track, and files that are new

	tracked uint64   // how files stand
	mark    uint64   // of all that is looked at
	forks   []string // where it parted from the primary branch, here and as the remote has it, after base; none: all is taken for its own
	known   edited   // what edits rest on
	edits   []git.Edit
	paths   map[string]struct{}   // of edits
	own     []map[string]struct{} // what it has changed since each of forks
}

// move looks whether anything of it has moved.
func (t *tree) move(ctx context.Context, r *git.Reader) error {
	if index := stamp(t.place.GitDir, "HEAD", "index", "logs/HEAD"); index != t.index || t.head == "" {
		head, _, err := r.Head(ctx, t.place)
		if err != nil {
			return err
		}
		tracked, err := r.TrackedFiles(ctx, t.place)
		if err != nil {
			return err
		}
		t.index, t.head, t.files = index, head, withFolders(tracked)
		t.made = nil
		if made, all := git.Committed(t.place); all {
			t.made = made
		}
	}
	t.tracked = t.index ^ stamp(t.place.Top, t.files...)
	t.mark = t.tracked ^ stamp(t.place.Top, t.folders...) ^ stamp(t.place.Top, t.fresh...)
	return nil
}

// withFolders adds the folders that files lie in: what is made, or renamed, there moves them.
func withFolders(files []string) []string {
	last, folders := "", []string{"."}
	for _, f := range files {
		for dir := filepath.Dir(f); dir != "." && dir != last; dir = filepath.Dir(dir) {
			folders = append(folders, dir)
		}
		last = filepath.Dir(f)
	}
	slices.Sort(folders)
	return append(slices.Compact(folders), files...)
}

// stamp sums up when each of these last changed, and how long each is. What is not there is a state, too.
func stamp(dir string, names ...string) uint64 {
	sum, row := fnv.New64a(), make([]byte, 0, 32)
	for _, name := range names {
		var s unix.Stat_t
		row = row[:0]
		if unix.Lstat(dir+"/"+name, &s) == nil {
			for _, n := range []int64{s.Mtim.Nano(), s.Ctim.Nano(), s.Size, int64(s.Mode)} {
				row = binary.LittleEndian.AppendUint64(row, uint64(n))
			}
		}
		_, _ = sum.Write(append(row, 0)) // it never fails
	}
	return sum.Sum64()
}

// edited is what its edits rest on.
type edited struct {
	mark  uint64
	base  string
	forks string
}

// edit asks git what it has changed since base, unless that is known, and what of that is its own.
func (t *tree) edit(ctx context.Context, r *git.Reader, base string) error {
	now := edited{t.mark, base, strings.Join(t.forks, " ")}
	if now == t.known {
		return nil
	}
	folders, err := r.UntrackedFolders(ctx, t.place)
	if err != nil {
		return err
	}
	folders = t.below(folders)
	stood := stamp(t.place.Top, folders...) // before it is asked what lies in them
	edits, err := r.Edits(ctx, t.place, base)
	if err != nil {
		return err
	}
	if t.own, err = t.ownSince(ctx, r); err != nil {
		return err
	}
	t.folders, t.fresh = folders, fresh(edits)
	t.mark = t.tracked ^ stood ^ stamp(t.place.Top, t.fresh...)
	now.mark = t.mark
	t.edits, t.paths, t.known = t.ofItsOwn(edits), map[string]struct{}{}, now
	for _, e := range t.edits {
		t.paths[e.Path] = struct{}{}
	}
	return nil
}

// ownSince lists what it has changed since each of its forks.
func (t *tree) ownSince(ctx context.Context, r *git.Reader) (own []map[string]struct{}, err error) {
	for _, fork := range t.forks {
		paths, err := r.Changed(ctx, t.place, fork)
		if err != nil {
			return nil, err
		}
		set := map[string]struct{}{}
		for _, p := range paths {
			set[p] = struct{}{}
		}
		own = append(own, set)
	}
	return own, nil
}

// ofItsOwn leaves out what it only has from the primary branch.
func (t *tree) ofItsOwn(edits []git.Edit) []git.Edit {
	return slices.DeleteFunc(edits, func(e git.Edit) bool {
		return !e.Untracked && t.hasFromOthers(e.Path)
	})
}

// hasFromOthers says whether what it has committed of a file is only what it has from the primary branch.
func (t *tree) hasFromOthers(path string) bool {
	return slices.ContainsFunc(t.own, func(set map[string]struct{}) bool { _, is := set[path]; return !is })
}

// mostFolders is how many untracked folders are looked at.
const mostFolders = 2000

// below adds the folders below folders: what is made in one of them moves it, and no other.
func (t *tree) below(folders []string) (list []string) {
	for _, top := range folders {
		_ = filepath.WalkDir(filepath.Join(t.place.Top, top), func(dir string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir(): // what cannot be read now is looked at when what holds it moves
				return nil
			case d.Name() == ".git", len(list) >= mostFolders:
				return fs.SkipDir
			}
			if rel, err := filepath.Rel(t.place.Top, dir); err == nil {
				list = append(list, rel)
			}
			return nil
		})
	}
	return list
}

func fresh(edits []git.Edit) (files []string) {
	for _, e := range edits {
		if e.Untracked {
			files = append(files, e.Path)
		}
	}
	return files
}

// shares lists the files that both have changed.
func (t *tree) shares(other *tree) (paths []string) {
	for _, e := range t.edits {
		if _, ok := other.paths[e.Path]; ok {
			paths = append(paths, e.Path)
		}
	}
	return paths
}
