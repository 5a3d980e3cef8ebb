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
	switch files, known := o.Conflicts.Get(); {
	case !known:
		out = append(out, "Whether what both have committed merges is not known: "+o.Conflicts.Why())
	case len(files) > 0:
		out = append(out, "What both have committed does not merge in: "+strings.Join(files, "; "))
	}
	return out
}
