package files

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// NotRoots says why a file may have been written by somebody else than root: the
// file, or a folder above it, is another's, or others can write to it. "" where
// none of that is seen: what is not there, or cannot be looked at, is no reason.
func NotRoots(file string) string {
	for at := file; ; at = filepath.Dir(at) {
		if why := notRoots(at); why != "" || at == filepath.Dir(at) {
			return why
		}
	}
}

func notRoots(at string) string {
	info, err := os.Stat(at)
	if err != nil {
		return ""
	}
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case ok && st.Uid != 0:
		return fmt.Sprintf("root does not own %s", at)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("others than root can write to %s", at)
	}
	return ""
}
