package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what is read of recorded resolutions: files of one conflict, and bytes of one file.
const (
	mostImages     = 200
	mostImageBytes = 16 << 20
)

// recorded resolves files in conflict as git rerere has recorded it in the repository that dir is in: by path,
// with what is to stand there as stage 0. One file that is not resolved leaves out all. Nothing is written there: git
// works on copies of the records that are about these conflicts, in a worktree that holds these files alone.
func (a *apart) recorded(ctx context.Context, dir string, m MergePlan, tree string, conflicts []side) (map[string]side, error) {
	p, err := Find(dir)
	if err != nil {
		return nil, err
	}
	store := filepath.Join(p.Common, "rr-cache")
	if !exists(store) {
		return nil, nil
	}
	b, tree, err := a.asMerged(ctx, p, m, tree)
	if err != nil {
		return nil, err
	}
	for _, attribute := range []string{"filter", "conflict-marker-size"} { // it stands otherwise than it is stored, or as marks that are not known
		if has, err := b.having(ctx, attribute, paths(conflicts)); err != nil || has != "" {
			return nil, err
		}
	}
	if err := b.standing(ctx, tree, conflicts); err != nil {
		return nil, err
	}
	ids, err := b.conflictIDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := copyRecord(filepath.Join(store, id), filepath.Join(a.dir, "git", "rr-cache", id)); err != nil {
			return nil, fmt.Errorf("cannot read recorded resolution %.12s: %w", id, err)
		}
	}
	if _, err := b.run(ctx, "", "-c", "rerere.enabled=true", "-c", "rerere.autoupdate=true", "rerere"); err != nil {
		return nil, err
	}
	return b.resolved(ctx, conflicts)
}

func paths(list []side) (out []string) {
	for _, s := range list {
		out = append(out, s.path)
	}
	return out
}

// likeTheirs are the settings by which a file in conflict looks as it did to the person who resolved it, with the
// values that are known. None of them names a program.
var likeTheirs = map[string][]string{"merge.conflictstyle": {"merge", "diff3", "zdiff3"}, "core.autocrlf": {"true", "false", "input"}, "core.eol": {"lf", "crlf", "native"}}

// asMerged is a with those settings of a repository, an index of its own, and the tree that the merge has by them.
func (a *apart) asMerged(ctx context.Context, p Place, m MergePlan, tree string) (*apart, string, error) {
	settings, err := a.r.settings(ctx, p)
	if err != nil {
		return nil, "", err
	}
	var pass [][2]string
	styled := false
	for _, s := range settings {
		if slices.Contains(likeTheirs[s.key], s.value) {
			pass = append(pass, [2]string{s.key, s.value})
			styled = styled || s.key == "merge.conflictstyle"
		}
	}
	b := a.indexed("rerere", "")
	b.env = append(b.env, configured(pass)...)
	if styled {
		t, err := b.mergeTree(ctx, m)
		return b, t.tree, err
	}
	return b, tree, nil
}

// standing puts files in conflict into the worktree and the index as git merge leaves them there.
func (a *apart) standing(ctx context.Context, tree string, conflicts []side) error {
	out, err := a.run(ctx, "", append([]string{"ls-tree", "-z", "--full-tree", "-r", tree, "--"}, paths(conflicts)...)...)
	if err != nil {
		return err
	}
	list, err := parseTree(out)
	if err != nil {
		return err
	}
	var marked, staged strings.Builder
	for _, f := range list {
		fmt.Fprintf(&marked, "%s %s 0\t%s\x00", f.Mode, f.OID, f.Path)
	}
	for _, c := range conflicts {
		fmt.Fprintf(&staged, "0 %s\t%s\x00", strings.Repeat("0", len(c.oid[2])), c.path)
		for stage := 1; stage <= 3; stage++ {
			if c.mode[stage] != "" {
				fmt.Fprintf(&staged, "%s %s %d\t%s\x00", c.mode[stage], c.oid[stage], stage, c.path)
			}
		}
	}
	if _, err = a.run(ctx, marked.String(), "update-index", "-z", "--index-info"); err == nil {
		_, err = a.run(ctx, "", "checkout-index", "--all", "--force", "--quiet")
	}
	if err == nil {
		_, err = a.run(ctx, staged.String(), "update-index", "-z", "--index-info")
	}
	return err
}

