package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// ruleAsked stands for a rule in the key of what somebody asks for by name.
const ruleAsked = "asked"

// MoveElsewhere returns what has work of another tracker closed ("close"), or opened
// again ("reopen"): a finding that leads to one action and goes through every guard.
// nil: it is so already. An agent moves only what it has.
func MoveElsewhere(past fleet.Past, snap fleet.Snapshot, ref fleet.Ref, do, why, by string) (*fleet.Finding, error) {
	what := do + " work"
	seen := NewTrackers(past, snap).Seen(ref)
	self, isAgent := fleet.AgentOf(by)
	switch of := ref.Tracker(); {
	case do != "close" && do != "reopen":
		return nil, Unfit(what, "%s is kept elsewhere, where Custos only closes it and opens it again", ref)
	case of != fleet.TrackerIssue && of != fleet.TrackerBeads:
		return nil, Unfit(what, "%s is neither an issue nor a bead", fleet.Line(string(ref), 80))
	case seen.Why != "":
		return nil, Unfit(what, "%s is not seen now: %s", ref, seen.Why)
	case isAgent && (isNameless(self) || seen.Agent != self):
		return nil, Unfit(what, "an agent does that with its own work only, and %s is not %s's", ref, fleet.Line(self, 80))
	case seen.IsClosed() == (do == "close"):
		return nil, nil
	}
	w, part := moveOf(snap, ref, do)
	if w.Target == (fleet.Target{}) {
		return nil, Unfit(what, "%s is a pull request", ref)
	}
	w.Text = fleet.Line(why, 400)
	return &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleAsked, Subject: w.Subject}, Priority: fleet.P3, Since: snap.At, Firing: true, Fresh: true,
		Summary: fleet.Line(by, 80) + " asks to " + do + " " + string(ref), Parts: []fleet.PartName{part}, Wishes: []fleet.Wish{w}}, nil
}

// MovedIn lists the parts in which work of another tracker is seen.
func MovedIn(ref fleet.Ref) []fleet.PartName {
	if ref.Tracker() == fleet.TrackerBeads {
		return []fleet.PartName{fleet.PartBeads}
	}
	return []fleet.PartName{fleet.PartForge}
}

// moveOf is the action for it, on the thing as it is seen.
func moveOf(snap fleet.Snapshot, ref fleet.Ref, do string) (fleet.Wish, fleet.PartName) {
	if i := slices.IndexFunc(snap.Beads.Value, func(b fleet.Bead) bool { return fleet.BeadRef(b.ID) == ref }); i >= 0 {
		b := snap.Beads.Value[i]
		return fleet.Wish{Do: do + "-bead", Subject: fleet.Subject{Kind: fleet.KindWork, Name: string(ref)}, Target: fleet.Target{Bead: &b}}, fleet.PartBeads
	}
	w := fleet.Wish{Do: do + "-issue", Subject: fleet.Subject{Kind: fleet.KindIssue, Name: string(ref)}}
	if i := slices.IndexFunc(snap.Forge.Value.Issues, func(i fleet.Issue) bool { return fleet.Ref(i.Name) == ref }); i >= 0 {
		issue := snap.Forge.Value.Issues[i]
		w.Target.Issue = &issue
	}
	return w, fleet.PartForge
}
