package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Globs is how many times the maximum of one glob all globs may match together.
const Globs = 4

// Follower follows several patterns, look after look.
type Follower struct {
	patterns []Pattern
	most     int
	choice   Choice
}

// Follow returns a Follower of at most the first most files of each pattern, and of
// at most Globs*most of all together.
func Follow(patterns []Pattern, most int) *Follower {
	return &Follower{patterns: patterns, most: most}
}

// Len is how many patterns are followed.
func (f *Follower) Len() int { return len(f.patterns) }

// Find returns each file once, sorted. When there are too many, the same ones are
// followed as at the look before (see Choice), and cut says of each pattern how many
// there are and how many are followed; it is empty when all are. The error names what
// could not be read.
func (f *Follower) Find(ctx context.Context) (paths []string, cut string, err error) {
	paths, _, cut, err = f.FindAll(ctx)
	return paths, cut, err
}

// FindAll is Find, and names links that were not followed (see Found).
func (f *Follower) FindAll(ctx context.Context) (paths, links []string, cut string, err error) {
	var errs []error
	names, found := make([]string, len(f.patterns)), make([]Found, len(f.patterns))
	for i, p := range f.patterns {
		found[i], err = p.find(ctx, f.most, f.choice.Before(p.text))
		names[i], errs, links = p.text, append(errs, err), append(links, found[i].Links...)
	}
	chosen, cut := f.choice.Of(names, found, Globs*f.most)
	paths = slices.Concat(chosen...)
	slices.Sort(paths)
	slices.Sort(links)
	return slices.Compact(paths), slices.Compact(links), cut, errors.Join(errs...)
}

// Choice chooses what is followed of more than can be, and remembers it: what was
// followed and still matches keeps its place, and a place that comes free goes to the
// first by name. The zero Choice remembers nothing yet.
type Choice struct {
	mu     sync.Mutex
	before map[string]map[string]bool // by pattern
}

// Before is what was followed of a pattern at the last look; it may not be changed.
func (c *Choice) Before(pattern string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before[pattern]
}

// Of cuts what each pattern found, which is InOrder, to total of all together, shared
// as Shares says, so that no pattern hides what another finds. Cut says what was cut.
func (c *Choice) Of(patterns []string, found []Found, total int) (chosen [][]string, cut string) {
	counts := make([]int, len(found))
	for i, f := range found {
		counts[i] = len(f.Paths)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var cuts []string
	next := make(map[string]map[string]bool, len(found))
	for i, share := range Shares(counts, total) {
		chosen = append(chosen, found[i].Paths[:share])
		if found[i].Total > share {
			cuts = append(cuts, fmt.Sprintf("of glob %q %d match, and %d are looked at", patterns[i], found[i].Total, share))
		}
		next[patterns[i]] = set(chosen[i])
	}
	c.before = next
	return chosen, strings.Join(cuts, "; ")
}

func set(paths []string) map[string]bool {
	out := make(map[string]bool, len(paths))
	for _, p := range paths {
		out[p] = true
	}
	return out
}

// InOrder returns paths sorted: those in before, then the others, each by name.
func InOrder(paths []string, before map[string]bool) []string {
	var kept, others []string
	for _, p := range paths {
		if before[p] {
			kept = append(kept, p)
		} else {
			others = append(others, p)
		}
	}
	slices.Sort(kept)
	slices.Sort(others)
	return append(kept, others...)
}

// Shares divides total among those that want counts, fairly: who wants less
// than an even share gets all, and what is left over goes to the others evenly.
func Shares(counts []int, total int) []int {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	shares := make([]int, len(counts))
	for n, i := range order {
		shares[i] = min(counts[i], total/(len(order)-n))
		total -= shares[i]
	}
	return shares
}
