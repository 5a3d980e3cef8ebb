package stop

import (
	"context"
	"fmt"
	"slices"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

// run is a tree that is held.
type run struct {
	x    *Action
	tree *agentrun.Tree
	rss  int64 // of the tree when it was prepared
}

// ready takes hold of the tree, and looks twice whether it is at rest.
func (r *run) ready(ctx context.Context, args []string) error {
	if err := r.sameCommand(args); err != nil {
		return err
	}
	members, err := r.tree.AtRest(ctx, r.x.rest)
	if err != nil {
		return err
	}
	for _, m := range members {
		r.rss += m.RSS
	}
	return r.tree.Hold(members)
}

// sameCommand compares the command line with the one that was judged, in the
// redacted form that a snapshot keeps.
func (r *run) sameCommand(seen []string) error {
	args, err := proc.CommandLine(r.tree.Root().ID().PID)
	if err != nil {
		return err
	}
	// Redacted once more on both sides: what a probe handed on may have been
	// redacted by two.
	if !slices.Equal(fleet.RedactArgs(fleet.RedactArgs(args)), fleet.RedactArgs(seen)) {
		return agentrun.Refused("its command line is another one by now")
	}
	return nil
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := r.end(ctx); err != nil {
		return fmt.Errorf("cannot stop: %w", err)
	}
	return nil
}

func (r *run) end(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.tree.Unchanged(ctx); err != nil {
		return err
	}
	_, err := r.tree.End(ctx, r.x.term, r.x.kill)
	return err
}

// Verify implements act.Run: nothing that was ever part of the tree lives.
func (r *run) Verify(ctx context.Context) (string, error) {
	if err := r.tree.Over(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("stopped %s, %.1f MiB of memory freed", fleet.Counted(r.tree.Size(), "process"), float64(r.rss)/(1<<20)), nil
}

// Close implements act.Run.
func (r *run) Close() { r.tree.Close() }
