package ledger

// convoys follows the members of each convoy.
func (c *coordinate) convoys() {}
