//go:build linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func folder(t *testing.T, path string) Folder {
	t.Helper()
	d, err := OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// In a folder no link is followed, nothing but files and folders is opened, and what was put
// in the folder's own place later is another one.
func TestAFolderIsWhatWasOpened(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir+"/in/a", "1")
	write(t, outside+"/secret", "2")
	for link, to := range map[string]string{"out": outside, "in/link": outside + "/secret"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(dir+"/in/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	d := folder(t, dir)
	for name, want := range map[string]error{"out": ErrNotFolder, "in/a": ErrNotFolder, "none": fs.ErrNotExist} {
		if _, err := d.Folder(name); !errors.Is(err, want) {
			t.Errorf("folder %s: %v", name, err)
		}
	}
	if _, err := OpenFolder(dir + "/in/a"); !errors.Is(err, ErrNotFolder) {
		t.Errorf("a file as a folder: %v", err)
	}
	in, err := d.Folder("in")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := errors.Join(os.Rename(dir+"/in", dir+"/was"), os.Symlink(outside, dir+"/in")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and again
		if names, more, err := in.Names(3); err != nil || more || !slices.Equal(names, []string{"a", "link", "pipe"}) {
			t.Errorf("it holds %q, %v, %v", names, more, err)
		}
	}
	if names, more, err := in.Names(2); err != nil || !more || len(names) != 2 {
		t.Errorf("of three, two are %q, %v, %v", names, more, err)
	}
	for name, want := range map[string]error{"link": ErrNotRegular, "pipe": ErrNotRegular, "secret": fs.ErrNotExist} {
		if _, _, err := in.OpenRegular(name); !errors.Is(err, want) {
			t.Errorf("file %s: %v", name, err)
		}
	}
	f, info, err := in.OpenRegular("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if again, err := in.Lstat("a"); err != nil || again != info || info.Changed == 0 {
		t.Errorf("%+v, then %+v, %v", info, again, err)
	}
}

// A file is written whole, and in nobody's place; what a crash left of one is no hindrance.
func TestPut(t *testing.T) {
	dir := t.TempDir()
	d := folder(t, dir)
	write(t, filepath.Join(dir, d.own("new", "a", 0).name), "half of ano")
	if err := d.Put("a", []byte("whole"), 0o666); err != nil || content(t, dir+"/a") != "whole" {
		t.Fatalf("%q, %v", content(t, dir+"/a"), err)
	}
	if info, err := os.Lstat(dir + "/a"); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Symlink(t.TempDir()+"/x", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "link"} {
		if err := d.Put(name, []byte("other"), 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("over %s: %v", name, err)
		}
	}
	if names, _, err := d.Names(9); err != nil || !slices.Equal(names, []string{"a", "link"}) || content(t, dir+"/a") != "whole" {
		t.Errorf("it holds %q, %v", names, err)
	}
}

// A file is removed as it was checked, or what lies in its place is left.
func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		before func(dir string) error
		want   error
		left   string
	}{
		"removed":  {nil, nil, ""},
		"replaced": {func(dir string) error { return os.Rename(dir+"/other", dir+"/in/a") }, ErrChanged, "2"},
		"written":  {func(dir string) error { return os.WriteFile(dir+"/in/a", []byte("12"), 0o600) }, ErrChanged, "12"},
		"gone":     {func(dir string) error { return os.Remove(dir + "/in/a") }, fs.ErrNotExist, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/in/a", "1")
			write(t, dir+"/other", "2")
			d := folder(t, dir+"/in")
			f, info, err := d.OpenRegular("a")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if c.before != nil {
				if err := c.before(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Remove("a", f, info.Identity); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			names, _, err := d.Names(9)
			if err != nil || len(names) > 1 || c.left == "" && len(names) > 0 || c.left != "" && content(t, dir+"/in/a") != c.left {
				t.Errorf("it holds %q, %v", names, err)
			}
		})
	}
}
