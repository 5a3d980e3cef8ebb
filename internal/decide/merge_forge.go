package decide

import (
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// remedyOfForges is how often a forge is asked to merge one pull request: one that never takes it needs a person.
func remedyOfForges() fleet.Remedy {
	const minute = fleet.Duration(60e9)
	return fleet.Remedy{Mode: fleet.ModeAuto, Cooldown: minute, Attempts: fleet.Attempts{Max: 5, In: 24 * 60 * minute}}
}

// askForge wishes that the forge of a queue merges what is next: that the queue is there, in this mode, is what asks for it.
func (p *pass) askForge(b *ledger.MergeBook) {
	if b.Queue.Mode == fleet.MergeOwn {
		return
	}
	if i, pull := b.ToDequeue(*p.past, *p.snap); i != nil {
		p.wishAtForge(i, pull, ledger.LeaveForge, i.ID+" is not to be merged any more")
	}
	if i, pull := b.NextAtForge(*p.past, *p.snap); i != nil {
		p.wishAtForge(i, pull, ledger.AskForge, i.ID+" is next in merge queue "+b.Queue.Name)
	}
}

func (p *pass) wishAtForge(i *fleet.MergeItem, pull *fleet.PullRequest, do, why string) {
	of, one := fleet.Subject{Kind: fleet.KindMerge, Name: i.ID}, *pull
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleMerge, Subject: of}, Priority: fleet.P3, Since: i.Since, Firing: true, Fresh: true,
		Summary: why, Parts: []fleet.PartName{fleet.PartForge}}
	r := &request{finding: f, remedy: remedyOfForges(), merged: i, queued: true,
		wish: &fleet.Wish{Do: do, Subject: fleet.Subject{Kind: fleet.KindPull, Name: pull.Name}, Target: fleet.Target{Pull: &one}}}
	p.weighIn(r)
	p.judge(r)
}
