package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// tree is a worktree that is to be made. Paths are raw.
type tree struct {
	repo, path, branch string
	start              string // commit it begins at
}

// tree returns the worktree that a registration needs and has not got; nil when
// it needs none. From the registration alone.
func (x *Action) tree(r fleet.Registration) *tree {
	if r.Repo == "" || r.Worktree == "" && r.Branch == "" || r.Instance != "" {
		return nil
	}
	t := &tree{repo: filepath.Clean(fleet.RawPath(r.Repo)), path: fleet.RawPath(r.Worktree), branch: r.Branch}
	if t.branch == "" {
		t.branch = "agent/" + slug(r.Name)
	}
	switch {
	case t.path != "":
	case x.o.Worktrees != "":
		t.path = filepath.Join(x.o.Worktrees, slug(r.Name))
	default:
		t.path = filepath.Join(t.repo+".worktrees", slug(r.Name))
	}
	return t
}

// slug is a name as a branch or a folder can be called.
func slug(name string) string {
	plain := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}
	s := strings.Trim(strings.Map(plain, name), "-")
	if s == "" {
		s = "agent"
	}
	return s[:min(len(s), 60)]
}

// checkTree refuses a folder or a branch that is there already, unless it is what
// an earlier try of this very action had begun.
func (r *run) checkTree(ctx context.Context) error {
	t := r.tree
	place, err := git.Find(t.repo)
	if err != nil {
		return agentrun.Refused("there is no repository at %s", fleet.Path(t.repo))
	}
	if !filepath.IsAbs(t.path) {
		return agentrun.Refused("its worktree %q is no absolute path", fleet.Path(t.path))
	}
	if _, err := agentrun.Git(ctx, place.Common, "check-ref-format", "--branch", t.branch); err != nil {
		return agentrun.Refused("%q is no name of a branch", fleet.Line(t.branch, 80))
	}
	if r.note.is(t) {
		t.start = r.note.Start
		return nil
	}
	if _, err := os.Lstat(t.path); !errors.Is(err, fs.ErrNotExist) {
		return agentrun.Refused("there is something at %s already", fleet.Path(t.path))
	}
	return r.checkBranch(ctx, place)
}

func (r *run) checkBranch(ctx context.Context, place git.Place) error {
	t := r.tree
	ref := "refs/heads/" + t.branch
	tips, err := r.x.o.Git.Tips(ctx, place.Common, ref)
	if err != nil {
		return err
	}
	if tips[ref] != "" {
		return agentrun.Refused("the branch %s is there already", fleet.Line(t.branch, 80))
	}
	listed, err := r.x.o.Git.Worktrees(ctx, place.Common)
	if err != nil {
		return err
	}
	for _, l := range listed {
		if l.Path == t.path {
			return agentrun.Refused("git lists a worktree at %s already: git worktree prune", fleet.Path(t.path))
		}
	}
	primary, err := r.x.o.Git.Primary(ctx, place.Common, r.x.o.Primary)
	if err != nil {
		return agentrun.Refused("%w", err)
	}
	t.start = primary.Tips[primary.Refs[0]]
	return nil
}

// makeTree makes the worktree. What it is about to make is written down first,
// so that a later try knows it from a stranger's.
func (r *run) makeTree(ctx context.Context) error {
	t := r.tree
	if t == nil {
		return r.setLaunching()
	}
	if r.note.is(t) && isTree(ctx, t) {
		return r.setLaunching()
	}
	r.note = note{Path: []byte(t.path), Branch: t.branch, Start: t.start}
	if err := writeNote(r.notePath(), r.note); err != nil {
		return err
	}
	_, err := os.Lstat(filepath.Dir(t.path))
	r.made, r.madeParent = true, errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
		return fmt.Errorf("cannot make a place for the worktree: %w", err)
	}
	add := []string{"worktree", "add", "--quiet", "-b", t.branch, "--", t.path, t.start}
	if r.hasBranch(ctx) { // of the try that was cut off in between
		add = []string{"worktree", "add", "--quiet", "--", t.path, t.branch}
	}
	if _, err := agentrun.Git(ctx, t.repo, add...); err != nil {
		return fmt.Errorf("cannot make the worktree: %w", err)
	}
	return r.setLaunching()
}

func (r *run) setLaunching() error {
	if r.note.Launching {
		return nil
	}
	r.note.Launching = true
	return writeNote(r.notePath(), r.note)
}

// isTree says whether the worktree is there, whole enough to stand on its branch.
func isTree(ctx context.Context, t *tree) bool {
	p, err := git.At(t.path)
	if err != nil || !p.Linked() {
		return false
	}
	branch, err := agentrun.Git(ctx, t.path, "symbolic-ref", "--short", "HEAD")
	return err == nil && branch == t.branch
}

func (r *run) hasBranch(ctx context.Context) bool {
	tip, err := agentrun.Git(ctx, r.tree.repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+r.tree.branch)
	return err == nil && tip == r.tree.start
}

// undoTime is how long a roll-back may take, though the action's time is up.
const undoTime = time.Minute

// undo takes away what was made: nothing runs in it. The branch goes only while
// it still points where it began.
func (r *run) undo() error {
	t := r.tree
	if t == nil || r.note.Start == "" {
		removeNote(r.notePath())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	var errs []error
	if _, err := os.Lstat(t.path); err == nil {
		remove := []string{"worktree", "remove", "--", t.path}
		if r.made { // just now; half a checkout is no work of anyone's
			remove = []string{"worktree", "remove", "--force", "--", t.path}
		}
		if _, err := agentrun.Git(ctx, t.repo, remove...); err != nil {
			errs = append(errs, err)
		}
	}
	if r.hasBranch(ctx) && len(errs) == 0 {
		if _, err := agentrun.Git(ctx, t.repo, "update-ref", "-d", "refs/heads/"+t.branch, t.start); err != nil {
			errs = append(errs, err)
		}
	}
	if r.madeParent {
		_ = os.Remove(filepath.Dir(t.path)) // only when it is empty
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot roll everything back: %w", err)
	}
	removeNote(r.notePath())
	return nil
}

// note is what is written down, beside the instance's folder, while a start is
// under way.
type note struct {
	Path      []byte `json:"path,omitempty"` // of the worktree, raw
	Branch    string `json:"branch,omitempty"`
	Start     string `json:"start,omitempty"`
	Launching bool   `json:"launching,omitempty"`
	Giving    bool   `json:"giving,omitempty"` // its prompt is about to be given
}

func (n note) is(t *tree) bool {
	return n.Start != "" && string(n.Path) == t.path && n.Branch == t.branch
}

func (r *run) notePath() string {
	return filepath.Join(r.x.Shims, "."+r.instance+".spawn")
}

func readNote(path string) (n note, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return n, fmt.Errorf("cannot read %s, where an earlier try was noted: %w", fleet.Path(path), err)
	}
	return n, nil
}

func writeNote(path string, n note) error {
	b, err := json.Marshal(n)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".tmp", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		os.Remove(path + ".tmp")
		return fmt.Errorf("cannot note the start: %w", err)
	}
	return nil
}

func removeNote(path string) { _ = os.Remove(path) } // what is left says only what was done
