package mail

import (
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// pong answers a ping from the record of activity: nobody is woken by it, who is
// asked about as little as who asks, who is told when it next does something.
func (p *post) pong(m *fleet.Mail) {
	for i := range m.Copies {
		c := &m.Copies[i]
		p.out.Tell(ledger.News("mail-ping/"+m.ID+"/"+c.To, []string{ledger.WriterOf(m.From)}, fleet.Mail{Type: fleet.MailAnswer, Answers: m.ID, Thread: threadOf(*m),
			Priority: fleet.P4, About: c.To, Subject: p.activity(c.To)}, p.at))
		c.State, c.Since, c.Why = fleet.CopyRead, p.at, "answered from the record of activity"
	}
	m.AnsweredBy = fleet.ByCustos
}

// activity is what is known of what an agent does. What is not known is said to
// be unknown, and never dead.
func (p *post) activity(name string) string {
	of, a := fleet.Line(name, 60), p.agents[name]
	switch {
	case name == fleet.ByCustos:
		return "Custos is here: it looked at " + p.at.Wall.UTC().Format("15:04:05 UTC")
	case name == fleet.Overseer:
		return "the overseer is a person: nothing is recorded of what they do"
	case p.addresses.Gone(name) != "":
		return of + ": " + p.addresses.Gone(name)
	case !p.snap.Agents.Fresh():
		return of + ": unknown; agents are not seen now"
	case a == nil:
		return of + ": unknown; it is not seen now"
	}
	state := fmt.Sprintf("%s: %s", of, a.State)
	if quiet, known := a.Quiet.Get(); known {
		return state + "; last active " + fleet.Duration(time.Duration(quiet).Round(time.Second)).String() + " ago"
	}
	return state + "; when it was last active is unknown: " + fleet.Line(a.Quiet.Why(), 100)
}

func threadOf(m fleet.Mail) string {
	if m.Thread != "" {
		return m.Thread
	}
	return m.ID
}
