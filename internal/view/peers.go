package view

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// peerFacts says how another host of the hub was seen.
func peerFacts(p fleet.Peer) []string {
	told := "it is not known when it told anything last"
	if d, known := p.Silent.Get(); known && d > 0 {
		told = fmt.Sprintf("it tells nothing for %s", time.Duration(p.Last.Or(d)).Truncate(time.Second))
	} else if known {
		told = "it tells"
	}
	out := []string{"another host of the hub: " + told}
	if p.Doubled {
		out = append(out, "two daemons tell under its name")
	}
	return out
}

// nodeFacts says how a server of the hub stands with the others.
func nodeFacts(n fleet.HubNode) []string {
	return []string{"a server of the hub: " + map[string]string{"leads": "it leads", "follows": "it has what the others have", "behind": "it lacks what the others have", "gone": "it is gone"}[n.State]}
}

// askedFacts says what a person at another host asks for.
func askedFacts(o fleet.Asked) []string {
	return []string{fmt.Sprintf("%s asks to %s %s, and has waited for %s: a person here approves of it, or cancels it", fleet.Line(o.By, 80), o.Do, fleet.Line(o.Agent, 80), time.Duration(o.Waits).Truncate(time.Second))}
}
