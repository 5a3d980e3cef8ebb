package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MergePlan is one commit to be merged onto another, in the object store alone.
type MergePlan struct {
	Ours, Theirs string // the commits, by their full names
	Message      string
	Name, Email  string // of author and committer
	At           time.Time
}

// Candidate is what came of a MergePlan.
type Candidate struct {
	Commit    string   // the merge commit; Ours where there is nothing to do; "" where it conflicts
	Tree      string   // of that commit
	Already   bool     // Theirs is in Ours: nothing was made
	Empty     bool     // Theirs changes nothing of Ours' tree: nothing was made
	Unrelated bool     // they have no common ancestor: nothing was made
	Conflicts []string // raw paths, sorted, each once
	Lost      []string // what one side brought and the merge has not: see Lost
}

// MergeCommits makes the commit that merges Theirs onto Ours, always with both for parents. It writes
// objects and nothing else: no ref, no index, no file of any worktree. What comes of it hangs on the two
// commits alone, not on what is checked out or configured, and no program runs: ErrRunsCode says that a
// merge driver with a program would have had to. With ErrTooMuch the candidate is made, and only what it
// may have lost is not known.
func (w *Writer) MergeCommits(ctx context.Context, dir string, m MergePlan) (Candidate, error) {
	c, err := w.mergeCommits(ctx, dir, m)
	if err != nil {
		err = fmt.Errorf("cannot merge %.64q onto %.64q: %w", m.Theirs, m.Ours, err)
	}
	return c, err
}

func (w *Writer) mergeCommits(ctx context.Context, dir string, m MergePlan) (Candidate, error) {
	if !isOID(m.Ours) || !isOID(m.Theirs) {
		return Candidate{}, errors.New("a commit is not named in full")
	}
	a, err := w.r.apartFrom(ctx, dir)
	if err != nil {
		return Candidate{}, err
	}
	defer a.close()
	tree, err := a.line(ctx, "", "rev-parse", "--verify", "--quiet", m.Ours+"^{tree}")
	if err != nil {
		return Candidate{}, err
	}
	bases, err := a.bases(ctx, m)
	switch {
	case err != nil:
		return Candidate{}, err
	case slices.Contains(bases, m.Theirs):
		return Candidate{Commit: m.Ours, Tree: tree, Already: true}, nil
	case len(bases) == 0:
		return Candidate{Unrelated: true}, nil
	}
	merged, err := a.merge(ctx, m)
	if err != nil || len(merged.conflicts) > 0 {
		return Candidate{Conflicts: merged.conflicts}, err
	}
	return a.candidate(ctx, m, bases, merged.tree, tree)
}

// candidate makes the commit of a merged tree, where that is another than the one that Ours has. In settled
// files lines may be gone.
func (a *apart) candidate(ctx context.Context, m MergePlan, bases []string, merged, ours string, settled ...string) (c Candidate, err error) {
	c = Candidate{Commit: m.Ours, Tree: merged, Empty: merged == ours}
	if !c.Empty {
		if c.Commit, err = a.commit(ctx, m, merged); err != nil {
			return Candidate{}, err
		}
	}
	c.Lost, err = a.lost(ctx, bases, m.Ours, m.Theirs, merged, settled...)
	return c, err
}

// apart is a repository of our own with the objects of another one, and with what that says of how far its
// history reaches. Nothing else of it is there: no configuration, attributes, refs, hooks, recorded
// resolutions or submodules. Its worktree holds attributes alone, and only those that are put there.
type apart struct {
	r       *Reader
	dir     string
	top     string // of a worktree elsewhere; "": dir/tree
	env     []string
	drivers []string // merge drivers that the other repository, or the user, has programs for
}

func (r *Reader) apartFrom(ctx context.Context, dir string) (*apart, error) {
	p, err := Find(dir)
	if err != nil {
		return nil, err
	}
	settings, err := r.settings(ctx, p)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "custos-merge-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder to merge in: %w", err)
	}
	a := &apart{r: r, dir: tmp, env: []string{"GIT_DIR=" + filepath.Join(tmp, "git"), "GIT_WORK_TREE=" + filepath.Join(tmp, "tree"),
		"GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}}
	if err := a.fill(p, settings); err != nil {
		a.close()
		return nil, fmt.Errorf("cannot make a folder to merge in: %w", err)
	}
	return a, nil
}

func (a *apart) close() { _ = os.RemoveAll(a.dir) }

// fill leads to p's objects. Who may read what is written to them stays as p's configuration has it.
func (a *apart) fill(p Place, settings []setting) error {
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tattributesFile = /dev/null\n"
	for _, s := range settings {
		name, variable, is := driver(s.key, "merge")
		switch {
		case is && variable == "driver" && s.value != "":
			a.drivers = append(a.drivers, name)
		case s.key == "core.sharedrepository" && strings.Trim(s.value, "abcdefghijklmnopqrstuvwxyz0123456789") == "":
			config += "\tsharedRepository = " + s.value + "\n"
		}
	}
	for _, s := range settings {
		if s.key == "extensions.objectformat" && slices.Contains(storage[s.key], s.value) {
			config += "[extensions]\n\tobjectFormat = " + s.value + "\n"
		}
	}
	git, err := filepath.Join(a.dir, "git"), error(nil)
	for _, name := range []string{"git/refs", "tree", "bare"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(a.dir, name), 0o700))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(git, "config"), []byte(config), 0o600),
		os.Symlink(filepath.Join(p.Common, "objects"), filepath.Join(git, "objects")))
	if to := filepath.Join(p.Common, "shallow"); exists(to) {
		err = errors.Join(err, os.Symlink(to, filepath.Join(git, "shallow")))
	}
	return err
}

