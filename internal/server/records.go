package server

import (
	"context"

	"custos/internal/fleet"
)

// writer is the author of what a caller writes into the records: its user, or the
// agent that it is. Whoever cannot be shown to be a person is an agent without a
// name, who owns nothing.
func (s *server) writer(ctx context.Context, c Caller) (string, error) {
	agent, err := s.teller(ctx, c)
	if err != nil {
		return "", err
	}
	if agent == "" {
		return c.Name(), nil
	}
	return fleet.ByAgent(agent), nil
}

// edit changes records; what makes no sense is the caller's mistake.
func (s *server) edit(ctx context.Context, do func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	out, err := s.Records.Edit(ctx, do)
	return out, reasoned(err)
}
