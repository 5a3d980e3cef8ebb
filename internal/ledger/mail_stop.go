package ledger

import "custos/internal/fleet"

// stop tells both agents that write each other in a loop that no more is taken.
func (p *post) stop(m *fleet.Mail) {
	other, why := looping(p.past.Records.Mails, *m, p.at)
	if why == "" {
		return
	}
	self, _ := fleet.AgentOf(m.From)
	p.due(m.At.Add(loopWindow)) // the finding ends then
	for _, to := range []string{self, other} {
		p.tell("mail-loop/"+m.ID+"/"+to, []string{to}, fleet.Mail{Type: fleet.MailNews, Subject: "Your mail is stopped for a while: " + why, About: m.ID})
	}
}
