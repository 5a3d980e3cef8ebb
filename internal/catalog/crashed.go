package catalog

import (
	"context"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// keepsCrashed lists the worktrees that agents of ours crashed in (raw paths), and since
// when nobody comes back to each. While the ledger cannot be read, those that were known
// still are crashed: what is done about one asks again.
func (w *World) keepsCrashed() func() map[string]time.Time {
	var known map[string]time.Time
	return func() map[string]time.Time {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if now, err := w.crashedTrees(ctx, w.registeredLately); err == nil {
			known = now
		}
		return known
	}
}

// crashedIn says since when nobody comes back to one worktree; zero where no agent of ours
// crashed in it.
func (w *World) crashedIn(ctx context.Context, path string) (time.Time, error) {
	trees, err := w.crashedTrees(ctx, w.Registered)
	return trees[path], err
}

// crashedTrees tells the moments by the clock as it stands now: whoever sets it makes no
// crash older.
func (w *World) crashedTrees(ctx context.Context, registered func(context.Context) ([]fleet.Registration, error)) (map[string]time.Time, error) {
	if w.Registered == nil {
		return nil, nil
	}
	regs, err := registered(ctx)
	if err != nil {
		return nil, err
	}
	trees, now := map[string]time.Time{}, w.Now()
	for path, since := range ledger.CrashedTrees(regs) {
		trees[fleet.RawPath(path)] = now.Wall.Add(-max(0, now.Since(since)))
	}
	return trees, nil
}
