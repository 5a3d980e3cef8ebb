package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TreeFile is a file as a commit has it.
type TreeFile struct {
	Path string // from the top of the tree
	Mode string // 100644, 100755; 120000 is a symbolic link, 160000 a submodule
	OID  string
	Text []byte // of a regular file
}

// Regular says whether it is a file, and neither a link nor a submodule.
func (f TreeFile) Regular() bool { return strings.HasPrefix(f.Mode, "100") }

// Bounds of what Files reads.
const (
	treeFiles = 2000
	treeBytes = 16 << 20
)

// Files reads the files that a commit has below a folder, a path from the top of the
// tree; with deep, in the folders below it too. They are the bytes that were
// committed: nothing is checked out, and no filter is run.
func (r *Reader) Files(ctx context.Context, dir, commit, folder string, deep bool) ([]TreeFile, error) {
	args := []string{"ls-tree", "-z", "--full-tree"}
	switch {
	case deep:
		args = append(args, "-r")
	case folder != "":
		folder += "/"
	}
	args = append(args, commit, "--")
	if folder != "" {
		args = append(args, folder)
	}
	out, err := r.git(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	list, err := parseTree(string(out))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(f TreeFile) bool { return f.Mode == "040000" })
	if len(list) > treeFiles {
		return nil, fmt.Errorf("cannot read %q: it has %d files, and at most %d are read", folder, len(list), treeFiles)
	}
	return list, r.texts(ctx, dir, list)
}

func parseTree(out string) (list []TreeFile, err error) {
	for _, row := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if row == "" {
			continue
		}
		about, path, tab := strings.Cut(row, "\t")
		words := strings.Fields(about)
		if !tab || len(words) != 3 || !isOID(words[2]) {
			return nil, fmt.Errorf("cannot read the list of a tree: %.80q", row)
		}
		list = append(list, TreeFile{Path: path, Mode: words[0], OID: words[2]})
	}
	return list, nil
}

// texts reads the bytes of regular files, with one process.
func (r *Reader) texts(ctx context.Context, dir string, list []TreeFile) error {
	var ask bytes.Buffer
	for _, f := range list {
		if f.Regular() {
			fmt.Fprintln(&ask, f.OID)
		}
	}
	if ask.Len() == 0 {
		return nil
	}
	small := *r
	small.max = treeBytes
	out, err := small.run(ctx, call{dir: dir, args: []string{"cat-file", "--batch"}, stdin: &ask})
	if err != nil {
		return err
	}
	for i := range list {
		if !list[i].Regular() {
			continue
		}
		if list[i].Text, out, err = nextBlob(out, list[i].OID); err != nil {
			return fmt.Errorf("cannot read %q: %w", list[i].Path, err)
		}
	}
	return nil
}

// nextBlob takes one answer of cat-file --batch off its output.
func nextBlob(out []byte, oid string) (text, rest []byte, err error) {
	head, rest, ok := bytes.Cut(out, []byte("\n"))
	words := strings.Fields(string(head))
	if !ok || len(words) != 3 || words[0] != oid || words[1] != "blob" {
		return nil, nil, fmt.Errorf("git says %.80q", head)
	}
	size, err := strconv.Atoi(words[2])
	if err != nil || size < 0 || len(rest) < size+1 {
		return nil, nil, errors.New("git said less than it announced")
	}
	return rest[:size:size], rest[size+1:], nil
}

// emptyTree is the name of the tree without a file.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// FolderDiff is the difference of a folder between two commits, as text; from "" it is
// all of it. No program that the repository names is run.
func (r *Reader) FolderDiff(ctx context.Context, dir, from, to, folder string) (string, error) {
	if from == "" {
		from = emptyTree
	}
	args := []string{"diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", from, to, "--"}
	if folder != "" {
		args = append(args, folder)
	}
	out, err := r.git(ctx, dir, args...)
	return string(out), err
}
