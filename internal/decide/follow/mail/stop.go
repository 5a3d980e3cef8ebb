package mail

import (
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// stop tells both agents that write each other in a loop that no more is taken.
func (p *post) stop(m *fleet.Mail) {
	other, why := ledger.Looping(p.past.Records.Mails, *m, p.at)
	if why == "" {
		return
	}
	p.out.Due(p.at, m.At.Add(ledger.LoopWindow)) // the finding ends then
	for _, to := range []string{ledger.WriterOf(m.From), other} {
		p.out.Tell(ledger.News("mail-loop/"+m.ID+"/"+to, []string{to}, fleet.Mail{Type: fleet.MailNews, Subject: "Your mail is stopped for a while: " + why, About: m.ID}, p.at))
	}
}
