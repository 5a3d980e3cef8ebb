package decide

import "custos/internal/fleet"

// MayAsk says why the judge may not be called now for something that is no alert;
// "" when it may. One budget is for all that is asked of it; where what was asked before is not known, it may not.
func MayAsk(t fleet.TriagePolicy, past fleet.Past, now fleet.Instant) (why string) {
	p := &pass{policy: &fleet.Policy{Triage: t}, snap: &fleet.Snapshot{At: now}, past: &past, found: &fleet.Assessment{}, triages: recallTriages(&past, now)}
	no := p.askMemory()
	if no == nil {
		no = p.askCalls()
	}
	if no != nil {
		return no.why
	}
	return ""
}
