package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/nearest"
	policies "custos/internal/policy"
	"custos/internal/sys/files"
)

// grantPort writes down, beside an agent's policy, what a person grants it.
type grantPort struct{ s *system }

var _ control.Grants = grantPort{}

const mostPolicy = 8 << 20

// Grant puts it on record first: what cannot be written down afterwards is put on record, too.
func (p grantPort) Grant(ctx context.Context, agent fleet.Registration, g api.Granted, event fleet.Event) error {
	file := policies.File(p.s.world.Own.Run, agent.Name)
	if err := knows(file, agent, g.Rule); err != nil {
		return err
	}
	text, err := policies.Grant{Agent: agent.Name, Instance: agent.Instance, Rule: g.Rule, Once: g.Once, Until: g.Until, By: g.By}.Encode()
	if err != nil {
		return err
	}
	if err := p.s.begin(ctx); err != nil {
		return err
	}
	st, err := p.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	if err := st.Record(ctx, event); err != nil {
		return err
	}
	at := policies.GrantFile(file, g.Rule)
	if err = os.MkdirAll(filepath.Dir(at), 0o700); err == nil {
		err = files.Replace(at, text, 0o600)
	}
	if err != nil {
		event.Text = "could not be granted: " + err.Error()
		return errors.Join(fmt.Errorf("cannot write the grant down: %w", err), st.Record(ctx, event))
	}
	return nil
}

// knows says whether the policy that an agent was started with has a rule.
func knows(file string, agent fleet.Registration, rule string) error {
	text, err := files.Read(file, mostPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return &api.Error{Kind: api.BadInput, Message: "no hook judges the calls of " + agent.Name + ": nothing is denied to it", Hint: "custos show " + agent.Name}
	}
	if err != nil {
		return fmt.Errorf("cannot read the policy of %s: %w", agent.Name, err)
	}
	c, err := policies.Decode(text)
	if err != nil {
		return fmt.Errorf("cannot read the policy of %s: %w", agent.Name, err)
	}
	if c.Instance != agent.Instance {
		return &api.Error{Kind: api.Changed, Message: agent.Name + " is being started: its policy is of another start than its record", Hint: "custos show " + agent.Name}
	}
	var ids []string
	for _, r := range c.Policy.Rules {
		if r.ID == rule {
			return nil
		}
		ids = append(ids, r.ID)
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("policy %s has no rule %q%s", c.Policy.Name, fleet.Line(rule, 64), nearest.Choice(rule, ids)), Hint: "custos policy list " + c.Policy.Name}
}

// grantUsed takes a grant for one call away, which its hook cannot within a boundary. Only what is such a grant is
// removed, whoever asks.
func (s *system) grantUsed(agent, rule string) error {
	if agent == "" || filepath.Base(agent) != agent {
		return nil
	}
	at := policies.GrantFile(policies.File(s.world.Own.Run, agent), rule)
	text, err := files.Read(at, mostPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if g, err := policies.DecodeGrant(text); err != nil || !g.Once {
		return err
	}
	return os.Remove(at)
}
