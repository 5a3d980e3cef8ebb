package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const givingFile = "giving"

// Giving writes down, beside what the shim writes, that an instance is about to be
// given what it reads first. first is false when that was written down before.
func Giving(dir string) (first bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, givingFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return false, fmt.Errorf("cannot write down that it is given its prompt: %w", err)
	}
	return true, nil
}
