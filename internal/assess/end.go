package assess

import (
	"sort"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// hold carries an alert over that is not known now.
func (p *pass) hold(key fleet.AlertKey, why string) {
	if old := p.old[key.Rule][key.Subject]; isOpen(old) {
		p.alerts = append(p.alerts, p.clock.blind(*old, why))
	}
}

func isOpen(a *fleet.Alert) bool { return a != nil && a.Status != fleet.AlertResolved }

// holdAll carries over all alerts of a rule that cannot be asked.
func (p *pass) holdAll(rule, why string) {
	for _, s := range p.openSubjects(rule) {
		p.hold(fleet.AlertKey{Rule: rule, Subject: s}, why)
	}
}

// endAbsent deals with the alerts of a rule that it did not find true: false
// ends them, and so does being gone, if the part was well seen, and all of it.
func (p *pass) endAbsent(r *rules.Rule, answers map[fleet.Subject]answer) {
	part := fleet.PartOf(r.Over)
	gone := p.snap.Sight(part).Tells() || !isListed(r.Over)
	for _, s := range p.openSubjects(r.Name) {
		old := *p.old[r.Name][s]
		_, answered := answers[s]
		switch {
		case answered, r.Lists != "" && s == othersOf(r).Subject:
		case gone || p.has(r.Over, s):
			p.alerts = append(p.alerts, p.clock.ends(old, r.KeepFiringFor))
		default:
			p.alerts = append(p.alerts, p.clock.blind(old, "not in "+string(part)+", which is "+rules.Blindness(part, *p.snap.Sight(part))))
		}
	}
}

func (p *pass) has(k fleet.Kind, s fleet.Subject) bool {
	for _, it := range p.list(k) {
		if it.subject == s {
			return true
		}
	}
	return false
}

// openSubjects lists the subjects of a rule's open alerts, sorted.
func (p *pass) openSubjects(rule string) []fleet.Subject {
	var out []fleet.Subject
	for s, a := range p.old[rule] {
		if isOpen(a) {
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Less(out[j]) })
	return out
}

// judgeBroken makes the findings about rules that failed while they ran.
func (p *pass) judgeBroken() {
	rule := &rules.Rule{Name: rules.BrokenRule, Priority: fleet.P3, Mode: fleet.ModeObserve}
	for _, name := range p.brokenNames() {
		key := fleet.AlertKey{Rule: rules.BrokenRule, Subject: fleet.Subject{Kind: fleet.KindSelf, Name: name}}
		a := p.clock.holds(p.old[key.Rule][key.Subject], rule, p.snap.Patrol)
		a.AlertKey, a.Priority, a.Summary = key, fleet.P3, "rule "+name+" cannot be answered: "+p.broken[name]
		f := fleet.Finding{AlertKey: key, Priority: fleet.P3, Since: a.Since, Firing: true, Summary: a.Summary, Fresh: true, Parts: []fleet.PartName{}}
		p.findings, p.alerts = append(p.findings, f), append(p.alerts, a)
		p.remedies[rule.Name] = rule.Remedy()
	}
	for _, s := range p.openSubjects(rules.BrokenRule) {
		if _, still := p.broken[s.Name]; !still {
			p.endBroken(*p.old[rules.BrokenRule][s])
		}
	}
}

// endBroken ends the alert about a rule that failed, once it gave an answer
// again or is no longer there.
func (p *pass) endBroken(old fleet.Alert) {
	r := p.set.Rule(old.Subject.Name)
	switch {
	case r == nil || !r.Enabled || p.ran[r.Name]:
		p.alerts = append(p.alerts, p.clock.ends(old, 0))
	default:
		p.alerts = append(p.alerts, p.clock.blind(old, "the rule could not be asked"))
	}
}

func (p *pass) brokenNames() []string {
	var out []string
	for name := range p.broken {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// endForgotten ends the alerts of rules that are switched off or gone.
func (p *pass) endForgotten() {
	for name := range p.old {
		if r := p.set.Rule(name); name == rules.BrokenRule || r != nil && r.Enabled {
			continue
		}
		for _, s := range p.openSubjects(name) {
			a := *p.old[name][s]
			a.Flapping = false // nothing is left that could become true again
			p.alerts = append(p.alerts, p.clock.ends(a, 0))
		}
	}
}
