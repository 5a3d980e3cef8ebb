package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/pin"
	"custos/internal/sys/git"
)

// codeFolder is the folder of a project that holds its formulas and plugins.
const codeFolder = ".custos"

// Bounds of what is looked at and told of a folder of code.
const (
	codeEntries = 2000
	codeDiff    = 8 << 10
	codeTime    = 5 * time.Second
	codeAgain   = 30 * time.Second // after what failed
)

// Code is the folders of formulas and plugins that lie where agents may write:
// in projects, and in other repositories that custos.toml names. Nothing in them is
// run because it lies there. What is run is what a commit of the primary branch has,
// and of that only what a person said may be run, file by file: the bytes are read
// once from the commit, compared with the pins, and just these are used, never the
// working tree.
type Code struct {
	own    string // a person's own folder: what lies in it is theirs
	copies string // where scripts are run from
	git    *git.Reader
	pins   func(context.Context) ([]fleet.Pins, error)

	mu    sync.Mutex
	trees map[string]*codeTree
	turns int // counts what changed
}

// codeTree is one such folder.
type codeTree struct {
	dir     string // raw
	project string // as [formulas] projects names it; "" for a folder of [formulas] or [plugins] dirs
	deep    bool   // with the folders in it
	checked time.Time
	loaded  time.Time
	stamp   string

	place   git.Place
	folder  string // its path from the top of the repository
	files   []fleet.CodeFile
	texts   map[string][]byte
	odd     []string // what is no regular file
	pinned  fleet.Pins
	verdict pin.Verdict
	facts   fleet.CodeFacts
}

func newCode(cfg config.Config, pins func(context.Context) ([]fleet.Pins, error)) *Code {
	return &Code{own: filepath.Dir(cfg.File), copies: filepath.Join(cfg.StateDir, "trusted"), git: git.New(git.Options{}), pins: pins, trees: map[string]*codeTree{}}
}

// ofProject is the code of a project: never run unless it is trusted, whether or not
// the project is a repository.
func (s *Code) ofProject(dir, name string) *codeTree {
	return s.add(filepath.Join(dir, codeFolder), name, true)
}

// ofFolder is a folder that custos.toml names, when it lies in a repository or was
// pinned once; nil when it is a person's own.
func (s *Code) ofFolder(dir string, deep bool) *codeTree {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	if own, err := filepath.EvalSymlinks(s.own); err == nil && (real == own || strings.HasPrefix(real, own+"/")) {
		return nil
	}
	if _, err := git.Find(real); errors.Is(err, git.ErrNotRepository) && !s.everPinned(dir) {
		return nil
	}
	return s.add(dir, "", deep)
}

// everPinned says whether a folder was in a repository when a person last spoke of it.
func (s *Code) everPinned(dir string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), codeTime)
	defer cancel()
	p, err := s.pinsOf(ctx, dir)
	return err != nil || p.Dir != ""
}

func (s *Code) add(dir, project string, deep bool) *codeTree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trees[dir]
	if t == nil {
		t = &codeTree{dir: dir, project: project, deep: deep}
		s.trees[dir] = t
	}
	t.deep = t.deep || deep
	return t
}

func (s *Code) pinsOf(ctx context.Context, dir string) (fleet.Pins, error) {
	list, err := s.pins(ctx)
	if err != nil {
		return fleet.Pins{}, fmt.Errorf("cannot tell what is trusted: %w", err)
	}
	for _, p := range list {
		if p.Dir == fleet.Path(dir) {
			return p, nil
		}
	}
	return fleet.Pins{}, nil
}

// version changes when anything of the trees may have.
func (s *Code) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.trees {
		s.look(t)
	}
	return fmt.Sprint(s.turns)
}

// look reads a tree when it never was, and when it may have changed. s.mu is held.
func (s *Code) look(t *codeTree) {
	if !t.checked.IsZero() && time.Since(t.checked) < rereadEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), codeTime)
	defer cancel()
	first := t.checked.IsZero()
	t.checked = time.Now()
	pinned, err := s.pinsOf(ctx, t.dir)
	stamp := t.stampNow() + fleet.CodeDigest(pinned.Files)
	if !first && stamp == t.stamp && err == nil && (t.facts.Changes.IsKnown() || time.Since(t.loaded) < codeAgain) {
		return
	}
	t.stamp, t.pinned, t.loaded = stamp, pinned, time.Now()
	s.turns++
	if err == nil {
		err = s.read(ctx, t)
	}
	t.judge(err)
	t.facts.Diff = s.diff(ctx, t)
}

