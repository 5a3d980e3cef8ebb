package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"custos/internal/fleet"
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
