package forge

import (
	"errors"
	"io/fs"
	"os"

	"custos/internal/fleet"
)

// active says whether agents are to take up work in the project: its switch, where
// it has one, is a file that is there.
func (p Project) active() fleet.Leaf[bool] {
	if p.Switch == "" {
		return fleet.Known(true)
	}
	_, err := os.Stat(p.Switch)
	switch {
	case err == nil:
		return fleet.Known(true)
	case errors.Is(err, fs.ErrNotExist):
		return fleet.Known(false)
	}
	return fleet.Unknown[bool]("cannot look at its switch: " + fleet.Line(err.Error(), 200))
}
