package decide

import (
	"time"

	"custos/internal/fleet"
)

// longestAgain is the longest wait between two tries at one order of a person:
// what holds it may go at any time, and the person waits.
const longestAgain = 10 * time.Minute

// askAgain is asked of a person's order that was tried before. No window of the
// rules holds a person; but what was found impossible a moment ago is not tried at
// every look. It waits for what held it the last time, which is said, and what
// failed often enough is at an end.
func (p *pass) askAgain(r *request) (fleet.Guard, *refusal) {
	tries := begun(p.earlier(r))
	last := p.latest(tries)
	if !r.byPerson() || last == nil {
		return "", nil
	}
	if limit := r.remedy.Attempts; limit.Max > 0 && len(r.tries) >= limit.Max {
		return fleet.GuardAttempts, p.spentTries(r, limit)
	}
	wait := again(r, len(tries))
	if !p.within(wait, momentOf(last)) {
		return "", nil
	}
	guard := fleet.GuardCannot
	if last.Result != nil && last.Result.Status == fleet.ResultRefused {
		guard = fleet.GuardState
	}
	return guard, &refusal{why: "tried at " + clock(momentOf(last)) + ": " + came(last), until: p.leaves(wait, momentOf(last))}
}

// again is how long an order waits that was tried so often: twice as long each time.
func again(r *request, tries int) fleet.Duration {
	wait := cooldown(r)
	for n := 1; n < tries && wait < fleet.Duration(longestAgain); n++ {
		wait *= 2
	}
	return min(wait, fleet.Duration(longestAgain))
}

// came says what a try came to, and why.
func came(e *fleet.ActionRecord) string {
	if e.Result != nil && e.Result.Why != "" {
		return outcome(e) + ": " + fleet.Line(e.Result.Why, 200)
	}
	return outcome(e)
}
