package control

import (
	"context"
	"fmt"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// grants are a person's word that a rule of a policy does not count for an agent for a while.
func grants() Noun {
	return Noun{"grants", []Verb{{Name: "add", Access: Person, Do: given((*Control).grant)}}}
}

// Grants are where hooks look for what was granted.
type Grants interface {
	// Grant writes down that a rule does not count for an agent as it runs now, and puts it on record.
	Grant(ctx context.Context, agent fleet.Registration, g api.Granted, event fleet.Event) error
}

// A grant is for a moment in which a person knows why: for good it is a policy of custos.toml.
const (
	usualGrant   = time.Hour
	longestGrant = 24 * time.Hour
)

func (c *Control) grant(ctx context.Context, call Call, o api.GrantOrder) (api.Granted, error) {
	if o.Agent == "" || o.Rule == "" {
		return api.Granted{}, &api.Error{Kind: api.BadInput, Message: "a grant names an agent, and a rule of its policy", Hint: "custos feed"}
	}
	reg, err := c.registration(ctx, o.Agent)
	if err != nil {
		return api.Granted{}, err
	}
	lasts, err := grantedFor(o.For)
	switch {
	case err != nil:
		return api.Granted{}, err
	case reg == nil:
		return api.Granted{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("there is no agent %q that Custos has started", fleet.Line(o.Agent, 80)), Hint: "custos ps"}
	case reg.Policy == "":
		return api.Granted{}, &api.Error{Kind: api.BadInput, Message: reg.Name + " was started without a policy: nothing is denied to it", Hint: "custos show " + reg.Name}
	}
	until := c.Now().Wall.UTC().Add(lasts).Truncate(time.Second)
	done := api.Granted{Agent: reg.Name, Rule: o.Rule, Once: o.Once, Until: until, By: call.By}
	text := fmt.Sprintf("rule %s of policy %s does not count until %s, by %s%s", fleet.Line(o.Rule, 64), reg.Policy, until.Format(time.RFC3339), call.By, because(o.Why))
	if o.Once {
		text = "for one call " + text
	}
	return done, c.Grants.Grant(ctx, *reg, done, fleet.Event{At: c.Now(), Kind: "policy.granted", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: reg.Name}, Text: text})
}

func grantedFor(text string) (time.Duration, error) {
	if text == "" {
		return usualGrant, nil
	}
	d, err := fleet.ParseDuration(text)
	if err == nil && (d <= 0 || d > longestGrant) {
		err = fmt.Errorf("%s: want more than nothing, and a day at most", text)
	}
	if err != nil {
		return 0, api.AsBadInput(fmt.Errorf("cannot read for how long: %w", err))
	}
	return d, nil
}
