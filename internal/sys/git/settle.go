package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Settling says which conflicts of a merge are settled without its author.
type Settling struct {
	Again    func(path string) bool // files that are made anew; nil: none
	Recorded bool                   // whether what git rerere has recorded in the repository is used again
}

// Settled is what came of settling a merge. The zero one says that some conflict is left.
type Settled struct {
	Tree     string   // in which no conflict is left
	Again    []string // files that stand in it as Ours has them, or are not there, and are to be made anew; raw, sorted
	Recorded []string // files that are in it as a resolution was recorded; raw, sorted
}

// mostSettled is how many files are settled at most: their names are arguments of git.
const mostSettled = 1000

// Settle settles the conflicts of a merge, in the object store alone, as MergeCommits merges: all of them, or
// none. It never takes one side of a conflict for its result: a file that is made anew only begins as Ours has it.
func (w *Writer) Settle(ctx context.Context, dir string, m MergePlan, s Settling) (Settled, error) {
	out, err := w.settle(ctx, dir, m, s)
	if err != nil {
		err = fmt.Errorf("cannot settle the conflicts of %.64q with %.64q: %w", m.Theirs, m.Ours, err)
	}
	return out, err
}

func (w *Writer) settle(ctx context.Context, dir string, m MergePlan, s Settling) (Settled, error) {
	if !isOID(m.Ours) || !isOID(m.Theirs) {
		return Settled{}, errors.New("a commit is not named in full")
	}
	a, err := w.r.apartFrom(ctx, dir)
	if err != nil {
		return Settled{}, err
	}
	defer a.close()
	if _, err := a.merge(ctx, m); err != nil { // with the attributes of what is merged in place
		return Settled{}, err
	}
	t, sides, err := a.sides(ctx, m)
	if err != nil || len(sides) == 0 || len(sides) > mostSettled {
		return Settled{}, err
	}
	var out Settled
	for _, c := range sides {
		switch {
		case s.Again != nil && s.Again(c.path) && c.mayBeMade():
			out.Again = append(out.Again, c.path)
		case s.Recorded && c.mayBeRecorded():
			out.Recorded = append(out.Recorded, c.path)
		default:
			return Settled{}, nil
		}
	}
	if !t.settleable(out.Again) {
		return Settled{}, nil
	}
	entries, err := a.entries(ctx, dir, m, t, sides, out)
	if err != nil || entries == "" {
		return Settled{}, err
	}
	out.Tree, err = a.with(ctx, t.tree, entries)
	return out, err
}

// settleable says whether git knows of nothing but contents that conflict; of files that are made anew they
// may be binary, or gone from one side.
func (t mergeTree) settleable(again []string) bool {
	for _, k := range t.kinds {
		known := k.name == "CONFLICT (contents)"
		if k.name == "CONFLICT (binary)" || k.name == "CONFLICT (modify/delete)" {
			known = !slices.ContainsFunc(k.paths, func(p string) bool { return !slices.Contains(again, p) })
		}
		if !known {
			return false
		}
	}
	return len(t.kinds) > 0
}

// side is what the stages of the index hold of a file in conflict: 1 where both come from, 2 of Ours, 3 of Theirs.
type side struct {
	path      string
	mode, oid [4]string
}

func isRegular(mode string) bool { return mode == "100644" || mode == "100755" }

// mayBeMade says whether every side that has it has a file.
func (s side) mayBeMade() bool {
	return !slices.ContainsFunc(s.mode[1:], func(mode string) bool { return mode != "" && !isRegular(mode) })
}

// mayBeRecorded says whether both sides have it as a file, with the same rights. Attributes are no content: they
// would say how they themselves are merged.
func (s side) mayBeRecorded() bool {
	return isRegular(s.mode[2]) && s.mode[3] == s.mode[2] && (s.mode[1] == "" || s.mode[1] == s.mode[2]) && filepath.Base(s.path) != ".gitattributes"
}

// sides merges once more, and returns the sides of each file in conflict, by path.
func (a *apart) sides(ctx context.Context, m MergePlan) (mergeTree, []side, error) {
	out, err := a.run(ctx, "", "merge-tree", "--write-tree", "-z", "--messages", m.Ours, m.Theirs)
	if err != nil && !exitedOne(err) {
		return mergeTree{}, nil, err
	}
	t, broken := parseMergeTree(out)
	if broken != nil {
		return mergeTree{}, nil, errors.Join(broken, err)
	}
	list, err := parseSides(t.conflicts)
	return t, list, err
}

