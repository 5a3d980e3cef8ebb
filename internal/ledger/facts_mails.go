package ledger

import "custos/internal/fleet"

func (f facts) mails() (out []fleet.MailFacts) { return nil }
