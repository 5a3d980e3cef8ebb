package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Changes is what git status says of a worktree.
type Changes struct {
	Head       string   // commit; "" before the first one
	Branch     string   // "" when detached
	Ahead      int      // of upstream
	Behind     int      // of upstream
	Unsure     []string // tracked files of which only a filter's program, which is not run, could tell whether they changed
	Dirty      []string // changed tracked files, deleted and conflicted ones too
	Gone       []string // of Dirty, what is renamed away (it must go, too, in a copy)
	Conflicts  []string // of Dirty, what is unmerged
	Modules    []string // of Dirty, submodules whose commit or content changed
	Hidden     []string // tracked files on disk that are flagged so that git status does not look at them
	Submodules []string // every one, changed or not
	Untracked  []string // files; a nested repository ends in a slash
	Ignored    []string // files, and folders (ending in a slash) that are ignored whole

	differ []string // of Dirty, what is staged as it is in HEAD, and has other bytes on disk
}

// Certain fails when it cannot be told of a file whether it changed.
func (c Changes) Certain() error {
	if len(c.Unsure) == 0 {
		return nil
	}
	return fmt.Errorf("cannot tell whether %s changed: that takes a filter's program, and looking runs none", names(c.Unsure))
}

// Changes asks git status of the worktree whose top is dir, past its repository's
// configuration: nothing that is configured there runs. The index on disk is not
// refreshed. With ignored, ignored files are listed, too, each wholly ignored
// folder once.
func (r *Reader) Changes(ctx context.Context, dir string, ignored bool) (Changes, error) {
	p, err := At(dir)
	if err != nil {
		return Changes{}, err
	}
	return r.changesAt(ctx, p, ignored, 0)
}

func (r *Reader) changesAt(ctx context.Context, p Place, ignored bool, deep int) (Changes, error) {
	v, err := r.see(ctx, p)
	if err != nil {
		return Changes{}, err
	}
	defer v.close()
	v.deep = deep
	args := []string{"status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all",
		"--ignore-submodules=dirty", "--no-renames"} // what is inside of submodules, modules tells
	if ignored {
		args = append(args, "--ignored=matching")
	}
	out, err := v.git(ctx, nil, args...)
	if err != nil {
		return Changes{}, err
	}
	c, err := ParseStatus(out)
	if err != nil {
		return c, err
	}
	err = v.judge(ctx, &c)
	return c, err
}

// judge adds what git status does not tell.
func (v *view) judge(ctx context.Context, c *Changes) error {
	if err := v.index(ctx, c); err != nil {
		return err
	}
	unsure, err := v.unsure(ctx, c.differ)
	if err != nil {
		return err
	}
	c.Unsure, c.differ = unsure, nil
	not := set(unsure...)
	c.Dirty = slices.DeleteFunc(c.Dirty, func(path string) bool { return not[path] })
	return v.modules(ctx, c)
}

// index lists what only the index tells: files flagged assume-unchanged or
// skip-worktree that are on disk (git status would not show a change to them),
// and submodules.
func (v *view) index(ctx context.Context, c *Changes) error {
	out, err := v.git(ctx, nil, "ls-files", "-v", "--stage", "-z")
	if err != nil {
		return err
	}
	for _, e := range strings.Split(string(out), "\x00") {
		meta, path, ok := strings.Cut(e, "\t")
		cols := strings.Fields(meta) // tag mode oid stage
		if !ok || len(cols) != 4 {
			continue
		}
		if cols[1] == "160000" {
			c.Submodules = append(c.Submodules, path)
		}
		if flagged := cols[0] == "S" || cols[0] != strings.ToUpper(cols[0]); flagged && exists(filepath.Join(v.place.Top, path)) {
			c.Hidden = append(c.Hidden, path)
		}
	}
	return nil
}

