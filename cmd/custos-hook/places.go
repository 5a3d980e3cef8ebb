package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"custos/internal/policy"
)

// mostTrees is how many worktrees of a repository are looked up.
const mostTrees = 500

// fresh fills in what may have changed since the agent was started: which worktrees there are besides its own, and
// which branch it has checked out. What cannot be read stays as it was.
func fresh(l *policy.Places) {
	if l.GitDir != "" {
		if ref, ok := strings.CutPrefix(line(filepath.Join(l.GitDir, "HEAD")), "ref: refs/heads/"); ok {
			l.Branch = ref
		}
	}
	if l.Common == "" {
		return
	}
	base := filepath.Join(l.Common, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries[:min(len(entries), mostTrees)] {
		at := line(filepath.Join(base, e.Name(), "gitdir"))
		if top := filepath.Dir(at); filepath.IsAbs(at) && top != l.Worktree && !slices.Contains(l.Others, top) {
			l.Others = append(l.Others, top)
		}
	}
}

// line reads a short file of git's; "" where it cannot be read.
func line(file string) string {
	text, err := small(file, 8<<10)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// small reads a file that is a plain one: a pipe that somebody has put in its place is not waited for.
func small(file string, most int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: file, Err: syscall.EINVAL}
	}
	return io.ReadAll(io.LimitReader(f, most))
}
