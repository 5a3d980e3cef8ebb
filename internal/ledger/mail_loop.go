package ledger

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// Two agents that write each other more than a conversation holds answer each
// other in a loop, and an agent that writes to people all the time wakes them for
// nothing.
const (
	mostBetween = 20               // mails between the same two agents
	LoopWindow  = 10 * time.Minute // within this time; and so long no more are taken
	mostPeople  = 10               // mails of one agent to people
	peopleEvery = time.Hour        // within this time
)

// mayWrite refuses mail of an agent that has written enough.
func mayWrite(all fleet.Records, m fleet.Mail) error {
	const what = "write mail"
	_, isAgent := fleet.AgentOf(m.From)
	self := WriterOf(m.From)
	if !isAgent {
		return nil
	}
	for _, c := range m.Copies {
		if last := stoppedBy(all.Mails, self, c.To, m.At); last != nil {
			return Unfit(what, "%s", loopWhy(*last, self, c.To))
		}
	}
	if IsFor(m, fleet.Overseer) && countSince(all.Mails, m.At, peopleEvery, func(o fleet.Mail) bool { return o.From == m.From && IsFor(o, fleet.Overseer) }) >= mostPeople {
		return Unfit(what, "%s wrote %d mails to people within an hour: write it down elsewhere", fleet.Line(self, 80), mostPeople)
	}
	return nil
}

// stoppedBy returns the mail with which two agents had written each other as much
// as they may; nil when they had not, or it is long enough ago.
func stoppedBy(mails []fleet.Mail, a, b string, at fleet.Instant) *fleet.Mail {
	if mails = mailsSince(mails, at); len(mails) < mostBetween {
		return nil
	}
	between := func(m fleet.Mail) bool { return pairOf(m, a, b) }
	for i := len(mails) - 1; i >= 0; i-- {
		m := &mails[i]
		if at.Since(m.At) < LoopWindow && between(*m) && countSince(mails[:i+1], m.At, LoopWindow, between) >= mostBetween {
			return m
		}
	}
	return nil
}

// mailsSince are the mails that a loop which counts now can be made of.
func mailsSince(mails []fleet.Mail, at fleet.Instant) []fleet.Mail {
	for i := range mails {
		if at.Since(mails[i].At) < 2*LoopWindow {
			return mails[i:]
		}
	}
	return nil
}

func loopWhy(m fleet.Mail, a, b string) string {
	return fmt.Sprintf("%s and %s wrote each other %d mails within 10 minutes, which looks like a loop: no more are taken before %s",
		fleet.Line(a, 60), fleet.Line(b, 60), mostBetween, m.At.Add(LoopWindow).Wall.UTC().Format("15:04:05 UTC"))
}

func countSince(mails []fleet.Mail, at fleet.Instant, d time.Duration, is func(fleet.Mail) bool) (n int) {
	for _, m := range mails {
		if since := at.Since(m.At); since >= 0 && since < d && is(m) {
			n++
		}
	}
	return n
}

// pairOf says whether one of two agents wrote a mail to the other.
func pairOf(m fleet.Mail, a, b string) bool {
	if _, isAgent := fleet.AgentOf(m.From); !isAgent {
		return false
	}
	self := WriterOf(m.From)
	return self == a && IsFor(m, b) || self == b && IsFor(m, a)
}

// pairs counts the mails between an agent and whoever else, whichever of the two wrote.
type pairs map[[2]string]int

func countPairs(mails []fleet.Mail) pairs {
	p := pairs{}
	for i := range mails {
		m := &mails[i]
		_, isAgent := fleet.AgentOf(m.From)
		if !isAgent {
			continue
		}
		self := WriterOf(m.From)
		for j, to := range m.To {
			if !slices.Contains(m.To[:j], to) {
				p[pairKey(self, to)]++
			}
		}
		for _, c := range m.Copies {
			if !slices.Contains(m.To, c.To) {
				p[pairKey(self, c.To)]++
			}
		}
	}
	return p
}

func pairKey(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// mayLoop says whether a mail is between two who wrote each other as much as makes a
// loop: of any other it needs not be asked.
func (p pairs) mayLoop(m *fleet.Mail) bool {
	_, isAgent := fleet.AgentOf(m.From)
	self := WriterOf(m.From)
	return isAgent && slices.ContainsFunc(m.Copies, func(c fleet.MailCopy) bool { return p[pairKey(self, c.To)] >= mostBetween })
}

// IsFor says whether a mail is for somebody, as it was addressed or as it was
// sorted.
func IsFor(m fleet.Mail, name string) bool {
	return slices.Contains(m.To, name) || slices.ContainsFunc(m.Copies, func(c fleet.MailCopy) bool { return c.To == name })
}

// Looping is why no more is taken between the writer and a reader of a mail, when
// this is the one with which they had written enough; "" otherwise.
func Looping(mails []fleet.Mail, m fleet.Mail, at fleet.Instant) (other, why string) {
	_, isAgent := fleet.AgentOf(m.From)
	self := WriterOf(m.From)
	if !isAgent || at.Since(m.At) >= LoopWindow {
		return "", ""
	}
	for _, c := range m.Copies {
		if last := stoppedBy(mails, self, c.To, at); last != nil && last.ID == m.ID {
			return c.To, loopWhy(m, self, c.To)
		}
	}
	return "", ""
}
