package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Edit is what a worktree has done to one file since a commit: what is committed, staged,
// merely saved, or new and not added.
type Edit struct {
	Path  string
	Hunks []Hunk
	Whole bool   // no lines can be told: a new file, a binary one, one that is unmerged
	Sum   uint64 // of Whole: of what it holds now; 0: not known

	Untracked bool
}

// Hunk is one run of lines that were changed.
type Hunk struct {
	From, To int    // the first and last of them, as the commit has them; From > To: something was added between the two
	Sum      uint64 // of what stands there now
}

// mostWhole is how much of a file is read to tell whether two are the same.
const mostWhole = 1 << 20

// Fork returns the newest commit that all of these come from; "" when there is none.
func (r *Reader) Fork(ctx context.Context, dir string, heads ...string) (string, error) {
	out, err := r.line(ctx, dir, append([]string{"merge-base", "--octopus", "--end-of-options"}, heads...)...)
	if exitedOne(err) {
		return "", nil
	}
	return out, err
}

// mostBetween is how many commits Between lists.
const mostBetween = 5000

// Between lists the commits that to has and from has not; false where there are too many.
func (r *Reader) Between(ctx context.Context, dir, from, to string) (commits []string, all bool, err error) {
	out, err := r.git(ctx, dir, "rev-list", fmt.Sprint("--max-count=", mostBetween), "--end-of-options", from+".."+to)
	commits = strings.Fields(string(out))
	return commits, len(commits) < mostBetween, err
}

// mostLogged is how large a log of HEAD may be, in bytes.
const mostLogged = 1 << 20

// Committed lists the commits that were made in the worktree at p, by its log of HEAD, and not those that
// it was only moved to; false where it keeps none, or not all of it could be read.
func Committed(p Place) (commits map[string]bool, all bool) {
	text, err := readRegular(filepath.Join(p.GitDir, "logs", "HEAD"), mostLogged)
	if err != nil {
		return nil, false
	}
	commits = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		ids, what, _ := strings.Cut(line, "\t")
		if f := strings.Fields(ids); len(f) > 1 && makes(what) {
			commits[f[1]] = true
		}
	}
	return commits, true
}

// makes says whether a line of the log of HEAD tells of a new commit. A rebase, as of a pull, also goes to
// where it begins, forward, and back to its branch.
func makes(what string) bool {
	by, _, _ := strings.Cut(what, ":")
	if strings.Contains(by, "rebase") {
		steps := []string{"(pick)", "(reword)", "(edit)", "(squash)", "(fixup)", "(continue)"}
		return by == "rebase" || slices.ContainsFunc(steps, func(step string) bool { return strings.HasSuffix(by, step) })
	}
	return strings.HasPrefix(by, "commit") || by == "cherry-pick" || by == "revert" || by == "am"
}

// TrackedFiles lists the files that git tracks in the worktree at p.
func (r *Reader) TrackedFiles(ctx context.Context, p Place) ([]string, error) {
	out, err := r.git(ctx, p.Top, "ls-files", "-z")
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), err
}

