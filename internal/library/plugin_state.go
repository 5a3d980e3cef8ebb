package library

import (
	"encoding/json"
	"path/filepath"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
)

// stateFile is where those who ran plugins before Custos did may have written when:
// beside the plugin, or for all of them in their common folder.
const stateFile = "state.json"

// largestState is how many bytes are read of it.
const largestState = 1 << 20

// ranElsewhere is when a plugin ran last, by a state.json; zero when none tells. The
// ledger takes it once, for a plugin of which it has no run.
func ranElsewhere(root, dir, name string) fleet.Instant {
	newest := lastRun(stateIn(dir))
	all := stateIn(root)
	of, _ := all["plugins"].(map[string]any)
	for _, entry := range []any{all[name], of[name]} {
		if at := lastRun(entry); at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() || newest.After(time.Now()) { // what is to come was no run
		return fleet.Instant{}
	}
	return fleet.Instant{Wall: newest.UTC()}
}

func stateIn(dir string) (doc map[string]any) {
	text, err := config.ReadFile(filepath.Join(dir, stateFile), largestState)
	if err != nil || json.Unmarshal(text, &doc) != nil {
		return nil // nobody has to have one
	}
	return doc
}

// lastRun reads a time, or a table that has one.
func lastRun(v any) time.Time {
	switch x := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, x); err == nil {
			return at
		}
	case map[string]any:
		for _, key := range []string{"last_run", "lastRun", "last_run_at", "last"} {
			if at := lastRun(x[key]); !at.IsZero() {
				return at
			}
		}
	}
	return time.Time{}
}
