package git

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// maxLoose is how many commits that nothing else holds a backup takes as
// parents; a worktree with more refuses the backup.
const maxLoose = 500

// ownRefs are files in a worktree's git folder that name commits.
var ownRefs = [...]string{"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE", "REBASE_HEAD",
	"rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/stopped-sha", "rebase-merge/autostash", "rebase-merge/head",
	"rebase-apply/orig-head", "rebase-apply/onto", "rebase-apply/autostash", "rebase-apply/original-commit", "MERGE_AUTOSTASH"}

// looseCommits returns the commits that only this worktree knows of (its
// reflog, its operation in progress), as few as hold them all.
func (j *job) looseCommits(ctx context.Context) ([]string, error) {
	known, err := j.commitsOf(ctx, j.named())
	if err != nil || len(known) == 0 {
		return nil, err
	}
	// HEAD itself is a parent already; what a branch or tag holds is safe.
	args := []string{"rev-list", "--parents", "--topo-order", "--stdin", "--not", "--branches", "--tags", "--remotes", j.head}
	out, err := j.run(ctx, "", []byte(strings.Join(known, "\n")+"\n"), args...)
	if err != nil {
		return nil, err
	}
	tips := tips(out)
	if len(tips) > maxLoose {
		return nil, fmt.Errorf("%w: %d commits that only it knows of, more than %d", ErrWouldLose, len(tips), maxLoose)
	}
	return tips, nil
}

// tips returns the listed commits that are no parent of another listed one.
func tips(revList string) []string {
	var all []string
	parent := map[string]bool{}
	for _, l := range strings.Split(revList, "\n") {
		for i, oid := range strings.Fields(l) {
			if i == 0 {
				all = append(all, oid)
			} else {
				parent[oid] = true
			}
		}
	}
	var tips []string
	for _, oid := range all {
		if !parent[oid] {
			tips = append(tips, oid)
		}
	}
	return tips
}

// longestLog is many times what the reflog of a worktree comes to, in bytes.
const longestLog = 256 << 20

// named lists every object name that the worktree's own git folder mentions.
func (j *job) named() []string {
	seen := map[string]bool{}
	for _, name := range ownRefs {
		if s, err := readSmall(filepath.Join(j.p.GitDir, name)); err == nil {
			for _, oid := range strings.Fields(s) {
				seen[oid] = true
			}
		}
	}
	if j.p.Linked() { // the main worktree's reflog stays
		log, _ := readRegular(filepath.Join(j.p.GitDir, "logs", "HEAD"), longestLog)
		for _, l := range bytes.Split(log, []byte("\n")) {
			for _, oid := range strings.Fields(string(l[:min(len(l), 130)])) {
				seen[oid] = true
			}
		}
	}
	var oids []string
	for oid := range seen {
		if isOID(oid) {
			oids = append(oids, oid)
		}
	}
	return oids
}

// isOID says whether a word may be an object's name (SHA-1 or SHA-256, not all zeros).
func isOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// commitsOf keeps the names of commits that still exist; a reflog may name
// some that were collected long ago.
func (j *job) commitsOf(ctx context.Context, oids []string) ([]string, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	out, err := j.run(ctx, "", []byte(strings.Join(oids, "\n")+"\n"), "cat-file", "--batch-check=%(objecttype) %(objectname)")
	if err != nil {
		return nil, err
	}
	var commits []string
	for _, l := range strings.Split(out, "\n") {
		if oid, ok := strings.CutPrefix(l, "commit "); ok {
			commits = append(commits, oid)
		}
	}
	return commits, nil
}

// name gives the commit its ref. A ref that exists is never moved.
func (w *Writer) name(ctx context.Context, p Place, branch, commit string) (string, error) {
	base := BackupRefs + RefName(branch, p.Top) + "/" + w.o.Now().UTC().Format("20060102T150405Z")
	zero := strings.Repeat("0", len(commit))
	var err error
	for n := 1; n <= 100; n++ {
		ref := base
		if n > 1 {
			ref = fmt.Sprintf("%s-%d", base, n)
		}
		tips, terr := w.r.Tips(ctx, p.Common, ref)
		if terr != nil {
			return "", terr
		}
		if tips[ref] != "" {
			err = fmt.Errorf("%s exists", ref)
			continue
		}
		if _, err = w.r.git(ctx, p.Common, "update-ref", "-m", "custos: backup", ref, commit, zero); err == nil || ctx.Err() != nil {
			return ref, err
		}
	}
	return "", fmt.Errorf("cannot name the backup: %w", err)
}

// RefName returns the part of a backup's ref between BackupRefs and the time:
// the branch, else the folder's name, with every byte that a ref must not hold
// (git-check-ref-format) replaced.
func RefName(branch, top string) string {
	if branch != "" {
		return branch // a branch's name is fit for a ref
	}
	var b strings.Builder
	for _, c := range []byte(filepath.Base(top)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return "detached-" + b.String()
}

// readBack checks that the ref names the commit, that everything it names is
// there, and that the files are still what was saved.
func (j *job) readBack(ctx context.Context, ref, commit string) error {
	got, err := j.w.r.commit(ctx, j.p.Common, ref)
	if err != nil || got != commit {
		return fmt.Errorf("cannot read the backup %s back: it names %q, want %q: %w", ref, got, commit, err)
	}
	if _, err := j.w.r.git(ctx, j.p.Common, "rev-list", "--objects", "--quiet", commit, "--not", j.head); err != nil {
		return fmt.Errorf("cannot read the backup %s back: %w", ref, err)
	}
	saved, err := j.w.r.changed(ctx, j.p.Common, j.head, commit)
	if err != nil {
		return err
	}
	if j.gone {
		return nil
	}
	now, err := j.survey(ctx, false)
	if err != nil {
		return err
	}
	return j.compare(ctx, saved, now)
}

// compare holds the files as they are now against what was saved.
func (j *job) compare(ctx context.Context, saved, now map[string]object) error {
	head, err := j.listed(ctx, now)
	if err != nil {
		return err
	}
	for path, o := range now {
		want, ok := saved[path]
		if !ok {
			want = head[path]
		}
		if strings.Trim(want.oid, "0") == "" {
			want = object{}
		}
		if o != want {
			return fmt.Errorf("cannot trust the backup: %q changed while it was being saved", path)
		}
	}
	for path := range j.overlay {
		if _, ok := now[path]; !ok {
			return fmt.Errorf("cannot trust the backup: %q changed while it was being saved", path)
		}
	}
	return nil
}

// listed returns what HEAD holds at the given paths.
func (j *job) listed(ctx context.Context, at map[string]object) (map[string]object, error) {
	out, err := j.run(ctx, "", nil, "ls-tree", "-r", "-z", "--full-tree", j.head)
	if err != nil {
		return nil, err
	}
	head := map[string]object{}
	for _, e := range strings.Split(out, "\x00") {
		meta, path, _ := strings.Cut(e, "\t")
		cols := strings.Fields(meta)
		if _, ok := at[path]; ok && len(cols) == 3 {
			head[path] = object{cols[0], cols[2]}
		}
	}
	return head, nil
}
