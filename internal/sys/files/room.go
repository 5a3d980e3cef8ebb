//go:build linux

package files

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Room returns how many bytes an ordinary user may still write on the file
// system of path.
func Room(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("cannot measure the file system of %q: %w", path, err)
	}
	return int64(st.Bavail) * st.Frsize, nil
}

// SyncDir makes a rename in a folder last.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
