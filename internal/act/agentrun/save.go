package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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
	c.Ref, fresh, err = s.backup(ctx, place, head, branch, r.Checkpoint)
	return c, fresh, err
}

func clean(c git.Changes) bool {
	return len(c.Dirty)+len(c.Gone)+len(c.Hidden)+len(c.Untracked)+len(c.Ignored)+len(c.Modules) == 0
}

func touched(c git.Changes) []string {
	var out []string
	for _, f := range slices.Concat(c.Dirty, c.Untracked) {
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
	events, err := s.Told(ctx, r.StartedAt, r.Instance, r.Process)
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

// backup makes a ref, and takes it away again when it holds nothing new.
func (s Saver) backup(ctx context.Context, p git.Place, head, branch string, last *fleet.Checkpoint) (ref string, fresh bool, err error) {
	made, err := s.Writer.Backup(ctx, p)
	if err != nil {
		return "", false, err
	}
	now, err := content(ctx, p, made.Commit)
	if err != nil {
		return made.Ref, true, nil // it cannot be compared, so it stays
	}
	if last != nil && last.Ref != "" {
		ref := fleet.RawPath(last.Ref)
		if was, err := content(ctx, p, ref); err == nil && was == now && ref != made.Ref {
			return last.Ref, false, drop(ctx, p, made)
		}
	}
	if tree, err := ask(ctx, p, "rev-parse", head+"^{tree}"); err == nil && branch != "" && now == tree+"\n"+head {
		return "", false, drop(ctx, p, made)
	}
	return fleet.Path(made.Ref), true, nil
}

// content names what a backup holds, whenever it was made: its tree, HEAD, the
// tree of its index, and the other commits.
func content(ctx context.Context, p git.Place, commit string) (string, error) {
	out, err := ask(ctx, p, "show", "-s", "--format=%T %P", commit)
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	for i, parent := range names {
		if i < 2 {
			continue
		}
		is, err := ask(ctx, p, "show", "-s", "--format=%s %T", parent)
		if err != nil {
			return "", err
		}
		if tree, ok := strings.CutPrefix(is, "index "); ok {
			names[i] = "index " + tree
		}
	}
	return strings.Join(names, "\n"), nil
}

func drop(ctx context.Context, p git.Place, b git.Backup) error {
	_, err := ask(ctx, p, "update-ref", "-d", b.Ref, b.Commit)
	return err
}

// ask runs git on the repository itself, with nothing of its configuration that
// could run something.
func ask(ctx context.Context, p git.Place, args ...string) (string, error) {
	return Git(ctx, p.Common, append([]string{"--git-dir=" + p.Common}, args...)...)
}

// Git runs a git command in a folder that the client of package git does not
// have: an argument vector, no hook, no pager, no prompt, no network.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "log.showSignature=false", "-c", "color.ui=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run git %s: %w: %s", fleet.Line(strings.Join(args, " "), 200), err, fleet.Line(said.String(), 200))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Saved says in words what a checkpoint holds.
func Saved(c fleet.Checkpoint, fresh bool) string {
	switch {
	case c.Head == "":
		return "checkpoint: not in a repository; conversation and last prompt are noted"
	case fresh:
		return fmt.Sprintf("checkpoint at %.10s: %d files are kept in %s", c.Head, len(c.Files), c.Ref)
	case c.Ref != "":
		return fmt.Sprintf("checkpoint at %.10s: nothing changed since %s", c.Head, c.Ref)
	}
	return fmt.Sprintf("checkpoint at %.10s: there is nothing that it does not hold", c.Head)
}

// Folder is where a registered agent works (raw); "" when it is not known.
func Folder(r fleet.Registration) string {
	if r.Worktree != "" {
		return fleet.RawPath(r.Worktree)
	}
	return fleet.RawPath(r.Dir)
}
