package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// BackupRefs is below where every backup is kept, in the repository itself.
const BackupRefs = "refs/custos/backup/"

// ErrWouldLose says that a backup refused, because it could not have held
// everything.
var ErrWouldLose = errors.New("the backup would lose something")

// WriterOptions bound a backup.
type WriterOptions struct {
	// MaxFile is the biggest file a backup takes, in bytes; default 256 MiB.
	// A bigger one refuses the backup.
	MaxFile int64
	// MaxBytes is the most a backup takes in all, in bytes; default 1 GiB.
	MaxBytes int64
	// Now is the clock that names backups; default time.Now.
	Now func() time.Time
}

// Writer changes repositories: it makes backups and mends.
type Writer struct {
	r *Reader
	o WriterOptions
}

// NewWriter returns a Writer that works through r.
func NewWriter(r *Reader, o WriterOptions) *Writer {
	if o.MaxFile == 0 {
		o.MaxFile = 256 << 20
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Writer{r: r, o: o}
}

// Backup is a backup that was made, and read back.
type Backup struct {
	Ref    string // refs/custos/backup/<name>/<UTC time>
	Commit string
}

// Backup keeps everything of a worktree that its HEAD does not hold, as a
// commit under refs/custos/backup/<branch or folder>/<UTC time>:
//
//   - its tree is HEAD's with the changed, the untracked and the precious
//     ignored files as they are on disk, byte for byte, no filter applied;
//     output that can be built again is left out;
//   - its first parent is HEAD; the next is a commit of the index as it was
//     (conflicts under .custos-stages/), if that differs from HEAD; then every
//     commit that only this worktree knows of: its reflog, an operation in
//     progress, an autostash.
//
// HEAD, index, stash and files are not touched: the index it works on is a
// private one. Then it is read back, and the files are read again: one that
// changed meanwhile fails the backup.
//
// It refuses, with ErrWouldLose, what it cannot hold: a nested repository, a
// submodule with changes, a file that is too big, unreadable, or no file at
// all. Empty folders, times and owners are not kept.
//
// To restore: git worktree add DIR REF gives the files back as a worktree,
// git cat-file blob REF:PATH one file's very bytes, git log REF^2 the index.
func (w *Writer) Backup(ctx context.Context, p Place) (Backup, error) {
	b, err := w.backup(ctx, p)
	if err != nil {
		return Backup{}, fmt.Errorf("cannot back up %q: %w", p.Top, err)
	}
	return b, nil
}

func (w *Writer) backup(ctx context.Context, p Place) (Backup, error) {
	head, branch, err := w.r.Head(ctx, p)
	if err != nil {
		return Backup{}, err
	}
	tmp, err := os.MkdirTemp("", "custos-backup-")
	if err != nil {
		return Backup{}, err
	}
	defer os.RemoveAll(tmp)
	j := &job{w: w, p: p, head: head, tmp: tmp, gone: !exists(p.Top)}
	if err := j.files(ctx); err != nil {
		return Backup{}, err
	}
	commit, err := j.commit(ctx)
	if err != nil {
		return Backup{}, err
	}
	ref, err := w.name(ctx, p, branch, commit)
	if err != nil {
		return Backup{}, err
	}
	if err := j.readBack(ctx, ref, commit); err != nil {
		return Backup{}, err
	}
	return Backup{Ref: ref, Commit: commit}, nil
}

// job is one backup being made.
type job struct {
	w       *Writer
	p       Place
	head    string
	tmp     string
	gone    bool              // the folder is missing: only what git keeps of it is saved
	overlay map[string]object // what differs from HEAD, by path; the zero object is a deletion
}

// run runs git for the worktree, with a private index if one is named.
func (j *job) run(ctx context.Context, index string, stdin []byte, args ...string) (string, error) {
	c := call{dir: j.p.Top, args: args, stdin: bytes.NewReader(stdin)}
	if j.gone {
		c.dir, c.args = j.p.Common, append([]string{"--git-dir=" + j.p.GitDir}, args...)
	}
	if index != "" {
		c.env = []string{"GIT_INDEX_FILE=" + filepath.Join(j.tmp, index)}
	}
	out, err := j.w.r.run(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

// files finds what is not in HEAD as it is, and writes it to the object store.
func (j *job) files(ctx context.Context) (err error) {
	j.overlay = map[string]object{}
	if !j.gone {
		j.overlay, err = j.survey(ctx, true)
	}
	return err
}

// survey lists the files that HEAD does not hold as they are, with the names of
// their content; it writes the content if asked.
func (j *job) survey(ctx context.Context, write bool) (map[string]object, error) {
	paths, err := j.paths(ctx)
	if err != nil {
		return nil, err
	}
	overlay := map[string]object{}
	var regular []string
	var total int64
	for _, path := range paths {
		o, size, err := j.stat(path)
		if err != nil {
			return nil, err
		}
		if total += size; total > j.w.o.MaxBytes {
			return nil, fmt.Errorf("%w: more than %d bytes to keep", ErrWouldLose, j.w.o.MaxBytes)
		}
		overlay[path] = o
		switch o.mode {
		case "100644", "100755":
			regular = append(regular, path)
		case "120000":
			if err := j.link(ctx, path, overlay, write); err != nil {
				return nil, err
			}
		}
	}
	return overlay, j.hash(ctx, regular, overlay, write)
}

// paths lists everything that status shows and that is not reproducible; an
// ignored folder is listed file by file.
func (j *job) paths(ctx context.Context) ([]string, error) {
	c, err := j.w.r.Changes(ctx, j.p.Top, true)
	if err != nil {
		return nil, err
	}
	if len(c.Modules) > 0 {
		return nil, fmt.Errorf("%w: submodules with changes: %s", ErrWouldLose, names(c.Modules))
	}
	all, err := j.againstHead(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]string{c.Dirty, c.Unsure, c.Gone, c.Hidden, c.Untracked, sortIgnored(j.p.Top, c.Ignored).precious} {
		for _, item := range list {
			if err := j.expand(ctx, item, all); err != nil {
				return nil, err
			}
		}
	}
	paths := make([]string, 0, len(all))
	for path := range all {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths, nil
}

// againstHead lists what the index has that HEAD has not: a file staged as new
// and then gone from disk must not come from HEAD.
func (j *job) againstHead(ctx context.Context) (map[string]bool, error) {
	out, err := j.run(ctx, "", nil, "diff-index", "--cached", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", j.head)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, path := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if path != "" {
			all[path] = true
		}
	}
	return all, nil
}

// expand adds an item of the status; a folder is walked.
func (j *job) expand(ctx context.Context, item string, all map[string]bool) error {
	rel, folder := strings.CutSuffix(item, "/")
	if !folder {
		all[item] = true
		return nil
	}
	return filepath.WalkDir(filepath.Join(j.p.Top, rel), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrWouldLose, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.Name() == ".git":
			return fmt.Errorf("%w: a nested repository: %q", ErrWouldLose, filepath.Dir(path))
		case !e.IsDir():
			all[strings.TrimPrefix(path, j.p.Top+"/")] = true
		}
		return nil
	})
}

// stat judges what a path is now.
func (j *job) stat(path string) (object, int64, error) {
	info, err := os.Lstat(filepath.Join(j.p.Top, path))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return object{}, 0, nil
	case err != nil:
		return object{}, 0, fmt.Errorf("%w: %w", ErrWouldLose, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return object{mode: "120000"}, 0, nil
	case info.IsDir():
		return object{}, 0, nil // a file gave way to a folder, whose files are listed by themselves
	case !info.Mode().IsRegular():
		return object{}, 0, fmt.Errorf("%w: %q is no ordinary file", ErrWouldLose, path)
	case info.Size() > j.w.o.MaxFile:
		return object{}, 0, fmt.Errorf("%w: %q has %d bytes, more than %d", ErrWouldLose, path, info.Size(), j.w.o.MaxFile)
	case info.Mode().Perm()&0o100 != 0:
		return object{mode: "100755"}, info.Size(), nil
	}
	return object{mode: "100644"}, info.Size(), nil
}

func (j *job) link(ctx context.Context, path string, overlay map[string]object, write bool) error {
	to, err := os.Readlink(filepath.Join(j.p.Top, path))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWouldLose, err)
	}
	oid, err := j.run(ctx, "", []byte(to), hashArgs(write, "--stdin")...)
	overlay[path] = object{"120000", oid}
	return err
}

