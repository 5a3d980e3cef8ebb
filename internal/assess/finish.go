package assess

import (
	"cmp"
	"sort"

	"custos/internal/fleet"
)

// number gives new alerts their numbers, in the order of their keys.
func (p *pass) number() {
	sort.SliceStable(p.alerts, func(i, j int) bool { return keyLess(p.alerts[i].AlertKey, p.alerts[j].AlertKey) })
	for i := range p.alerts {
		if p.alerts[i].Number == 0 {
			p.alerts[i].Number = p.next
			p.next++
		}
	}
}

func keyLess(a, b fleet.AlertKey) bool {
	if a.Rule != b.Rule {
		return a.Rule < b.Rule
	}
	return a.Subject.Less(b.Subject)
}

// link notes under each finding and alert the firing alerts that explain it.
func (p *pass) link() {
	p.lead()
	firing := map[string][]fleet.AlertKey{}
	for _, a := range p.alerts {
		if a.Status == fleet.AlertFiring {
			firing[a.Rule] = append(firing[a.Rule], a.AlertKey)
		}
	}
	for i := range p.findings {
		p.findings[i].CausedBy = p.causes(p.findings[i].AlertKey, firing)
	}
	for i := range p.alerts {
		if a := &p.alerts[i]; a.Status != fleet.AlertResolved {
			p.explain(a, p.causes(a.AlertKey, firing))
		}
	}
}

// explain notes the causes of an alert. One that is not seen to be true now, and only fires on for a
// while or until it can be told, is news to nobody because its cause ended first.
func (p *pass) explain(a *fleet.Alert, by []fleet.AlertKey) {
	if isTrue := !a.LastTrue.Before(p.snap.At); len(by) > 0 || isTrue {
		a.CausedBy = by
	}
}

func (p *pass) causes(key fleet.AlertKey, firing map[string][]fleet.AlertKey) []fleet.AlertKey {
	r := p.set.Rule(key.Rule)
	if r == nil {
		return nil
	}
	var out []fleet.AlertKey
	for _, name := range r.CausedBy {
		if first, ok := p.firsts[trouble{name, p.accounts[key.Subject]}]; ok && name == key.Rule && first.AlertKey != key {
			out = append(out, first.AlertKey)
		}
		for _, cause := range firing[name] {
			if cause != key && (cause.Subject == key.Subject || isWide(cause.Subject.Kind)) {
				out = append(out, cause)
			}
		}
	}
	return out
}

// trouble is what a rule found of an account.
type trouble struct{ rule, account string }

// lead finds, of each rule and account, the alert that has fired longest. A rule
// that names itself as a cause is about the account: people are notified of it once.
func (p *pass) lead() {
	p.accounts, p.firsts = map[fleet.Subject]string{}, map[trouble]*fleet.Alert{}
	for _, a := range p.snap.Agents.Value {
		if a.Account != "" {
			p.accounts[fleet.Subject{Kind: fleet.KindAgent, Name: a.Name}] = a.Account
		}
	}
	for i := range p.alerts {
		a := &p.alerts[i]
		account := p.accounts[a.Subject]
		if a.Status != fleet.AlertFiring || account == "" {
			continue
		}
		if first := p.firsts[trouble{a.Rule, account}]; first == nil || p.older(a, first) {
			p.firsts[trouble{a.Rule, account}] = a
		}
	}
}

func (p *pass) older(a, b *fleet.Alert) bool {
	x, y := p.snap.At.Since(a.FiredAt), p.snap.At.Since(b.FiredAt)
	return x > y || x == y && a.Number < b.Number
}

// isWide says whether trouble with a thing of this kind is trouble for all.
func isWide(k fleet.Kind) bool {
	return k == fleet.KindHost || k == fleet.KindMount || k == fleet.KindSelf
}

// silence marks the alerts that no one is to be notified of. What past.Silences
// does not hold is not silenced, so that lifting a silence works at once.
func (p *pass) silence() {
	paused := fleet.PausedProjects(p.silences)
	for i := range p.alerts {
		a := &p.alerts[i]
		a.Project = cmp.Or(p.projects().Of(a.Subject), a.Project) // of what is not seen now it is as it was
		a.SilencedUntil, a.SilencedBy = fleet.Instant{}, ""
		for _, s := range p.silences {
			if p.isSilent(s, a.AlertKey) && (a.SilencedUntil.IsZero() || a.SilencedUntil.Before(s.Until)) {
				a.SilencedUntil, a.SilencedBy = s.Until, s.By
			}
		}
		a.Hold(paused)
	}
}

func (p *pass) projects() *fleet.Projects {
	if p.ofProject == nil {
		all := fleet.ProjectsOf(p.snap, p.past)
		p.ofProject = &all
	}
	return p.ofProject
}

func (p *pass) isSilent(s fleet.Silence, key fleet.AlertKey) bool {
	matches := (s.Rule == "" || s.Rule == key.Rule) && (s.Subject == fleet.Subject{} || s.Subject == key.Subject)
	return matches && !p.snap.At.Before(s.From) && p.snap.At.Before(s.Until)
}

// sort puts everything in its order: findings by priority, then the oldest
// first, then subject, then rule.
func (p *pass) sort() {
	sort.SliceStable(p.findings, func(i, j int) bool {
		a, b := p.findings[i], p.findings[j]
		if a.Priority != b.Priority {
			return a.Priority < b.Priority
		}
		if x, y := p.snap.At.Since(a.Since), p.snap.At.Since(b.Since); x != y {
			return x > y
		}
		if a.Subject != b.Subject {
			return a.Subject.Less(b.Subject)
		}
		return a.Rule < b.Rule
	})
	sort.SliceStable(p.blind, func(i, j int) bool { return keyLess(p.blind[i].AlertKey, p.blind[j].AlertKey) })
}
