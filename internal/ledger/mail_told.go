package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

const (
	// retryAfter is how long after a nudge that came to nothing the next is tried.
	retryAfter = 15 * time.Minute
	// peopleMay is how long people are waited for.
	peopleMay = 7 * 24 * time.Hour
)

// againAfter is how long after each telling a copy is told once more. After the
// last of them it is left unread, and its writer is told.
var againAfter = []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour}

// DueAt is when a copy is to be told next, or given up.
func DueAt(m *fleet.Mail, c *fleet.MailCopy) fleet.Instant {
	switch {
	case c.State == fleet.CopyNew && c.ToldAt.IsZero():
		return m.At
	case c.State == fleet.CopyNew:
		return c.ToldAt.Add(retryAfter)
	case c.To == fleet.Overseer:
		return c.ToldAt.Add(peopleMay)
	}
	return c.ToldAt.Add(againAfter[min(max(c.Told, 1), len(againAfter))-1])
}

// IsLast says whether a copy has been told as often as it is told.
func IsLast(c *fleet.MailCopy) bool {
	return c.State == fleet.CopyTold && (c.Told >= len(againAfter) || c.To == fleet.Overseer)
}

// ShownWriter is an author as readers see it, on one line: the kind is always said, for an
// agent may be called as a person is.
func ShownWriter(by string) string {
	if fleet.IsPerson(by) {
		return fleet.Line(by, 60) + aPerson
	}
	return fleet.Line(strings.TrimPrefix(by, "@"), 66)
}

// TellsNow says whether a copy's reader is to be told of it at a moment.
func TellsNow(m *fleet.Mail, c *fleet.MailCopy, at fleet.Instant) bool {
	return m.Sorted && !c.Over() && c.Order == "" && !IsLast(c) && !at.Before(DueAt(m, c))
}

// CopyOf is the copy of a mail that a reader has; nil without one.
func CopyOf(m *fleet.Mail, name string) *fleet.MailCopy {
	return fleet.Find(m.Copies, func(c *fleet.MailCopy) bool { return c.To == name })
}

// mostTold is how many mails one telling lists by their subjects.
const mostTold = 5

// MailText is what an agent is told of mail that waits for it.
func MailText(list []fleet.Mail, reader string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Mail for %s. Read each with: custos mail read ID (that acknowledges it); answer with: custos mail reply ID TEXT", fleet.Line(reader, 80))
	for i, m := range list {
		if i == mostTold && len(list) > mostTold+1 {
			fmt.Fprintf(&b, "\n- and %d more: custos mail inbox", len(list)-i)
			break
		}
		kind := ""
		if m.Type != fleet.MailFree {
			kind = ", " + string(m.Type)
		}
		fmt.Fprintf(&b, "\n- %s (%s%s) from %s: %s", m.ID, m.Priority, kind, ShownWriter(m.From), fleet.Line(m.Subject, 120))
	}
	return b.String()
}

// MailFor lists what a hook of an agent tells it of now.
func MailFor(mails []fleet.Mail, reader string, at fleet.Instant) (out []fleet.Mail) {
	for i := range mails {
		m := &mails[i]
		if c := CopyOf(m, reader); c != nil && TellsNow(m, c, at) {
			out = append(out, *m)
		}
	}
	return out
}

// ToldMail returns mails as they are once a hook has told their reader of them.
func ToldMail(list []fleet.Mail, reader string, at fleet.Instant) []fleet.Mail {
	out := slices.Clone(list)
	for i := range out {
		out[i].Copies = slices.Clone(out[i].Copies)
		c := CopyOf(&out[i], reader)
		if c.State == fleet.CopyNew {
			c.State, c.Since = fleet.CopyTold, at
		}
		c.Told, c.ToldAt = c.Told+1, at
	}
	return out
}
