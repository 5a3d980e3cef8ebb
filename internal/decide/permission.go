package decide

import (
	"slices"
	"strconv"

	"custos/internal/fleet"
)

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
	if r.byPerson() {
		return nil // an order is a person's word
	}
	if plain(r.remedy.Mode) == fleet.ModeObserve {
		return &refusal{
			why:  "rule " + r.finding.Rule + " is in mode observe",
			hint: "custos rules " + word(r.finding.Rule),
		}
	}
	if lostInReboot(r) && p.afterReboot() == fleet.ModeObserve {
		return &refusal{why: "it ran when the machine was started again, and after_reboot is observe", hint: hintRecover(r)}
	}
	if r.isConfigured() {
		return nil // it was asked for with the run, or by a merge queue's being there
	}
	if p.policy.ApprovedBy == "" && plain(p.policy.Mode) == fleet.ModeObserve && !r.isKept() && !r.ability.Singly { // whom no --apply lets pass
		return &refusal{why: "the fleet is in mode observe", hint: hintApply}
	}
	return nil
}

func askForeign(_ *pass, r *request) *refusal {
	if r.wish.Target.Owner().MayTouch() {
		return nil
	}
	over := r.order != nil && r.wish.Target.Agent != nil && r.wish.Target.Agent.HasEnded()
	if over && r.wish.Do != doStop {
		return onlyAnew(r.wish.Target.Agent)
	}
	no := &refusal{why: "it is not Custos' own, not adopted and not configured: view only", final: true}
	if r.wish.Target.Owner() == fleet.OwnerUnknown {
		no.why = "whose it is cannot be told, for what was known of it is lost: view only"
	}
	if r.order != nil && r.wish.Target.Agent != nil && !over {
		no.hint = "custos adopt " + word(r.wish.Subject.Name)
	}
	return no
}

// onlyAnew refuses what is asked of an agent that has ended and is not registered: it can
// neither be handed over nor be started as it was.
func onlyAnew(a *fleet.Agent) *refusal {
	hint := "custos spawn " + word(a.Name)
	if a.Kind != "" {
		hint += " --kind " + word(a.Kind)
	}
	if dir, known := a.CWD.Get(); known && dir != "" {
		hint += " --dir " + word(dir)
	}
	return &refusal{why: "it has ended, and no record says how it was started: it can only be started anew", hint: hint, final: true}
}

func askPaused(p *pass, r *request) *refusal {
	if r.byPerson() && (r.wish.Do == doStop || r.wish.Do == doInterrupt || r.wish.Do == doAnswer || r.wish.Do == doCheckpoint) {
		return nil
	}
	if r.reg != nil && r.reg.Desired == fleet.DesiredPaused {
		return &refusal{why: r.wish.Subject.String() + " is paused", hint: "custos resume " + word(r.reg.Name)}
	}
	for _, s := range []fleet.Subject{r.wish.Subject, r.finding.Subject} {
		if p.paused[s] {
			return &refusal{why: s.String() + " is paused"}
		}
	}
	if project := p.pausedFor(r); project != "" {
		return &refusal{why: "project " + project + " is paused", hint: "custos resume --project " + word(project)}
	}
	return nil
}

// pausedFor returns the paused project that a request is about; "" for none.
func (p *pass) pausedFor(r *request) string {
	if len(p.held) == 0 {
		return ""
	}
	about := []string{p.projects.Of(r.wish.Subject), p.projects.Of(r.finding.Subject)}
	if reg := r.wish.Target.Registration; reg != nil {
		about = append(about, reg.Project)
	}
	if r.run != nil {
		about = append(about, r.run.Project)
	}
	if m := r.wish.Target.Merge; m != nil {
		about = append(about, m.Queue.Project)
	}
	if bead := r.wish.Target.Bead; bead != nil {
		about = append(about, bead.Project)
	}
	for _, name := range about {
		if _, held := p.held[name]; held && name != "" {
			return name
		}
	}
	return ""
}

// askPerson keeps what a person stopped from being started again.
func askPerson(p *pass, r *request) *refusal {
	if !r.ability.Starts && !starts(r.wish.Do) || r.byPerson() {
		return nil
	}
	if why := p.endedByPerson(r); why != "" {
		return &refusal{why: why}
	}
	for _, s := range []fleet.Subject{r.wish.Subject, r.finding.Subject} {
		if p.stopped[s] {
			return &refusal{why: "a person stopped " + s.String() + ": it is not started again"}
		}
	}
	return nil
}

func askApproval(p *pass, r *request) *refusal {
	if r.ability.Singly && !(p.policy.Singly && p.policy.ApprovedBy != "") {
		return &refusal{why: r.wish.Do + " is done only when a person approves of this very alert", hint: p.hintApprove(r)}
	}
	if p.policy.ApprovedBy != "" || p.mode(r) == fleet.ModeAuto || r.byPerson() {
		return nil
	}
	if lostInReboot(r) && p.afterReboot() != fleet.ModeAuto {
		return &refusal{why: "it ran when the machine was started again, and is started again when a person says so", hint: hintRecover(r)}
	}
	if r.isAsked() {
		return nil
	}
	why := "rule " + r.finding.Rule + " acts only when a person approves"
	if plain(r.remedy.Mode) == fleet.ModeAuto {
		why = "the fleet is in mode ask: a person must approve"
	}
	return &refusal{why: why, hint: hintApply}
}

// hintApprove approves of one alert, by its number where it is on record, and of an item of
// a vault as it was seen.
func (p *pass) hintApprove(r *request) string {
	hint := "custos approve "
	i := slices.IndexFunc(p.found.Alerts, func(a fleet.Alert) bool { return a.AlertKey == r.finding.AlertKey })
	if i < 0 || p.found.Alerts[i].Number == 0 || p.past.NextAlert <= p.found.Alerts[i].Number {
		return hint + "NUMBER"
	}
	hint += strconv.FormatInt(p.found.Alerts[i].Number, 10)
	if v := r.wish.Target.Vault; v != nil && len(v.Digest) > shortDigest {
		hint += " --digest " + v.Digest[:shortDigest]
	}
	return hint
}

// shortDigest is how much of a digest people type.
const shortDigest = 12

// mode returns how far the wish may go when no person says more.
func (p *pass) mode(r *request) fleet.Mode {
	m := plain(r.remedy.Mode)
	if !r.isKept() {
		m = m.Least(plain(p.policy.Mode))
	}
	if lostInReboot(r) {
		m = m.Least(p.afterReboot())
	}
	return m
}

// plain reads a mode that is not one (unset, misspelt) as the weakest.
func plain(m fleet.Mode) fleet.Mode {
	if m == fleet.ModeAsk || m == fleet.ModeAuto {
		return m
	}
	return fleet.ModeObserve
}
