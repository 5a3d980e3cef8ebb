package server

import (
	"context"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Cycle is the one engine.
type Cycle interface {
	// Look takes a whole pass that writes and does nothing. Its plan is the one
	// that a person's approval would lead to, so that it says what
	// `custos patrol --apply` would do; its Policy.ApprovedBy says so.
	// Probes that have not seen their part within the given time leave it unseen.
	Look(ctx context.Context, within time.Duration) (fleet.Pass, error)
	// Patrol takes a whole pass for real, and waits for its actions.
	Patrol(ctx context.Context, order fleet.PatrolOrder) (fleet.Pass, error)
	// Judge takes the pass that a recording leads to. It writes and does nothing.
	Judge(ctx context.Context, r fleet.Recording) (fleet.Pass, error)
}

// Chronicle is the append-only event log.
type Chronicle interface {
	// Events lists events that match, oldest first: the newest Limit of them,
	// or, with After, the first Limit after it.
	Events(ctx context.Context, f EventFilter) ([]fleet.Event, error)
}

// EventFilter chooses events. Zero fields choose all.
type EventFilter struct {
	After   int64         // only events with a greater ID
	Limit   int           // at most so many
	Subject fleet.Subject // about this thing, or an alert of it
	Rule    string        // of alerts of this rule
	Action  string        // of this action
}

// Journal is the daily Markdown. An error that wraps fs.ErrNotExist says that
// there is no such day.
type Journal interface {
	// Journal returns one day ("2006-01-02", UTC), or the newest for "".
	Journal(ctx context.Context, day string) (api.Journal, error)
}

// Rules is the rule table in force.
type Rules interface {
	Rules() []api.Rule
	TOML() string
}

// Explainer reads a screen. An unknown kind is an error.
type Explainer interface {
	Explain(kind, title, screen string) (api.Explanation, error)
}

// Screens shows what agents show, and what they wrote.
type Screens interface {
	// Screen returns at most so many lines from the bottom of an agent's terminal,
	// or of what a headless one wrote: safe to show and redacted. An error that
	// wraps fs.ErrNotExist says that there is nothing to look at.
	Screen(ctx context.Context, agent string, lines int) (string, error)
	// Log returns the text, the rest and the end of what a headless agent wrote, as it
	// was kept. An error that wraps fs.ErrNotExist says that nothing is kept; one that
	// wraps fs.ErrInvalid that After is no answer's.
	Log(ctx context.Context, ask LogAsk) (api.Log, error)
}

// HookLog is what agents told of themselves.
type HookLog interface {
	// HookEvents lists the events that match, oldest first: the newest Limit.
	HookEvents(ctx context.Context, f HookFilter) ([]fleet.HookEvent, error)
}

// HookFilter chooses hook events. Zero fields choose all.
type HookFilter struct {
	Agent string
	Since fleet.Instant // at or after it, by the wall clock
	Limit int
}

// Failures is the record of what went wrong with agents.
type Failures interface {
	// Failures lists those of an agent, or of all for "", oldest first: the
	// newest so many.
	Failures(ctx context.Context, agent string, limit int) ([]fleet.Failure, error)
}

// Messages is what agents are to be told.
type Messages interface {
	// MessagesFor lists what an agent has not been told yet, oldest first: the
	// newest so many.
	MessagesFor(ctx context.Context, agent string, limit int) ([]fleet.Message, error)
}

// HookFiles changes the text of settings files of agent CLIs. It does no I/O.
type HookFiles interface {
	// EditHooks returns what "install" or "uninstall" makes of the settings, or
	// the same text for "status", and which hooks are then in it. A kind without
	// hooks, and settings that cannot be read, are errors.
	EditHooks(kind, do string, settings []byte) (api.HookFile, error)
}
