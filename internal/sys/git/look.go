package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// crashMarker is the file that says that a worktree was preserved after a crash.
const crashMarker = ".custos-crashed"

// KeepCrashed is how long a worktree that was preserved after a crash is kept
// for people to look at, whatever its content (the disinto layout's 24 h).
const KeepCrashed = 24 * time.Hour

// keepMissing is how long a worktree whose folder cannot be seen must have been
// left alone before its entry may go: the folder may well exist in a container,
// or on a disk that is not mounted now.
const keepMissing = 24 * time.Hour

// Head is what a worktree has checked out.
type Head struct {
	Commit string
	Branch string // "" when detached
}

// Status is all that decides whether a linked worktree may be removed. What was
// not looked at, or could not be seen, is an answer without a value.
type Status struct {
	Place     Place
	Missing   bool // registered, folder gone
	Locked    bool
	Crashed   time.Time // since when it is kept after a crash; zero: it is not
	Moved     time.Time // when anything in its git folder last changed
	Head      Answer[Head]
	Changes   Answer[Changes]
	Precious  Answer[[]string] // ignored, and not reproducible
	Size      Answer[Size]
	Operation Answer[Operation]
	Primary   Answer[Primary]
	Unpushed  Answer[int]
	Stashed   Answer[int]
	Merged    Answer[Merged]
	Occupied  Answer[[]int] // filled in by the caller, who knows the processes
}

// Kept notes that a worktree was kept after a crash since then, as its agent's record
// says; the mark in it may be newer. One whose folder is gone keeps nothing.
func (s *Status) Kept(since time.Time) {
	if !s.Missing && since.After(s.Crashed) {
		s.Crashed = since
	}
}

// Target is a linked worktree to look at, with what is the same for all
// worktrees of its repository, so that it is asked only once.
type Target struct {
	Common  string
	Listed  Listed
	Primary Answer[Primary]
	Stashes Answer[[]Stash]
	Markers []string // patterns of crash markers in its top folder; crashMarker always is one
}

// Look looks at a linked worktree, whole. It never fails: what could not be
// seen says so. Occupied is left to the caller.
func (r *Reader) Look(ctx context.Context, t Target) Status {
	s := Status{Locked: t.Listed.Locked, Primary: t.Primary}
	admin, err := AdminDir(t.Common, t.Listed.Path)
	if err != nil {
		return s.broken(err)
	}
	s.Place = Place{Top: t.Listed.Path, GitDir: admin, Common: t.Common}
	s.Moved = movedIn(admin)
	s.Operation = Answered(s.Place.Operation())
	s.Head = r.head(ctx, s.Place)
	if s.Missing, err = missing(t.Listed.Path); err != nil {
		s.Missing = false
		return s.blind(err)
	}
	if s.Missing {
		r.commits(ctx, t, &s)
		return s
	}
	if at, err := At(t.Listed.Path); err != nil || !sameFile(at.GitDir, admin) {
		return s.blind(fmt.Errorf("cannot look at %q: it is not the worktree that the repository means (%v)", t.Listed.Path, err))
	}
	s.Crashed = CrashedAt(t.Listed.Path, t.Markers)
	r.content(ctx, t, &s)
	r.commits(ctx, t, &s)
	return s
}

// broken answers that nothing could be seen.
func (s Status) broken(err error) Status {
	s.Head, s.Operation = Answered(Head{}, err), Answered(Operation{}, err)
	return s.blind(err)
}

// blind answers that nothing of the folder could be seen.
func (s Status) blind(err error) Status {
	s.Changes, s.Precious, s.Size = Answered(Changes{}, err), Answered[[]string](nil, err), Answered(Size{}, err)
	s.Unpushed, s.Stashed, s.Merged = Answered(0, err), Answered(0, err), Answered(Merged{}, err)
	return s
}

func (r *Reader) head(ctx context.Context, p Place) Answer[Head] {
	commit, branch, err := r.Head(ctx, p)
	return Answered(Head{commit, branch}, err)
}

