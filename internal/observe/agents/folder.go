package agents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// unlinked is what the kernel adds to the path of a folder that was removed (proc(5)).
const unlinked = " (deleted)"

// folderGone says whether the folder that a process works in was removed below it. What
// it writes there goes nowhere, also where another one was made at its place since. One
// whose name ends like that is there.
func folderGone(cwd fleet.Leaf[string]) fleet.Leaf[bool] {
	path, known := cwd.Get()
	if !known {
		return fleet.Unknown[bool](cwd.Why())
	}
	if !strings.HasSuffix(path, unlinked) {
		return fleet.Known(false)
	}
	_, err := os.Lstat(fleet.RawPath(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fleet.Unknown[bool](fleet.Line(err.Error(), 200))
	}
	return fleet.Known(err != nil)
}

// folder tells of the folder of a registered agent that runs: one that was moved below it
// is as good as removed, for nobody looks for its work there, or starts it there again.
// An agent may go where it likes; one in the very folder of its record, which is not at
// its place any more, has not gone.
func (l *look) folder(a *fleet.Agent, reg *fleet.Registration) {
	cwd, known := a.CWD.Get()
	if !known || reg.Folder == nil || reg.Real == "" || a.FolderGone.Or(true) || cwd == reg.Real || strings.HasPrefix(cwd, strings.TrimSuffix(reg.Real, "/")+"/") {
		return
	}
	now, err := git.FolderAt(fleet.RawPath(reg.Real))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && reg.Folder.Same(l.folderID(now)) {
		return
	}
	for dir := fleet.RawPath(cwd); ; dir = filepath.Dir(dir) {
		if f, err := git.FolderAt(dir); err == nil && reg.Folder.Same(l.folderID(f)) {
			a.FolderGone, a.FolderMoved = fleet.Known(true), fleet.Path(dir)
			return
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// whyNotBack says why a registered agent that does not run cannot come back to its folder. Of
// one that cannot be looked at, nothing is said: whoever starts it looks again.
func (l *look) whyNotBack(reg *fleet.Registration) string {
	if reg.Place() == "" || reg.Instance == "" {
		return ""
	}
	now, err := git.FolderAt(fleet.RawPath(reg.Place()))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its folder " + reg.Place() + " is not there"
	case err != nil:
		return ""
	}
	repo := ""
	if reg.Folder == nil && reg.Worktree != "" && reg.Repo != "" {
		p, err := git.Find(fleet.RawPath(reg.Repo))
		if err != nil {
			return ""
		}
		repo = fleet.Path(p.Common)
	}
	return reg.Other(l.folderID(now), repo, false)
}

func (l *look) folderID(f git.Folder) fleet.FolderID {
	return fleet.FolderID{Boot: l.now.Boot, Device: f.Device, Inode: f.Inode, Born: f.Born, Common: fleet.Path(f.Common), GitDir: fleet.Path(f.GitDir)}
}
