package control

import (
	"context"

	"custos/internal/fleet"
)

// EventFilter chooses events. Zero fields choose all.
type EventFilter struct {
	After   int64         // only events with a greater ID
	Limit   int           // at most so many
	Subject fleet.Subject // about this thing, or an alert of it
	Rule    string        // of alerts of this rule
	Action  string        // of this action
	Kind    string        // of this kind
}

// History is what is written down of agents.
type History interface {
	// HookEvents lists the events that match, oldest first: the newest Limit.
	HookEvents(ctx context.Context, f HookFilter) ([]fleet.HookEvent, error)
	// Failures lists what went wrong with an agent, or with all for "", oldest first: the
	// newest so many.
	Failures(ctx context.Context, agent string, limit int) ([]fleet.Failure, error)
	// MessagesFor lists what has not been delivered to an agent yet, oldest first: the
	// newest so many.
	MessagesFor(ctx context.Context, agent string, limit int) ([]fleet.Message, error)
}

// HookFilter chooses hook events. Zero fields choose all.
type HookFilter struct {
	Agent string
	Since fleet.Instant // at or after it, by the wall clock
	Limit int
}
