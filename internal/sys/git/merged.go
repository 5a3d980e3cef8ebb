package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Merged says whether, and how, a commit's content is in the primary branch.
type Merged struct {
	Yes bool
	By  string // ancestry, content
}

// maxHistory is how many commits of the primary branch, since the fork, are
// searched for the one that brought a squashed branch in.
const maxHistory = 2000

// Merged asks whether what head brought since it forked is in one of refs:
//
//   - by ancestry: head is an ancestor;
//   - by content, now: every path that head changed since the fork is the same
//     in the ref;
//   - by content, then: at one commit of the ref's first-parent line since the
//     fork, every such path was the same (squashed, and built upon since);
//   - by content, merging changes nothing: a three-way merge of head into the
//     ref gives the ref's own tree. It runs in a repository of its own without
//     attributes or configuration, so that no merge driver can lie.
//
// Anything in doubt (no single fork point, a conflict) is answered no.
func (r *Reader) Merged(ctx context.Context, p Place, head string, refs []string) (Merged, error) {
	for _, ref := range refs {
		m, err := r.mergedInto(ctx, p, head, ref)
		if err != nil {
			return Merged{}, fmt.Errorf("cannot tell whether it is merged: %w", err)
		}
		if m.Yes {
			return m, nil
		}
	}
	return Merged{}, nil
}

func (r *Reader) mergedInto(ctx context.Context, p Place, head, ref string) (Merged, error) {
	tip, err := r.commit(ctx, p.Common, ref)
	if err != nil {
		return Merged{}, err
	}
	if ok, err := r.says(ctx, p.Common, "merge-base", "--is-ancestor", head, tip); ok || err != nil {
		return Merged{ok, "ancestry"}, err
	}
	base, err := r.fork(ctx, p.Common, head, tip)
	if base == "" || err != nil {
		return Merged{}, err
	}
	for _, same := range []func(context.Context, Place, string, string, string) (bool, error){r.sameNow, r.sameThen, r.mergeIsNothing} {
		if ok, err := same(ctx, p, base, head, tip); ok || err != nil {
			return Merged{ok, "content"}, err
		}
	}
	return Merged{}, nil
}

// commit resolves a ref to the commit it names.
func (r *Reader) commit(ctx context.Context, dir, ref string) (string, error) {
	return r.line(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
}

// fork returns the one commit both sides come from; "" when there is none, or
// more than one.
func (r *Reader) fork(ctx context.Context, dir, a, b string) (string, error) {
	out, err := r.git(ctx, dir, "merge-base", "--all", a, b)
	if bases := strings.Fields(string(out)); err == nil && len(bases) == 1 {
		return bases[0], nil
	}
	if exitedOne(err) {
		return "", nil
	}
	return "", err
}

// object is the mode and name of what a path holds.
type object struct{ mode, oid string }

// changed lists what differs between two trees, as the second has it.
func (r *Reader) changed(ctx context.Context, dir, from, to string) (map[string]object, error) {
	out, err := r.git(ctx, dir, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", from, to)
	if err != nil {
		return nil, err
	}
	changes := map[string]object{}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		o, err := rawObject(fields[i])
		if err != nil {
			return nil, err
		}
		changes[fields[i+1]] = o
	}
	return changes, nil
}

// rawObject reads the new side of ":oldmode newmode oldoid newoid status".
func rawObject(f string) (object, error) {
	cols := strings.Fields(f)
	if len(cols) != 5 || !strings.HasPrefix(cols[0], ":") {
		return object{}, fmt.Errorf("cannot read a raw difference: %.80q", f)
	}
	return object{cols[1], cols[3]}, nil
}

func (r *Reader) sameNow(ctx context.Context, p Place, base, head, tip string) (bool, error) {
	brought, err := r.changed(ctx, p.Common, base, head)
	if err != nil {
		return false, err
	}
	differ, err := r.changed(ctx, p.Common, tip, head)
	if err != nil {
		return false, err
	}
	for path := range brought {
		if _, ok := differ[path]; ok {
			return false, nil
		}
	}
	return true, nil
}

// sameThen follows the ref's first-parent line from the fork and compares the
// paths that head changed, commit by commit.
func (r *Reader) sameThen(ctx context.Context, p Place, base, head, tip string) (bool, error) {
	brought, err := r.changed(ctx, p.Common, base, head)
	if err != nil || len(brought) == 0 {
		return false, err
	}
	out, err := r.git(ctx, p.Common, "log", "-z", "--first-parent", "--diff-merges=first-parent", "--raw", "--no-renames",
		"--no-abbrev", "--ignore-submodules=none", "--format=commit %P", fmt.Sprintf("--max-count=%d", maxHistory), base+".."+tip)
	if err != nil {
		return false, err
	}
	return replay(string(out), base, brought)
}

// edit is one path that a commit changed.
type edit struct {
	path string
	to   object
}

// replay reads the log, newest first, and applies it oldest first until every
// path is as brought has it at the same time.
func replay(out, base string, brought map[string]object) (bool, error) {
	commits, first, err := parseLog(out)
	if err != nil || first != base {
		return false, err // where the line does not begin at the fork, what it began with is not known
	}
	same := map[string]bool{}
	for i := len(commits) - 1; i >= 0; i-- {
		for _, e := range commits[i] {
			if want, ok := brought[e.path]; ok && want == e.to {
				same[e.path] = true
			} else {
				delete(same, e.path)
			}
		}
		if len(same) == len(brought) {
			return true, nil
		}
	}
	return false, nil
}

// parseLog reads "git log -z --raw --format=commit %P" and returns each
// commit's edits, and the first parent of the last one.
func parseLog(out string) (commits [][]edit, first string, err error) {
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		f := strings.TrimLeft(fields[i], "\n")
		if parents, ok := strings.CutPrefix(f, "commit "); ok {
			first, _, _ = strings.Cut(parents, " ")
			commits = append(commits, nil)
			continue
		}
		if f == "" {
			continue
		}
		o, err := rawObject(f)
		if err != nil || len(commits) == 0 || i+1 >= len(fields) {
			return nil, "", fmt.Errorf("cannot read the log at field %d: %.80q", i+1, f)
		}
		i++
		last := &commits[len(commits)-1]
		*last = append(*last, edit{fields[i], o})
	}
	return commits, first, nil
}

