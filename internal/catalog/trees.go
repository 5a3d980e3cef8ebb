package catalog

import (
	"context"

	"custos/internal/fleet"
)

// keepsRegistered lists the agents that are on record. While the ledger cannot be read,
// those that were known still are.
func (w *World) keepsRegistered() func() []fleet.Registration {
	var known []fleet.Registration
	return func() []fleet.Registration {
		if w.Registered == nil {
			return known
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if now, err := w.registeredLately(ctx); err == nil {
			known = now
		}
		return known
	}
}

// workedIn lists the folders (raw) that agents work in, or worked in when they ended: what
// they left is there.
func workedIn(regs []fleet.Registration) (dirs []string) {
	for _, r := range regs {
		if r.Desired == fleet.DesiredRetired { // a worktree that was made for it is looked at all the same
			continue
		}
		for _, dir := range []string{r.Repo, r.Worktree, r.Dir} {
			if dir != "" {
				dirs = append(dirs, fleet.RawPath(dir))
			}
		}
	}
	return dirs
}

// madeFor lists the worktrees (raw) that Custos made for agents. One that another system
// started first had its worktree from that, whoever started it again; and the record of one
// that was never started may name a folder that somebody else made: its start is refused.
func madeFor(regs []fleet.Registration) (paths []string) {
	for _, r := range regs {
		if r.Owner == fleet.OwnerCustos && r.Origin == "" && r.Instance != "" && r.Worktree != "" {
			paths = append(paths, fleet.RawPath(r.Tree()))
		}
	}
	return paths
}
