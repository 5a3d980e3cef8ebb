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

// Explainer reads a screen. An unknown kind is an error.
type Explainer interface {
	Explain(kind, title, screen string) (api.Explanation, error)
	Kinds() api.Kinds
}

// HookFiles changes the text of settings files of agent CLIs. It does no I/O.
type HookFiles interface {
	// EditHooks returns what "install" or "uninstall" makes of the settings, or
	// the same text for "status", and which hooks are then in it. A kind without
	// hooks, and settings that cannot be read, are errors.
	EditHooks(kind, do string, settings []byte) (api.HookFile, error)
}
