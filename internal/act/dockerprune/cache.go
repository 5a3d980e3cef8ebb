package dockerprune

import (
	"context"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// caches are what docker-cache-prune may remove.
type caches interface {
	BuildCache(ctx context.Context, unused time.Duration) (engine.Cache, error)
	PruneCache(ctx context.Context, unused time.Duration) (freed int64, err error)
}

// NewCache returns the action on the build cache.
func NewCache(o Options) (*Action, error) {
	return newAction(things{do: DoCache, what: "records of build cache",
		cannot: "custos.toml does not say that the build cache of this engine may go: [containers] prune_cache = true",
		argv:   []string{"docker", "builder", "prune", "--force", "--filter", "until=" + fleet.CacheUnused.String()},
		note:   "only build cache that no build has used for a day; no image, no volume",
		none:   "there is no build cache that was not used for a day",
		effect: func(n int64) string {
			if n == 1 {
				return "1 record of build cache that no build used for a day is gone"
			}
			return fmt.Sprintf("%d records of build cache that no build used for a day are gone", n)
		},
		measure: func(ctx context.Context, e Engine) (int64, int64, error) {
			c, err := e.BuildCache(ctx, fleet.CacheUnused)
			return int64(c.Count), c.Bytes, err
		},
		prune: func(ctx context.Context, e Engine) (int64, error) { return e.PruneCache(ctx, fleet.CacheUnused) },
	}, o)
}
