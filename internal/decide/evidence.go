package decide

import (
	"slices"

	"custos/internal/fleet"
)

// askEvidence refuses what does not rest on facts that were seen well, and seen
// since the last action that could have changed them.
func askEvidence(p *pass, r *request) *refusal {
	if !r.ability.Harmless {
		if no := p.askMemory(); no != nil {
			return no
		}
	}
	if r.unseen != "" {
		return &refusal{why: r.unseen, hint: hintLook}
	}
	if r.wish.Unknown != "" {
		return &refusal{why: "it cannot be told whether it qualifies: " + r.wish.Unknown, hint: hintLook}
	}
	for _, name := range partsOf(r) {
		if no := p.askPart(r, name); no != nil {
			return no
		}
	}
	if !r.finding.Fresh {
		return &refusal{why: "it is not known to be still true: what says so is stale", hint: hintLook}
	}
	return nil
}

const hintLook = "custos preflight"

// askMemory refuses when what is remembered cannot be trusted: the clock lies
// before the newest record, or the records were lost.
func (p *pass) askMemory() *refusal {
	if p.past.Blind != "" {
		return &refusal{why: "what was done before cannot be read: " + p.past.Blind, hint: "custos status"}
	}
	if p.past.Amnesia {
		return &refusal{
			why:  "the database had to be set aside: what was tried before is forgotten until a person confirms",
			hint: p.hintConfirm(),
		}
	}
	if p.past.ClockBehind(p.snap.At) {
		return &refusal{why: "the clock is behind: the newest record is of " + clock(p.past.Newest) + ", which is still to come"}
	}
	return nil
}

// hintConfirm names the alert by whose acknowledgement a person confirms that
// the records are gone.
func (p *pass) hintConfirm() string {
	for i := range p.found.Alerts {
		if a := &p.found.Alerts[i]; a.Rule == ruleAmnesia && a.Number > 0 {
			return hintAck(a)
		}
	}
	return "custos alerts"
}

// ruleAmnesia is the built-in rule that fires while the records are gone.
const ruleAmnesia = "self-amnesia"

func (p *pass) askPart(r *request, name fleet.PartName) *refusal {
	sight := p.snap.Sight(name)
	if sight == nil {
		return &refusal{why: "there is no part " + string(name) + " to rest on"}
	}
	if !sight.Fresh() {
		why := string(name) + " is " + status(sight.Status)
		if sight.Why != "" {
			why += ": " + sight.Why
		}
		return &refusal{why: why, hint: hintLook}
	}
	if sight.Status == fleet.StatusAbsent && sight.At.IsZero() {
		return nil // what does not exist was not changed by any action
	}
	if at, ok := p.touchedSince(r, sight.At); ok {
		return &refusal{
			why:  string(name) + " was last seen " + clock(sight.At) + ", before the last action here ended at " + clock(at),
			hint: hintLook,
		}
	}
	return nil
}

// touchedSince returns a moment after the look at which an action ended on the
// subject, or for the same alert: three agents stopped for want of memory are a
// reason to read the memory again before a fourth.
func (p *pass) touchedSince(r *request, look fleet.Instant) (fleet.Instant, bool) {
	for _, moments := range []bootly{p.history.touched[r.wish.Subject], p.history.acted[r.finding.AlertKey]} {
		for _, at := range moments {
			if look.Before(at) {
				return at, true
			}
		}
	}
	return fleet.Instant{}, false
}

// partsOf returns the parts the wish rests on: those of the finding, and the one
// its target was seen in.
func partsOf(r *request) []fleet.PartName {
	kind := r.wish.Subject.Kind
	if kind == fleet.KindPart || kind == fleet.KindSelf {
		return r.finding.Parts
	}
	own := fleet.PartOf(kind)
	if slices.Contains(r.finding.Parts, own) {
		return r.finding.Parts
	}
	return append(slices.Clip(slices.Clone(r.finding.Parts)), own)
}

// status reads a part that was never filled as not looked at.
func status(s fleet.Status) string {
	if s == "" {
		return string(fleet.StatusUnknown)
	}
	return string(s)
}
