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

// AddPlain makes a worktree on no branch, at Start, whose files are those of a tree as they are stored, with the line
// ends that its attributes ask for. No program runs on the way, as a filter is: a file that needs one stands there as it
// is stored. Start is only what its HEAD is at.
func (w *Writer) AddPlain(ctx context.Context, plan WorktreePlan, tree string) error {
	if _, err := w.r.git(ctx, plan.Repo, "worktree", "add", "--quiet", "--detach", "--no-checkout", "--", plan.Path, plan.Start); err != nil {
		return err
	}
	if _, err := w.r.git(ctx, plan.Path, "read-tree", tree); err != nil { // what is run there may ask git for its files
		return err
	}
	a, err := w.r.apartFrom(ctx, plan.Repo)
	if err != nil {
		return err
	}
	defer a.close()
	b := a.indexed("index", plan.Path)
	if _, err = b.run(ctx, "", "read-tree", tree); err == nil {
		_, err = b.run(ctx, "", "checkout-index", "--all", "--force", "--quiet")
	}
	return err
}

// MadeAnew is what a command has changed in a worktree.
type MadeAnew struct {
	Tree    string   // with the files that it might change as they stand there; "" where it changed another one
	Changed []string // those of them that differ; raw, sorted
	Others  []string // what it changed besides; raw, sorted
}

// mostAnew is how large a file that was made anew may be, in bytes.
const mostAnew = 64 << 20

// TakeMade compares a worktree with the tree that it was made of, and takes over what differs where may says so. What
// the tree's own .gitignore names is not seen, submodules are not looked into, and no configuration of the worktree, which
// the command may have changed, is read.
func (w *Writer) TakeMade(ctx context.Context, plan WorktreePlan, tree string, may func(path string) bool) (MadeAnew, error) {
	a, err := w.r.apartFrom(ctx, plan.Repo)
	if err != nil {
		return MadeAnew{}, err
	}
	defer a.close()
	b := a.indexed("index", plan.Path)
	differ, err := b.differ(ctx, tree)
	if err != nil {
		return MadeAnew{}, err
	}
	var m MadeAnew
	for _, path := range differ {
		if may(path) && !strings.HasSuffix(path, "/") { // a repository of its own
			m.Changed = append(m.Changed, path)
		} else {
			m.Others = append(m.Others, path)
		}
	}
	if len(m.Others) > 0 {
		return m, nil
	}
	if err := b.storable(ctx, plan.Path, m.Changed); err != nil {
		return MadeAnew{}, err
	}
	if len(m.Changed) > 0 {
		if _, err := b.run(ctx, strings.Join(m.Changed, "\x00")+"\x00", "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
			return MadeAnew{}, err
		}
	}
	m.Tree, err = b.line(ctx, "", "write-tree")
	return m, err
}

// differ lists what differs in the worktree from a tree, and what only the worktree has, each once, sorted.
func (a *apart) differ(ctx context.Context, tree string) ([]string, error) {
	if _, err := a.run(ctx, "", "read-tree", tree); err != nil {
		return nil, err
	}
	if _, err := a.run(ctx, "", "update-index", "-q", "--refresh"); err != nil && !exitedOne(err) {
		return nil, err
	}
	changed, err := a.run(ctx, "", "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	others, err := a.run(ctx, "", "ls-files", "-z", "--others", "--exclude-standard")
	list := slices.DeleteFunc(strings.Split(changed+others, "\x00"), func(p string) bool { return p == "" })
	slices.Sort(list)
	return slices.Compact(list), err
}

// ErrNotStored says that what a command made cannot be stored as it is.
var ErrNotStored = errors.New("it cannot be stored")

// storable refuses what is no file, what is too large, and what git would store by way of a program.
func (a *apart) storable(ctx context.Context, top string, changed []string) error {
	for _, path := range changed {
		info, err := os.Lstat(filepath.Join(top, path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%w: %q is no file any more", ErrNotStored, path)
		case info.Size() > mostAnew:
			return fmt.Errorf("%w: %q has %d bytes, and may have %d", ErrNotStored, path, info.Size(), mostAnew)
		}
	}
	by, err := a.having(ctx, "filter", changed)
	if err == nil && by != "" {
		err = fmt.Errorf("%w: %q is stored by way of a program, as its attribute filter says", ErrNotStored, by)
	}
	return err
}
