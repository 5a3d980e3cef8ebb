// Package git is the probe that fills the repositories and their worktrees:
// what each holds, whether that is safe elsewhere, and who is in it. It looks
// through the reading half of sys/git and disturbs nobody: no lock, no index
// refresh, no hook, no network.
//
// An idle machine costs little: a worktree whose HEAD, index, top folder and
// whose repository's primary branch and stash have not moved keeps its costly
// answers (files, sizes, merged) for ten minutes, or longer where looking is so
// costly that it would take more than 0.3 % of a core. Who is inside, and which
// command is under way, is asked at every look.
package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	sysfiles "custos/internal/sys/files"
	sysgit "custos/internal/sys/git"
)

const (
	deadline    = 60 * time.Second
	workers     = 2    // worktrees looked at side by side: git and the disk are shared with the agents
	maxMatches  = 2000 // of one glob
	maxTotal    = 8000 // of all globs together
	maxPrecious = 50   // names kept of one worktree
)

// Probe is the git probe.
type Probe struct {
	o      Options
	every  time.Duration
	cache  *cache
	choice sysfiles.Choice

	mu   sync.Mutex
	knew bool        // the last look that went well saw a repository
	last fleet.Repos // what it saw
}

// New returns the probe. It fails when a duration cannot be read, and names
// every path and glob that cannot be used.
func New(o Options) (*Probe, error) {
	if err := o.expand(); err != nil {
		return nil, err
	}
	every, err := duration("every", o.Every, time.Minute)
	if err != nil {
		return nil, err
	}
	keep, err := duration("keep", o.Keep, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	if o.Git == nil {
		o.Git = sysgit.New(sysgit.Options{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LookFor == 0 {
		o.LookFor = deadline * 9 / 10
	}
	if o.PerWorktree == 0 {
		o.PerWorktree = 20 * time.Second
	}
	return &Probe{o: o, every: every, cache: newCache(keep)}, nil
}

// Spec says what the probe fills, and when.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "git", Part: fleet.PartRepos, Every: p.every, Deadline: deadline}
}

// Look looks at every repository once. One that is broken, or does not answer,
// has unknown leaves; the others are seen. Without a git program it fails: with
// ErrAbsent when nothing is configured, no agent stands anywhere or has worked in a
// repository, and none was known; else the part is not absent but unknown. It is cut where the
// globs match too much.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.LookFor, errors.New("the look ran out of time"))
	defer cancel()
	agents := p.agents()
	found, cut, unread := p.discover(agents)
	l := &look{p: p, now: p.o.Now(), slots: make(chan struct{}, workers)}
	l.rows, l.rowsErr = p.standing(ctx)
	l.holding = sync.OnceValues(func() (*sysgit.Holders, error) { return p.holding(ctx) })
	if p.o.CrashedIn != nil {
		l.crashed = p.o.CrashedIn()
	}
	var wg sync.WaitGroup
	for _, f := range found {
		wg.Go(func() { l.repo(ctx, f) })
	}
	wg.Wait()
	if !l.asked { // nothing to look at, or nothing that can be: is there a git at all?
		l.turn(ctx, func(ctx context.Context) {
			_, err := p.o.Git.Worktrees(ctx, "/")
			l.ran(err)
		})
	}
	if l.noGit {
		return nil, p.withoutGit(len(agents), len(found))
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return nil, err
	}
	p.cache.forget(l.used)
	p.recall(l)
	seen := l.sorted()
	p.remember(seen)
	return func(s *fleet.Snapshot) { s.Repos.Value = seen }, observe.WithCut(cut, unread)
}

// agents lists the folders that agents stand in.
func (p *Probe) agents() []string {
	if p.o.Discover == nil {
		return nil
	}
	return p.o.Discover()
}

func (p *Probe) remember(seen fleet.Repos) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.knew, p.last = len(seen.Repos) > 0, seen
}

// recall adds to a look what was known of repositories that it could not list.
func (p *Probe) recall(l *look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.hold(&l.seen, p.last)
}

// withoutGit is the error of a look that found no git program. It is ErrAbsent
// only where there is nothing that git could have told: otherwise the part
// would pass for empty, and every alert in it for mended.
func (p *Probe) withoutGit(agents, found int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := ""
	switch {
	case len(p.o.Repos)+len(p.o.Worktrees)+len(p.o.Pinned) > 0:
		why = "repositories are configured"
	case p.knew:
		why = "repositories were seen before"
	case agents > 0:
		why = fmt.Sprintf("agents stand in %d folders", agents)
	case found > 0:
		why = fmt.Sprintf("agents have worked in %d repositories", found)
	default:
		return fmt.Errorf("%w: no git program here", observe.ErrAbsent)
	}
	return fmt.Errorf("cannot look at repositories: %s, but there is no git program in PATH", why)
}

func (p *Probe) standing(ctx context.Context) ([]sysgit.CWD, error) {
	if p.o.Standing == nil {
		return nil, errors.New("the process table is not looked at")
	}
	rows, err := p.o.Standing(ctx)
	return sysgit.Locate(rows), err
}

// holding lists who holds what.
func (p *Probe) holding(ctx context.Context) (*sysgit.Holders, error) {
	if p.o.Holding == nil {
		return nil, errors.New("open files are not looked at")
	}
	return p.o.Holding(ctx)
}

// look is one look being taken.
type look struct {
	p       *Probe
	now     time.Time
	rows    []sysgit.CWD
	rowsErr error
	holding func() (*sysgit.Holders, error) // asked once, by who needs it
	crashed map[string]time.Time
	slots   chan struct{}

	mu       sync.Mutex
	seen     fleet.Repos
	used     []string // cache keys asked for
	asked    bool     // git was run for at least one repository
	noGit    bool
	unlisted map[string]error // repositories whose worktrees cannot be listed now
}

// turn runs f when one of the few slots is free.
func (l *look) turn(ctx context.Context, f func(context.Context)) {
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	ctx, cancel := context.WithTimeoutCause(ctx, l.p.o.PerWorktree, fmt.Errorf("git did not answer within %s", l.p.o.PerWorktree))
	defer cancel()
	f(ctx)
}

func (l *look) repo(ctx context.Context, f seed) {
	var r fleet.Repo
	var linked []sysgit.Target
	l.turn(ctx, func(ctx context.Context) { r, linked = l.main(ctx, f) })
	var wg sync.WaitGroup
	for _, t := range linked {
		wg.Go(func() { l.turn(ctx, func(ctx context.Context) { l.worktree(ctx, f, r.Path, t) }) })
	}
	wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Repos = append(l.seen.Repos, r)
}

func (l *look) worktree(ctx context.Context, f seed, repo string, t sysgit.Target) {
	s := l.status(ctx, t)
	s.Kept(l.crashed[t.Listed.Path])
	s.Occupied = l.inside(t.Listed.Path, s.Missing)
	if obstacles, known := sysgit.Obstacles(s, l.now); known && len(obstacles) == 0 && !s.Missing {
		s.Occupied = l.held(t.Listed.Path)
	}
	w := words(s, t, l.now)
	w.Repo = repo
	w.Owner = f.ownerOf(t.Listed.Path)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Worktrees = append(l.seen.Worktrees, w)
}

func (l *look) inside(folder string, missing bool) sysgit.Answer[[]int] {
	if missing {
		return sysgit.Answered([]int{}, nil)
	}
	if l.rowsErr != nil {
		return sysgit.Answered[[]int](nil, l.rowsErr)
	}
	return sysgit.Answered(sysgit.Inside(l.rows, folder))
}

// held tells who is in a folder in which nobody stands: one who has a file of it
// open, or one who is not to be seen from here.
func (l *look) held(folder string) sysgit.Answer[[]int] {
	h, err := l.holding()
	if err != nil {
		return sysgit.Answered[[]int](nil, err)
	}
	if l.p.o.Outside != nil {
		if why := l.p.o.Outside(folder); why != "" {
			return sysgit.Answered[[]int](nil, errors.New(why))
		}
	}
	return sysgit.Answered(h.In(folder), nil)
}

func (l *look) sorted() fleet.Repos {
	slices.SortFunc(l.seen.Repos, func(a, b fleet.Repo) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(l.seen.Worktrees, func(a, b fleet.Worktree) int { return strings.Compare(a.Path, b.Path) })
	return l.seen
}

// ran notes that git was run, and whether there is no git program.
func (l *look) ran(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
	l.noGit = l.noGit || errors.Is(err, exec.ErrNotFound)
}
