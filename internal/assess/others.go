package assess

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// Of a rule that says how its things are listed, so many are found one by one, and so many
// of the others are named.
const (
	oneByOne  = 5
	mostNamed = 3
)

// othersOf names the alert of all that a rule does not find one by one.
func othersOf(r *rules.Rule) fleet.AlertKey {
	return fleet.AlertKey{Rule: r.Name, Subject: fleet.Subject{Kind: r.Over, Name: fleet.Others}}
}

// others takes out of the answers what is not found one by one, in the order of the
// snapshot. What has an alert of its own keeps it until it ends: nothing that people know
// of goes into a count.
func (p *pass) others(r *rules.Rule, answers map[fleet.Subject]answer) (others []item) {
	if r.Lists == "" {
		return nil
	}
	single := 0
	for s := range answers { // those that are not known, too: they are held
		if isOpen(p.old[r.Name][s]) {
			single++
		}
	}
	for _, it := range p.list(r.Over) {
		a, ok := answers[it.subject]
		switch {
		case !ok, a.truth != rules.True, isOpen(p.old[r.Name][it.subject]):
		case single < oneByOne:
			single++
		default:
			others = append(others, it)
			delete(answers, it.subject)
		}
	}
	return others
}

// foundOthers makes one finding of all of them. It ends where there are none; what is not
// known may still be one, unless it is found by itself.
func (p *pass) foundOthers(r *rules.Rule, answers map[fleet.Subject]answer, others []item) {
	key := othersOf(r)
	if r.Lists == "" {
		return
	}
	if len(others) > 0 {
		p.view.Use(r.Over, others[0].seen)
		p.find(r, key, others[0], summaryOfOthers(r, others))
		return
	}
	if why, blind := p.mayBeOthers(r, answers); blind {
		p.hold(key, why)
	} else if old := p.old[key.Rule][key.Subject]; isOpen(old) {
		p.alerts = append(p.alerts, p.clock.ends(*old, r.KeepFiringFor))
	}
}

// mayBeOthers says whether something is not known that has no alert of its own, and why.
func (p *pass) mayBeOthers(r *rules.Rule, answers map[fleet.Subject]answer) (why string, blind bool) {
	for _, s := range sortedSubjects(answers) {
		if a := answers[s]; a.truth != rules.True && !isOpen(p.old[r.Name][s]) {
			return a.why, true
		}
	}
	return "", false
}

// summaryOfOthers counts them, names the first, and says how to see all.
func summaryOfOthers(r *rules.Rule, others []item) string {
	var names []string
	for _, it := range others[:min(mostNamed, len(others))] {
		names = append(names, it.subject.Name)
	}
	more := ""
	if len(others) > mostNamed {
		more = " and so on"
	}
	return fmt.Sprintf("%s, %s%s: %s All of them: %s", fleet.Counted(len(others), "more "+string(r.Over)), strings.Join(names, ", "), more, r.What, r.Lists)
}