// conflictIDs are what git rerere calls the conflicts, each once. It is asked where nothing is recorded, and its
// own first record is taken away again.
func (a *apart) conflictIDs(ctx context.Context) (ids []string, err error) {
	cache, list := filepath.Join(a.dir, "git", "rr-cache"), filepath.Join(a.dir, "git", "MERGE_RR")
	if err := os.Mkdir(cache, 0o700); err != nil {
		return nil, err
	}
	if _, err := a.run(ctx, "", "-c", "rerere.enabled=true", "-c", "rerere.autoupdate=false", "rerere"); err != nil {
		return nil, err
	}
	text, err := readRegular(list, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for row := range strings.SplitSeq(string(text), "\x00") {
		id, _, tab := strings.Cut(row, "\t")
		id, _, _ = strings.Cut(id, ".") // one of several resolutions of the same conflict
		if tab && isOID(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), errors.Join(os.RemoveAll(cache), removed(list))
}

func removed(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copyRecord copies what is recorded of one conflict; nothing is.
func copyRecord(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err == nil && len(entries) > mostImages {
		err = fmt.Errorf("it has %d files, and at most %d are read", len(entries), mostImages)
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if err != nil || name != "preimage" && name != "postimage" {
			continue
		}
		var text []byte
		if text, err = readRegular(filepath.Join(from, e.Name()), mostImageBytes); err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), text, 0o600)
		}
	}
	return err
}

// resolved reads what git rerere has put into the index; nothing where it left any file in conflict, or a
// resolution has marks of a conflict in it.
func (a *apart) resolved(ctx context.Context, conflicts []side) (map[string]side, error) {
	out, err := a.run(ctx, "", "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	list, err := parseSides(strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"))
	if err != nil {
		return nil, err
	}
	found := map[string]side{}
	for _, s := range list {
		if s.mode[0] == "" { // it is in conflict still
			return nil, nil
		}
		found[s.path] = s
	}
	for _, c := range conflicts {
		now, is := found[c.path]
		if !is || now.mode[0] != c.mode[2] {
			return nil, nil
		}
		texts := []TreeFile{{Mode: now.mode[0], OID: now.oid[0]}, {Mode: c.mode[2], OID: c.oid[2]}, {Mode: c.mode[3], OID: c.oid[3]}}
		if err := a.texts(ctx, texts); err != nil {
			return nil, err
		}
		if hasMarks(texts[0].Text, texts[1].Text, texts[2].Text) {
			return nil, nil
		}
	}
	return found, nil
}

// texts reads the bytes of files by their names in the object store.
func (a *apart) texts(ctx context.Context, list []TreeFile) error {
	r := *a.r
	r.env = slices.Concat(r.env, a.env)
	return r.texts(ctx, filepath.Join(a.dir, "tree"), list)
}

// hasMarks says whether a resolution has lines that look like the marks of a conflict, and that neither side has.
func hasMarks(text []byte, sides ...[]byte) bool {
	known := map[string]bool{}
	for _, side := range sides {
		for line := range strings.Lines(string(side)) {
			known[strings.TrimRight(line, "\r\n")] = true
		}
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); isMark(line) && !known[line] {
			return true
		}
	}
	return false
}

// shortestMark is how long a mark of a conflict is, where no attribute says otherwise.
const shortestMark = 7

func isMark(line string) bool {
	if len(line) < shortestMark || !strings.ContainsRune("<>|=", rune(line[0])) {
		return false
	}
	rest := strings.TrimLeft(line, line[:1])
	return len(line)-len(rest) >= shortestMark && (rest == "" || rest[0] == ' ')
}
