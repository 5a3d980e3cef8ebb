package folder

import (
	"errors"
	"os"
	"path/filepath"
)

// Find is the folder of a node in a folder that Init made: that of the one node, or of the first of
// several. Which one does not matter to who speaks with the hub.
func Find(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, configName)); err == nil || !errors.Is(err, os.ErrNotExist) {
		return dir, err
	}
	nodes, err := filepath.Glob(filepath.Join(dir, "*", configName))
	if err == nil && len(nodes) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	return filepath.Dir(nodes[0]), nil
}
