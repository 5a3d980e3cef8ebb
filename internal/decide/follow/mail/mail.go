package mail

import (
	"reflect"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// post is one pass over the mail.
type post struct {
	past      fleet.Past
	snap      fleet.Snapshot
	policy    fleet.Policy
	before    []fleet.WorkItem // work that movers before this one change
	at        fleet.Instant
	out       fleet.Follows
	addresses ledger.Addresses
	agents    map[string]*fleet.Agent // by address; only when they were seen lately
	orders    map[string]fleet.Order  // as this pass leaves them
	answers   map[string]*fleet.ActionRecord
	nudged    map[string]bool // addresses of agents that somebody is about to tell something
	mails     []fleet.Mail    // those that are not over, as this pass leaves them
}

// Follow returns what becomes of mail: what is new is sorted, its readers are told
// of it, and what nobody will read is returned.
func Follow(pass fleet.Pass) fleet.Follows {
	var open []fleet.Mail
	for i := range pass.Past.Records.Mails {
		if m := &pass.Past.Records.Mails[i]; !m.Over() {
			open = append(open, *m)
		}
	}
	if len(open) == 0 {
		return fleet.Follows{}
	}
	p := newPost(pass, open)
	for i := range p.mails {
		p.carry(&p.mails[i])
	}
	p.nudges()
	for i := range p.mails {
		if !reflect.DeepEqual(p.mails[i], open[i]) {
			p.out.Tell(p.mails[i])
		}
	}
	return p.out
}

func newPost(pass fleet.Pass, open []fleet.Mail) *post {
	p := &post{past: pass.Past, snap: pass.Snapshot, policy: pass.Policy, before: pass.Plan.Records.Work, at: pass.Snapshot.At,
		addresses: ledger.AddressesOf(pass.Past.Registrations).Watched(pass.Policy.Coordination), agents: map[string]*fleet.Agent{}, orders: map[string]fleet.Order{},
		answers: ledger.Answers(pass.Past.Actions), nudged: map[string]bool{}, mails: slices.Clone(open)}
	for i := range p.mails {
		p.mails[i].Copies = slices.Clone(p.mails[i].Copies)
	}
	if p.snap.Agents.Fresh() {
		for i := range p.snap.Agents.Value {
			p.agents[ledger.AddressOf(p.snap.Agents.Value[i].Name)] = &p.snap.Agents.Value[i]
		}
	}
	for _, o := range slices.Concat(p.past.Orders, pass.Plan.Orders) {
		p.orders[o.ID] = o
	}
	for _, o := range p.orders {
		p.nudged[ledger.AddressOf(o.Agent)] = p.nudged[ledger.AddressOf(o.Agent)] || o.Do == fleet.OrderNudge && !o.IsOver()
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
		p.settleNudge(m, c)
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
		m.Copies = append(m.Copies, without(p.addresses.Copies(*m, p.at), m.Copies)...)
	}
	if m.Grade != "" && m.Grade.AtLeast(fleet.P1) && ledger.WriterOf(m.From) != fleet.Overseer && ledger.CopyOf(m, fleet.Overseer) == nil {
		m.Copies = append(m.Copies, fleet.MailCopy{To: fleet.Overseer, State: fleet.CopyNew, Since: p.at})
	}
	if m.Type == fleet.MailWitnessPing {
		p.pong(m)
	}
	p.bring(m)
	p.stop(m)
}

// without leaves out the copies of who has one.
func without(list, have []fleet.MailCopy) []fleet.MailCopy {
	return slices.DeleteFunc(list, func(c fleet.MailCopy) bool {
		return slices.ContainsFunc(have, func(h fleet.MailCopy) bool { return h.To == c.To })
	})
}
