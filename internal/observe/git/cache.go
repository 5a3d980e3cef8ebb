package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sysgit "custos/internal/sys/git"
)

// maxShare is the part of one core that looking may take on an idle machine.
const maxShare = 0.003

// maxKeep bounds how long an answer is kept, however costly it is.
const maxKeep = 2 * time.Hour

// cache keeps costly answers while what they rest on has not moved.
type cache struct {
	keep    time.Duration
	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	mark  string // what it rests on
	at    time.Time
	cost  time.Duration
	value any
}

func newCache(keep time.Duration) *cache { return &cache{keep: keep, entries: map[string]entry{}} }

// get returns the kept answer, if it rests on the same mark and is young enough.
func (c *cache) get(key, mark string, now time.Time) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	past := now.Sub(e.at)
	if !ok || e.mark != mark || past < 0 || past > c.lifetime() {
		return nil, false
	}
	return e.value, true
}

// lifetime grows with the cost of all answers together, so that renewing them
// stays below maxShare.
func (c *cache) lifetime() time.Duration {
	var cost time.Duration
	for _, e := range c.entries {
		cost += e.cost
	}
	return max(c.keep, min(maxKeep, time.Duration(float64(cost)/maxShare)))
}

func (c *cache) put(key string, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = e
}

// drop forgets one answer.
func (c *cache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// forget drops what no look asked for any more.
func (c *cache) forget(used []string) {
	slices.Sort(used)
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if _, ok := slices.BinarySearch(used, key); !ok {
			delete(c.entries, key)
		}
	}
}

// cached returns the kept answer or asks again; an answer that is not whole is
// not kept.
func cached[T any](l *look, key, mark string, ask func() (T, bool)) T {
	l.mu.Lock()
	l.used = append(l.used, key)
	l.mu.Unlock()
	if v, ok := l.p.cache.get(key, mark, l.now); ok {
		return v.(T)
	}
	began := time.Now()
	v, whole := ask()
	if whole {
		l.p.cache.put(key, entry{mark: mark, at: l.now, cost: time.Since(began), value: v})
	}
	return v
}

// status looks at a linked worktree, or gives what was seen of it before, with
// what is cheap to see always seen now.
func (l *look) status(ctx context.Context, t sysgit.Target) sysgit.Status {
	admin, err := sysgit.AdminDir(t.Common, t.Listed.Path)
	if err != nil {
		return l.p.o.Git.Look(ctx, t)
	}
	mark := fmt.Sprint(t.Listed, stamps(admin, t.Listed.Path), tips(t), stashMark(t))
	key := "worktree " + t.Listed.Path
	ask := func() (sysgit.Status, bool) { return whole(l.p.o.Git.Look(ctx, t)) }
	s := cached(l, key, mark, ask)
	if !bulkStands(s) {
		l.p.cache.drop(key)
		s = cached(l, key, mark, ask)
	}
	s.Operation = sysgit.Answered(s.Place.Operation())
	return s
}

// whole says whether a status is worth keeping: one that was cut short by a
// deadline is asked again at the next look.
func whole(s sysgit.Status) (sysgit.Status, bool) {
	_, err1 := s.Changes.Get()
	_, err2 := s.Size.Get()
	_, err3 := s.Merged.Get()
	return s, s.Missing || err1 == nil && err2 == nil && err3 == nil
}

// stamps tells whether HEAD, index or top folder moved.
func stamps(admin, top string) string {
	var b strings.Builder
	for _, f := range []string{filepath.Join(admin, "HEAD"), filepath.Join(admin, "index"), filepath.Join(admin, "logs", "HEAD"), top, filepath.Join(top, ".git")} {
		b.WriteString(stamp(f))
	}
	return b.String()
}

func stamp(file string) string {
	info, err := os.Lstat(file)
	if err != nil {
		return "-;"
	}
	return fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
}

func stashMark(t sysgit.Target) string {
	return stamp(filepath.Join(t.Common, "logs", "refs", "stash"))
}

// tips names the primary branch's commits.
func tips(t sysgit.Target) string {
	p, err := t.Primary.Get()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(p.Tips)
}

// bulkStands says whether every folder of output that was measured still stands:
// one deep inside can go without the top folder's noticing.
func bulkStands(s sysgit.Status) bool {
	z, err := s.Size.Get()
	if err != nil {
		return true
	}
	for _, b := range z.Bulk {
		if _, err := os.Lstat(filepath.Join(s.Place.Top, b.Path)); err != nil {
			return false
		}
	}
	return true
}

// shared answers what is the same for all worktrees of a repository.
func (l *look) shared(ctx context.Context, p sysgit.Place) (sysgit.Answer[sysgit.Primary], sysgit.Answer[[]sysgit.Stash]) {
	git := l.p.o.Git
	primary := cached(l, "primary "+p.Common, stamp(filepath.Join(p.Common, "config")), func() (sysgit.Answer[sysgit.Primary], bool) {
		a := sysgit.Answered(git.Primary(ctx, p.Common, l.p.o.Primary))
		_, err := a.Get()
		return a, err == nil
	})
	if v, err := primary.Get(); err == nil {
		primary = sysgit.Answered(git.Renew(ctx, p.Common, v))
	}
	stashes := cached(l, "stash "+p.Common, stamp(filepath.Join(p.Common, "logs", "refs", "stash")), func() (sysgit.Answer[[]sysgit.Stash], bool) {
		a := sysgit.Answered(git.Stashes(ctx, p.Common))
		_, err := a.Get()
		return a, err == nil
	})
	return primary, stashes
}

// changes asks the status of a main worktree.
func (l *look) changes(ctx context.Context, p sysgit.Place) sysgit.Answer[sysgit.Changes] {
	mark := stamps(p.GitDir, p.Top) + stamp(filepath.Join(p.GitDir, "FETCH_HEAD"))
	return cached(l, "main "+p.Top, mark, func() (sysgit.Answer[sysgit.Changes], bool) {
		a := sysgit.Answered(l.p.o.Git.Changes(ctx, p.Top, false))
		_, err := a.Get()
		return a, err == nil
	})
}
