package overlap

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"custos/internal/sys/git"
)

// tree is a worktree that agents stand in, and what is known of it.
type tree struct {
	place git.Place
	in    []string // folders that they stand in, as shown

	assigned []string // what they were started for: patterns, as from its top

	index uint64   // what head and files rest on
	head  string   // commit
	files []string // that git tracks, and their folders

	mark  uint64 // of all that is looked at
	known edited // what edits rest on
	edits []git.Edit
	paths map[string]struct{} // of edits
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
	}
	t.mark = t.index ^ stamp(t.place.Top, t.files...)
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
	mark uint64
	base string
}

// edit asks git what it has changed since base, unless that is known.
func (t *tree) edit(ctx context.Context, r *git.Reader, base string) error {
	if now := (edited{t.mark, base}); now != t.known {
		edits, err := r.Edits(ctx, t.place, base)
		if err != nil {
			return err
		}
		t.edits, t.paths, t.known = edits, map[string]struct{}{}, now
		for _, e := range edits {
			t.paths[e.Path] = struct{}{}
		}
	}
	return nil
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
