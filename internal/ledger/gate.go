package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// GateClosed is what closing a gate writes down: the gate, and the mails that tell of it.
func GateClosed(g fleet.Gate, outcome, why, by string, at fleet.Instant) fleet.Records {
	g = closed(g, outcome, why, by, at)
	out := fleet.Records{Gates: []fleet.Gate{g}}
	for _, to := range toldOf(g) {
		out.Mails = append(out.Mails, News(newsKey(g, to), []string{to}, gateMail(g), at))
	}
	return out
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
