package ledger

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// pull follows a pull request of any forge: it passes when that is merged. One that
// was closed unmerged can be reopened, but nobody waits for that.
func (w GateWatch) pull(g *fleet.Gate) GateSight {
	forge := &w.snap.Forge
	if !forge.Fresh() || forge.Status == fleet.StatusAbsent {
		return unseen("its forge is not seen now: " + forge.Why)
	}
	name := string(g.Of)
	if i := slices.IndexFunc(forge.Value.Pulls, func(p fleet.PullRequest) bool { return p.Name == name }); i >= 0 {
		if p := forge.Value.Pulls[i]; !p.Age.IsKnown() {
			return unseen(fmt.Sprintf("%s is not seen now: %s", name, p.Age.Why()))
		}
		return waits("%s is open", name)
	}
	i := slices.IndexFunc(forge.Value.Ended, func(p fleet.EndedPull) bool { return p.Name == name })
	switch {
	case i < 0:
		return unseen("its forge does not show " + name)
	case !forge.Value.Ended[i].Ended.IsKnown():
		return unseen(fmt.Sprintf("%s is not seen now: %s", name, forge.Value.Ended[i].Ended.Why()))
	case forge.Value.Ended[i].Merged:
		return passed("%s was merged", name)
	}
	return failed("%s was closed, and not merged", name)
}
