package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// mails are those that somebody has not read yet, calls for help that wait for an
// answer, and the last one of a loop while no more are taken.
func (f facts) mails() (out []fleet.MailFacts) {
	recent := mailsSince(f.past.Records.Mails, f.snap.At)
	between := countPairs(recent)
	older := len(f.past.Records.Mails) - len(recent) // of which none ends a loop
	out = slices.Grow(out, len(f.past.Records.Mails))
	for i := range f.past.Records.Mails {
		m := &f.past.Records.Mails[i]
		v := fleet.MailFacts{ID: m.ID, From: m.From, Type: m.Type, Priority: m.Priority, Subject: m.Subject, Readers: len(m.Copies), Age: f.age(m.At),
			Answered: m.AnsweredBy != "", Raised: !m.Raised.IsZero(), Grade: m.Grade}
		for _, c := range m.Copies {
			switch c.State {
			case fleet.CopyBounced:
				v.Bounced++
			case fleet.CopyNew, fleet.CopyTold, fleet.CopyUnread:
				v.Unread++
			}
		}
		if i >= older && between.mayLoop(m) {
			_, v.Stopped = Looping(recent, *m, f.snap.At)
		}
		if v.Unread > 0 || !m.Sorted || v.Stopped != "" || m.Type == fleet.MailHelp && !v.Answered {
			out = append(out, v)
		}
	}
	return out
}