// parseSides reads rows of git merge-tree and git ls-files: MODE OID STAGE, a tab, and a path.
func parseSides(rows []string) (list []side, err error) {
	at := map[string]int{}
	for _, row := range rows {
		about, path, tab := strings.Cut(row, "\t")
		cols := strings.Fields(about)
		if !tab || path == "" || len(cols) != 3 || !isOID(cols[1]) || len(cols[2]) != 1 || cols[2] < "0" || cols[2] > "3" {
			return nil, fmt.Errorf("cannot read the stages of a file: %.80q", row)
		}
		n, is := at[path]
		if !is {
			n, at[path] = len(list), len(list)
			list = append(list, side{path: path})
		}
		stage := cols[2][0] - '0'
		list[n].mode[stage], list[n].oid[stage] = cols[0], cols[1]
	}
	slices.SortFunc(list, func(a, b side) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// entries are rows for git update-index that settle all files in conflict; "" where no resolution is recorded of one.
func (a *apart) entries(ctx context.Context, dir string, m MergePlan, t mergeTree, sides []side, s Settled) (string, error) {
	var out strings.Builder
	resolved := map[string]side{}
	if len(s.Recorded) > 0 {
		var err error
		conflicts := slices.DeleteFunc(slices.Clone(sides), func(c side) bool { return !slices.Contains(s.Recorded, c.path) })
		if resolved, err = a.recorded(ctx, dir, m, t.tree, conflicts); err != nil || len(resolved) != len(conflicts) {
			return "", err
		}
	}
	for _, c := range sides {
		mode, oid := c.mode[2], c.oid[2]
		if r, is := resolved[c.path]; is {
			mode, oid = r.mode[0], r.oid[0]
		}
		if mode == "" { // Ours has it not
			mode, oid = "0", strings.Repeat("0", len(t.tree))
		}
		fmt.Fprintf(&out, "%s %s\t%s\x00", mode, oid, c.path)
	}
	return out.String(), nil
}

// indexed is a with an index of a name of its own, and with a worktree elsewhere; "": its own.
func (a *apart) indexed(name, top string) *apart {
	b := *a
	b.env = append(slices.Clone(a.env), "GIT_INDEX_FILE="+filepath.Join(a.dir, name))
	if top != "" {
		b.env = append(b.env, "GIT_WORK_TREE="+top)
		b.top = top
	}
	return &b
}

// with returns a tree with some entries put in place of its own.
func (a *apart) with(ctx context.Context, tree, entries string) (string, error) {
	b := a.indexed("index", "")
	_, err := b.run(ctx, "", "read-tree", tree)
	if err == nil {
		_, err = b.run(ctx, entries, "update-index", "-z", "--index-info")
	}
	if err != nil {
		return "", err
	}
	return b.line(ctx, "", "write-tree")
}

// CommitSettled makes the commit of a merge whose conflicts were settled, from a tree. What became of the settled files
// is not held against it: Lost tells of all others.
func (w *Writer) CommitSettled(ctx context.Context, dir string, m MergePlan, tree string, settled []string) (Candidate, error) {
	a, err := w.r.apartFrom(ctx, dir)
	if err != nil {
		return Candidate{}, err
	}
	defer a.close()
	ours, err := a.line(ctx, "", "rev-parse", "--verify", "--quiet", m.Ours+"^{tree}")
	if err != nil {
		return Candidate{}, err
	}
	bases, err := a.bases(ctx, m)
	if err != nil {
		return Candidate{}, err
	}
	return a.candidate(ctx, m, bases, tree, ours, settled...)
}

// having names a file that has an attribute with a value of its own; "" where none has.
func (a *apart) having(ctx context.Context, attribute string, paths []string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	out, err := a.run(ctx, strings.Join(paths, "\x00")+"\x00", "check-attr", "-z", "--stdin", attribute)
	fields := strings.Split(out, "\x00")
	for ; err == nil && len(fields) >= 3; fields = fields[3:] { // path, attribute, value
		if !slices.Contains([]string{"unspecified", "unset", "set"}, fields[2]) {
			return fields[0], nil
		}
	}
	return "", err
}
