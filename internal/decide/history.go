package decide

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// deed names what was tried on what, whichever rule asked for it.
type deed struct {
	do      string
	subject fleet.Subject
}

// deedOf is the deed of an action. A pipeline that is run again may be a new one
// each time: the tries are those of its commit.
func deedOf(do string, s fleet.Subject, t fleet.Target) deed {
	if do == doRetrigger && t.Pipeline != nil {
		s = t.Pipeline.Run()
	}
	return deed{do, s}
}

// history is the record of actions, by what is asked of it.
type history struct {
	ended   map[deed][]*fleet.ActionRecord // in the order of the records
	touched map[fleet.Subject]bootly
	acted   map[fleet.AlertKey]bootly
}

// remember indexes the records. An action that is still open is not in it: the
// in-flight guard answers for it. A message changes no facts: it is a try, but
// touches nothing.
func remember(records []fleet.ActionRecord, abilities map[string]fleet.Ability) history {
	h := history{
		ended:   map[deed][]*fleet.ActionRecord{},
		touched: map[fleet.Subject]bootly{},
		acted:   map[fleet.AlertKey]bootly{},
	}
	for i := range records {
		r := &records[i]
		if r.Open() {
			continue
		}
		d := deedOf(r.Do, r.Subject, r.Target)
		h.ended[d] = append(h.ended[d], r)
		if abilities[r.Do].Harmless {
			continue
		}
		keepLatest(h.touched, r.Subject, momentOf(r))
		keepLatest(h.acted, r.For, momentOf(r))
	}
	return h
}

// bootly holds the latest moments of each boot, by either clock: a look of the
// same boot is compared by the one that cannot be set, a look of another boot
// by the other, which may have been set back in between.
type bootly []fleet.Instant

func keepLatest[K comparable](m map[K]bootly, k K, at fleet.Instant) {
	list := m[k]
	for _, had := range list {
		if had.Boot == at.Boot && had.Up >= at.Up && !had.Wall.Before(at.Wall) {
			return
		}
	}
	m[k] = append(slices.DeleteFunc(list, func(had fleet.Instant) bool {
		return had.Boot == at.Boot && had.Up <= at.Up && !had.Wall.After(at.Wall)
	}), at)
}

// latest returns the record that ended last, as far as can be told from now, or nil.
func (p *pass) latest(records []*fleet.ActionRecord) *fleet.ActionRecord {
	var newest *fleet.ActionRecord
	for _, r := range records {
		if newest == nil || p.snap.At.Since(momentOf(r)) <= p.snap.At.Since(momentOf(newest)) {
			newest = r
		}
	}
	return newest
}

// momentOf returns the latest moment an action is known to have done something.
// Windows are counted from there, so that neither two starts nor two ends of
// tries can lie closer together than a window allows.
func momentOf(r *fleet.ActionRecord) fleet.Instant {
	if r.Result != nil && !r.Result.Ended.IsZero() {
		return r.Result.Ended
	}
	if !r.StartedAt.IsZero() {
		return r.StartedAt
	}
	return r.PlannedAt
}

// isReal says whether a record counts as a try: all but those that found, at the
// instant of acting, that there was nothing to do or that it was not lawful.
func isReal(r *fleet.ActionRecord) bool {
	return r.Result == nil ||
		r.Result.Status != fleet.ResultUnneeded && r.Result.Status != fleet.ResultRefused
}

// within says whether a moment lies in the window that ends now. A moment that
// lies ahead of now (the clock went back) counts as within: time that cannot be
// told has not passed.
func (p *pass) within(window fleet.Duration, at fleet.Instant) bool {
	return p.snap.At.Since(at) < time.Duration(window)
}

// tries returns the real tries of the wish in the rule's window, or all that are
// remembered when the rule has none.
func (p *pass) tries(r *request) []*fleet.ActionRecord {
	window := r.remedy.Attempts.In
	return slices.DeleteFunc(p.realTries(r), func(e *fleet.ActionRecord) bool {
		return !r.owns(e) || window != 0 && !p.within(window, momentOf(e))
	})
}

// owns says whether what was done before counts as a try of this request. Words do other
// things each: what a person, an agent or another rule had an agent told is none of a rule
// that nudges.
func (r *request) owns(e *fleet.ActionRecord) bool {
	return r.order != nil || r.wish.Do != doNudge || e.Order == "" && e.For.Rule == r.finding.Rule
}

// realTries returns every real try of the wish that is remembered. What an agent was
// told by order, its first prompt or a person's word, is no nudge that a rule tried.
func (p *pass) realTries(r *request) []*fleet.ActionRecord {
	told := r.order == nil && r.wish.Do == doNudge
	var real []*fleet.ActionRecord
	for _, e := range p.earlier(r) {
		if isReal(e) && !(told && e.Order != "") {
			real = append(real, e)
		}
	}
	return real
}

// earlier returns what was done before of what is asked for. A person who orders
// a second nudge means it; only the tries at one and the same order count
// together. To rules, agents and Custos itself a recovery counts whatever asked for it. Each attempt at a step stands for
// itself.
func (p *pass) earlier(r *request) []*fleet.ActionRecord {
	all := p.history.ended[deedOf(r.wish.Do, r.wish.Subject, r.wish.Target)]
	if t := r.wish.Target.Step; t != nil {
		return sameAttempt(all, t)
	}
	if r.order == nil || r.wish.Do == doRecover && !r.byPerson() {
		return all
	}
	var same []*fleet.ActionRecord
	for _, e := range all {
		if e.Order == r.order.ID {
			same = append(same, e)
		}
	}
	return same
}

// alert returns the alert of a key as it is now, or nil.
func (p *pass) alert(k fleet.AlertKey) *fleet.Alert {
	if p.numbers == nil {
		p.numbers = make(map[fleet.AlertKey]*fleet.Alert, len(p.found.Alerts))
		for i := range p.past.Alerts {
			p.numbers[p.past.Alerts[i].AlertKey] = &p.past.Alerts[i]
		}
		for i := range p.found.Alerts {
			p.numbers[p.found.Alerts[i].AlertKey] = &p.found.Alerts[i]
		}
	}
	return p.numbers[k]
}
