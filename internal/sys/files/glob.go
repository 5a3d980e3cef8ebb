package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ownPrefix and ownSuffix mark what Custos itself put beside a file (what was set
// aside, archives of logs: .custos.gz, .custos.1.gz); no pattern ever finds such
// a file.
const ownPrefix = ".custos-"

var ownSuffix = regexp.MustCompile(`\.custos(\.[0-9]+)?\.gz$`)

// Found is what a pattern matched.
type Found struct {
	Paths []string // regular files; at most the maximum that was asked for
	Total int      // how many there were
	Links []string // symbolic links to what would be looked at, which are not followed; the first ones
}

// Pattern is a checked glob.
type Pattern struct {
	text  string
	root  string // the leading part without a wildcard
	parts []string
}

// compile checks a glob. It is absolute, or begins with ~/ for home. In each
// part of the path *, ? and [a-z] mean what they mean to a shell: * matches no
// leading dot. ** is refused, because it is not known how much it would match.
func compile(glob, home string) (Pattern, error) {
	text, err := Expand(glob, home)
	if err != nil {
		return Pattern{}, fmt.Errorf("cannot use glob %q: %w", glob, err)
	}
	parts := split(text)
	n := 0
	for n < len(parts)-1 && !hasMeta(parts[n]) {
		n++
	}
	return Pattern{text: glob, root: "/" + filepath.Join(parts[:n]...), parts: parts[n:]}, nil
}

// Expand returns a path or glob in full and clean: ~/ becomes home. The error,
// which does not repeat the glob, says why compile would refuse it.
func Expand(glob, home string) (string, error) {
	text := glob
	if rest, ok := strings.CutPrefix(glob, "~/"); ok {
		if home == "" {
			return "", errors.New("no home directory is known")
		}
		text = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(text) {
		return "", errors.New("want a path that begins with / or ~/")
	}
	if strings.Contains(text, "**") {
		return "", errors.New("** is not supported; name each level")
	}
	text = filepath.Clean(text)
	for _, part := range split(text) {
		if _, err := filepath.Match(part, ""); err != nil {
			return "", err
		}
	}
	return text, nil
}

func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// CompileAll checks several globs and reports all that are wrong together.
func CompileAll(globs []string, home string) ([]Pattern, error) {
	var out []Pattern
	var wrong []error
	for _, g := range globs {
		p, err := compile(g, home)
		out, wrong = append(out, p), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return out, nil
}

// String returns the glob as it was given.
func (p Pattern) String() string { return p.text }

func hasMeta(part string) bool { return strings.ContainsAny(part, `*?[\`) }

// find lists the regular files that match, the first most of them: those in before,
// then the others, each by name. It follows no symbolic link below the part without
// a wildcard. A folder that cannot be read is part of the error; what else was found
// is returned with it. A folder that does not exist holds nothing, and is no error.
func (p Pattern) find(ctx context.Context, most int, before map[string]bool) (Found, error) {
	w := &walk{ctx: ctx, most: most, before: before}
	w.into(p.root, p.parts)
	w.found.Paths = w.first(InOrder(append(w.found.Paths, w.kept...), before))
	if err := ctx.Err(); err != nil {
		w.errs = append(w.errs, err)
	}
	if len(w.errs) > 0 {
		return w.found, fmt.Errorf("cannot follow glob %q everywhere: %w", p.text, errors.Join(w.errs...))
	}
	return w.found, nil
}

// maxErrors bounds how many folders are named in one error.
const maxErrors = 5

type walk struct {
	ctx    context.Context
	most   int
	before map[string]bool
	found  Found
	kept   []string // of what was found, what is in before
	errs   []error
}

func (w *walk) into(dir string, parts []string) {
	if w.ctx.Err() != nil {
		return
	}
	if !hasMeta(parts[0]) {
		w.take(filepath.Join(dir, parts[0]), parts)
		return
	}
	f, err := os.Open(dir)
	if err != nil {
		w.fail(err)
		return
	}
	defer f.Close()
	for w.ctx.Err() == nil {
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			if matches(parts[0], e) {
				w.enter(filepath.Join(dir, e.Name()), e, parts)
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			w.fail(err)
			return
		}
	}
}

// enter is take for an entry whose kind the folder has told already.
func (w *walk) enter(path string, e fs.DirEntry, parts []string) {
	switch {
	case len(parts) > 1 && e.IsDir():
		w.into(path, parts[1:])
	case len(parts) == 1 && e.Type().IsRegular() && !isOwn(path):
		w.keep(path)
	case e.Type() == fs.ModeSymlink:
		w.pass(path, len(parts) > 1)
	}
}

// maxLinks bounds how many links are named of one glob.
const maxLinks = 20

// pass goes by a link, and notes it where it leads to what else were looked at.
func (w *walk) pass(path string, folder bool) {
	if info, err := os.Stat(path); err == nil && len(w.found.Links) < maxLinks && info.IsDir() == folder && (folder || info.Mode().IsRegular()) {
		w.found.Links = append(w.found.Links, path)
	}
}

// take goes one level down, or counts a file that matches to the end.
func (w *walk) take(path string, parts []string) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		w.fail(err)
	case len(parts) > 1 && info.IsDir():
		w.into(path, parts[1:])
	case len(parts) == 1 && info.Mode().IsRegular() && !isOwn(path):
		w.keep(path)
	case info.Mode().Type() == fs.ModeSymlink:
		w.pass(path, len(parts) > 1)
	}
}

// keep remembers a path. At twice the maximum the later half is dropped, so that a
// huge folder costs no memory and the choice does not depend on the order of the
// folder.
func (w *walk) keep(path string) {
	w.found.Total++
	if w.before[path] {
		w.kept = append(w.kept, path)
		return
	}
	w.found.Paths = append(w.found.Paths, path)
	if len(w.found.Paths) >= 2*w.most+1 {
		slices.Sort(w.found.Paths)
		w.found.Paths = w.first(w.found.Paths)
	}
}

func (w *walk) first(paths []string) []string { return paths[:min(w.most, len(paths))] }

func (w *walk) fail(err error) {
	if !errors.Is(err, fs.ErrNotExist) && len(w.errs) < maxErrors {
		w.errs = append(w.errs, err)
	}
}

func matches(part string, e fs.DirEntry) bool {
	name := e.Name()
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
		return false
	}
	ok, err := filepath.Match(part, name)
	return ok && err == nil
}

func isOwn(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, ownPrefix) || ownSuffix.MatchString(name)
}

// Glob lists what a pattern in full (see Expand) matches, folders too; one without
// a wildcard is itself a match. What a symbolic link leads to outside of the
// pattern's part without a wildcard is left out: who may write there has no
// say about what lies elsewhere.
func Glob(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot read the pattern %q: %w", pattern, err)
	}
	root := "/"
	for _, part := range split(filepath.Dir(pattern)) {
		if hasMeta(part) {
			break
		}
		root = filepath.Join(root, part)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, nil // it is not there any more
	}
	return slices.DeleteFunc(matches, func(m string) bool {
		real, err := filepath.EvalSymlinks(m)
		return err != nil || real != root && !strings.HasPrefix(real, strings.TrimSuffix(root, "/")+"/")
	}), nil
}
