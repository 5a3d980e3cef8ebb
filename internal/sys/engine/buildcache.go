package engine

import (
	"context"
	"math"
	"time"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/client"
)

// Cache is what builds left behind that no build uses.
type Cache struct {
	Count int
	Bytes int64
}

// BuildCache measures the build cache that PruneCache would remove: what no build has
// used for so long.
func (r *Reader) BuildCache(ctx context.Context, unused time.Duration) (out Cache, err error) {
	err = r.c.call("measure the build cache", func(api *client.Client) error {
		got, err := api.DiskUsage(ctx, client.DiskUsageOptions{BuildCache: true, Verbose: true})
		now, told := r.Now()
		if !told {
			now = time.Now()
		}
		for _, c := range goes(got.BuildCache.Items, now.Add(-unused)) {
			out.Count, out.Bytes = out.Count+1, plus(out.Bytes, max(c.Size, 0))
		}
		return err
	})
	return out, err
}

// goes are the records that are removed: prunable, and with none standing on them that
// stays. The engine tells one that only an idle record stands on as not in use, and its
// time of use is its own: BuildKit removes it when what stands on it is gone.
func goes(all []build.CacheRecord, before time.Time) []build.CacheRecord {
	held := map[string]bool{}
	for {
		out, known := []build.CacheRecord{}, len(held)
		for _, c := range all {
			if isPrunable(c, before) && !held[c.ID] {
				out = append(out, c)
				continue
			}
			for _, p := range c.Parents {
				held[p] = true
			}
		}
		if len(held) == known {
			return out
		}
	}
}

// isPrunable is what BuildKit's cache manager asks before it removes a record of
// which not all is to go (moby/buildkit, cache/manager.go, prune: neither in use,
// nor shared with an image, nor BuildKit's own; used last before the time).
func isPrunable(c build.CacheRecord, before time.Time) bool {
	if c.InUse || c.Shared || c.Type == "internal" || c.Type == "frontend" {
		return false
	}
	return c.LastUsedAt == nil || !c.LastUsedAt.After(before)
}

// PruneCache removes the build cache that no build has used for so long: nothing
// else, never what a build uses now. It returns how many bytes the engine says it freed.
func (w *Writer) PruneCache(ctx context.Context, unused time.Duration) (freed int64, err error) {
	err = w.c.call("prune the build cache", func(api *client.Client) error {
		got, err := api.BuildCachePrune(ctx, client.BuildCachePruneOptions{Filters: make(client.Filters).Add("until", unused.String())})
		freed = int64(min(got.Report.SpaceReclaimed, math.MaxInt64))
		return err
	})
	return freed, err
}
