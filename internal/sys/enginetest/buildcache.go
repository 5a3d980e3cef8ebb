package enginetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// The build cache is written after the engine's public source: moby/moby, the routes
// GET /system/df (daemon/server/router/system/system_routes.go at 0029924184) and POST
// /build/prune (daemon/internal/builder-next/builder.go at 1b1f0906bd), the shapes of
// github.com/moby/moby/api v1.56.1 (types/build, types/system). Until API 1.51 the records
// stand in "BuildCache"; from 1.52 on too, unless "verbose" is said: then they stand in
// "BuildCacheUsage", and only when it is true.
//
// What is removed is after moby/buildkit, cache/manager.go at dc792e75b9, prune: a record
// that another one stands on has a reference, and stays while that one does; what is free
// then goes in the next round. DiskUsage there counts no references of records that are
// not in use themselves, so that such a record is told as not in use.

// Record is one record of the build cache.
type Record struct {
	ID, Type      string // regular, source.local, exec.cachemount, frontend, internal, …
	Size          int64
	InUse, Shared bool
	Used          time.Time // last; zero: never
	Parents       []string  // records that it stands on
}

// SetCache says what the build cache holds.
func (f *Fake) SetCache(list ...Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cache = list
}

// Speak has it speak another version of the API.
func (f *Fake) Speak(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

func (f *Fake) diskUsage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if got := q["type"]; !slices.Equal(got, []string{"build-cache"}) {
		refuse(w, http.StatusNotImplemented, "the fake tells only of the build cache")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rows, free := []map[string]any{}, int64(0)
	for _, c := range f.cache {
		row := map[string]any{"ID": c.ID, "Type": c.Type, "Size": c.Size, "InUse": c.InUse, "Shared": c.Shared, "UsageCount": 1, "CreatedAt": stamp(c.Used)}
		if !c.Used.IsZero() {
			row["LastUsedAt"] = stamp(c.Used)
		}
		if len(c.Parents) > 0 {
			row[" Parents"] = c.Parents // so it is written, with a blank: types/build/cache.go
		}
		if !c.InUse && !c.Shared {
			free += c.Size
		}
		rows = append(rows, row)
	}
	out := map[string]any{}
	usage := map[string]any{"TotalCount": len(rows), "Reclaimable": free} // TotalSize is not filled since API 1.42
	switch verbose := q.Get("verbose"); {
	case f.version == Version, verbose == "":
		out["BuildCache"] = rows
	case verbose == "1":
		usage["Items"] = rows
	}
	if f.version != Version {
		out["BuildCacheUsage"] = usage
	}
	write(w, out)
}

func (f *Fake) pruneCache(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var filters map[string]map[string]bool
	if err := json.Unmarshal([]byte(q.Get("filters")), &filters); err != nil || len(filters) != 1 || len(filters["until"]) != 1 || q.Get("all") != "" {
		refuse(w, http.StatusNotImplemented, "the fake prunes only what was not used for a time, not "+r.URL.RawQuery)
		return
	}
	var keep time.Duration
	for text := range filters["until"] {
		var err error
		if keep, err = time.ParseDuration(text); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	freed, deleted, cut := int64(0), []string{}, f.Clock().Add(-keep)
	for before := -1; before != len(f.cache); {
		before = len(f.cache)
		held := f.held()
		f.cache = slices.DeleteFunc(f.cache, func(c Record) bool {
			if c.InUse || c.Shared || c.Type == "internal" || c.Type == "frontend" || c.Used.After(cut) || held[c.ID] {
				return false
			}
			freed, deleted = freed+c.Size, append(deleted, c.ID)
			return true
		})
	}
	write(w, map[string]any{"CachesDeleted": deleted, "SpaceReclaimed": freed})
}

// held are the records that others stand on. mu is held.
func (f *Fake) held() map[string]bool {
	out := map[string]bool{}
	for _, c := range f.cache {
		for _, p := range c.Parents {
			out[p] = true
		}
	}
	return out
}
