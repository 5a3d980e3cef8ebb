package ledger

import "custos/internal/fleet"

func (f facts) convoys() (out []fleet.ConvoyFacts) { return nil }
