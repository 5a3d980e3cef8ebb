package view

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// overlapFacts says what the agents of two worktrees both change.
func overlapFacts(o fleet.Overlap) []string {
	out := []string{fmt.Sprintf("%s and %s, worktrees of %s", o.One, o.Other, o.Repo)}
	if len(o.Hot) > 0 {
		out = append(out, "Both change the same lines, as the commit has them that both come from: "+strings.Join(o.Hot, "; "))
	}
	if len(o.Soft) > 0 {
		out = append(out, "Both change, in other places: "+strings.Join(o.Soft, "; "))
	}
	for _, of := range []struct {
		theirs, by string
		files      []string
	}{{o.One, o.Other, o.OfOne}, {o.Other, o.One, o.OfOther}} {
		if len(of.files) > 0 {
			out = append(out, fmt.Sprintf("What an agent in %s was started for, %s changes: %s", of.theirs, of.by, strings.Join(of.files, "; ")))
		}
	}
	switch files, known := o.Conflicts.Get(); {
	case !known:
		out = append(out, "Whether what both have committed merges is not known: "+o.Conflicts.Why())
	case len(files) > 0:
		out = append(out, "What both have committed does not merge in: "+strings.Join(files, "; "))
	}
	return out
}

// agentOverlaps says what agents of other worktrees and this one both change, as far as that is seen.
func agentOverlaps(s *fleet.Snapshot, a fleet.Agent) (out []string) {
	if !s.Overlaps.Usable() {
		return nil
	}
	for _, o := range s.Overlaps.Value {
		if one, other := o.Agents([]fleet.Agent{a}); len(one)+len(other) > 0 {
			out = append(out, overlapFacts(o)...)
		}
	}
	return out
}
