package daemon_test

import (
	"context"
	"errors"
	"testing"

	"custos/internal/api"
	"custos/internal/daemon"
)

// Who follows a daemon is told of the pass that a patrol makes.
func TestADaemonTellsOfChanges(t *testing.T) {
	dir, cfg := scratch(t)
	up(t, dir, cfg)
	c, err := api.Dial(t.Context(), daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	told := 0
	err = c.Changes(ctx, func(int64) error {
		if told++; told == 1 {
			_, err := c.Patrol(ctx, api.PatrolOrder{})
			return err
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Errorf("told %d times, ended with %v", told, err)
	}
}
