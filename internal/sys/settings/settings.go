// Package settings changes the settings file of another program so that it can be undone:
// what it was is kept beside it, it is replaced whole, and never where somebody else has
// changed it meanwhile.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"custos/internal/sys/files"
)

const (
	// Kept is what the name of the settings as they were ends in.
	Kept = ".before-custos"
	// Largest is more than any settings file has, in bytes.
	Largest = 1 << 20
)

// File is a settings file as it was read.
type File struct {
	Path   string
	Was    []byte
	Exists bool
}

// Read reads the file that a name leads to: settings are often links into a folder that
// is under version control. One that is not there is empty.
func Read(name string) (File, error) {
	path, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return File{}, fmt.Errorf("cannot read %s: it is a link to nothing", name)
		}
		return File{Path: name}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("cannot read the settings: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return File{}, fmt.Errorf("cannot read the settings: %w", err)
	case !info.Mode().IsRegular() || info.Size() > Largest:
		return File{}, fmt.Errorf("cannot read %s: it is no file, or larger than 1 MiB", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("cannot read the settings: %w", err)
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return File{}, fmt.Errorf("cannot read %s: it is no text", path)
	}
	return File{Path: path, Was: b, Exists: true}, nil
}

// Same says whether the file is still as it was read.
func (f File) Same() error {
	now, err := Read(f.Path)
	if err != nil {
		return err
	}
	if now.Exists != f.Exists || !bytes.Equal(now.Was, f.Was) {
		return fmt.Errorf("cannot change %s: it was changed just now; nothing was written: run the command again", f.Path)
	}
	return nil
}

// Change puts the new text in place of the old one, at once, and keeps that.
func (f File) Change(text []byte) error {
	mode := f.mode()
	if f.Exists {
		if err := files.Replace(f.Path+Kept, f.Was, mode); err != nil {
			return fmt.Errorf("cannot keep the settings as they were: %w", err)
		}
	}
	return Lay(f.Path, text, mode)
}

// Lay puts a file in its place, whole, with its folder.
func Lay(path string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := files.Replace(path, text, mode); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// Undo puts the text in place from which ours is taken out, and leaves nothing behind:
// neither a file that Change made, nor the one it kept, when that is what the settings
// are again.
func (f File) Undo(text []byte) error {
	was, err := os.ReadFile(f.Path + Kept)
	kept := err == nil
	if len(text) == 0 && !kept {
		err = os.Remove(f.Path)
	} else {
		err = files.Replace(f.Path, text, f.mode())
	}
	if err == nil && kept && bytes.Equal(was, text) {
		err = os.Remove(f.Path + Kept)
	}
	if err != nil {
		return fmt.Errorf("cannot undo the change of the settings: %w", err)
	}
	return nil
}

func (f File) mode() fs.FileMode {
	if info, err := os.Stat(f.Path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}