// Again has everything be read anew.
func (s *Code) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.trees {
		t.checked = time.Time{}
	}
}

// stampNow changes when a file of the folder does, or the commit.
func (t *codeTree) stampNow() string {
	var b strings.Builder
	refs := []string{t.place.Common + "/HEAD", t.place.Common + "/packed-refs", t.place.Common + "/refs/remotes/origin/HEAD"}
	for _, name := range []string{"heads", "remotes/origin"} {
		entries, _ := filepath.Glob(filepath.Join(t.place.Common, "refs", name, "*"))
		refs = append(refs, entries[:min(len(entries), 200)]...)
	}
	b.WriteString(stampOf(refs))
	for _, e := range t.walk() {
		fmt.Fprintf(&b, "%s %v %d %d;", e.rel, e.info.Mode(), e.info.ModTime().UnixNano(), e.info.Size())
	}
	return b.String()
}

// entry is what lies in the folder itself.
type entry struct {
	rel  string
	info fs.FileInfo
}

// walk lists the files of the working tree that would count if they were committed.
// It follows no link.
func (t *codeTree) walk() (list []entry) {
	seen := 0
	_ = filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > codeEntries {
			return fs.SkipAll
		}
		if err != nil || path == t.dir && d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(t.dir, path)
		switch {
		case d.IsDir() && (!t.deep || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || rel != "." && !t.counts(rel):
			return nil
		}
		if info, err := d.Info(); err == nil {
			list = append(list, entry{rel, info})
		}
		return nil
	})
	return list
}

// counts says whether a path below the folder is code.
func (t *codeTree) counts(rel string) bool {
	switch {
	case t.project != "" || filepath.Base(t.dir) == codeFolder:
		return strings.HasPrefix(rel, "formulas/") || strings.HasPrefix(rel, "plugins/")
	case t.deep:
		return true
	}
	return !strings.Contains(rel, "/") && strings.HasSuffix(rel, ".toml")
}

// read takes what the primary branch has.
func (s *Code) read(ctx context.Context, t *codeTree) error {
	t.files, t.texts, t.odd, t.facts.Commit = nil, map[string][]byte{}, nil, ""
	base, rest := t.dir, ""
	if filepath.Base(base) == codeFolder {
		base, rest = filepath.Dir(base), codeFolder
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return err
	}
	if t.place, err = git.Find(real); err != nil {
		return err
	}
	if t.folder, err = filepath.Rel(t.place.Top, filepath.Join(real, rest)); err != nil || t.folder == "." {
		t.folder = ""
	}
	primary, err := s.git.Primary(ctx, t.place.Common, "")
	if err != nil {
		return err
	}
	t.facts.Commit = primary.Tips[primary.Refs[0]]
	list, err := s.git.Files(ctx, t.place.Common, t.facts.Commit, t.folder, t.deep)
	if err != nil {
		return err
	}
	for _, f := range list {
		t.take(f)
	}
	return nil
}

func (t *codeTree) take(f git.TreeFile) {
	rel := strings.TrimPrefix(strings.TrimPrefix(f.Path, t.folder), "/")
	switch {
	case rel == "" || !f.Regular() && t.counts(rel):
		t.odd = append(t.odd, rel)
	case t.counts(rel):
		sum := sha256.Sum256(f.Text)
		t.files = append(t.files, fleet.CodeFile{Path: rel, Exec: f.Mode == "100755", Digest: hex.EncodeToString(sum[:])})
		t.texts[rel] = f.Text
	}
}

