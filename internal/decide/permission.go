package decide

import "custos/internal/fleet"

const (
	hintApply = "custos patrol --apply"
	hintThaw  = "custos thaw"
)

func askFrozen(p *pass, _ *request) *refusal {
	if p.policy.Frozen == "" {
		return nil
	}
	return &refusal{why: "frozen: " + p.policy.Frozen, hint: hintThaw}
}

// askMode refuses what the fleet or the rule may only observe. A person's word
// for this very pass lifts the fleet's mode, never the rule's.
func askMode(p *pass, r *request) *refusal {
	if plain(r.remedy.Mode) == fleet.ModeObserve {
		return &refusal{
			why:  "rule " + r.finding.Rule + " is in mode observe",
			hint: "custos rules " + word(r.finding.Rule),
		}
	}
	if p.policy.ApprovedBy == "" && plain(p.policy.Mode) == fleet.ModeObserve {
		return &refusal{why: "the fleet is in mode observe", hint: hintApply}
	}
	return nil
}

func askForeign(_ *pass, r *request) *refusal {
	if r.wish.Target.Owner().MayTouch() {
		return nil
	}
	return &refusal{why: "it is not Custos' own, not adopted and not configured: view only"}
}

func askPaused(p *pass, r *request) *refusal {
	for _, s := range []fleet.Subject{r.wish.Subject, r.finding.Subject} {
		if p.paused[s] {
			return &refusal{why: s.String() + " is paused"}
		}
	}
	return nil
}

// askPerson keeps what a person stopped from being started again.
func askPerson(p *pass, r *request) *refusal {
	if !r.ability.Starts {
		return nil
	}
	for _, s := range []fleet.Subject{r.wish.Subject, r.finding.Subject} {
		if p.stopped[s] {
			return &refusal{why: "a person stopped " + s.String() + ": it is not started again"}
		}
	}
	return nil
}

func askApproval(p *pass, r *request) *refusal {
	if p.policy.ApprovedBy != "" || p.mode(r) == fleet.ModeAuto {
		return nil
	}
	why := "rule " + r.finding.Rule + " acts only when a person approves"
	if plain(r.remedy.Mode) == fleet.ModeAuto {
		why = "the fleet is in mode ask: a person must approve"
	}
	return &refusal{why: why, hint: hintApply}
}

// mode returns how far the wish may go when no person says more.
func (p *pass) mode(r *request) fleet.Mode {
	return plain(p.policy.Mode).Least(plain(r.remedy.Mode))
}

// plain reads a mode that is not one (unset, misspelt) as the weakest.
func plain(m fleet.Mode) fleet.Mode {
	if m == fleet.ModeAsk || m == fleet.ModeAuto {
		return m
	}
	return fleet.ModeObserve
}
