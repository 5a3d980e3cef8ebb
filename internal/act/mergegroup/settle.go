package mergegroup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// settles says whether anything may settle a conflict of the queue before its author has to.
func (r *building) settles() bool { return len(r.remakers()) > 0 || r.Queue.Rerere }

// remakers are the commands of the queue that make files anew; none where nothing starts commands.
func (r *building) remakers() []fleet.MergeRegenerate {
	if r.o.Start == nil || r.o.End == nil {
		return nil
	}
	return r.Queue.Regenerate
}

func (r *building) settling() git.Settling {
	again := func(file string) bool {
		return slices.ContainsFunc(r.remakers(), func(m fleet.MergeRegenerate) bool { return covers(m, file) })
	}
	return git.Settling{Again: again, Recorded: r.Queue.Rerere}
}

// covers says whether one of its patterns is of a file (raw).
func covers(m fleet.MergeRegenerate, file string) bool {
	return slices.ContainsFunc(m.Files, func(p string) bool { return matches(strings.Split(p, "/"), strings.Split(file, "/")) })
}

// matches goes part by part, as path.Match has it; ** is any number of parts.
func matches(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**":
		return matches(pattern[1:], parts) || len(parts) > 0 && matches(pattern, parts[1:])
	case len(parts) == 0:
		return false
	}
	is, err := path.Match(pattern[0], parts[0])
	return err == nil && is && matches(pattern[1:], parts[1:])
}

// settled settles the conflicts of an item with what there is so far: files that a command of the queue makes anew by that
// command, others as a resolution of them was recorded. It returns the merge as it was where that does not settle all of
// them, and where a command failed it says why.
func (r *building) settled(ctx context.Context, i *fleet.MergeItem, m git.Candidate) (c git.Candidate, why string, err error) {
	if !r.settles() {
		return m, "", nil
	}
	plan := r.plan(r.out.Commit, i)
	s, err := r.w.Settle(ctx, r.repo, plan, r.settling())
	if err != nil || s.Tree == "" {
		return m, "", err
	}
	tree, again := s.Tree, s.Again
	if len(again) > 0 {
		var made git.MadeAnew
		if made, why, err = r.remake(ctx, plan, s); err != nil || why != "" {
			return m, why, err
		}
		tree = made.Tree
		again = slices.Concat(again, made.Changed)
		slices.Sort(again)
		again = slices.Compact(again)
	}
	note := fleet.MergeSettled{ID: i.ID, Again: names(again), Recorded: names(s.Recorded)}
	plan.Message += trailer("Made anew", note.Again) + trailer("Resolved as recorded", note.Recorded)
	c, err = r.w.CommitSettled(ctx, r.repo, plan, tree, slices.Concat(again, s.Recorded))
	r.out.Settled = append(r.out.Settled, note)
	return c, "", err
}

// unsettle takes back what was noted of an item that is left after all.
func (r *building) unsettle(i *fleet.MergeItem) {
	r.out.Settled = slices.DeleteFunc(r.out.Settled, func(s fleet.MergeSettled) bool { return s.ID == i.ID })
}

// trailer is a line of a commit's message that names files; "" for none.
func trailer(what string, files []string) string {
	if len(files) == 0 {
		return ""
	}
	return what + ": " + strings.Join(files, ", ") + "\n"
}

// told says in words what was settled.
func told(list []fleet.MergeSettled) (text string) {
	for _, s := range list {
		if len(s.Again) > 0 {
			text += fmt.Sprintf("; of %s made anew: %s", s.ID, few(s.Again))
		}
		if len(s.Recorded) > 0 {
			text += fmt.Sprintf("; of %s resolved as recorded: %s", s.ID, few(s.Recorded))
		}
	}
	return text
}

// settlers are the commands that may be run where an item conflicts.
func settlers(t *fleet.MergeTarget) (out []fleet.Command) {
	for _, m := range t.Queue.Regenerate {
		out = append(out, fleet.Command{Argv: fleet.RedactArgs(m.Argv), Note: fmt.Sprintf("where an item conflicts in %s: in %s, at most %s, and no other file may change", strings.Join(m.Files, ", "), fleet.Path(worktree(t)), time.Duration(m.Timeout))})
	}
	if t.Queue.Rerere {
		out = append(out, fleet.Command{Argv: []string{"git", "rerere"}, Note: "where an item conflicts: in a repository of its own, on a copy of what is recorded"})
	}
	return out
}