func (a *apart) run(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := a.r.run(ctx, call{dir: cmp.Or(a.top, filepath.Join(a.dir, "tree")), env: a.env, stdin: strings.NewReader(stdin), args: args})
	return string(out), err
}

func (a *apart) line(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := a.run(ctx, stdin, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// bases returns the best common ancestors; none where the two are unrelated. In a shallow clone a better
// one may lie where history is cut off, and a merge from a worse one brings back what was taken out: so
// it fails where history is cut off on the way from either side.
func (a *apart) bases(ctx context.Context, m MergePlan) ([]string, error) {
	out, err := a.run(ctx, "", "merge-base", "--all", m.Ours, m.Theirs)
	if err != nil && !exitedOne(err) {
		return nil, err
	}
	bases := strings.Fields(out)
	cut, err := readRegular(filepath.Join(a.dir, "git", "shallow"), 16<<20)
	if errors.Is(err, fs.ErrNotExist) || err == nil && slices.Contains(bases, m.Theirs) {
		return bases, nil
	}
	if err != nil {
		return nil, err
	}
	since, err := a.run(ctx, "", append([]string{"rev-list", m.Ours, m.Theirs, "--not"}, bases...)...)
	at := set(strings.Fields(string(cut))...)
	if err == nil && slices.ContainsFunc(strings.Fields(since), func(c string) bool { return at[c] }) {
		err = errors.New("the clone is shallow, and their history is cut off before they meet: fetch the rest of it")
	}
	return bases, err
}

// mergeTree is what git merge-tree wrote.
type mergeTree struct {
	tree      string
	conflicts []string // paths, sorted, each once
	content   []string // paths that both sides changed, whose contents were merged
	told      []string // paths that messages call conflicts, some of which git has solved
	kinds     []kind   // what the messages call them
}

// kind is what git calls a conflict, "CONFLICT (contents)", and the paths that it is about.
type kind struct {
	name  string
	paths []string
}

// merge merges with the attributes that the merged tree itself has, as far as they are about anything: only
// contents that both sides changed are merged by attributes, and they are known from merging without.
func (a *apart) merge(ctx context.Context, m MergePlan) (mergeTree, error) {
	first, err := a.mergeTree(ctx, m)
	if err != nil || len(first.content) == 0 {
		return first, err
	}
	if some, err := a.attributes(ctx, first); err != nil || !some {
		return first, err
	}
	if err := a.runsCode(ctx, first.content); err != nil {
		return mergeTree{}, err
	}
	return a.mergeTree(ctx, m)
}

func (a *apart) mergeTree(ctx context.Context, m MergePlan) (mergeTree, error) {
	out, err := a.run(ctx, "", "merge-tree", "--write-tree", "-z", "--name-only", "--messages", m.Ours, m.Theirs)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 129 { // it did not understand the arguments
		version, _ := a.line(ctx, "", "version")
		return mergeTree{}, fmt.Errorf("this is %q, and merging without a worktree needs git 2.38 or newer: %w", version, err)
	}
	if err != nil && !exitedOne(err) {
		return mergeTree{}, err
	}
	t, broken := parseMergeTree(out)
	if broken != nil { // it exits with 1 also where it did not merge
		return mergeTree{}, errors.Join(broken, err)
	}
	if err != nil && len(t.conflicts) == 0 { // a folder whose files went to several others leaves no file in conflict
		t.conflicts = slices.Compact(slices.Sorted(slices.Values(t.told)))
	}
	if (err != nil) != (len(t.conflicts) > 0) {
		return mergeTree{}, fmt.Errorf("git merge-tree names %d conflicts and ends so: %v", len(t.conflicts), err)
	}
	return t, nil
}

// parseMergeTree reads what git merge-tree -z --name-only --messages wrote: the tree, the paths that
// conflict, an empty field, and messages: how many paths, the paths, what it is about, and the text. What
// stands behind the last of them, git's advice on submodules, is no field.
func parseMergeTree(out string) (t mergeTree, err error) {
	fields := strings.Split(out, "\x00")
	bad := fmt.Errorf("cannot read git merge-tree: %.80q", out)
	if t.tree = fields[0]; !isOID(t.tree) {
		return mergeTree{}, bad
	}
	end := slices.Index(fields, "")
	if end < 0 {
		return mergeTree{}, bad
	}
	t.conflicts = fields[1:end]
	for rest := fields[min(end+1, len(fields)-1) : len(fields)-1]; len(rest) > 0; {
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 0 || n > len(rest)-3 {
			return mergeTree{}, bad
		}
		switch about := rest[n+1]; {
		case about == "Auto-merging":
			t.content = append(t.content, rest[1:n+1]...)
		case strings.HasPrefix(about, "CONFLICT"):
			t.told = append(t.told, rest[1:n+1]...)
			t.kinds = append(t.kinds, kind{about, rest[1 : n+1]})
		}
		rest = rest[n+3:]
	}
	t.conflicts = slices.Compact(slices.Sorted(slices.Values(t.conflicts)))
	return t, nil
}

// attributes puts the attributes of a tree that may be about its merged contents into the worktree, and
// says whether there are any. One that is a link git would not follow is read like a file: it holds a path.
func (a *apart) attributes(ctx context.Context, t mergeTree) (some bool, err error) {
	var names []string
	for _, p := range t.content {
		for dir := path.Dir(p); ; dir = path.Dir(dir) {
			names = append(names, path.Join(dir, ".gitattributes"))
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	ask := t.tree + ":" + strings.Join(names, "\x00"+t.tree+":") + "\x00"
	out, err := a.run(ctx, ask, "cat-file", "--batch", "-z")
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(filepath.Join(a.dir, "tree")) // a tree may have ".." in it
	if err != nil {
		return false, err
	}
	defer root.Close()
	for _, name := range names {
		var content string
		var is bool
		if content, is, out, err = answered(out, t.tree+":"+name); err == nil && is {
			some = true
			err = errors.Join(root.MkdirAll(path.Dir(name), 0o700), root.WriteFile(name, []byte(content), 0o600))
		}
		if err != nil {
			return false, fmt.Errorf("cannot read attributes: %w", err)
		}
	}
	return some, nil
}

// answered takes what git cat-file --batch said to one name, which may be of nothing, off its output.
func answered(out, name string) (content string, is bool, rest string, err error) {
	if rest, missing := strings.CutPrefix(out, name+" missing\n"); missing {
		return "", false, rest, nil
	}
	head, rest, _ := strings.Cut(out, "\n")
	cols := strings.Fields(head) // name, type, size
	if len(cols) < 3 {
		return "", false, rest, nil // a submodule has its place
	}
	n, err := strconv.Atoi(cols[2])
	if err != nil || n < 0 || n >= len(rest) {
		return "", false, "", fmt.Errorf("cannot read git cat-file: %.80q", head)
	}
	return rest[:n], cols[1] == "blob", rest[n+1:], nil
}

// runsCode refuses where git would merge one of the paths by a program. The drivers that git itself has run none.
func (a *apart) runsCode(ctx context.Context, paths []string) error {
	out, err := a.run(ctx, strings.Join(paths, "\x00")+"\x00", "check-attr", "-z", "--stdin", "merge")
	fields := strings.Split(out, "\x00")
	for ; err == nil && len(fields) >= 3; fields = fields[3:] { // path, attribute, value
		if by := fields[2]; slices.Contains(a.drivers, by) && !slices.Contains([]string{"text", "binary", "union"}, by) {
			err = fmt.Errorf("%w: merge driver %q for %q: do it yourself, with git", ErrRunsCode, by, fields[0])
		}
	}
	return err
}

func (a *apart) commit(ctx context.Context, m MergePlan, tree string) (string, error) {
	stamp := fmt.Sprintf("@%d +0000", m.At.Unix())
	b := *a
	b.env = append(slices.Clone(a.env), "GIT_AUTHOR_NAME="+m.Name, "GIT_AUTHOR_EMAIL="+m.Email, "GIT_AUTHOR_DATE="+stamp,
		"GIT_COMMITTER_NAME="+m.Name, "GIT_COMMITTER_EMAIL="+m.Email, "GIT_COMMITTER_DATE="+stamp)
	return b.line(ctx, m.Message, "commit-tree", "--no-gpg-sign", "-p", m.Ours, "-p", m.Theirs, "-F", "-", tree)
}
