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
		told = fmt.Sprintf("it tells nothing for %s", time.Duration(d).Truncate(time.Second))
	} else if known {
		told = "it tells"
	}
	out := []string{"another host of the hub: " + told}
	if p.Doubled {
		out = append(out, "two daemons tell under its name")
	}
	return out
}
