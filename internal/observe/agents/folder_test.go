package agents

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// The folder of a real process: there, removed below it, made again at its place, and
// one that is only called as the kernel calls a removed one.
func TestTheFolderThatARunWorksInIsGone(t *testing.T) {
	there, removed, again, called := t.TempDir(), filepath.Join(t.TempDir(), "wt"), filepath.Join(t.TempDir(), "wt"), filepath.Join(t.TempDir(), "wt (deleted)")
	for name, c := range map[string]struct {
		folder string
		do     func(folder string) error
		gone   bool
	}{
		"there":            {folder: there},
		"removed":          {folder: removed, do: os.Remove, gone: true},
		"made again":       {folder: again, do: func(f string) error { _ = os.Remove(f); return os.Mkdir(f, 0o700) }, gone: true},
		"only called gone": {folder: called},
	} {
		w := newWorld()
		if err := os.MkdirAll(c.folder, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "1000")
		cmd.Dir = c.folder
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if c.do != nil {
			if err := c.do(c.folder); err != nil {
				t.Fatal(err)
			}
		}
		cwd, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cwd")
		if err != nil {
			t.Fatal(err)
		}
		w.proc(10, 1, "claude").CWD = fleet.Known(fleet.Path(cwd))
		for _, a := range see(t, w.probe(t, nil)) {
			if gone, known := a.FolderGone.Get(); gone != c.gone || !known {
				t.Errorf("%s (%s): %v, known %v, want %v", name, cwd, gone, known, c.gone)
			}
		}
	}
	w := newWorld()
	w.proc(10, 1, "claude").CWD = fleet.Unknown[string]("permission denied")
	for _, a := range see(t, w.probe(t, nil)) {
		if a.FolderGone.IsKnown() {
			t.Error("a folder that cannot be read is known to be there")
		}
	}
}

// An agent whose folder was moved below it stands in it still, elsewhere than its record
// says: whether the place is empty or another's by now, it is told. One that went
// somewhere else by itself has its folder.
func TestTheFolderThatAnAgentWorksInWasMoved(t *testing.T) {
	for name, c := range map[string]struct {
		cwd   string // below the folder of the test
		do    func(top string) error
		moved string
	}{
		"there":         {cwd: "dir"},
		"below":         {cwd: "dir/sub"},
		"went away":     {cwd: "other"},
		"moved":         {cwd: "new", do: move, moved: "new"},
		"moved, below":  {cwd: "new/sub", do: move, moved: "new"},
		"another there": {cwd: "new/sub", do: func(top string) error { return errors.Join(move(top), os.Mkdir(filepath.Join(top, "dir"), 0o700)) }, moved: "new"},
		"went, removed": {cwd: "other", do: func(top string) error { return os.RemoveAll(filepath.Join(top, "dir")) }},
	} {
		w, b, top := newWorld(), newLedger(), t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Join(top, "dir/sub"), 0o700), os.Mkdir(filepath.Join(top, "other"), 0o700)); err != nil {
			t.Fatal(err)
		}
		r := b.reg("dev", 10)
		r.Dir = fleet.Path(filepath.Join(top, "dir"))
		r.Real, r.Folder = r.Dir, idOf(t, filepath.Join(top, "dir"))
		if c.do != nil {
			if err := c.do(top); err != nil {
				t.Fatal(err)
			}
		}
		w.proc(10, 1, "claude").CWD = fleet.Known(fleet.Path(filepath.Join(top, c.cwd)))
		a := see(t, w.probe(t, b.options))["dev"]
		want := ""
		if c.moved != "" {
			want = fleet.Path(filepath.Join(top, c.moved))
		}
		if gone, known := a.FolderGone.Get(); gone != (want != "") || !known || a.FolderMoved != want {
			t.Errorf("%s: gone %v, known %v, moved to %q, want %q", name, gone, known, a.FolderMoved, want)
		}
	}
}

func move(top string) error { return os.Rename(filepath.Join(top, "dir"), filepath.Join(top, "new")) }

func idOf(t *testing.T, dir string) *fleet.FolderID {
	t.Helper()
	f, err := git.FolderAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &fleet.FolderID{Boot: "b", Device: f.Device, Inode: f.Inode, Born: f.Born, Common: fleet.Path(f.Common), GitDir: fleet.Path(f.GitDir)}
}

// Of an agent that has ended it is told why it cannot come back to its folder.
func TestWhyAnAgentCannotComeBackToItsFolder(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(top string) error
		why string
	}{
		"there":   {},
		"removed": {do: func(top string) error { return os.RemoveAll(filepath.Join(top, "dir")) }, why: "is not there"},
		"another": {do: func(top string) error { return errors.Join(move(top), os.Mkdir(filepath.Join(top, "dir"), 0o700)) }, why: "is not the one that it worked in"},
	} {
		w, b, top := newWorld(), newLedger(), t.TempDir()
		dir := filepath.Join(top, "dir")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := b.reg("dev", 0)
		r.Dir, r.Folder = fleet.Path(dir), idOf(t, dir)
		if c.do != nil {
			if err := c.do(top); err != nil {
				t.Fatal(err)
			}
		}
		if a := see(t, w.probe(t, b.options))["dev"]; !strings.Contains(a.FolderLost, c.why) || (a.FolderLost == "") != (c.why == "") {
			t.Errorf("%s: %q", name, a.FolderLost)
		}
	}
}