// judge says what of it may be run. When it could not be read, nothing may.
func (t *codeTree) judge(err error) {
	t.verdict = pin.Verdict{}
	t.facts = fleet.CodeFacts{Dir: fleet.Path(t.dir), Project: fleet.Line(t.project, 100), Commit: t.facts.Commit}
	if err != nil {
		t.texts, t.files = nil, nil
		t.facts.Changes = fleet.Unknown[string](fleet.Line(err.Error(), 200))
		t.facts.Loose = listed(t.loose())
		return
	}
	t.verdict = pin.Judge(t.files, t.pinned.Files)
	changes := make([]string, 0, len(t.verdict.Changes))
	for _, c := range t.verdict.Changes {
		changes = append(changes, fleet.Path(c))
	}
	for _, rel := range t.odd {
		changes = append(changes, "+ "+fleet.Path(rel)+" (no regular file: it can never be trusted)")
	}
	t.facts.Digest, t.facts.Trusted, t.facts.Changes, t.facts.Loose = fleet.CodeDigest(t.files), len(t.verdict.Trusted), fleet.Known(listed(changes)), listed(t.loose())
}

// listed is a list on one line, cut.
func listed(list []string) string { return fleet.Line(strings.Join(list, ", "), 600) }

// loose lists where the working tree differs from the commit. It is told of, and
// never run.
func (t *codeTree) loose() (list []string) {
	there := map[string]bool{}
	for _, e := range t.walk() {
		there[e.rel] = true
		text, committed := t.texts[e.rel]
		switch {
		case !e.info.Mode().IsRegular():
			list = append(list, "+ "+fleet.Path(e.rel)+" (no regular file)")
		case !committed:
			list = append(list, "+ "+fleet.Path(e.rel))
		case !t.same(e, text):
			list = append(list, "~ "+fleet.Path(e.rel))
		}
	}
	for _, f := range t.files {
		if !there[f.Path] && len(there) < codeEntries {
			list = append(list, "- "+fleet.Path(f.Path))
		}
	}
	return list
}

func (t *codeTree) same(e entry, text []byte) bool {
	i := slices.IndexFunc(t.files, func(f fleet.CodeFile) bool { return f.Path == e.rel })
	if e.info.Size() != int64(len(text)) || t.files[i].Exec != (e.info.Mode()&0o100 != 0) {
		return false
	}
	is, err := config.ReadFile(filepath.Join(t.dir, e.rel), int64(len(text))+1)
	return err == nil && bytes.Equal(is, text)
}

func (s *Code) diff(ctx context.Context, t *codeTree) string {
	changes, known := t.facts.Changes.Get()
	if !known || changes == "" {
		return ""
	}
	from := t.pinned.Commit
	if len(t.pinned.Files) == 0 {
		from = ""
	}
	text, err := s.git.FolderDiff(ctx, t.place.Common, from, t.facts.Commit, t.folder)
	if err != nil && from != "" { // the commit is gone: all of it is shown
		text, err = s.git.FolderDiff(ctx, t.place.Common, "", t.facts.Commit, t.folder)
	}
	if err != nil {
		return "(no diff: " + fleet.Line(err.Error(), 200) + ")"
	}
	if len(text) > codeDiff {
		text = strings.ToValidUTF8(text[:codeDiff], "") + fmt.Sprintf("\n(cut: %d of %d bytes)\n", codeDiff, len(text))
	}
	return fleet.Redact(fleet.Text(text))
}

// text returns the bytes of a file as they were pinned; why says why there are none
// though the commit, or the folder, has one of that name.
func (s *Code) text(t *codeTree, rel string) (text []byte, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(t)
	if t.verdict.Trusted[rel] {
		return t.texts[rel], ""
	}
	_, committed := t.texts[rel]
	return nil, t.whyNot(rel, committed)
}

// whyNot says why a file, or a folder, is not run; "" when there is none.
func (t *codeTree) whyNot(rel string, committed bool) string {
	dir := fleet.Path(t.dir)
	_, err := os.Lstat(filepath.Join(t.dir, rel))
	switch {
	case !t.facts.Changes.IsKnown() && (committed || err == nil):
		return "nothing of " + dir + " is run: " + t.facts.Changes.Why()
	case committed && slices.Contains(t.verdict.Changes, "~ "+rel):
		return fleet.Path(rel) + " of " + dir + " has changed since it was trusted: custos trust " + dir
	case committed:
		return fleet.Path(rel) + " of " + dir + " is not trusted: custos trust " + dir
	case err == nil:
		return fleet.Path(rel) + " of " + dir + " is not in the primary branch: commit it there, then: custos trust " + dir
	}
	return ""
}