// Edits lists what the worktree at p has changed since base: of the named files, or of all. Like
// Changes it looks past the repository's configuration. A file of which only a filter's program
// could tell how it is stored (Changes.Unsure) is Whole.
func (r *Reader) Edits(ctx context.Context, p Place, base string, paths ...string) ([]Edit, error) {
	v, err := r.see(ctx, p)
	if err != nil {
		return nil, err
	}
	defer v.close()
	out, err := v.git(ctx, nil, append([]string{"diff", "--raw", "--patch", "-z", "--unified=0", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--ignore-submodules=dirty", base, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	edits, err := ParseEdits(out)
	if err != nil {
		return nil, err
	}
	fresh, err := v.git(ctx, nil, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	for _, path := range strings.Split(string(fresh), "\x00") {
		if path != "" && !strings.HasSuffix(path, "/") { // a repository in it is no file of it
			edits = append(edits, Edit{Path: path, Whole: true, Untracked: true})
		}
	}
	return edits, v.whole(ctx, edits)
}

// Changed lists the files that git tracks and that differ in the worktree at p from base.
func (r *Reader) Changed(ctx context.Context, p Place, base string) ([]string, error) {
	v, err := r.see(ctx, p)
	if err != nil {
		return nil, err
	}
	defer v.close()
	out, err := v.git(ctx, nil, "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", "--ignore-submodules=dirty", base, "--")
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), err
}

// UntrackedFolders lists the folders of which git tracks nothing and ignores not all, those without a
// file, too; not what lies in them, nor repositories.
func (r *Reader) UntrackedFolders(ctx context.Context, p Place) (folders []string, err error) {
	v, err := r.see(ctx, p)
	if err != nil {
		return nil, err
	}
	defer v.close()
	out, err := v.git(ctx, nil, "ls-files", "--others", "--directory", "--exclude-standard", "-z")
	for _, path := range strings.Split(string(out), "\x00") {
		if folder, is := strings.CutSuffix(path, "/"); is {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

// whole marks what a filter stores otherwise, and sums up what is Whole.
func (v *view) whole(ctx context.Context, edits []Edit) error {
	var paths []string
	for _, e := range edits {
		paths = append(paths, e.Path)
	}
	unsure, err := v.unsure(ctx, paths)
	if err != nil {
		return err
	}
	not := set(unsure...)
	for i := range edits {
		if e := &edits[i]; not[e.Path] {
			e.Whole, e.Hunks = true, nil
		}
		if e := &edits[i]; e.Whole {
			e.Sum = sumOf(filepath.Join(v.place.Top, e.Path))
		}
	}
	return nil
}

func sumOf(file string) uint64 {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostWhole {
		return 0
	}
	sum := fnv.New64a()
	if _, err := io.Copy(sum, io.LimitReader(f, mostWhole)); err != nil {
		return 0
	}
	return sum.Sum64()
}

// ParseEdits reads what "git diff --raw --patch -z --unified=0" wrote: an entry for each file, an
// empty one, and then the patches, in the same order. So names need not be read from patches, which
// quote them. An unmerged file has an entry and no patch.
func ParseEdits(out []byte) ([]Edit, error) {
	var edits []Edit
	for len(out) > 0 && out[0] == ':' {
		meta, rest, _ := bytes.Cut(out, []byte{0})
		path, rest, ok := bytes.Cut(rest, []byte{0})
		cols := strings.Fields(string(meta))
		if !ok || len(cols) != 5 || len(path) == 0 {
			return nil, fmt.Errorf("cannot read git diff: %.80q is no entry", meta)
		}
		edits, out = append(edits, Edit{Path: string(path), Whole: cols[4] == "U"}), rest
	}
	return edits, patches(edits, bytes.TrimPrefix(out, []byte{0}))
}

// hunkHead is "@@ -FROM[,COUNT] +FROM[,COUNT] @@".
var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// patches gives each edit the hunks of its patch.
func patches(edits []Edit, out []byte) error {
	var e *Edit
	sum, next := fnv.New64a(), 0
	lines := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := lines.ReadBytes('\n')
		var at [][]byte
		if bytes.HasPrefix(line, []byte("@@ ")) {
			at = hunkHead.FindSubmatch(line)
		}
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			for next < len(edits) && edits[next].Whole {
				next++
			}
			if next == len(edits) {
				return errors.New("cannot read git diff: it has more patches than entries")
			}
			e = &edits[next]
			next++
		case e != nil && at != nil:
			h, err := hunk(string(at[1]), string(at[2]))
			if err != nil {
				return err
			}
			e.Hunks = append(e.Hunks, h)
			sum.Reset()
		case e != nil && bytes.HasPrefix(line, []byte("Binary files ")):
			e.Whole = true
		case e != nil && len(e.Hunks) > 0 && bytes.HasPrefix(line, []byte("+")):
			_, _ = sum.Write(line) // it never fails
			e.Hunks[len(e.Hunks)-1].Sum = sum.Sum64()
		}
		if err != nil {
			return nil // the end: it is read from memory
		}
	}
}

// hunk is what its head says: a count that is not there is one, and with none the lines stand behind FROM.
func hunk(from, count string) (Hunk, error) {
	n := 1
	first, err := strconv.Atoi(from)
	if err == nil && count != "" {
		n, err = strconv.Atoi(count)
	}
	if err != nil {
		return Hunk{}, fmt.Errorf("cannot read git diff: %w", err)
	}
	if n == 0 {
		return Hunk{From: first + 1, To: first}, nil
	}
	return Hunk{From: first, To: first + n - 1}, nil
}

// Conflicts lists the files in which two commits of a repository do not merge.
func (r *Reader) Conflicts(ctx context.Context, p Place, a, b string) ([]string, error) {
	out, err := r.merge(ctx, p, true, "--name-only", "-z", a, b)
	if err != nil && !exitedOne(err) {
		return nil, err
	}
	tree, names, _ := strings.Cut(string(out), "\x00")
	if tree == "" { // it exits with 1 also for what is no commit
		return nil, fmt.Errorf("cannot merge %.40q and %.40q: %w", a, b, err)
	}
	return strings.FieldsFunc(names, func(c rune) bool { return c == 0 }), nil
}
