package decide

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// pause is the least time between two tries on one subject, where a rule asks
// for no cooldown: without it an action that is refused at the instant of
// acting would be planned again at every look.
const pause = fleet.Duration(time.Minute)

func cooldown(r *request) fleet.Duration {
	if r.remedy.Cooldown > 0 {
		return r.remedy.Cooldown
	}
	return pause
}

// longestInVain is the longest wait after tries that found, at the instant of acting,
// that there was nothing to do or that it was not lawful: what is refused for ever
// takes a line of the journal an hour, and what is lawful again is done within one.
const longestInVain = fleet.Duration(time.Hour)

// distance is how long is waited after a try: the cooldown, doubled for each but the
// first of those in a row that came to nothing at the instant of acting.
func (p *pass) distance(r *request, tries []*fleet.ActionRecord) fleet.Duration {
	wait := cooldown(r)
	for n := p.inVain(tries); n > 1 && wait < longestInVain; n-- {
		wait = min(2*wait, longestInVain)
	}
	return wait
}

// inVain counts the tries that came to nothing since the latest that is real.
func (p *pass) inVain(tries []*fleet.ActionRecord) (n int) {
	real := p.latest(slices.DeleteFunc(slices.Clone(tries), func(e *fleet.ActionRecord) bool { return !isReal(e) }))
	for _, e := range tries {
		if !isReal(e) && (real == nil || p.snap.At.Since(momentOf(e)) <= p.snap.At.Since(momentOf(real))) {
			n++
		}
	}
	return n
}

// askCooldown keeps a distance between two tries of one action on one subject,
// whichever rule asked and whatever became of the first. What others had an agent told
// is no try of a rule that nudges: see owns.
func askCooldown(p *pass, r *request) *refusal {
	return ofOne(fleet.GuardCooldown, p.askDue(r), p.askDistance(r))
}

// askDue waits for the next attempt at a step.
func (p *pass) askDue(r *request) *refusal {
	if !p.snap.At.Before(r.notBefore) {
		return nil
	}
	return &refusal{why: "its next attempt is due at " + clock(r.notBefore), until: r.notBefore}
}

func (p *pass) askDistance(r *request) *refusal {
	if r.byPerson() {
		return nil // see askAgain
	}
	all := begun(p.earlier(r))
	own := slices.DeleteFunc(slices.Clone(all), func(e *fleet.ActionRecord) bool { return !r.owns(e) })
	others := slices.DeleteFunc(all, r.owns)
	no, word := p.askSince(p.latest(own), p.distance(r, own)), p.askSince(p.latest(others), min(cooldown(r), pause))
	if no == nil || word != nil && no.until.Before(word.until) {
		return word // an agent is left alone for a moment with what it was told by others
	}
	return no
}

// askSince waits so long after a try.
func (p *pass) askSince(e *fleet.ActionRecord, wait fleet.Duration) *refusal {
	if e == nil || !p.within(wait, momentOf(e)) {
		return nil
	}
	why := fmt.Sprintf("%s ended here at %s (%s), and waits %s between two tries", e.Do, clock(momentOf(e)), came(e), wait)
	return &refusal{why: why, until: p.leaves(wait, momentOf(e))}
}

// begun leaves out what was held back before it began: that was not tried yet.
func begun(records []*fleet.ActionRecord) []*fleet.ActionRecord {
	return slices.DeleteFunc(slices.Clone(records), func(e *fleet.ActionRecord) bool { return e.Result != nil && e.Result.Unbegun })
}

// askAttempts caps the tries in the rule's sliding window, spaces them out the
// more the more there were (unless the rule wants them even: then the cooldown is
// all that lies between two), and stops at one whose outcome is in doubt.
func askAttempts(p *pass, r *request) *refusal {
	if no := p.askDoubt(r); no != nil {
		return no
	}
	if p.retries(r) || r.byPerson() {
		return nil
	}
	limit := r.remedy.Attempts
	if limit.Max <= 0 || limit.In <= 0 || len(r.tries) == 0 {
		return nil
	}
	if len(r.tries) >= limit.Max {
		return p.spentTries(r, limit)
	}
	if r.remedy.Spacing == fleet.SpacingEven {
		return nil
	}
	newest := p.latest(r.tries)
	wait := backoff(r)
	if !p.within(wait, momentOf(newest)) {
		return nil
	}
	return &refusal{
		why: fmt.Sprintf("try %d of %d waits %s after the one that ended at %s (%s)", len(r.tries)+1, limit.Max,
			time.Duration(wait).Round(time.Second), clock(momentOf(newest)), came(newest)),
		until: p.leaves(wait, momentOf(newest)),
	}
}

