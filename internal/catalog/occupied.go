package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"

	gitprobe "custos/internal/observe/git"
	"custos/internal/sys/git"
	"custos/internal/sys/proc"
)

// occupied looks afresh at who is in a folder: an action asks at the very instant
// of acting. Who stands in it is inside, and so is who has a file of it open.
func (w *World) occupied(o gitprobe.Options) func(ctx context.Context, path string) ([]int, error) {
	return func(ctx context.Context, path string) ([]int, error) {
		rows, err := w.stand(ctx, proc.NewReader(proc.TableOptions{}))
		if err != nil {
			return nil, err
		}
		if pids, err := git.Inside(rows, path); err != nil || len(pids) > 0 {
			return pids, err
		}
		if why := o.Outside(path); why != "" {
			return nil, errors.New(why)
		}
		held, err := holding(ctx)
		if err != nil {
			return nil, err
		}
		return held.In(path), nil
	}
}

// holding lists who holds what. We, and the git that we look with, are inside of
// nothing.
func holding(ctx context.Context) (*git.Holders, error) {
	self := os.Getpid()
	open, err := proc.OpenFiles(ctx, func(s proc.Stat) bool { return s.ID.PID == self || s.PPID == self && s.Comm == "git" })
	if err != nil {
		return nil, err
	}
	list := make([]git.Held, 0, len(open))
	for _, o := range open {
		list = append(list, git.Held{PID: o.PID, Path: o.Path})
	}
	return git.NewHolders(list), nil
}

// outside says why processes that are not to be seen may be in a folder. foreign
// is what the configuration says of it; nil: what can be told.
func outside(foreign *bool) func(folder string) string {
	return func(folder string) string {
		switch {
		case foreign != nil && !*foreign:
			return ""
		case foreign != nil:
			return "cannot tell who is inside: processes of another pid namespace work there, as [git] foreign_namespace says"
		case !proc.Nested():
			return ""
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err == nil && !git.Shared(string(mounts), folder) {
			return ""
		}
		return fmt.Sprintf("cannot tell who is inside: we are in a pid namespace of our own, and processes outside may see %q; if none do, say [git] foreign_namespace = false", folder)
	}
}
