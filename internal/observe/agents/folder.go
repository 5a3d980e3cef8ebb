package agents

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"custos/internal/fleet"
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
