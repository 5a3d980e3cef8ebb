package acttest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// Tree describes every file below the given folders (or single files): path,
// mode, size, modification time and content. A path that does not exist
// is described as such.
func Tree(t *testing.T, roots ...string) string {
	t.Helper()
	var b strings.Builder
	for _, root := range roots {
		if _, err := os.Lstat(root); os.IsNotExist(err) {
			fmt.Fprintf(&b, "%s absent\n", fleet.Path(root))
			continue
		}
		if err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return describe(&b, path)
		}); err != nil {
			t.Fatalf("cannot fingerprint %s: %v", root, err)
		}
	}
	return b.String()
}

func describe(b *strings.Builder, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	what := ""
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		what = fmt.Sprintf("%x", sha256.Sum256(content))[:16]
	case info.Mode()&fs.ModeSymlink != 0:
		if what, err = os.Readlink(path); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "%s %s %d %s %s\n", fleet.Path(path), info.Mode(), info.Size(),
		info.ModTime().UTC().Format("15:04:05.000000000"), what)
	return nil
}

// Alive lists which of the processes still run (a zombie does not), by pid and
// start time.
func Alive(t *testing.T, ids ...fleet.ProcessID) string {
	t.Helper()
	var b strings.Builder
	for _, id := range ids {
		if s, ok := procstat.Living(id.PID); ok && s.Start == id.Start {
			fmt.Fprintf(&b, "%d@%d\n", id.PID, id.Start)
		}
	}
	return b.String()
}
