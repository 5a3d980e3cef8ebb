package control

import (
	"context"
	"errors"

	"custos/internal/api"
	"custos/internal/fleet"
)

// caller is who asks: whoever goes to another machine has to say there who that is.
func caller() Noun {
	return Noun{"caller", []Verb{{Name: "get", Access: Author, Do: asks((*Control).whoAsks)}}}
}

func (c *Control) whoAsks(_ context.Context, call Call) (api.Caller, error) {
	if call.Barred == nil {
		return api.Caller{Person: true}, nil
	}
	out := api.Caller{Why: call.Barred.Error()}
	if agent, _ := fleet.AgentOf(call.By); agent != Unnamed || errors.Is(call.Barred, ErrStranger) {
		out.Agent = agent
	}
	return out, nil
}
