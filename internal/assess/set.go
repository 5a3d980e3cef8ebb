package assess

import "custos/internal/rules"

// Rules is the rule table in force. The alias lets the loop hold one without
// knowing the package it comes from.
type Rules = *rules.Set
