package beads

import (
	"context"
	"fmt"
)

// Writer closes beads of one tracker and opens them again. bd tells by no exit code
// whether it did: the caller looks afterwards.
type Writer struct{ look *Reader }

// NewWriter checks the options.
func NewWriter(o Options) (*Writer, error) {
	r, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Writer{r}, nil
}

// Bead looks at one bead. bd takes a part of a name for the whole: only the very
// one that was asked for is an answer.
func (w *Writer) Bead(ctx context.Context, id string) (Bead, error) {
	if !safeID(id) {
		return Bead{}, fmt.Errorf("cannot look at bead %q: it is no ID", id)
	}
	list, err := w.look.ask(ctx, "show", "--json", id)
	if err != nil {
		return Bead{}, err
	}
	for _, b := range list {
		if b.ID == id {
			return b.bead(), nil
		}
	}
	return Bead{}, fmt.Errorf("cannot look at bead %q: bd shows no such one in %s", id, w.look.o.Dir)
}

// Close closes a bead.
func (w *Writer) Close(ctx context.Context, id, reason string) error {
	return w.move(ctx, "close", id, reason)
}

// Reopen opens a bead again.
func (w *Writer) Reopen(ctx context.Context, id, reason string) error {
	return w.move(ctx, "reopen", id, reason)
}

// move hands the reason over in one argument with its name: it may begin with a dash.
func (w *Writer) move(ctx context.Context, do, id, reason string) error {
	if !safeID(id) {
		return fmt.Errorf("cannot %s bead %q: it is no ID", do, id)
	}
	argv := []string{w.look.o.Command, do, id}
	if reason != "" {
		argv = append(argv, "--reason="+reason)
	}
	if _, err := w.look.o.Run(ctx, w.look.o.Dir, argv); err != nil {
		return fmt.Errorf("cannot run bd %s in %s: %w", do, w.look.o.Dir, err)
	}
	return nil
}
