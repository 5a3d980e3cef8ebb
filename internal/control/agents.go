package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// agents are looked at by anyone; they say that they are at work, and hand over, each for itself; a person may hand over
// for any, by name.
func agents() Noun {
	return Noun{"agents", []Verb{
		{Name: "list", Do: (*Control).agents},
		{Name: "show", Do: (*Control).agent},
		{Name: "screen", Do: (*Control).screen},
		{Name: "log", Do: (*Control).log},
		{Name: "beat", Access: Author, Do: asks((*Control).beat)},
		{Name: "hand-over", Access: Author, Do: given((*Control).handOver)},
		{Name: "handoff", Do: asks((*Control).handoff)},
	}}
}

// Agents is what agents report of themselves.
type Agents interface {
	// Beat notes that an agent said that it is at work.
	Beat(ctx context.Context, agent string) (fleet.Instant, error)
	// Change changes the record of an agent, in one transaction, and has a pass go on from
	// there. fs.ErrNotExist when no agent of that name is registered.
	Change(ctx context.Context, agent string, change func(fleet.Registration) (fleet.Registration, error)) (fleet.Registration, error)
	// Replaced says whether a fresh agent takes the place of one that has handed over.
	Replaced(fleet.Registration) bool
}

// beat notes that the calling agent is at work. It speaks for itself alone: a person who looks at it, or another agent, is no sign of its life.
func (c *Control) beat(ctx context.Context, call Call) (api.Beat, error) {
	name, is := fleet.AgentOf(call.By)
	switch {
	case call.Doubt != nil:
		return api.Beat{}, &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot note a heartbeat of %v", call.Doubt)}
	case !is:
		return api.Beat{}, &api.Error{Kind: api.Forbidden, Message: "cannot note a heartbeat: only an agent gives one, for itself", Hint: "custos ps"}
	}
	at, err := c.Agents.Beat(ctx, name)
	if err != nil {
		return api.Beat{}, err
	}
	return api.Beat{Agent: name, At: at.Wall.UTC()}, nil
}

// handOver takes what an agent hands over to the one that takes its place. An
// agent writes its own; a person may for any, by name.
func (c *Control) handOver(ctx context.Context, call Call, r api.HandoffRequest) (api.Handoff, error) {
	if err := handsOver(call, &r); err != nil {
		return api.Handoff{}, err
	}
	if len(r.Text) > fleet.LongestHandoff {
		return api.Handoff{}, api.AsBadInput(fmt.Errorf("cannot take a hand-off of %d bytes: %d are the most; put the rest into a file and say where it is", len(r.Text), fleet.LongestHandoff))
	}
	text := strings.TrimSpace(fleet.Redact(fleet.Text(r.Text)))
	reg, err := c.Agents.Change(ctx, r.Agent, func(reg fleet.Registration) (fleet.Registration, error) {
		return ledger.HandOver(reg, text, call.By, c.Now())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return api.Handoff{}, unknownAgent(r.Agent)
	}
	if err != nil {
		return api.Handoff{}, Illegal(err)
	}
	return handoffView(reg, c.Agents.Replaced(reg)), nil
}

// handsOver finds out whose a hand-off is, and refuses who may not give it.
func handsOver(call Call, r *api.HandoffRequest) error {
	agent, is := fleet.AgentOf(call.By)
	switch {
	case call.Doubt != nil:
		return &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot take a hand-off of %v", call.Doubt)}
	case !is && r.Agent == "":
		return api.AsBadInput(errors.New("cannot take a hand-off without an agent: name it"))
	case !is:
		return nil
	case r.Agent != "" && r.Agent != agent:
		return &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot take a hand-off of %q: agent %s hands over for itself only", fleet.Line(r.Agent, 80), agent)}
	}
	r.Agent = agent
	return nil
}

// handoff says how far the hand-off of an agent is.
func (c *Control) handoff(ctx context.Context, call Call) (api.Handoff, error) {
	all, err := c.Registry(ctx)
	if err != nil {
		return api.Handoff{}, err
	}
	reg := ledger.Registration(all, call.ID)
	if reg == nil {
		return api.Handoff{}, unknownAgent(call.ID)
	}
	return handoffView(*reg, c.Agents.Replaced(*reg)), nil
}

func unknownAgent(name string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find a registered agent %q", fleet.Line(name, 80)), Hint: "custos ps"}
}

func handoffView(r fleet.Registration, replaced bool) api.Handoff {
	out := api.Handoff{Agent: r.Name, Replaced: replaced}
	if h := r.Handoff; h != nil {
		out.Stage, out.Since, out.Why, out.Instance = string(h.Stage), h.Since.Wall.UTC(), h.Why, h.Instance
		out.Next, out.By, out.Text = h.Next, h.By, h.Text
	}
	return out
}
