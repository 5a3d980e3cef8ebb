package mail

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// nudgeFor is how long a nudge may take: it is only ordered for an agent that is
// idle now, and one that is not any more is told at its next hook.
const nudgeFor = 2 * time.Minute

// people tells the overseer of a mail, once: what it says goes the way of all
// that people are told.
func (p *post) people(m *fleet.Mail, c *fleet.MailCopy) {
	if c.State != fleet.CopyNew {
		return
	}
	c.State, c.Since, c.Told, c.ToldAt = fleet.CopyTold, p.at, 1, p.at
	agent, _ := fleet.AgentOf(m.From)
	out := fleet.Message{ID: "mail/" + m.ID, Kind: fleet.MessageTold, About: agent, At: p.at, Priority: loudness(*m),
		Subject: fleet.Line("mail from "+ledger.ShownWriter(m.From)+": "+m.Subject, ledger.LongestSubject), Body: m.Body}
	if m.From != fleet.ByCustos {
		out.Body += "\ncustos mail reply " + m.ID + " TEXT"
	}
	p.out.Messages = append(p.out.Messages, out)
}

// loudness is at which priority people are told of a mail: an agent's own word
// makes nothing worse than P2, only what Custos reads in a call for help does.
func loudness(m fleet.Mail) fleet.Priority {
	if m.Grade != "" {
		return m.Grade
	}
	if _, isAgent := fleet.AgentOf(m.From); isAgent && m.Priority.AtLeast(fleet.P1) {
		return fleet.P2
	}
	return m.Priority
}

// giveUp leaves a copy unread that was told as often as it is told. Its writer is
// told, once, where it was meant by name.
func (p *post) giveUp(m *fleet.Mail, c *fleet.MailCopy) {
	if !ledger.IsLast(c) || c.Order != "" || !p.out.Due(p.at, ledger.DueAt(m, c)) {
		return
	}
	quiet := c.Why == ledger.OfGroup || m.From == fleet.ByCustos || c.To == fleet.Overseer
	c.State, c.Since, c.Why = fleet.CopyUnread, p.at, fmt.Sprintf("told %d times", c.Told)
	if !quiet {
		p.out.Tell(ledger.News("mail-unread/"+m.ID+"/"+c.To, []string{ledger.WriterOf(m.From)}, fleet.Mail{Type: fleet.MailNews, About: c.To, Answers: m.ID, Thread: threadOf(*m),
			Subject: fmt.Sprintf("%s was told %d times of %s and has not read it: %s", fleet.Line(c.To, 60), c.Told, m.ID, m.Subject)}, p.at))
	}
}

// settleNudge reads what became of the nudge that tells of a copy. One that may have
// arrived counts as told: the text is not typed twice.
func (p *post) settleNudge(c *fleet.MailCopy) {
	o, open := p.orders[c.Order]
	rec := p.answers[c.Order]
	switch {
	case c.Order == "", open && !o.IsOver(), rec != nil && rec.Open():
		return
	case rec != nil && rec.Result != nil && ledger.MayHaveArrived(rec.Result.Status):
		if c.Order = ""; c.State == fleet.CopyNew {
			c.State, c.Since = fleet.CopyTold, p.at
		}
	default:
		c.Order, c.Told = "", max(0, c.Told-1)
	}
}

// nudges has agents told that stand idle and have mail. Guards decide whether it is
// typed at the instant of typing; here only what would be in vain is not tried.
func (p *post) nudges() {
	for _, name := range p.readersDue() {
		if p.mayNudge(name) {
			p.nudge(name)
		}
	}
}

// readersDue are the agents with mail that they are to be told of now, in order.
// What only a hook tells of, the least of all, calls nobody.
func (p *post) readersDue() (out []string) {
	for i := range p.mails {
		m := &p.mails[i]
		for j := range m.Copies {
			c := &m.Copies[j]
			if c.Over() || c.To == fleet.Overseer || c.Order != "" || ledger.IsLast(c) || m.Priority == fleet.P4 {
				continue
			}
			if p.out.Due(p.at, ledger.DueAt(m, c)) {
				out = append(out, c.To)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mayNudge says whether an agent is seen to be idle, with nothing in its input line.
func (p *post) mayNudge(name string) bool {
	a, r := p.agents[name], p.crew.ByName[name]
	if a == nil || r == nil || a.State != fleet.StateIdle || r.Desired != fleet.DesiredRunning || p.policy.Frozen != "" {
		return false
	}
	if r.PromptState == fleet.DeliveryPending || r.PromptState == fleet.DeliverySent || p.nudged[name] {
		return false
	}
	empty, known := a.ComposerEmpty.Get()
	return a.Pane == nil || known && empty
}

func (p *post) nudge(name string) {
	var list []*fleet.Mail
	by := ""
	for i := range p.mails {
		m := &p.mails[i]
		if c := ledger.CopyOf(m, name); c != nil && ledger.TellsNow(m, c, p.at) {
			list = append(list, m)
			if fleet.IsPerson(m.From) {
				by = m.From
			}
		}
	}
	if by == "" && !p.mayActAlone() {
		return
	}
	if by == "" {
		by = fleet.ByCustos
	}
	o := fleet.Order{ID: nudgeID(list[0], name, p.at), Do: fleet.OrderNudge, Agent: name, By: by, Text: ledger.MailText(values(list), name),
		At: p.at, State: fleet.OrderOpen, Expires: p.at.Add(nudgeFor)}
	p.out.Given = append(p.out.Given, o)
	for _, m := range list {
		c := ledger.CopyOf(m, name)
		c.Order, c.Told, c.ToldAt = o.ID, c.Told+1, p.at
	}
}

// mayActAlone says whether Custos may type by itself. A mail by a person is that
// person's word; of agents and of Custos it takes the mode auto.
func (p *post) mayActAlone() bool {
	return p.policy.Mode == fleet.ModeAuto || p.policy.ApprovedBy != ""
}

// nudgeID names the one nudge that a pass gives to an agent.
func nudgeID(first *fleet.Mail, name string, at fleet.Instant) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("mail-%s-%08x-%d", first.ID, h.Sum32(), at.Wall.UnixMilli())
}

func values(list []*fleet.Mail) (out []fleet.Mail) {
	for _, m := range list {
		out = append(out, *m)
	}
	return out
}