// ParseStatus reads what "git status --porcelain=v2 -z --branch" wrote.
func ParseStatus(out []byte) (Changes, error) {
	var c Changes
	fields := strings.Split(string(out), "\x00")
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if f == "" {
			continue
		}
		var err error
		if strings.HasPrefix(f, "2 ") {
			if i++; i >= len(fields) {
				return c, fmt.Errorf("cannot read git status: field %d: a rename without its origin", i)
			}
			c.Gone = append(c.Gone, fields[i])
		}
		if err = c.add(f); err != nil {
			return c, fmt.Errorf("cannot read git status: field %d: %w", i+1, err)
		}
	}
	return c, nil
}

// columns is how many fields stand before the path in each kind of entry.
var columns = [...]struct {
	kind byte
	n    int
}{{'1', 8}, {'2', 9}, {'u', 10}}

func (c *Changes) add(f string) error {
	kind, rest, ok := strings.Cut(f, " ")
	if !ok || len(kind) != 1 || rest == "" {
		return fmt.Errorf("%.80q is no entry", f)
	}
	switch kind[0] {
	case '#':
		return c.header(rest)
	case '?':
		c.Untracked = append(c.Untracked, rest)
		return nil
	case '!':
		c.Ignored = append(c.Ignored, rest)
		return nil
	}
	for _, col := range columns {
		if col.kind == kind[0] {
			return c.changed(f, col.n)
		}
	}
	return fmt.Errorf("%.80q is of an unknown kind", f)
}

func (c *Changes) changed(f string, n int) error {
	parts := strings.SplitN(f, " ", n+1)
	if len(parts) != n+1 || parts[n] == "" {
		return fmt.Errorf("%.80q has %d columns, want %d", f, len(parts), n+1)
	}
	path := parts[n]
	c.Dirty = append(c.Dirty, path)
	if parts[0] == "u" {
		c.Conflicts = append(c.Conflicts, path)
	}
	if strings.HasPrefix(parts[2], "S") {
		c.Modules = append(c.Modules, path)
	}
	if parts[0] == "1" && parts[1] == ".M" && parts[4] == parts[5] && !strings.HasPrefix(parts[2], "S") {
		c.differ = append(c.differ, path)
	}
	return nil
}

func (c *Changes) header(rest string) error {
	key, value, _ := strings.Cut(rest, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			c.Head = value
		}
	case "branch.head":
		if value != "(detached)" {
			c.Branch = value
		}
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		var err1, err2 error
		c.Ahead, err1 = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		c.Behind, err2 = strconv.Atoi(strings.TrimPrefix(behind, "-"))
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%.80q is no count", value)
		}
	}
	return nil
}

// Stash is one entry of a repository's stash.
type Stash struct {
	Branch string // the branch it was made on; "" when detached
	Base   string // the commit it was made on
}

// Stashes lists a repository's stash. All its worktrees share one.
func (r *Reader) Stashes(ctx context.Context, dir string) ([]Stash, error) {
	const ref = "refs/stash" // git stash list is this reflog, but wants a worktree
	if tips, err := r.Tips(ctx, dir, ref); err != nil || tips[ref] == "" {
		return nil, err
	}
	out, err := r.git(ctx, dir, "log", "-g", "-z", "--no-patch", "--format=%P%n%gs", ref, "--")
	if err != nil {
		return nil, err
	}
	return ParseStashes(out), nil
}

// ParseStashes reads what git log -g -z --format="%P%n%gs" refs/stash wrote: the parents,
// then "WIP on BRANCH: …" or "On BRANCH: …" (git's own words). An entry in
// words of another kind belongs to no branch.
func ParseStashes(out []byte) []Stash {
	var list []Stash
	for _, f := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if f == "" {
			continue
		}
		parents, words, _ := strings.Cut(f, "\n")
		s := Stash{}
		s.Base, _, _ = strings.Cut(parents, " ")
		for _, word := range []string{"WIP on ", "On "} {
			if after, ok := strings.CutPrefix(words, word); ok {
				s.Branch, _, _ = strings.Cut(after, ": ")
				break
			}
		}
		if s.Branch == "(no branch)" {
			s.Branch = ""
		}
		list = append(list, s)
	}
	return list
}
