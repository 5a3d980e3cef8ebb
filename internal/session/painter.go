package session

import (
	"context"

	"custos/internal/fleet"
)

// Painter is what a Viewer may offer besides: a pane as it looks.
type Painter interface {
	// Paint returns what a pane shows now. It resizes nobody and joins no session. It
	// fails with ErrGone when the pane is not that very pane any more.
	Paint(ctx context.Context, id fleet.PaneID) (Painting, error)
}

// Painting is what a pane shows, as its program wrote it: not safe to show, and not redacted.
type Painting struct {
	Text string // its lines, with the escapes of their looks; without the empty ones at its end
	X, Y int    // of the cursor, counted from 0; X is -1 while it is hidden
}

// Keyboard is what a Provider may offer besides: keys as a person presses them.
type Keyboard interface {
	// Press gives a pane strokes in their order. It checks as Type does, once for all of
	// those between two pastes. An error in the middle leaves the later ones undone.
	Press(ctx context.Context, id fleet.PaneID, agent fleet.ProcessID, strokes []Stroke) error
}

// Stroke is one of: characters, which reach the program as they are; a key by its tmux name,
// of letters, digits and '-' alone; a text that is pasted as Type does.
type Stroke struct{ Text, Key, Paste string }
