// Package session is the seam to wherever agents run. Each folder beneath it is
// one provider; sessiontest holds the suite that every provider passes.
package session

import (
	"context"
	"errors"

	"custos/internal/fleet"
)

// ErrAbsent says that there is nothing of this kind here (no tmux, no server):
// an answer, not a blindness.
var ErrAbsent = errors.New("absent")

// ErrGone says that a pane is not that very pane any more: it was closed, its
// program was replaced, or the server was restarted.
var ErrGone = errors.New("gone")

// Viewer sees panes and cannot touch them. Probes are given no more.
type Viewer interface {
	// Panes lists every pane of every server the provider knows of. It returns
	// ErrAbsent when there is no server at all. When some servers answer and
	// others do not, it returns the panes it saw and an error that names the rest.
	Panes(ctx context.Context) ([]fleet.Pane, error)
	// Screen returns the visible text of a pane, escapes stripped, at most lines
	// lines from the bottom. It fails with ErrGone when the pane is not that very
	// pane any more.
	Screen(ctx context.Context, id fleet.PaneID, lines int) (string, error)
}
