// Package setaside is what the actions share that set one file aside: it is renamed,
// and never deleted, so that a wrong one can be put back with one mv.
package setaside

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// File is one file that is to be set aside, held open since it was looked at.
type File struct {
	*os.File
	Want  files.Identity
	What  string           // as people are told of it: "lock"
	Path  string           // safe form
	Now   func() time.Time // wall clock, for its name
	Still func() error     // whether what it says still allows it, asked again at the instant of acting
	aside string
}

// Commands are those a person would type.
func Commands(path, note string) []fleet.Command {
	return []fleet.Command{{Argv: []string{"mv", "-n", path, files.AsideName(path, "TIME")}, Note: "TIME is that of the act; only while " + note}}
}

// Open opens the file. One that is not the one that was seen is refused.
func (f *File) Open(seen fleet.FileID) error {
	file, info, err := files.OpenRegular(fleet.RawPath(f.Path), os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the %s is gone: %w", f.What, act.ErrUnneeded)
	case errors.Is(err, files.ErrNotRegular):
		return f.Refused("it is no regular file")
	case err != nil:
		return fmt.Errorf("cannot open the %s: %w", f.What, err)
	}
	f.File, f.Want = file, info.Identity
	if f.Want != files.Identity(seen) {
		file.Close()
		return f.Refused("it was replaced or written to since it was seen")
	}
	return nil
}

// Refused is the refusal to set it aside.
func (f *File) Refused(format string, args ...any) error {
	return fmt.Errorf("cannot remove the %s: %w: %w", f.What, fmt.Errorf(format, args...), act.ErrRefused)
}

// Do implements act.Run.
func (f *File) Do(ctx context.Context) (err error) {
	if err = ctx.Err(); err == nil {
		f.aside, err = files.SetAside(fleet.RawPath(f.Path), f.File, f.Want, f.Now(), f.Still)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the %s: %w", f.What, err)
	}
	return nil
}

// Verify implements act.Run. A new file at the old place is another program's work, and no
// failure of ours.
func (f *File) Verify(context.Context) (string, error) {
	moved, err := files.Lstat(f.aside)
	if err != nil || moved.Identity != f.Want {
		return "", fmt.Errorf("cannot find the %s where it was set aside: %s", f.What, fleet.Path(f.aside))
	}
	now, err := files.Lstat(fleet.RawPath(f.Path))
	if err == nil && now.Same(f.Want) {
		return "", fmt.Errorf("cannot show that the %s is gone: it is still there", f.What)
	}
	return f.What + " set aside as " + fleet.Path(f.aside), nil
}

// Close implements act.Run.
func (f *File) Close() { f.File.Close() }
