// Package clearbuild is the action that throws away build output in a worktree
// that no process stands in: folders that git ignores, that are known to be
// reproducible, that hold nothing tracked and nothing precious, and that nothing
// has written to lately. Nothing else in the worktree is touched.
package clearbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Name is the action's name in rules.
const Name = "clear-build-output"

// Options of the action.
type Options struct {
	// Quiet is how long nothing in a folder may have changed; default "10m".
	Quiet string `toml:"quiet" is:"duration"`
	// Crashed are patterns of crash markers, as the git probe has them.
	Crashed []string `toml:"crashed" is:"pattern"`
	// Git is the reader; default git.New.
	Git *git.Reader `toml:"-"`
	// Occupied says who stands in a folder. Without it nothing is ever cleared.
	Occupied git.Occupied `toml:"-"`
	// Now is the clock; default time.Now.
	Now func() time.Time `toml:"-"`
}

// Action clears build output.
type Action struct {
	o     Options
	quiet time.Duration
	w     *git.Writer
}

// New returns the action. It fails when quiet cannot be read.
func New(o Options) (*Action, error) {
	quiet := 10 * time.Minute
	if o.Quiet != "" {
		var err error
		if quiet, err = fleet.ParseDuration(o.Quiet); err != nil {
			return nil, fmt.Errorf("cannot read quiet of %s: %w", Name, err)
		}
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Action{o: o, quiet: quiet, w: git.NewWriter(o.Git, git.WriterOptions{})}, nil
}

// Ability says what the action needs and promises.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Name, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos, fleet.PartHost},
		Deadline: fleet.Duration(10 * time.Minute)}
}

// Commands returns what would be run, one command for each folder that was seen.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	w := a.Target.Worktree
	if w == nil {
		return nil
	}
	var list []fleet.Command
	for _, b := range w.Bulk.Or(nil) {
		list = append(list, fleet.Command{Argv: []string{"rm", "-rf", "--one-file-system", "--", w.Path + "/" + b.Path},
			Note: fmt.Sprintf("%s, %s; renamed aside first", b.What, git.InWords(b.Bytes))})
	}
	return list
}

// Prepare looks at the folders again and keeps those that may go.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Worktree == nil {
		return nil, errors.New("cannot clear build output: the target is no worktree")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &run{x: x, target: *a.Target.Worktree, top: fleet.RawPath(a.Target.Worktree.Path)}
	if err := r.identify(ctx); err != nil {
		return nil, err
	}
	if err := r.choose(ctx); err != nil {
		return nil, err
	}
	r.freeBefore, _ = git.Free(r.top) // only to report
	return r, nil
}

type run struct {
	x          *Action
	target     fleet.Worktree
	top        string
	place      git.Place
	folders    []git.Bulk
	kept       []string // folders that stay, and why
	freeBefore int64
}

// identify checks that it is the worktree that was seen, and free.
func (r *run) identify(ctx context.Context) error {
	if !r.target.Owner.MayTouch() {
		return fmt.Errorf("%w: it is foreign", act.ErrRefused)
	}
	if _, err := os.Lstat(r.top); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: the worktree is gone", act.ErrUnneeded)
	}
	place, err := git.At(r.top)
	if err != nil || !place.Linked() || place.Main() != fleet.RawPath(r.target.Repo) {
		return fmt.Errorf("%w: it is no worktree of %s any more (%v)", act.ErrRefused, r.target.Repo, err)
	}
	r.place = place
	listed, ok, err := r.x.o.Git.Registered(ctx, place.Common, r.top)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: git does not list it as a worktree", act.ErrRefused)
	case listed.Locked:
		return fmt.Errorf("%w: the worktree is locked", act.ErrRefused)
	}
	if at := git.CrashedAt(r.top, r.x.o.Crashed); !at.IsZero() && r.x.o.Now().Sub(at) < git.KeepCrashed {
		return fmt.Errorf("%w: the worktree was preserved after a crash less than %s ago", act.ErrRefused, git.KeepCrashed)
	}
	return r.free(ctx)
}

func (r *run) free(ctx context.Context) error {
	if err := r.x.o.Occupied.Free(ctx, r.top); err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	return nil
}

// choose keeps the folders that were seen, are still there, and may go.
func (r *run) choose(ctx context.Context) error {
	seen, ok := r.target.Bulk.Get()
	if !ok {
		return fmt.Errorf("%w: it was not seen what could be cleared", act.ErrRefused)
	}
	wanted, left := map[string]bool{}, 0
	for _, b := range seen {
		rel := fleet.RawPath(b.Path)
		wanted[rel] = true
		if _, err := os.Lstat(filepath.Join(r.top, rel)); err == nil {
			left++
		}
	}
	if left == 0 {
		return fmt.Errorf("%w: none of the folders is left", act.ErrUnneeded)
	}
	size, err := r.x.o.Git.Measure(ctx, r.top)
	if err != nil {
		return err
	}
	for _, b := range size.Bulk {
		if !wanted[b.Path] {
			continue
		}
		if why := r.against(ctx, b); why != "" {
			r.kept = append(r.kept, fmt.Sprintf("%q: %s", b.Path, why))
			continue
		}
		r.folders = append(r.folders, b)
	}
	if len(r.folders) == 0 {
		return fmt.Errorf("%w: not removed (%s): %s", act.ErrRefused, fleet.Counted(left, "folder"), r.reasons())
	}
	return nil
}

func (r *run) reasons() string {
	if len(r.kept) == 0 {
		return "git does not ignore them whole any more, or they are not known to be build output"
	}
	return strings.Join(r.kept, "; ")
}

// against says what stands against clearing a folder; empty when nothing does.
func (r *run) against(ctx context.Context, b git.Bulk) string {
	quiet := r.x.o.Now().Sub(b.Newest)
	tracked, err := r.x.o.Git.Tracked(ctx, r.top, b.Path)
	switch {
	case err != nil:
		return fmt.Sprintf("cannot ask git: %v", err)
	case len(b.Keep) > 0:
		return fmt.Sprintf("holds %q", b.Keep[0])
	case tracked:
		return "holds tracked files"
	case quiet < r.x.quiet:
		return fmt.Sprintf("was written to %s ago", quiet.Round(time.Second))
	}
	return ""
}

// Do clears the chosen folders.
func (r *run) Do(ctx context.Context) error {
	for _, b := range r.folders {
		if err := r.free(ctx); err != nil {
			return err
		}
		if err := r.x.w.Clear(ctx, r.place, b.Path); err != nil {
			return err
		}
	}
	return nil
}

// Verify checks that the folders are gone.
func (r *run) Verify(context.Context) (string, error) {
	var freed int64
	var names []string
	for _, b := range r.folders {
		if _, err := os.Lstat(filepath.Join(r.top, b.Path)); !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("cannot verify: %q is there (%v)", b.Path, err)
		}
		freed += b.Bytes
		names = append(names, fleet.Path(b.Path))
	}
	s := fmt.Sprintf("%s freed: %s", git.InWords(freed), strings.Join(names, ", "))
	if free, err := git.Free(r.top); err == nil && r.freeBefore > 0 {
		s += fmt.Sprintf(" (free space changed by %s)", git.InWords(free-r.freeBefore))
	}
	if len(r.kept) > 0 {
		s += "; kept " + strings.Join(r.kept, "; ")
	}
	return s, nil
}

// Close has nothing to release.
func (r *run) Close() {}