// names lists the files directly in a folder of the tree, those of the commit and
// those that only lie there.
func (s *Code) names(t *codeTree, below string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(t)
	for _, f := range t.files {
		names = append(names, f.Path)
	}
	for _, e := range t.walk() {
		names = append(names, e.rel)
	}
	var out []string
	for _, name := range names {
		if name, ok := strings.CutPrefix(name, below); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// place makes a copy of a folder of the tree to be run, from the pinned bytes, and
// returns where it is. It refuses one of which not all is as it was pinned.
func (s *Code) copyOf(t *codeTree, below string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(t)
	if !t.verdict.Whole(below) {
		why := t.whyNot(below, slices.ContainsFunc(t.files, func(f fleet.CodeFile) bool { return strings.HasPrefix(f.Path, below+"/") }))
		if slices.ContainsFunc(t.verdict.Changes, func(c string) bool { return c[0] != '+' && strings.HasPrefix(c[2:], below+"/") }) {
			why = fleet.Path(below) + " of " + fleet.Path(t.dir) + " has changed since it was trusted: custos trust " + fleet.Path(t.dir)
		}
		return "", errors.New(why)
	}
	sum := sha256.Sum256([]byte(t.dir + "\x00" + fleet.CodeDigest(t.pinned.Files)))
	root := filepath.Join(s.copies, hex.EncodeToString(sum[:12]))
	for _, f := range t.files {
		if strings.HasPrefix(f.Path, below+"/") {
			if err := put(filepath.Join(root, f.Path), t.texts[f.Path], f.Exec); err != nil {
				return "", fmt.Errorf("cannot put down what is trusted: %w", err)
			}
		}
	}
	return filepath.Join(root, below), nil
}

// put writes a file unless it is there as it should be.
func put(path string, text []byte, exec bool) error {
	mode := fs.FileMode(0o400)
	if exec {
		mode = 0o500
	}
	if info, err := os.Lstat(path); err == nil && info.Mode() == mode {
		if is, err := config.ReadFile(path, int64(len(text))+1); err == nil && bytes.Equal(is, text) {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// All tells of every tree there is anything in.
func (s *Code) All() (list []fleet.CodeFacts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.trees {
		s.look(t)
		if f := t.facts; f.Trusted > 0 || f.Digest != fleet.CodeDigest(nil) && f.Changes.IsKnown() || f.Loose != "" || len(t.pinned.Files) > 0 {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b fleet.CodeFacts) int { return strings.Compare(a.Dir, b.Dir) })
	return list
}

// Offered is what of a folder would be pinned now, if it is what was shown.
func (s *Code) Offered(dir, digest string) (fleet.Pins, error) {
	s.Again()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trees[dir]
	if t == nil {
		return fleet.Pins{}, fmt.Errorf("%w: no formulas or plugins are looked for in %s", ledger.ErrIllegal, fleet.Path(dir))
	}
	s.look(t)
	switch {
	case !t.facts.Changes.IsKnown():
		return fleet.Pins{}, fmt.Errorf("%w: %s", ledger.ErrIllegal, t.facts.Changes.Why())
	case len(t.odd) > 0:
		return fleet.Pins{}, fmt.Errorf("%w: %s is no regular file: what it leads to cannot be pinned", ledger.ErrIllegal, fleet.Path(t.odd[0]))
	case t.facts.Digest != digest:
		return fleet.Pins{}, fmt.Errorf("%w: it is not what was shown: it is %.12s now", ledger.ErrIllegal, t.facts.Digest)
	}
	return fleet.Pins{Dir: fleet.Path(dir), Commit: t.facts.Commit, Files: slices.Clone(t.files)}, nil
}

// theirs says whether a file is a person's own, or comes with Custos: it may name
// variables that are passed on.
func (s *Code) theirs(file string) bool {
	return !filepath.IsAbs(file) || strings.HasPrefix(file, s.own+"/")
}