func hashArgs(write bool, args ...string) []string {
	if write {
		args = append([]string{"-w"}, args...)
	}
	return append([]string{"hash-object"}, args...)
}

// batch is how many paths one git process is given: 128 of the longest (4 KiB)
// stay below the kernel's cap on arguments.
const batch = 128

// hash names the content of regular files, no filter applied.
func (j *job) hash(ctx context.Context, paths []string, overlay map[string]object, write bool) error {
	for len(paths) > 0 {
		n := min(batch, len(paths))
		out, err := j.run(ctx, "", nil, append(hashArgs(write, "--no-filters", "--"), paths[:n]...)...)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWouldLose, err)
		}
		oids := strings.Split(out, "\n")
		if len(oids) != n {
			return fmt.Errorf("cannot hash %d files: git named %d", n, len(oids))
		}
		for i, path := range paths[:n] {
			overlay[path] = object{overlay[path].mode, oids[i]}
		}
		paths = paths[n:]
	}
	return nil
}

// commit makes the backup's commit.
func (j *job) commit(ctx context.Context) (string, error) {
	tree, err := j.tree(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-p", j.head}
	index, err := j.indexCommit(ctx)
	if err != nil {
		return "", err
	}
	if index != "" {
		args = append(args, "-p", index)
	}
	loose, err := j.looseCommits(ctx)
	if err != nil {
		return "", err
	}
	for _, oid := range loose {
		args = append(args, "-p", oid)
	}
	message := fmt.Sprintf("custos backup of %q\n\nFirst parent: HEAD. A parent named \"index\": the index as it was. Others: commits only this worktree knew of.\n", j.p.Top)
	return j.run(ctx, "", []byte(message), args...)
}

// tree writes HEAD's tree with the overlay.
func (j *job) tree(ctx context.Context) (string, error) {
	if _, err := j.run(ctx, "files", nil, "read-tree", j.head); err != nil {
		return "", err
	}
	zero := strings.Repeat("0", len(j.head))
	var gone, here bytes.Buffer // deletions first: a file may have become a folder
	for _, path := range sortedKeys(j.overlay) {
		if o := j.overlay[path]; o.oid == "" {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", zero, path)
		} else {
			fmt.Fprintf(&here, "%s %s\t%s\x00", o.mode, o.oid, path)
		}
	}
	return j.writeTree(ctx, "files", append(gone.Bytes(), here.Bytes()...))
}

func (j *job) writeTree(ctx context.Context, index string, entries []byte) (string, error) {
	if _, err := j.run(ctx, index, entries, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return j.run(ctx, index, nil, "write-tree")
}

// indexCommit keeps the index; "" when it holds what HEAD holds.
func (j *job) indexCommit(ctx context.Context) (string, error) {
	if !exists(filepath.Join(j.p.GitDir, "index")) {
		return "", nil
	}
	listed, err := j.run(ctx, "", nil, "ls-files", "-z", "--stage")
	if err != nil {
		return "", err
	}
	// A file added by intent only stands for an empty blob that need not exist.
	if _, err := j.run(ctx, "", nil, "hash-object", "-w", "--stdin"); err != nil {
		return "", err
	}
	tree, err := j.writeTree(ctx, "index", unstage(listed))
	if err != nil {
		return "", err
	}
	same, err := j.run(ctx, "", nil, "rev-parse", "--verify", "--quiet", j.head+"^{tree}")
	if err != nil || same == tree {
		return "", err
	}
	return j.run(ctx, "", []byte("index\n"), "commit-tree", tree, "-p", j.head)
}

// unstage turns "mode oid stage\tpath" into input for update-index; the sides of
// a conflict become .custos-stages/N/path.
func unstage(listed string) []byte {
	var b bytes.Buffer
	for _, e := range strings.Split(strings.TrimSuffix(listed, "\x00"), "\x00") {
		meta, path, ok := strings.Cut(e, "\t")
		cols := strings.Fields(meta)
		if !ok || len(cols) != 3 {
			continue
		}
		if cols[2] != "0" {
			path = ".custos-stages/" + cols[2] + "/" + path
		}
		fmt.Fprintf(&b, "%s %s\t%s\x00", cols[0], cols[1], path)
	}
	return b.Bytes()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
