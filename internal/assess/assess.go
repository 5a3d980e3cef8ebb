package assess

import (
	"sort"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// Assess judges a whole snapshot, at each pass: a rule may read more than its subject,
// so what a change leaves alone is not known without asking.
func Assess(set *rules.Set, snap fleet.Snapshot, past fleet.Past) fleet.Assessment {
	return newPass(set, &snap, &past).run()
}

// pass is one assessment being made.
type pass struct {
	set   *rules.Set
	snap  *fleet.Snapshot
	clock clock

	view, fresh *rules.View                               // with stale parts as they are, and as unknown
	items       map[fleet.Kind][]item                     // all of a kind
	old         map[string]map[fleet.Subject]*fleet.Alert // by rule
	silences    []fleet.Silence
	past        *fleet.Past
	ofProject   *fleet.Projects // filled when first asked for
	next        int64

	findings []fleet.Finding
	alerts   []fleet.Alert
	blind    []fleet.CannotTell
	remedies map[string]fleet.Remedy
	broken   map[string]string // rule → how it failed
	accounts map[fleet.Subject]string
	firsts   map[trouble]*fleet.Alert // longest firing, by rule and account
	ran      map[string]bool          // rules that gave at least one plain answer, or had nothing to judge
}

func newPass(set *rules.Set, snap *fleet.Snapshot, past *fleet.Past) *pass {
	p := &pass{set: set, snap: snap, past: past, silences: past.Silences, next: max(1, past.NextAlert),
		clock: clock{now: snap.At, behind: past.ClockBehind(snap.At)},
		view:  rules.NewView(snap, false), fresh: rules.NewView(snap, true),
		items: map[fleet.Kind][]item{}, old: map[string]map[fleet.Subject]*fleet.Alert{},
		findings: []fleet.Finding{}, alerts: []fleet.Alert{}, remedies: map[string]fleet.Remedy{},
		broken: map[string]string{}, ran: map[string]bool{}}
	for i := range past.Alerts {
		a := &past.Alerts[i]
		if p.old[a.Rule] == nil {
			p.old[a.Rule] = map[fleet.Subject]*fleet.Alert{}
		}
		if !isOpen(p.old[a.Rule][a.Subject]) {
			p.old[a.Rule][a.Subject] = a
		}
		p.next = max(p.next, a.Number+1)
	}
	return p
}

func (p *pass) run() fleet.Assessment {
	for _, r := range p.set.Rules() {
		if r.Enabled {
			p.judge(r)
		}
	}
	p.judgeBroken()
	p.endForgotten()
	p.number()
	p.link()
	p.silence()
	p.share()
	p.sort()
	return fleet.Assessment{Findings: p.findings, Alerts: p.alerts, Blind: p.blind, Rules: p.remedies}
}

// answer is what a rule said of a subject that it did not call well.
type answer struct {
	truth rules.Truth
	why   string
	item  item
}

// judge asks one rule about each of its subjects.
func (p *pass) judge(r *rules.Rule) {
	part := fleet.PartOf(r.Over)
	if sight := p.snap.Sight(part); isListed(r.Over) && !sight.Usable() {
		p.cannotTell(r.Name, fleet.Subject{Kind: fleet.KindPart, Name: string(part)}, string(part)+" is not known: "+rules.Blindness(part, *sight))
		p.holdAll(r.Name, rules.Blindness(part, *sight))
		return
	}
	answers := p.ask(r)
	others := p.others(r, answers)
	for _, s := range sortedSubjects(answers) {
		p.take(r, answers[s])
	}
	p.endAbsent(r, answers)
	p.foundOthers(r, answers, others)
}

// isListed says whether subjects of a kind are found in a part, so that an
// unusable part leaves nothing to ask about.
func isListed(k fleet.Kind) bool {
	return k != fleet.KindHost && k != fleet.KindSelf && k != fleet.KindPart
}

// ask returns what is not plainly false. Two things of one name are one
// subject: if the rule is true of either, it is true of the subject.
func (p *pass) ask(r *rules.Rule) map[fleet.Subject]answer {
	var out map[fleet.Subject]answer
	items := p.list(r.Over)
	p.ran[r.Name] = len(items) == 0
	for i := range items {
		it := &items[i]
		p.view.Use(r.Over, it.seen)
		truth, why := r.Test(p.view)
		if truth == rules.False || truth == rules.True {
			p.ran[r.Name] = true
		}
		if truth == rules.False {
			continue
		}
		if out == nil {
			out = map[fleet.Subject]answer{}
		}
		if before, ok := out[it.subject]; !ok || truth == rules.True && before.truth != rules.True {
			out[it.subject] = answer{truth, why, *it}
		}
	}
	return out
}

func (p *pass) take(r *rules.Rule, a answer) {
	key := fleet.AlertKey{Rule: r.Name, Subject: a.item.subject}
	switch a.truth {
	case rules.True:
		p.found(r, key, a.item)
		return
	case rules.Broken:
		a.why = "the rule failed: " + a.why
		p.fail(r.Name, a.why)
	}
	p.cannotTell(r.Name, key.Subject, a.why)
	p.hold(key, a.why)
}

// fail notes how a rule failed; the first failure is reported.
func (p *pass) fail(rule, why string) {
	if _, ok := p.broken[rule]; !ok {
		p.broken[rule] = why
	}
}

func (p *pass) cannotTell(rule string, s fleet.Subject, why string) {
	p.blind = append(p.blind, fleet.CannotTell{AlertKey: fleet.AlertKey{Rule: rule, Subject: s}, Why: why})
}

// found makes the finding of a rule that is true, and moves its alert on.
func (p *pass) found(r *rules.Rule, key fleet.AlertKey, it item) {
	p.view.Use(r.Over, it.seen)
	summary, broken := r.Summarize(p.view)
	if broken != "" {
		p.fail(r.Name, "its summary failed: "+broken)
	}
	if old := p.old[key.Rule][key.Subject]; isOpen(old) && old.Summary != "" && summary == r.Wordless() {
		summary = old.Summary // as it was when it could be told
	}
	p.find(r, key, it, summary)
}

// find does so with a summary. The view is at the item.
func (p *pass) find(r *rules.Rule, key fleet.AlertKey, it item, summary string) {
	f := fleet.Finding{AlertKey: key, Priority: r.Priority, Summary: summary, Evidence: r.Evidence(p.view),
		Fresh: p.isFresh(r, it), Parts: r.Parts(), Runbook: r.Runbook}
	a := p.clock.holds(p.old[key.Rule][key.Subject], r, p.snap.Patrol)
	f.Since, f.Firing = a.Since, a.Status == fleet.AlertFiring
	a.AlertKey, a.Priority, a.Summary, a.Evidence, a.Runbook, a.TellAfter = key, r.Priority, summary, f.Evidence, r.Runbook, r.TellAfter
	if f.Firing {
		p.remedies[r.Name] = r.Remedy()
		f.Wishes = p.wishes(r, it)
	}
	p.findings = append(p.findings, f)
	p.alerts = append(p.alerts, a)
}

// isFresh says whether the rule is still true when stale parts are unknown.
func (p *pass) isFresh(r *rules.Rule, it item) bool {
	stale := false
	for _, part := range r.Parts() {
		stale = stale || !p.snap.Sight(part).Fresh()
	}
	if !stale {
		return true
	}
	p.fresh.Subject(r.Over, it.value)
	truth, _ := r.Test(p.fresh)
	return truth == rules.True
}

func sortedSubjects(m map[fleet.Subject]answer) []fleet.Subject {
	out := make([]fleet.Subject, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Less(out[j]) })
	return out
}
