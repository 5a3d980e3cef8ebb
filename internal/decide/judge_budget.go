package decide

import "custos/internal/fleet"

// MayAsk says why the judge may not be called now for something that is no alert;
// "" when it may. One budget is for all that is asked of it.
func MayAsk(t fleet.TriagePolicy, past fleet.Past, now fleet.Instant) (why string) {
	p := &pass{policy: &fleet.Policy{Triage: t}, snap: &fleet.Snapshot{At: now}, past: &past, triages: recallTriages(&past, now)}
	if no := p.askCalls(); no != nil {
		return no.why
	}
	return ""
}
