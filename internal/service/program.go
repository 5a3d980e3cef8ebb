package service

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// temporary are the folders whose files go at a boot, or when they are old.
var temporary = []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/", "/proc/"}

// removed are the folders, or parts of a path, from which somebody takes a program away without asking.
var removed = []struct{ whole, part, whose string }{
	{"", "/go-build", "the build cache of go run"}, {"", "/.cache/", "a cache"}, {"", "/node_modules/", "what npm removes with a version"},
	{"/nix/store/", "", "what Nix removes with a version"}, {"/gnu/store/", "", "what Guix removes with a version"},
	{"", "/Cellar/", "what Homebrew removes with a version"}, {"/snap/", "", "what snap removes with a version"},
}

func isTemporary(path string) bool {
	return slices.ContainsFunc(temporary, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// goes says why a program will not stay where it is; "" when it will.
func goes(path string) string {
	switch {
	case strings.HasSuffix(path, " (deleted)"):
		return "it was removed, or replaced, since this command began"
	case isTemporary(path):
		return "it lies in a folder of temporary files"
	}
	for _, r := range removed {
		if r.whole != "" && strings.HasPrefix(path, r.whole) || r.part != "" && strings.Contains(path, r.part) {
			return "it lies in " + r.whose
		}
	}
	return ""
}

// Lasting is the path by which a unit can name a program: where it lies, or, where that does not
// last, a link on PATH that leads there and does.
func Lasting(exe, path string) (string, error) {
	why := goes(exe)
	if why == "" {
		return exe, nil
	}
	for _, dir := range filepath.SplitList(path) {
		link := filepath.Join(dir, filepath.Base(exe))
		to, err := filepath.EvalSymlinks(link)
		if err == nil && to == exe && filepath.IsAbs(link) && goes(link) == "" {
			return link, nil
		}
	}
	return "", fmt.Errorf("cannot have a unit start %s: %s. Put the three programs where they stay, and run custos from there", exe, why)
}

// trusted refuses a program that somebody else could exchange: what is not root's or this user's,
// and what others may write, from the file up. For a unit of the system only root's will do.
func trusted(path string, uid int) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("cannot have a unit start %s: %w", path, err)
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("cannot have a unit start %s: %w", path, err)
		}
		if why := loose(info, uid); why != "" {
			return fmt.Errorf("cannot have a unit start %s: %s %s, so that others could exchange it", path, at, why)
		}
		if at == "/" {
			return nil
		}
	}
}

func loose(info fs.FileInfo, uid int) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0
	switch {
	case !ok:
		return "belongs to nobody that is known"
	case st.Uid != 0 && int(st.Uid) != uid:
		return fmt.Sprintf("belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o002 != 0 && !sticky:
		return "may be written by everybody"
	case uid == 0 && info.Mode().Perm()&0o020 != 0 && st.Gid != 0 && !sticky:
		return fmt.Sprintf("may be written by group %d", st.Gid)
	}
	return ""
}
