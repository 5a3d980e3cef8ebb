package control

import "custos/internal/api"

// Rules is the rule table in force.
type Rules interface {
	Rules() []api.Rule
	TOML() string
}

// ruleNames are those of the rules in force; none where they are not known.
func (c *Control) ruleNames() []string {
	if c.Rules == nil {
		return nil
	}
	return each(c.Rules.Rules(), func(r api.Rule) string { return r.Name })
}
