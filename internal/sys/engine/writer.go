package engine

import (
	"context"
	"math"

	"github.com/moby/moby/client"
)

// Writer is a Reader that also changes things: no probe is given one.
type Writer struct{ *Reader }

// NewWriter returns a Writer of the engine at a unix socket. It does not connect yet.
func NewWriter(address string) (*Writer, error) {
	r, err := NewReader(address)
	if err != nil {
		return nil, err
	}
	return &Writer{Reader: r}, nil
}

// Restart stops a container, with its own signal and its own patience, and starts
// it again. It returns when it was started.
func (w *Writer) Restart(ctx context.Context, id string) error {
	return w.c.call("restart the container", func(api *client.Client) error {
		_, err := api.ContainerRestart(ctx, id, client.ContainerRestartOptions{})
		return err
	})
}

// Prune removes the images that no name leads to and that no container was made
// of: nothing else, never a volume. It returns how many bytes the engine says it freed.
func (w *Writer) Prune(ctx context.Context) (freed int64, err error) {
	err = w.c.call("prune the images without a name", func(api *client.Client) error {
		got, err := api.ImagePrune(ctx, client.ImagePruneOptions{Filters: unnamed()})
		freed = int64(min(got.Report.SpaceReclaimed, math.MaxInt64))
		return err
	})
	return freed, err
}
