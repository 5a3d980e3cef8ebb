package decide

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// doTriage asks a judge about one ambiguous alert. It touches nothing, costs
// money, and comes to a verdict.
const doTriage = "triage"

// triages is what is known of the judge: who waits for its answer, what it was asked
// in the last day, and what it said.
type triages struct {
	asking  *fleet.Action                     // under way, or planned in this pass
	calls   []call                            // made, or perhaps made
	said    map[fleet.AlertKey]*fleet.Verdict // the newest of each alert
	waiting map[fleet.AlertKey]bool           // alerts that wait for another's answer
}

// call is one call of the judge.
type call struct {
	at    fleet.Instant
	price int64 // millionths of a dollar; negative: not known
}

const notKnown = -1

// recallTriages reads what was asked and said. A triage of which no verdict was kept may
// have cost as much as one that was answered.
func recallTriages(past *fleet.Past, now fleet.Instant) triages {
	b := triages{said: map[fleet.AlertKey]*fleet.Verdict{}, waiting: map[fleet.AlertKey]bool{}}
	answered := map[string]bool{}
	for i := range past.Verdicts {
		v := &past.Verdicts[i]
		answered[v.ID] = true
		if was := b.said[v.Alert]; was == nil || now.Since(v.At) <= now.Since(was.At) {
			b.said[v.Alert] = v
		}
		switch {
		case v.Free:
		case v.Priced:
			b.calls = append(b.calls, call{v.At, v.MicroUSD})
		default:
			b.calls = append(b.calls, call{v.At, notKnown})
		}
	}
	for i := range past.Actions {
		if r := &past.Actions[i]; r.Do == doTriage && !answered[r.ID] {
			b.recall(r, now)
		}
	}
	return b
}

func (b *triages) recall(r *fleet.ActionRecord, now fleet.Instant) {
	at := momentOf(r)
	if r.Open() {
		b.asking, at = &r.Action, now
	}
	if isReal(r) && (r.Result == nil || !r.Result.Unbegun) {
		b.calls = append(b.calls, call{at, notKnown})
	}
}

// begun notes a triage that this pass plans.
func (b *triages) begun(a fleet.Action, at fleet.Instant) {
	if a.Do == doTriage {
		b.asking, b.calls = &a, append(b.calls, call{at, notKnown})
	}
}

// rungs are the steps of the ladder that a verdict speaks about: the later, the
// harder.
func rungs() []string { return []string{doNudge, doInterrupt, doStop} }

// rungOf returns what a verdict asks to be done; "" when it asks for nothing.
func rungOf(w fleet.VerdictWord) string {
	switch w {
	case fleet.VerdictRetry:
		return doNudge
	case fleet.VerdictInterrupt:
		return doInterrupt
	case fleet.VerdictRestart, fleet.VerdictStop:
		return doStop
	}
	return ""
}

// verdictFor returns the verdict that counts for a finding: the newest of its
// alert, given since the alert began, and not expired. nil: none. An alert that
// began anew though nothing of the agent has moved since the verdict (Custos was
// started again, and had to look twice) goes on as far as the judge is concerned.
func (p *pass) verdictFor(f *fleet.Finding) *fleet.Verdict {
	v := p.triages.said[f.AlertKey]
	if v == nil || !p.snap.At.Before(v.Expires) || v.At.Before(f.Since) && !p.unmoved(f.Subject, v.At) {
		return nil
	}
	if p.word(v) == fleet.VerdictExtend && !p.snap.At.Before(v.Until) {
		return nil // the time that it gave is over
	}
	return v
}

// unmoved says whether it is known that nothing of an agent has moved since.
func (p *pass) unmoved(s fleet.Subject, since fleet.Instant) bool {
	if s.Kind != fleet.KindAgent || !p.snap.Agents.Fresh() {
		return false
	}
	a := p.agentNamed(s.Name)
	if a == nil {
		return false
	}
	quiet, known := a.Quiet.Get()
	return known && time.Duration(quiet) >= p.snap.At.Since(since)
}

// word returns what a verdict counts as: what is none of the words, or is not
// trusted enough, leaves it to a person.
func (p *pass) word(v *fleet.Verdict) fleet.VerdictWord {
	known := v.Word == fleet.VerdictExtend && !v.Until.IsZero() || rungOf(v.Word) != ""
	if !known || !(v.Confidence >= p.policy.Triage.Confidence) {
		return fleet.VerdictAsk
	}
	return v.Word
}

