package closelandmark

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"custos/internal/act/acttest"
	"custos/internal/fleet"
)

// target is what the probe would tell of a path.
func target(t *testing.T, path, is string) fleet.Action {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	l := fleet.Landmark{Path: fleet.Path(path), What: "state", Is: is, Owner: fleet.OwnerCustos, Mode: uint64(info.Mode().Perm()),
		File: fleet.FileID{Device: uint64(st.Dev), Inode: st.Ino}, Open: fleet.Known(true), Hooks: fleet.Known("")}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindLandmark, Name: l.Path}, Target: fleet.Target{Landmark: &l}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte("x"), 0o600))
	must(t, os.Chmod(path, mode))
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Landmark.Path) }

func modes(t *testing.T, a fleet.Action) (all string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Dir(raw(a)), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		all += fmt.Sprintln(path, info.Mode())
		return err
	}))
	return all
}

func TestConformance(t *testing.T) {
	anew := func(t *testing.T, a fleet.Action) {
		must(t, os.Rename(raw(a), raw(a)+".old"))
		put(t, raw(a), 0o644)
	}
	acttest.Test(t, acttest.Case{
		Action: New(os.Getuid()), Fingerprint: modes,
		Setup: func(t *testing.T) fleet.Action {
			path := filepath.Join(t.TempDir(), "custos.db")
			put(t, path, 0o664)
			return target(t, path, "file")
		},
		Gone: func(t *testing.T, a fleet.Action) { must(t, os.Chmod(raw(a), 0o600)) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"another file":   anew,
			"not known open": func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Open.Blind("x") },
			"foreign":        func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Owner = fleet.OwnerForeign },
			"a folder":       func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Is = "dir" },
			"a link to another": func(t *testing.T, a fleet.Action) {
				put(t, raw(a)+".other", 0o644)
				must(t, os.Remove(raw(a)))
				must(t, os.Symlink(raw(a)+".other", raw(a)))
			},
		},
	})
}

// Folders and sockets are closed too, and no right is given that was not there.
func TestOtherSorts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chmod(dir, 0o577))
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil && os.Getuid() != 0 {
		must(t, os.Chmod(dir, 0o777))
		l, err = net.Listen("unix", filepath.Join(dir, "s"))
		must(t, os.Chmod(dir, 0o577))
	}
	must(t, err)
	defer l.Close()
	must(t, os.Chmod(filepath.Join(dir, "s"), 0o777))
	for _, c := range []struct {
		path, is string
		want     fs.FileMode
	}{{filepath.Join(dir, "s"), "socket", 0o600}, {dir, "dir", 0o500}} {
		acttest.Do(t, New(os.Getuid()), target(t, c.path, c.is))
		if info, err := os.Lstat(c.path); err != nil || info.Mode().Perm() != c.want {
			t.Errorf("%s has mode %v, want %v; %v", c.is, info.Mode(), c.want, err)
		}
	}
}

// What belongs to another user is left alone, even where this one may change it.
func TestAnotherUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, 0o666)
	if run, err := New(os.Getuid()+1).Prepare(t.Context(), target(t, path, "file")); err == nil {
		run.Close()
		t.Error("it would be closed")
	}
}
