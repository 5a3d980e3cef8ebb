package ledger

import (
	"reflect"
	"slices"

	"custos/internal/fleet"
)

// post is one pass over the mail.
type post struct {
	*coordinate
	crew    crew
	agents  map[string]*fleet.Agent // only when they were seen lately
	orders  map[string]fleet.Order  // as this pass leaves them
	answers map[string]*fleet.ActionRecord
	nudged  map[string]bool // agents that somebody is about to tell something
	mails   []fleet.Mail    // those that are not over, as this pass leaves them
}

// mails sorts new mail, has its readers told of it, and returns what nobody will
// read.
func (c *coordinate) mails() {
	var open []fleet.Mail
	for i := range c.past.Records.Mails {
		if m := &c.past.Records.Mails[i]; !m.Over() {
			open = append(open, *m)
		}
	}
	if len(open) == 0 {
		return
	}
	p := c.newPost(open)
	for i := range p.mails {
		p.carry(&p.mails[i])
	}
	p.nudges()
	for i := range p.mails {
		if !reflect.DeepEqual(p.mails[i], open[i]) {
			c.out.Records.Mails = append(c.out.Records.Mails, p.mails[i])
		}
	}
}

func (c *coordinate) newPost(open []fleet.Mail) *post {
	p := &post{coordinate: c, crew: crewOf(c.past.Registrations), agents: map[string]*fleet.Agent{}, orders: map[string]fleet.Order{},
		answers: Answers(c.past.Actions), nudged: map[string]bool{}, mails: slices.Clone(open)}
	for i := range p.mails {
		p.mails[i].Copies = slices.Clone(p.mails[i].Copies)
	}
	if c.snap.Agents.Fresh() {
		for i := range c.snap.Agents.Value {
			p.agents[c.snap.Agents.Value[i].Name] = &c.snap.Agents.Value[i]
		}
	}
	for _, o := range slices.Concat(c.past.Orders, c.plan.Orders) {
		p.orders[o.ID] = o
	}
	for _, o := range p.orders {
		p.nudged[o.Agent] = p.nudged[o.Agent] || o.Do == fleet.OrderNudge && !o.IsOver()
	}
	return p
}

// carry takes one mail as far as it goes in this pass.
func (p *post) carry(m *fleet.Mail) {
	if !m.Sorted {
		p.sort(m)
	}
	for i := range m.Copies {
		c := &m.Copies[i]
		if c.Over() {
			continue
		}
		p.settleNudge(c)
		p.bounce(m, c)
		if c.To == fleet.Overseer {
			p.people(m, c)
		}
		p.giveUp(m, c)
	}
	p.raise(m)
}

// sort grades a new mail, finds its readers where that was not done when it was
// written, and does what it brings about, all once.
func (p *post) sort(m *fleet.Mail) {
	m.Sorted = true
	if m.Type == fleet.MailHelp {
		m.Grade, m.Why = gradeHelp(*m)
	}
	if len(m.Copies) == 0 || m.From == fleet.ByCustos {
		m.Copies = append(m.Copies, without(p.copies(*m), m.Copies)...)
	}
	if m.Grade != "" && m.Grade.AtLeast(fleet.P1) && writerOf(m.From) != fleet.Overseer && copyOf(m, fleet.Overseer) == nil {
		m.Copies = append(m.Copies, newCopy(reader{name: fleet.Overseer}, p.at))
	}
	if m.Type == fleet.MailWitnessPing {
		p.pong(m)
	}
	p.bring(m)
	p.stop(m)
}

// copies are those of the readers of a mail that Custos wrote. What was addressed to
// somebody who went away meanwhile still has that reader, so that it comes back; what
// nobody is left for is the people's.
func (p *post) copies(m fleet.Mail) (out []fleet.MailCopy) {
	for _, to := range m.To {
		list, err := p.crew.readers(to, writerOf(m.From))
		if err != nil && isName(to) {
			list = []reader{{name: to}}
		}
		for _, r := range list {
			out = withReader(out, r, p.at)
		}
	}
	if len(out) == 0 {
		out = withReader(out, reader{name: fleet.Overseer}, p.at)
	}
	return out
}

// without leaves out the copies of who has one.
func without(list, have []fleet.MailCopy) []fleet.MailCopy {
	return slices.DeleteFunc(list, func(c fleet.MailCopy) bool {
		return slices.ContainsFunc(have, func(h fleet.MailCopy) bool { return h.To == c.To })
	})
}
