package fleet

// Heartbeat is what an agent has promised: to show that it is at work every so
// often. It is late when it has not for Every and Grace.
type Heartbeat struct {
	Every Duration `json:"every"`
	Grace Duration `json:"grace,omitempty"`
}

// Allowed is how old the last beat may become.
func (h Heartbeat) Allowed() Duration { return h.Every + h.Grace }

// Contract gives the agents of a name, or of a role, a heartbeat.
type Contract struct {
	Name  string `json:"name"` // of the section
	Agent string `json:"agent,omitempty"`
	Role  string `json:"role,omitempty"`
	Heartbeat
}

// HeartbeatOf returns the promise of an agent, nil for none: what the contracts
// say of its name, else its own, else what they say of its role.
func HeartbeatOf(contracts []Contract, name, role string, own *Heartbeat) *Heartbeat {
	var ofRole *Heartbeat
	for i, c := range contracts {
		switch {
		case c.Agent != "" && c.Agent == name:
			return &contracts[i].Heartbeat
		case c.Role != "" && c.Role == role && ofRole == nil:
			ofRole = &contracts[i].Heartbeat
		}
	}
	if own != nil {
		return own
	}
	return ofRole
}
