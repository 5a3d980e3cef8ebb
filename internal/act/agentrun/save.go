package agentrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Saver writes checkpoints of agents' work.
type Saver struct {
	World
	Git    *git.Reader
	Writer *git.Writer
}

// mostFiles is how many touched files a checkpoint names.
const mostFiles = 100

// Save writes down what there is of an agent's work in a folder (raw): its HEAD
// and, in a backup ref, what HEAD does not hold. Neither HEAD nor index nor any
// file is touched. fresh says whether a ref was made: none is when there is
// nothing that HEAD, or the last checkpoint's ref, does not hold already. Outside
// of a repository only the rest is written down.
func (s Saver) Save(ctx context.Context, r fleet.Registration, dir string) (c fleet.Checkpoint, fresh bool, err error) {
	c = fleet.Checkpoint{At: s.Now(), Task: r.Task, SessionID: r.SessionID, LastPrompt: s.lastPrompt(ctx, r)}
	if last := r.Checkpoint; last != nil && c.LastPrompt == "" {
		c.LastPrompt, c.Summary = last.LastPrompt, last.Summary
	}
	if h := r.Handoff; h != nil && h.Instance == r.Instance && h.Text != "" {
		c.Summary = h.Text
	}
	if err := s.CheckPlace(r, dir, false); err != nil {
		return c, false, err
	}
	place, err := git.Find(dir)
	if errors.Is(err, git.ErrNotRepository) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("cannot make a checkpoint: %w", err)
	}
	head, branch, err := s.Git.Head(ctx, place)
	if err != nil {
		return c, false, fmt.Errorf("cannot make a checkpoint: %w", err)
	}
	changes, err := s.Git.Changes(ctx, place.Top, true)
	if err != nil {
		return c, false, fmt.Errorf("cannot make a checkpoint: %w", err)
	}
	c.Head, c.Files = head, touched(changes)
	if branch != "" && clean(changes) {
		return c, false, nil
	}
	last := ""
	if r.Checkpoint != nil {
		last = fleet.RawPath(r.Checkpoint.Ref)
	}
	ref, fresh, err := s.Writer.BackupNew(ctx, place, last)
	c.Ref = fleet.Path(ref)
	return c, fresh, err
}

func clean(c git.Changes) bool {
	return len(c.Dirty)+len(c.Unsure)+len(c.Gone)+len(c.Hidden)+len(c.Untracked)+len(c.Ignored)+len(c.Modules) == 0
}

func touched(c git.Changes) []string {
	var out []string
	for _, f := range slices.Concat(c.Dirty, c.Unsure, c.Untracked) {
		if out = append(out, fleet.Path(f)); len(out) == mostFiles {
			break
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lastPrompt is the first words of what the agent was last told.
func (s Saver) lastPrompt(ctx context.Context, r fleet.Registration) string {
	if r.StartedAt.IsZero() {
		return ""
	}
	events, err := s.Reported(ctx, r.StartedAt, r.Instance, r.Process)
	if err != nil {
		return "" // a checkpoint without it is better than none
	}
	for _, e := range slices.Backward(events) {
		if e.Event == fleet.HookPrompt {
			_, words, _ := strings.Cut(e.Text, " ")
			return words
		}
	}
	return ""
}

// Saved says in words what a checkpoint holds.
func Saved(c fleet.Checkpoint, fresh bool) string {
	switch {
	case c.Head == "":
		return "checkpoint: not in a repository; conversation and last prompt are noted"
	case fresh:
		return fmt.Sprintf("checkpoint at %.10s, with %s that no commit has, kept in %s", c.Head, fleet.Counted(len(c.Files), "file"), c.Ref)
	case c.Ref != "":
		return fmt.Sprintf("checkpoint at %.10s: nothing changed since %s", c.Head, c.Ref)
	}
	return fmt.Sprintf("checkpoint at %.10s: there is nothing that it does not hold", c.Head)
}

// Folder is where a registered agent works (raw); "" when it is not known.
func Folder(r fleet.Registration) string { return fleet.RawPath(r.Place()) }

// checkFolder refuses to start an agent where no folder is (raw path). A disk that
// does not answer is another error: that may pass.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Never("its folder %q is not there", fleet.Path(dir))
	case err != nil:
		return fmt.Errorf("cannot look at its folder: %w", err)
	case !info.IsDir() || !filepath.IsAbs(dir):
		return Never("%q is no folder, by an absolute path", fleet.Path(dir))
	}
	return nil
}

// CheckPlace refuses to go on in a folder (raw path) that is not the one that an agent
// was started in last: it leads somewhere else, or another one was put at its place. Of
// what its record does not say, nothing is asked. A person who starts it may have made
// the folder again, in the same repository.
func (w World) CheckPlace(r fleet.Registration, dir string, person bool) error {
	if err := checkFolder(dir); err != nil {
		return err
	}
	leads, err := filepath.EvalSymlinks(dir)
	switch {
	case err != nil:
		return fmt.Errorf("cannot look at its folder: %w", err)
	case r.Real != "" && fleet.Path(leads) != r.Real:
		return Never("its folder %q leads to %q now, and led to %q", fleet.Path(dir), fleet.Path(leads), r.Real)
	}
	return w.checkSame(r, dir, person)
}

// checkSame refuses another folder at the same path.
func (w World) checkSame(r fleet.Registration, dir string, person bool) error {
	if r.Folder == nil && (r.Worktree == "" || r.Repo == "") {
		return nil
	}
	now, err := git.FolderAt(dir)
	if err != nil {
		return Refused("it cannot be told whether its folder is the one that it worked in: %w", err)
	}
	repo := ""
	if p, err := git.Find(fleet.RawPath(r.Repo)); r.Folder == nil && err == nil {
		repo = fleet.Path(p.Common)
	}
	if why := r.Other(w.folderID(now), repo, person); why != "" {
		return Never("%s. Put its own back there, or custos stop it", why)
	}
	return nil
}

// Leads returns where a folder (raw path) leads, past all links; "" when that cannot
// be told.
func Leads(dir string) string {
	leads, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return fleet.Path(leads)
}

// NotePlace writes down which folder (raw path) an agent is started in. Where it leads
// stays what it is, where that is known.
func (w World) NotePlace(r *fleet.Registration, dir string) {
	r.Real, r.Folder = cmp.Or(r.Real, Leads(dir)), nil
	if f, err := git.FolderAt(dir); err == nil {
		id := w.folderID(f)
		r.Folder = &id
	}
}

func (w World) folderID(f git.Folder) fleet.FolderID {
	return fleet.FolderID{Boot: w.Boot, Device: f.Device, Inode: f.Inode, Born: f.Born, Common: fleet.Path(f.Common), GitDir: fleet.Path(f.GitDir)}
}

// FolderOf is where an agent stands, or is registered to work (raw); "" when
// neither is known.
func FolderOf(a *fleet.Agent) string {
	if a.Worktree != "" {
		return fleet.RawPath(a.Worktree)
	}
	return fleet.RawPath(a.CWD.Or(""))
}
