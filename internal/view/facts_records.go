package view

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// countRecords is how many records there are, in words.
func countRecords(c *fleet.Coordination) (int, string) {
	n := len(c.Work) + len(c.Gates) + len(c.Convoys) + len(c.Mails) + len(c.Merges)
	if n == 0 {
		return 0, "nothing to coordinate"
	}
	words := []string{fleet.Counted(len(c.Work), "piece") + " of work", fleet.Counted(len(c.Gates), "gate"), fleet.Counted(len(c.Convoys), "convoy"), fleet.Counted(len(c.Mails), "mail")}
	if len(c.Merges) > 0 {
		words = append(words, fleet.Counted(len(c.Merges), "merge"))
	}
	return n, strings.Join(words, ", ")
}

func describeRecord(c *fleet.Coordination, of fleet.Subject) []string {
	switch of.Kind {
	case fleet.KindWork:
		return found(c.Work, func(w fleet.WorkFacts) string { return string(w.Ref) }, of.Name, workLines)
	case fleet.KindGate:
		return found(c.Gates, func(g fleet.GateFacts) string { return g.ID }, of.Name, gateLines)
	case fleet.KindConvoy:
		return found(c.Convoys, func(v fleet.ConvoyFacts) string { return v.ID }, of.Name, convoyLines)
	case fleet.KindMerge:
		return found(c.Merges, func(m fleet.MergeFacts) string { return m.ID }, of.Name, mergeLines)
	case fleet.KindMail:
		return found(c.Mails, func(m fleet.MailFacts) string { return m.ID }, of.Name, mailLines)
	}
	return nil
}

func workLines(w fleet.WorkFacts) []string {
	line := fmt.Sprintf("Work %s: %s", w.Ref, w.Title)
	if state, known := w.State.Get(); known {
		line += ", " + string(state)
	} else {
		line += ", not seen: " + w.State.Why()
	}
	for i, r := range w.BlockedBy {
		line += []string{"; waits for ", ", "}[min(i, 1)] + string(r)
	}
	return []string{line}
}

func gateLines(g fleet.GateFacts) []string {
	return []string{fmt.Sprintf("Gate %s (%s): %s, %s", g.ID, g.Type, g.Title, strings.TrimSuffix(string(g.State)+": "+g.Why, ": "))}
}

func convoyLines(c fleet.ConvoyFacts) []string {
	return []string{fmt.Sprintf("Convoy %s: %s, %s; %d of %d members closed", c.ID, c.Title, c.State, c.Closed, c.Members)}
}

func mergeLines(m fleet.MergeFacts) []string {
	what := m.ID + " of merge queue " + m.Queue + " (" + m.Source + ")"
	if m.Whole {
		what = "Merge queue " + m.Queue
	}
	return []string{what + ": " + strings.TrimSuffix(string(m.State)+": "+m.Why, ": ")}
}

func mailLines(m fleet.MailFacts) []string {
	return []string{fmt.Sprintf("Mail %s from %s: %s; %d of %d have not read it", m.ID, m.From, m.Subject, m.Unread, m.Readers)}
}
