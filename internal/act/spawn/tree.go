package spawn

import (
	"cmp"
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
	"custos/internal/sys/files"
	"custos/internal/sys/git"
)

// tree returns the worktree that a registration needs and has not got; nil when
// it needs none. From the registration alone.
func (x *Action) tree(r fleet.Registration) *git.WorktreePlan {
	if r.Repo == "" || r.Worktree == "" && r.Branch == "" && !r.Detached || r.Instance != "" {
		return nil
	}
	t := &git.WorktreePlan{Repo: filepath.Clean(fleet.RawPath(r.Repo)), Path: fleet.RawPath(r.Worktree), Branch: r.Branch}
	switch {
	case r.Detached:
		t.Branch = ""
	case t.Branch == "":
		t.Branch = "agent/" + slug(r.Name)
	}
	if t.Path == "" {
		t.Path = x.o.WorktreeOf(t.Repo, r.Name)
	}
	return t
}

// WorktreeOf is where the worktree of an agent is made whose registration names no
// place (raw paths).
func (o Options) WorktreeOf(repo, agent string) string {
	if o.Worktrees != "" {
		return filepath.Join(o.Worktrees, slug(agent))
	}
	return filepath.Join(filepath.Clean(repo)+".worktrees", slug(agent))
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
	place, err := git.Find(t.Repo)
	if err != nil {
		return agentrun.Never("there is no repository at %s", fleet.Path(t.Repo))
	}
	if !filepath.IsAbs(t.Path) {
		return agentrun.Never("its worktree %q is no absolute path", fleet.Path(t.Path))
	}
	if t.Branch != "" && r.x.o.Git.CheckBranch(ctx, place.Common, t.Branch) != nil {
		return agentrun.Never("%q is no name of a branch", fleet.Line(t.Branch, 80))
	}
	if r.note.is(t) {
		t.Start = r.note.Start
		return nil
	}
	if _, err := os.Lstat(t.Path); !errors.Is(err, fs.ErrNotExist) {
		return agentrun.Never("there is something at %s already: to have it work there as it is, leave --worktree out; for a worktree of its own, name a place that is free, or none", fleet.Path(t.Path))
	}
	return r.checkBranch(ctx, place)
}

func (r *run) checkBranch(ctx context.Context, place git.Place) error {
	t := r.tree
	if err := r.checkNew(ctx, place); err != nil {
		return err
	}
	listed, err := r.x.o.Git.Worktrees(ctx, place.Common)
	if err != nil {
		return err
	}
	for _, l := range listed {
		if l.Path == t.Path {
			return agentrun.Never("git lists a worktree at %s already: git worktree prune", fleet.Path(t.Path))
		}
	}
	primary, err := r.x.o.Git.Primary(ctx, place.Common, r.x.o.Primary)
	if errors.Is(err, git.ErrNoPrimary) {
		return agentrun.Never("%w", err)
	}
	if err != nil {
		return agentrun.Refused("%w", err)
	}
	t.Start = primary.Tips[primary.Refs[0]]
	return r.startFrom(ctx, place)
}

// startFrom begins the branch where another one stands, here or as it was pushed, where that is still there: an agent goes on
// with what another has begun.
func (r *run) startFrom(ctx context.Context, place git.Place) error {
	from := r.reg.From
	if from == "" || r.x.o.Git.CheckBranch(ctx, place.Common, from) != nil {
		return nil
	}
	refs := []string{"refs/heads/" + from, "refs/remotes/origin/" + from}
	tips, err := r.x.o.Git.Tips(ctx, place.Common, refs...)
	if err != nil {
		return agentrun.Refused("%w", err)
	}
	r.tree.Start = cmp.Or(tips[refs[0]], tips[refs[1]], r.tree.Start)
	return nil
}

// checkNew refuses a branch that is there already; a detached worktree needs none.
func (r *run) checkNew(ctx context.Context, place git.Place) error {
	if r.tree.Branch == "" {
		return nil
	}
	ref := "refs/heads/" + r.tree.Branch
	tips, err := r.x.o.Git.Tips(ctx, place.Common, ref)
	if err == nil && tips[ref] != "" {
		err = agentrun.Never("the branch %s is there already", fleet.Line(r.tree.Branch, 80))
	}
	return err
}

// makeTree makes the worktree. What it is about to make is written down first,
// so that a later try knows it from a stranger's.
func (r *run) makeTree(ctx context.Context) error {
	t := r.tree
	if t == nil || r.note.is(t) && r.x.o.Git.Stands(ctx, *t) {
		return nil
	}
	r.note = note{Path: []byte(t.Path), Branch: t.Branch, Start: t.Start}
	if err := writeNote(r.notePath(), r.note); err != nil {
		return err
	}
	_, err := os.Lstat(filepath.Dir(t.Path))
	r.made, r.madeParent = true, errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
		return fmt.Errorf("cannot make a place for the worktree: %w", err)
	}
	if err := r.x.writer.AddWorktree(ctx, *t); err != nil {
		return fmt.Errorf("cannot make the worktree: %w", err)
	}
	return nil
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
	// What was made just now is half a checkout at the most, and no work of anyone's.
	err := r.x.writer.UndoWorktree(ctx, *t, r.made)
	if r.madeParent {
		_ = os.Remove(filepath.Dir(t.Path)) // only when it is empty
	}
	if err != nil {
		return fmt.Errorf("cannot roll everything back: %w", err)
	}
	removeNote(r.notePath())
	return nil
}

// note is what is written down, beside the instance's folder, while the start of an
// agent with a worktree of its own is under way.
type note struct {
	Path   []byte `json:"path"` // of the worktree, raw
	Branch string `json:"branch,omitempty"`
	Start  string `json:"start"`
}

func (n note) is(t *git.WorktreePlan) bool {
	return n.Start != "" && string(n.Path) == t.Path && n.Branch == t.Branch
}

func (r *run) notePath() string {
	return filepath.Join(r.x.Shims, "."+r.instance+".spawn")
}

// longestNote is many times the length of a note, in bytes.
const longestNote = 64 << 10

func readNote(path string) (n note, err error) {
	b, err := files.Read(path, longestNote)
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
		err = files.Replace(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot note the start: %w", err)
	}
	return nil
}

func removeNote(path string) { _ = os.Remove(path) } // what is left says only what was done
