package ledger

// gates closes the gates whose time has come.
func (c *coordinate) gates() {}