// extension returns a verdict that gives the agent time, of whichever of its alerts
// that still fires: what is left alone is left alone by every rule about it.
func (p *pass) extension(s fleet.Subject) *fleet.Verdict {
	var longest *fleet.Verdict
	for i := range p.past.Verdicts {
		v := &p.past.Verdicts[i]
		if v.Alert.Subject != s || p.word(v) != fleet.VerdictExtend {
			continue
		}
		a := p.alert(v.Alert)
		if a == nil || a.Status != fleet.AlertFiring {
			continue
		}
		f := fleet.Finding{AlertKey: v.Alert, Since: a.Since}
		if p.verdictFor(&f) == v && (longest == nil || ends(longest).Before(ends(v))) {
			longest = v
		}
	}
	return longest
}

// ends returns when a verdict that gives time ends.
func ends(v *fleet.Verdict) fleet.Instant {
	if v.Expires.Before(v.Until) {
		return v.Expires
	}
	return v.Until
}

// askVerdict weighs what a judge said about the alert. It withholds, or lets a
// rung come early; what it lets come still has to pass every other guard.
func askVerdict(p *pass, r *request) *refusal {
	rung := slices.Index(rungs(), r.wish.Do)
	switch {
	case r.order != nil || r.run != nil:
		return nil
	case r.wish.Do == doTriage:
		return p.askJudge(r)
	case rung < 0:
		return nil
	}
	v := p.verdictFor(r.finding)
	if v == nil || p.word(v) != fleet.VerdictExtend {
		if x := p.extension(r.finding.Subject); x != nil {
			v = x
		}
	}
	if v != nil {
		return p.heed(r, v, rung)
	}
	if rung > 0 && p.triages.waiting[r.finding.AlertKey] {
		return &refusal{why: "a judge is asked about it first"}
	}
	return nil
}

// heed holds a rung against a verdict.
func (p *pass) heed(r *request, v *fleet.Verdict, rung int) *refusal {
	word := p.word(v)
	named := slices.Index(rungs(), rungOf(word))
	switch {
	case word == fleet.VerdictExtend:
		return &refusal{why: v.Judge + " said at " + clock(v.At) + " to leave it alone: " + reason(v), until: ends(v)}
	case word == fleet.VerdictAsk && rung > 0:
		return &refusal{why: v.Judge + " said at " + clock(v.At) + " that a person must look: " + reason(v), until: v.Expires}
	case word == fleet.VerdictAsk || rung == named:
		return nil
	case rung < named:
		return &refusal{why: p.said(v) + ", which is more", until: v.Expires}
	}
	return p.askNamed(r, v, rungs()[named])
}

// askNamed withholds what is harder than what the judge named until that was tried
// and had its time.
func (p *pass) askNamed(r *request, v *fleet.Verdict, do string) *refusal {
	tried := p.triedSince(v, do, r.wish.Subject)
	if tried == nil {
		return &refusal{why: p.said(v) + ", which comes first", until: v.Expires}
	}
	wait := cooldown(r)
	if !p.within(wait, momentOf(tried)) {
		return nil
	}
	return &refusal{why: p.said(v) + ", which was done at " + clock(momentOf(tried)) + " and is given " + wait.String(), until: p.leaves(wait, momentOf(tried))}
}

// triedSince returns the latest real try of what a verdict named since it was given.
func (p *pass) triedSince(v *fleet.Verdict, do string, s fleet.Subject) *fleet.ActionRecord {
	e := p.latest(slices.DeleteFunc(slices.Clone(p.history.ended[deed{do, s}]), func(e *fleet.ActionRecord) bool { return !isReal(e) }))
	if e == nil || p.snap.At.Since(momentOf(e)) > p.snap.At.Since(v.At) {
		return nil
	}
	return e
}

func (p *pass) said(v *fleet.Verdict) string {
	return v.Judge + " said at " + clock(v.At) + " to " + string(p.word(v)) + " it"
}

func reason(v *fleet.Verdict) string {
	if why := fleet.Line(v.Reason, 200); why != "" {
		return why
	}
	return "it gave no reason"
}

