package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// gates closes the gates whose time has come, each once, and tells whoever waits
// for them in the same transaction.
func (c *coordinate) gates() {
	awaited := c.stepGates()
	w := c.watch()
	for _, g := range c.past.Records.Gates {
		if g.Over() {
			continue
		}
		saw := w.see(&g)
		if g.Step != "" && !awaited[g.Key] {
			saw = sighting{outcome: fleet.GateCancelled, why: "no step waits for it any more"}
		}
		c.due(saw.until)
		c.due(g.Due)
		if saw.outcome != "" {
			c.close(g, saw)
		}
	}
}

// close closes one gate, and tells of it.
func (c *coordinate) close(g fleet.Gate, saw sighting) {
	g = closed(g, saw.outcome, saw.why, fleet.ByCustos, c.at)
	c.out.Records.Gates = append(c.out.Records.Gates, g)
	for _, to := range toldOf(g) {
		c.tell(newsKey(g, to), []string{to}, gateMail(g))
	}
}

// closed returns a gate as it is over for good.
func closed(g fleet.Gate, outcome, why, by string, at fleet.Instant) fleet.Gate {
	g.State, g.Outcome, g.Why, g.Closer, g.Since = fleet.GateClosed, outcome, fleet.Line(why, 400), by, at
	return g
}

// newsKey names the one mail that tells a reader of a gate.
func newsKey(g fleet.Gate, to string) string { return "gate/" + g.ID + "/" + to }

// toldOf lists who is told of a gate that is closed. A failure that nobody decided
// is told to the people who run the fleet as well.
func toldOf(g fleet.Gate) []string {
	list := slices.Clone(g.Waiters)
	if g.Outcome == fleet.GateFailed && !fleet.IsPerson(g.Closer) && !slices.Contains(list, fleet.Overseer) {
		list = append(list, fleet.Overseer)
	}
	return list
}

// gateMail is what a waiter is told.
func gateMail(g fleet.Gate) fleet.Mail {
	word, urgent := g.Outcome, fleet.P3
	switch g.Outcome {
	case fleet.GateFailed:
		urgent = fleet.P2
	case fleet.GateCancelled:
		word = "was cancelled"
	}
	body := fmt.Sprintf("Gate %s (%s), made by %s: %s\nIt %s: %s.", g.ID, g.Type, g.By, g.Title, word, strings.TrimSuffix(g.Why, "."))
	if g.Outcome == fleet.GatePassed {
		body += "\nWhat waited for it may go on."
	}
	return fleet.Mail{Type: fleet.MailGate, Priority: urgent, Subject: fmt.Sprintf("gate %s %s: %s", g.ID, word, g.Title), Body: body,
		Project: g.Project, About: g.ID}
}
