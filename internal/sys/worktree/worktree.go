// Package worktree finds the git worktree that a folder lies in, and what belongs to it, by
// reading files: no program runs. In goes a folder, out come paths past all links.
package worktree

import (
	"os"
	"path/filepath"
	"strings"

	"custos/internal/sys/files"
)

// Place is a worktree; what is not known of it is "".
type Place struct {
	Top    string   // its folder
	GitDir string   // its own folder of git
	Common string   // the one that all worktrees of the repository share
	Others []string // the folders of the other worktrees
}

// mostBytes is how large the files are that say where others lie.
const mostBytes = 4096

// Find looks for the worktree that a folder lies in; the zero Place where there is none.
func Find(dir string) Place {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Place{}
	}
	for ; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.IsDir():
			return Place{Top: dir, GitDir: at, Common: at}.withOthers()
		case err == nil:
			return linked(dir, at).withOthers()
		case dir == filepath.Dir(dir):
			return Place{}
		}
	}
}

// linked is a worktree whose .git is a file that names its folder.
func linked(dir, file string) Place {
	gitDir, ok := strings.CutPrefix(line(file), "gitdir:")
	if !ok {
		return Place{Top: dir}
	}
	p := Place{Top: dir, GitDir: from(dir, strings.TrimSpace(gitDir))}
	p.Common = p.GitDir
	if common := line(filepath.Join(p.GitDir, "commondir")); common != "" {
		p.Common = from(p.GitDir, common)
	}
	return p
}

// withOthers adds the other worktrees, as the repository has written them down.
func (p Place) withOthers() Place {
	if p.Common == "" {
		return p
	}
	if main := filepath.Dir(p.Common); filepath.Base(p.Common) == ".git" && main != p.Top {
		p.Others = append(p.Others, main)
	}
	entries, err := os.ReadDir(filepath.Join(p.Common, "worktrees"))
	if err != nil {
		return p
	}
	for _, e := range entries {
		at := line(filepath.Join(p.Common, "worktrees", e.Name(), "gitdir"))
		if top := filepath.Dir(at); filepath.IsAbs(at) && top != p.Top {
			p.Others = append(p.Others, top)
		}
	}
	return p
}

func from(dir, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	return filepath.Clean(p)
}

// line is the text of a small file, without its end; "" where there is none.
func line(file string) string {
	b, err := files.Read(file, mostBytes)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