// askJudge asks one thing at a time, and none that was just answered.
func (p *pass) askJudge(r *request) *refusal {
	if v := p.verdictFor(r.finding); v != nil {
		return &refusal{why: v.Judge + " was asked: it said " + string(v.Word) + " at " + clock(v.At), until: v.Expires}
	}
	if p.triages.asking == nil {
		return nil
	}
	p.triages.waiting[r.finding.AlertKey] = true
	return &refusal{why: "the judge is being asked about " + p.triages.asking.Subject.String() + ", and is asked one thing at a time"}
}

// retries says whether a judge said to tell the agent once more, and that was not
// done since: the rule's own tries do not stand against it.
func (p *pass) retries(r *request) bool {
	if r.order != nil || r.wish.Do != doNudge {
		return false
	}
	v := p.verdictFor(r.finding)
	return v != nil && p.word(v) == fleet.VerdictRetry && p.triedSince(v, doNudge, r.wish.Subject) == nil
}

// withVerdict returns the wishes of a finding, and the rung that a judge named, when
// its time on the ladder has not come yet. Only what may be asked about may be
// acted on like that: its target is that of the triage.
func (p *pass) withVerdict(f *fleet.Finding) []fleet.Wish {
	ask := slices.IndexFunc(f.Wishes, func(w fleet.Wish) bool { return w.Do == doTriage })
	v := p.verdictFor(f)
	if ask < 0 || v == nil {
		return f.Wishes
	}
	w := f.Wishes[ask]
	w.Do = rungOf(p.word(v))
	had := slices.ContainsFunc(f.Wishes, func(o fleet.Wish) bool { return o.Do == w.Do && o.Subject == w.Subject })
	if w.Do == "" || w.Do == doNudge || had {
		return f.Wishes
	}
	w.Text = "a judge was asked, and said: " + string(p.word(v))
	return append(slices.Clone(f.Wishes), w)
}

const (
	hour = fleet.Duration(time.Hour)
	day  = 24 * hour
)

// askCalls caps what is asked of the judge, in calls and in money.
func (p *pass) askCalls() *refusal {
	t := p.policy.Triage
	for _, limit := range []fleet.Attempts{{Max: t.PerHour, In: hour}, {Max: t.PerDay, In: day}} {
		if no := p.askCallsIn(limit); no != nil {
			return no
		}
	}
	return p.askMoney()
}

func (p *pass) askCallsIn(limit fleet.Attempts) *refusal {
	if limit.Max <= 0 {
		return &refusal{why: fmt.Sprintf("no call of the judge in %s is allowed", limit.In)}
	}
	var moments []fleet.Instant
	for _, c := range p.triages.calls {
		if p.within(limit.In, c.at) {
			moments = append(moments, c.at)
		}
	}
	if len(moments) < limit.Max {
		return nil
	}
	return &refusal{why: fmt.Sprintf("%d of %d calls of the judge in %s are used up", len(moments), limit.Max, limit.In), until: p.frees(limit, moments)}
}

// askMoney refuses a call that may cost more than is left for the day. A call whose
// price is not known is taken to cost what the policy says.
func (p *pass) askMoney() *refusal {
	t := p.policy.Triage
	if t.MoneyPerDay <= 0 {
		return nil
	}
	var calls []call
	spent := int64(0)
	for _, c := range p.triages.calls {
		if c.price < 0 {
			c.price = t.CallPrice
		}
		if p.within(day, c.at) {
			calls, spent = append(calls, c), spent+c.price
		}
	}
	if spent+t.CallPrice <= t.MoneyPerDay {
		return nil
	}
	no := &refusal{why: fmt.Sprintf("%s of the %s that the judge may cost in %s are spent, and a call may cost %s", dollars(spent), dollars(t.MoneyPerDay), day, dollars(t.CallPrice))}
	slices.SortFunc(calls, func(a, b call) int { return int(min(max(p.snap.At.Since(b.at)-p.snap.At.Since(a.at), -1), 1)) })
	for left := spent; len(calls) > 0 && left+t.CallPrice > t.MoneyPerDay; calls = calls[1:] { // oldest first
		left -= calls[0].price
		no.until = p.leaves(day, calls[0].at)
	}
	return no
}

func dollars(micro int64) string { return fmt.Sprintf("$%.2f", float64(micro)/1e6) }
