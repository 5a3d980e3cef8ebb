package control

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/library"
)

// OnDisk is what can be run, as it was read from disk, and what became of its runs.
type OnDisk struct {
	Library *library.Library
	Past    func(context.Context) (fleet.Past, error)
	// Look is what conditions are judged by, once these parts were looked at.
	Look func(context.Context, fleet.Past, []fleet.PartName) *fleet.Snapshot
	// Runs lists the runs that match, the newest last.
	Runs func(ctx context.Context, f fleet.RunFilter) ([]fleet.Run, error)
	// Take writes a run down, and has one pass begin it.
	Take func(ctx context.Context, run fleet.Run, detach bool) (fleet.Run, error)
	Now  func() fleet.Instant
}

var (
	_ Formulas = OnDisk{}
	_ Plugins  = OnDisk{}
)

// ToolSend is the command by which Disinto's prompts notify people: agents of formulas
// get it.
const ToolSend = "matrix_send"
