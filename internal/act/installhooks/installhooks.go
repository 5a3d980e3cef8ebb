// Package installhooks is the action "install-hooks": it completes the hooks of
// ours that stand in the settings of an agent CLI. Where there are none it puts
// none: that is a person's to begin, with custos hooks install.
package installhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/settings"
)

// Do is the name of the action.
const Do = "install-hooks"

// Options are what the action is told of hooks.
type Options struct {
	// Edit returns what installing makes of settings, and the files beside them,
	// by path, that the hooks need. held says whether hooks of ours stand in them.
	Edit func(kind string, settings []byte) (next []byte, extra map[string][]byte, held bool, err error)
	// Missing is why hooks cannot be installed here; "" when they can.
	Missing string
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) *Action { return &Action{o} }

// Ability implements act.Action. To install twice is to install once.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartSelf}, Deadline: fleet.Duration(10e9)}
	if x.o.Missing != "" {
		a.Cannot, a.Needs = x.o.Missing, "make build"
	}
	return a
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	l := a.Target.Landmark
	if l == nil {
		return nil
	}
	return []fleet.Command{
		{Argv: []string{"cp", "-n", l.Path, l.Path + settings.Kept}, Note: "only where none is kept yet"},
		{Argv: []string{"custos", "hooks", "install", l.Kind}, Note: "only our own lines change; not while another program writes it"},
	}
}

// Prepare implements act.Action: the same settings, with hooks of ours in them.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	l := a.Target.Landmark
	if l == nil || l.Kind == "" {
		return nil, errors.New("cannot install hooks: the target is no settings")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", l.Path, err)
	}
	if wrong, known := l.Hooks.Get(); !l.Owner.MayTouch() || !known || wrong == "" {
		return nil, fmt.Errorf("cannot install hooks in %s: it is not known to need it, and to be ours: %w", l.Path, act.ErrRefused)
	}
	path, err := filepath.EvalSymlinks(fleet.RawPath(l.Path)) // settings are often links into a folder that is under version control
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is gone: %w", l.Path, act.ErrUnneeded)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", l.Path, err)
	}
	r := &run{x: x, mark: *l, path: path}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r, nil
}

type run struct {
	x         *Action
	mark      fleet.Landmark
	path      string
	mode      fs.FileMode
	was, next []byte
	extra     map[string][]byte
}

// read takes the settings in, and what is to become of them.
func (r *run) read() (err error) {
	if r.was, err = r.same(); err != nil {
		return err
	}
	var held bool
	if r.next, r.extra, held, err = r.x.o.Edit(r.mark.Kind, r.was); err != nil {
		return fmt.Errorf("cannot install hooks in %s: %w", r.mark.Path, err)
	}
	switch {
	case bytes.Equal(r.was, r.next):
		return fmt.Errorf("every hook stands in %s: %w", r.mark.Path, act.ErrUnneeded)
	case !held:
		return fmt.Errorf("cannot install hooks in %s: ours were taken out: %w", r.mark.Path, act.ErrRefused)
	}
	return nil
}

// same reads the settings, if they are those that were seen.
func (r *run) same() ([]byte, error) {
	f, info, err := files.OpenRegular(r.path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", r.mark.Path, err)
	}
	defer f.Close()
	r.mode = info.Mode
	if info.Size > settings.Largest {
		return nil, fmt.Errorf("cannot read %s: it is larger than 1 MiB: %w", r.mark.Path, act.ErrRefused)
	}
	b, err := files.Head(f, settings.Largest)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", r.mark.Path, err)
	}
	if next, _, held, err := r.x.o.Edit(r.mark.Kind, b); err == nil && held && bytes.Equal(next, b) {
		return b, nil // well already
	}
	if info.Identity != files.Identity(r.mark.File) {
		return nil, fmt.Errorf("cannot install hooks in %s: it was replaced or written to since it was seen: %w", r.mark.Path, act.ErrRefused)
	}
	return b, nil
}

// Do implements act.Run. What a person had is kept beside it, once: the oldest is
// what uninstall compares with.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot install hooks: %w", err)
	}
	now, err := r.same()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, r.was) {
		return fmt.Errorf("cannot install hooks in %s: another program changed it just now", r.mark.Path)
	}
	for path, text := range r.extra {
		if err := settings.Lay(path, text, 0o600); err != nil {
			return fmt.Errorf("cannot write the hooks: %w", err)
		}
	}
	if _, err := os.Lstat(r.path + settings.Kept); errors.Is(err, fs.ErrNotExist) {
		if err := files.Replace(r.path+settings.Kept, r.was, r.mode); err != nil {
			return fmt.Errorf("cannot keep what was in %s: %w", r.mark.Path, err)
		}
	}
	if err := files.Replace(r.path, r.next, r.mode); err != nil {
		return fmt.Errorf("cannot write %s: %w", r.mark.Path, err)
	}
	return nil
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	now, err := files.Read(r.path, settings.Largest)
	if err != nil {
		return "", fmt.Errorf("cannot read %s again: %w", r.mark.Path, err)
	}
	next, _, held, err := r.x.o.Edit(r.mark.Kind, now)
	if err != nil || !held || !bytes.Equal(next, now) {
		return "", fmt.Errorf("the hooks in %s are still not whole: %w", r.mark.Path, err)
	}
	return "every hook of " + r.mark.Kind + " stands in " + r.mark.Path, nil
}

// Close implements act.Run.
func (r *run) Close() {}
