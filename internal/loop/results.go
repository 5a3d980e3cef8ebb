package loop

import (
	"slices"
	"sync"

	"custos/internal/fleet"
)

// results keeps what actions came to until it has been told: once in a message,
// once in the journal.
type results struct {
	mu        sync.Mutex
	untold    []fleet.Result
	unwritten []fleet.Result
}

func (r *results) add(one fleet.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untold = append(r.untold, one)
	r.unwritten = append(r.unwritten, one)
}

// since returns the results that no message has told of.
func (r *results) since() []fleet.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.untold)
}

// told strikes off the first n of them.
func (r *results) told(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untold = slices.Clone(r.untold[n:])
}

// peekJournal returns the results that no journal entry has told of.
func (r *results) peekJournal() []fleet.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.unwritten)
}

// written strikes off the first n of them.
func (r *results) written(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwritten = slices.Clone(r.unwritten[n:])
}
