package ledger

// mails sorts new mail, and has its readers told of it.
func (c *coordinate) mails() {}