// content looks at the files.
func (r *Reader) content(ctx context.Context, t Target, s *Status) {
	c, err := r.Changes(ctx, s.Place.Top, true)
	if err != nil {
		s.Changes, s.Precious, s.Size = Answered(c, err), Answered[[]string](nil, err), Answered(Size{}, err)
		return
	}
	parted := sortIgnored(s.Place.Top, c.Ignored)
	c.Untracked = withoutMarkers(c.Untracked, t.Markers)
	precious := withoutMarkers(parted.precious, t.Markers)
	s.Changes = Answered(c, nil)
	size, err := measure(ctx, s.Place.Top, parted.bulk)
	s.Size = Answered(size, err)
	for _, b := range size.Bulk {
		precious = append(precious, b.Keep...)
	}
	s.Precious = Answered(precious, err)
}

// commits looks at the history. Reading it needs no folder.
func (r *Reader) commits(ctx context.Context, t Target, s *Status) {
	h, err := s.Head.Get()
	if err != nil {
		s.Unpushed, s.Stashed, s.Merged = Answered(0, err), Answered(0, err), Answered(Merged{}, err)
		return
	}
	stashes, err := t.Stashes.Get()
	s.Stashed = Answered(stashedOn(stashes, h), err)
	p, err := t.Primary.Get()
	if err != nil {
		s.Merged = Answered(Merged{}, err)
		s.Unpushed = Answered(0, err)
		return
	}
	s.Merged = Answered(r.Merged(ctx, s.Place, h.Commit, p.Refs))
	s.Unpushed = Answered(r.unpushed(ctx, t.Common, h.Commit, p.Refs))
}

// stashedOn counts the stashes made on a branch, or, of a detached head, those
// made without a branch on the same commit.
func stashedOn(stashes []Stash, h Head) int {
	n := 0
	for _, st := range stashes {
		if st.Branch == h.Branch && (h.Branch != "" || st.Base == h.Commit) {
			n++
		}
	}
	return n
}

// missing says whether a registered worktree's folder is gone. A parent that is
// gone, too, may be a disk that is not mounted: that is not known to be missing.
func missing(top string) (bool, error) {
	_, err := os.Lstat(top)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("cannot look at %q: %w", top, err)
	}
	if _, err := os.Stat(filepath.Dir(top)); err != nil {
		return false, fmt.Errorf("cannot look at %q: the folder it was in cannot be seen from here: %w", top, err)
	}
	return true, nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func movedIn(admin string) time.Time {
	info, err := os.Lstat(filepath.Join(admin, "HEAD"))
	if err != nil {
		return time.Time{}
	}
	newest := info.ModTime()
	for _, name := range []string{"index", "ORIG_HEAD", "COMMIT_EDITMSG", "logs/HEAD", "gitdir"} {
		if info, err := os.Lstat(filepath.Join(admin, name)); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

func isMarker(item string, patterns []string) bool {
	for _, p := range append([]string{crashMarker}, patterns...) {
		if ok, _ := path.Match(p, item); ok {
			return true
		}
	}
	return false
}

func withoutMarkers(items, patterns []string) []string {
	var left []string
	for _, item := range items {
		if !isMarker(item, patterns) {
			left = append(left, item)
		}
	}
	return left
}

// CrashedAt returns when the newest crash marker in a worktree's top folder was
// written; zero when there is none.
func CrashedAt(top string, patterns []string) time.Time {
	var newest time.Time
	entries, _ := os.ReadDir(top)
	for _, e := range entries {
		if !isMarker(e.Name(), patterns) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

// names quotes the first few names for people.
func names(list []string) string {
	const show = 3
	var q []string
	for _, n := range list[:min(show, len(list))] {
		q = append(q, fmt.Sprintf("%q", n))
	}
	s := strings.Join(q, ", ")
	if len(list) > show {
		s += fmt.Sprintf(" and %d more", len(list)-show)
	}
	return s
}

// Registered finds a linked worktree in its repository's list by its folder;
// false when it is not there.
func (r *Reader) Registered(ctx context.Context, common, top string) (Listed, bool, error) {
	list, err := r.Worktrees(ctx, common)
	if err != nil {
		return Listed{}, false, err
	}
	for i, l := range list {
		if i > 0 && l.Path == top {
			return l, true, nil
		}
	}
	return Listed{}, false, nil
}

// Ask asks what a Target shares with its repository's other worktrees: the
// primary branch (configured, or "" to find it) and the stash.
func (r *Reader) Ask(ctx context.Context, common string, l Listed, primary string, markers []string) Target {
	return Target{Common: common, Listed: l, Markers: markers,
		Primary: Answered(r.Primary(ctx, common, primary)), Stashes: Answered(r.Stashes(ctx, common))}
}