// spentTries refuses what was tried often enough. An agent whose recoveries are
// used up has failed, until the window opens again. To a person's order it is the
// last answer.
func (p *pass) spentTries(r *request, limit fleet.Attempts) *refusal {
	no := &refusal{
		why:   fmt.Sprintf("%d of %d tries in %s are used up", len(r.tries), limit.Max, limit.In),
		until: p.frees(limit, momentsOf(r.tries)),
	}
	switch {
	case r.wish.Do == doRecover && !r.byPerson():
		no.hint = "custos recover " + word(r.wish.Subject.Name)
		no.fails = r.order == nil // an order has tries of its own, and fewer
	case r.order != nil:
		newest := p.latest(r.tries)
		no.final, no.until = true, fleet.Instant{}
		no.why = fmt.Sprintf("%d tries came to nothing, the last one: %s", len(r.tries), came(newest))
	}
	return no
}

// fail notes, once, that an agent is not recovered by itself any more.
func (p *pass) fail(r *request, no *refusal) {
	if r.reg == nil || r.reg.Failed != "" || p.failed[r.reg.Name] {
		return
	}
	p.failed[r.reg.Name] = true
	p.plan.Failed = append(p.plan.Failed, fleet.Failing{Agent: r.reg.Name, Why: no.why, Until: no.until})
}

// askDoubt refuses to do again what cannot be undone and may have been done,
// until a person acknowledged the alert after that.
func (p *pass) askDoubt(r *request) *refusal {
	if r.ability.Idempotent {
		return nil
	}
	e := p.latest(p.realTries(r)) // a doubt does not pass with the window
	if e == nil || e.Result == nil || e.Result.Status != fleet.ResultInDoubt {
		return nil
	}
	if r.byPerson() && e.Order != r.order.ID {
		return nil // the person orders it in full knowledge of the doubt
	}
	hint := ""
	for _, k := range []fleet.AlertKey{r.finding.AlertKey, e.For} {
		a := p.alert(k)
		if a == nil {
			continue
		}
		if !a.AckedAt.IsZero() && momentOf(e).Before(a.AckedAt) {
			return nil
		}
		if hint == "" && a.Number > 0 {
			hint = hintAck(a)
		}
	}
	return &refusal{
		why:  fmt.Sprintf("%s was cut short at %s: whether it was done is in doubt, and a person must look", e.Do, clock(momentOf(e))),
		hint: hint,
	}
}

// backoff returns how long to wait after the last of the tries: the cooldown,
// doubled for each try but the first, plus up to a fifth so that many subjects
// do not try in step; never more than the window.
func backoff(r *request) fleet.Duration {
	window := r.remedy.Attempts.In
	wait := min(cooldown(r), window)
	for n := 1; n < len(r.tries) && wait < window; n++ {
		wait = min(wait*2, window)
	}
	return min(wait+jitter(r, wait), window)
}

// allowance is what actions are counted together as, against the fleet's budget: a
// flood of messages must not keep a crashed agent from coming back.
type allowance string

const (
	allowanceNudges allowance = "nudges"
	allowanceStarts allowance = "starts"
	allowanceOthers allowance = "actions"
)

func allowanceOf(do string) allowance {
	switch {
	case do == doNudge:
		return allowanceNudges
	case starts(do):
		return allowanceStarts
	}
	return allowanceOthers
}

// askBudget caps what the whole fleet may do by itself in a window, this plan
// included. What a person orders, or a run asks for, is not held by it.
func askBudget(p *pass, r *request) *refusal {
	if r.wish.Do == doTriage {
		return p.askCalls()
	}
	limit, of := p.policy.Budget, allowanceOf(r.wish.Do)
	if limit.Max <= 0 || limit.In <= 0 || len(p.spent[of]) < limit.Max || r.byPerson() || r.isConfigured() || r.wish.Do == doCheckpoint {
		return nil
	}
	if p.overspent[of] == nil { // once it is used up, nothing is added any more
		p.overspent[of] = &refusal{
			why:   fmt.Sprintf("%d of the fleet's %d %s in %s are used up", len(p.spent[of]), limit.Max, of, limit.In),
			until: p.frees(limit, p.spent[of]),
		}
	}
	return p.overspent[of]
}

// leaves returns when a moment leaves a window that slides, in the clock of now.
func (p *pass) leaves(window fleet.Duration, at fleet.Instant) fleet.Instant {
	return p.snap.At.Add(time.Duration(window) - p.snap.At.Since(at))
}

// frees returns when so many moments have left the window that there is room for
// one more.
func (p *pass) frees(limit fleet.Attempts, moments []fleet.Instant) fleet.Instant {
	ages := make([]time.Duration, len(moments))
	for i, at := range moments {
		ages[i] = p.snap.At.Since(at)
	}
	slices.Sort(ages) // youngest first: the one at Max-1 must leave
	return p.snap.At.Add(time.Duration(limit.In) - ages[limit.Max-1])
}

func momentsOf(records []*fleet.ActionRecord) []fleet.Instant {
	moments := make([]fleet.Instant, len(records))
	for i, r := range records {
		moments[i] = momentOf(r)
	}
	return moments
}
