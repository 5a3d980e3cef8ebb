package decide

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// remedyOfClosings is how often one and the same thing is tried that a merged item is to close.
func remedyOfClosings() fleet.Remedy {
	const minute = fleet.Duration(60e9)
	return fleet.Remedy{Mode: fleet.ModeAuto, Cooldown: minute, Attempts: fleet.Attempts{Max: 5, In: 24 * 60 * minute}}
}

// closeMerged wishes that what a merged item names is closed where it is kept. Who added the item asks
// for it: a person's word is an approval, an agent's is none.
func (p *pass) closeMerged(c ledger.MergeClosing) {
	if c.Wish == nil || p.isBeingClosed(c) {
		return
	}
	of := fleet.Subject{Kind: fleet.KindMerge, Name: c.Item.ID}
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleMerge, Subject: of}, Priority: fleet.P3, Since: c.Item.Since, Firing: true, Fresh: true,
		Summary: c.Item.ID + " is merged, and names " + string(c.Ref), Parts: []fleet.PartName{c.Part}}
	r := &request{finding: f, remedy: remedyOfClosings(), wish: c.Wish, merged: &c.Item}
	p.weighIn(r)
	p.judge(r)
}

// isBeingClosed says whether an action is under way for it: what is next follows from its end.
func (p *pass) isBeingClosed(c ledger.MergeClosing) bool {
	return slices.ContainsFunc(p.past.Actions, func(a fleet.ActionRecord) bool {
		return a.Open() && a.Subject == c.Wish.Subject && a.For.Subject.Name == c.Item.ID && a.For.Rule == ruleMerge
	})
}