func (r *Reader) mergeIsNothing(ctx context.Context, p Place, _, head, tip string) (bool, error) {
	out, err := r.merge(ctx, p, false, tip, head)
	if exitedOne(err) {
		return false, nil // a conflict
	}
	if err != nil {
		return false, err
	}
	tree, err := r.line(ctx, p.Common, "rev-parse", "--verify", "--quiet", tip+"^{tree}")
	return err == nil && tree == strings.TrimSpace(string(out)), err
}

// merge is git merge-tree in a bare repository of its own that borrows p's
// objects: nothing is written to p (git may freshen the time of an object that
// it would have written), and none of its attributes, configuration or drivers
// count. It exits with 1 where there is a conflict.
func (r *Reader) merge(ctx context.Context, p Place, renames bool, args ...string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "custos-merge-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder to merge in: %w", err)
	}
	defer os.RemoveAll(tmp)
	env, err := r.borrow(ctx, p, tmp)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, call{dir: tmp, env: env, args: append([]string{"-c", fmt.Sprint("merge.renames=", renames), "-c", "merge.renormalize=false",
		"-c", "merge.default=", "-c", "core.attributesFile=/dev/null", "merge-tree", "--write-tree", "--no-messages"}, args...)})
}

// borrow makes an empty bare repository that reads p's objects.
func (r *Reader) borrow(ctx context.Context, p Place, dir string) ([]string, error) {
	format, err := r.line(ctx, p.Common, "rev-parse", "--show-object-format")
	if err != nil {
		return nil, err
	}
	env := []string{"GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TEMPLATE_DIR="}
	if _, err := r.run(ctx, call{dir: dir, env: env, args: []string{"init", "--quiet", "--bare", "--object-format=" + format}}); err != nil {
		return nil, err
	}
	// The name of p's folder may hold any byte; that of a link to it does not.
	link := filepath.Join(dir, "borrowed")
	if err := os.Symlink(filepath.Join(p.Common, "objects"), link); err != nil {
		return nil, fmt.Errorf("cannot borrow objects: %w", err)
	}
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return nil, fmt.Errorf("cannot borrow objects: %w", err)
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(link+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("cannot borrow objects: %w", err)
	}
	return env, nil
}
