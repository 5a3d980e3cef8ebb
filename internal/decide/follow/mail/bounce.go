package mail

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// bounce returns a copy that nobody will read: its writer is told, and who stands
// above the reader, each once. What a group was told, and what itself tells of a
// return, goes without.
func (p *post) bounce(m *fleet.Mail, c *fleet.MailCopy) {
	why := p.addresses.Gone(c.To)
	if why == "" || c.To == fleet.Overseer {
		return
	}
	quiet := m.Type == fleet.MailBounce || m.Type == fleet.MailWitnessPing || ledger.WantsNone(*m) || c.Why == ledger.OfGroup
	c.State, c.Since, c.Order, c.Why = fleet.CopyBounced, p.at, "", why
	if quiet {
		return
	}
	for _, to := range p.concerned(*m, c.To) {
		p.returned(*m, to, c.To, fmt.Sprintf("Returned: %q for %s: %s", fleet.Line(m.Subject, 80), fleet.Line(c.To, 60), why))
	}
}

// concerned are those who learn that a mail comes back: its writer, and who stands
// above its reader. Of what Custos itself wrote it is the people, if nobody does.
func (p *post) concerned(m fleet.Mail, reader string) []string {
	writer, parent := ledger.WriterOf(m.From), p.addresses.Above(reader)
	switch {
	case writer == "":
		return []string{parent}
	case parent == fleet.Overseer || parent == writer:
		return []string{writer}
	}
	return []string{writer, parent}
}

func (p *post) returned(m fleet.Mail, to, reader, subject string) {
	p.out.Tell(ledger.News("mail-bounce/"+m.ID+"/"+reader+"/"+to, []string{to}, fleet.Mail{Type: fleet.MailBounce, Priority: m.Priority, About: reader, Answers: m.ID,
		Thread: threadOf(m), Subject: subject, Body: m.Body}, p.at))
}
