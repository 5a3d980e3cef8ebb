// Package overlap is the probe of what the agents of two worktrees of one repository both change,
// before either has brought it in. It looks only where agents stand in two worktrees or more of a
// repository, through the reading half of sys/git, and disturbs nobody.
//
// What has not moved costs no process: of every file that git tracks, and of its folder, time and
// size are looked at, and git is asked about a worktree only when one of them is another. Where that
// alone would take more than a hundredth of a core, it is done less often, down to every ten minutes;
// where something moved, a tenth.
package overlap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/git"
)

const (
	deadline = 30 * time.Second
	share    = 100              // one part in so many of a core is taken at most
	tenth    = 10               // the same while something moves,
	stirred  = 15 * time.Second // where it would be seen later than that
	rarest   = 10 * time.Minute
	workers  = 2   // worktrees looked at side by side: git and the disk are shared with the agents
	most     = 200 // overlaps that are told
)

// Options of the probe; the tagged one comes from [overlap] of custos.toml.
type Options struct {
	// Every is the time between two looks; default "10s".
	Every string `toml:"every" is:"duration 1ms.."`

	// Standing lists where agents stand.
	Standing func() []Stand `toml:"-"`
	// Git is the reader; default git.New.
	Git *git.Reader `toml:"-"`
	// Now is the clock that looks are paced by; default time.Now.
	Now func() time.Time `toml:"-"`
}

// Stand is where an agent stands.
type Stand struct {
	Folder string   // raw
	Files  []string // that it was started for (raw): absolute paths, or patterns (path.Match); a folder is all below it
}

// Probe fills the part "overlaps".
type Probe struct {
	o     Options
	every time.Duration

	trees   map[string]*tree  // by their folder
	forks   map[string]string // by the commits: which they all come from
	pairs   map[pairKey]*pair
	between map[string][]string // by two commits: those between them; nil: too many
	trunks  map[string]trunk    // by the common folder of their repository
	due     time.Time           // when it may look again
	last    []fleet.Overlap
	cut     string
}

// New returns the probe, or what is wrong with its options.
func New(o Options) (*Probe, error) {
	every, err := observe.Interval("every", o.Every, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("cannot set up probe overlap: %w", err)
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Probe{o: o, every: every, trees: map[string]*tree{}, forks: map[string]string{}, pairs: map[pairKey]*pair{}, between: map[string][]string{}, trunks: map[string]trunk{}}, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "overlap", Part: fleet.PartOverlaps, Every: p.every, Deadline: deadline}
}

// Look looks once. A worktree that cannot be looked at is told as cut; the others are seen.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	began := p.o.Now()
	if !began.Before(p.due) {
		l := &look{p: p, forks: map[string]string{}, pairs: map[pairKey]*pair{}, between: map[string][]string{}}
		l.all(ctx)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		p.last, p.cut = l.found, strings.Join(l.cuts, "; ")
		p.forks, p.pairs, p.between = l.forks, l.pairs, l.between
		p.due = began.Add(pause(p.o.Now().Sub(began), l.moved.Load()))
	}
	seen := p.last
	return func(s *fleet.Snapshot) { s.Overlaps.Value = seen }, observe.WithCut(p.cut, nil)
}

// pause is how long it is from a look to the next, by what that took: a hundredth of a core, and a tenth
// while something moves, so that agents are told within half a minute.
func pause(took time.Duration, moved bool) time.Duration {
	if moved {
		return min(rarest, share*took, max(stirred, tenth*took))
	}
	return min(rarest, share*took)
}

// look is one look being taken.
type look struct {
	p       *Probe
	moved   atomic.Bool // something did in a worktree
	forks   map[string]string
	pairs   map[pairKey]*pair
	between map[string][]string
	found   []fleet.Overlap

	mu   sync.Mutex
	cuts []string
}

func (l *look) cannot(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts = append(l.cuts, what+": "+fleet.Line(err.Error(), 200))
}

// all looks at each repository in which agents stand in two worktrees or more.
func (l *look) all(ctx context.Context) {
	stood := standing(l.p.o.Standing())
	l.p.keep(stood)
	repos := map[string][]*tree{}
	for top, at := range stood {
		t := l.p.trees[top]
		if t == nil {
			t = &tree{}
			l.p.trees[top] = t
		}
		t.place, t.in, t.assigned = at.place, at.folders, at.assigned
		repos[at.place.Common] = append(repos[at.place.Common], t)
	}
	for _, common := range sorted(repos) {
		if trees := repos[common]; len(trees) > 1 {
			slices.SortFunc(trees, func(a, b *tree) int { return strings.Compare(a.place.Top, b.place.Top) })
			l.repo(ctx, trees)
		}
	}
	slices.SortFunc(l.found, func(a, b fleet.Overlap) int { return strings.Compare(a.Name, b.Name) })
	if len(l.found) > most {
		l.cuts = append(l.cuts, fmt.Sprintf("%d overlaps are not told", len(l.found)-most))
		l.found = l.found[:most]
	}
	slices.Sort(l.cuts)
}

// stand is a worktree that agents stand in.
type stand struct {
	place    git.Place
	folders  []string
	assigned []string // patterns, as from its top
}

// standing finds the worktrees that agents stand in, each its own innermost one. A folder that is in
// none, or whose repository is broken, is in no two.
func standing(all []Stand) map[string]stand {
	found := map[string]stand{}
	for folder, files := range byFolder(all) {
		place, err := git.Find(folder)
		if err != nil || place.Bare {
			continue
		}
		s := found[place.Top]
		s.place, s.folders = place, append(s.folders, fleet.Path(folder))
		s.assigned = append(s.assigned, within(place, files)...)
		found[place.Top] = s
	}
	for top, s := range found {
		s.folders, s.assigned = unique(s.folders), unique(s.assigned)
		found[top] = s
	}
	return found
}

// byFolder lists what the agents in each folder were started for: any number may stand in one.
func byFolder(all []Stand) map[string][]string {
	files := map[string][]string{}
	for _, at := range all {
		files[at.Folder] = append(files[at.Folder], at.Files...)
	}
	return files
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// keep forgets what was known of worktrees that no agent stands in.
func (p *Probe) keep(stood map[string]stand) {
	for top := range p.trees {
		if _, still := stood[top]; !still {
			delete(p.trees, top)
		}
	}
}

func sorted[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// repo compares the worktrees of one repository.
func (l *look) repo(ctx context.Context, trees []*tree) {
	trees = l.each(ctx, trees, func(ctx context.Context, t *tree) error {
		was := t.mark
		err := t.move(ctx, l.p.o.Git)
		l.moved.CompareAndSwap(false, t.mark != was)
		return err
	})
	var heads []string
	for _, t := range trees {
		heads = append(heads, t.head)
	}
	if len(trees) < 2 {
		return
	}
	base, err := l.fork(ctx, trees[0].place, heads...)
	switch {
	case err != nil:
		l.cannot(fleet.Path(trees[0].place.Main()), err)
		return
	case base == "" && len(trees) == 2: // they share nothing that either could change
		return
	case base == "": // one of them is on a branch of its own root
		for i, one := range trees {
			for _, other := range trees[i+1:] {
				l.repo(ctx, []*tree{one, other})
			}
		}
		return
	}
	l.parted(ctx, base, trees)
	trees = l.each(ctx, trees, func(ctx context.Context, t *tree) error { return t.edit(ctx, l.p.o.Git, base) })
	for i, one := range trees {
		for _, other := range trees[i+1:] {
			l.pair(ctx, base, one, other)
		}
	}
}

// parted finds where worktrees of one repository have parted from its primary branch, if that is after base.
// All that one has is taken for its own where that is not known, and where what was committed in it was brought
// in there since: it would be nobody's.
func (l *look) parted(ctx context.Context, base string, trees []*tree) {
	tips := l.primary(ctx, trees[0].place.Common)
	for _, t := range trees {
		t.forks = nil
		for _, tip := range tips {
			fork, err := l.fork(ctx, t.place, t.head, tip)
			if err != nil || fork == "" {
				continue
			}
			if before, err := l.fork(ctx, t.place, fork, base); err != nil || before == fork {
				continue
			}
			if l.landed(ctx, t, base, fork) {
				t.forks = nil
				break
			}
			t.forks = append(t.forks, fork)
		}
	}
}

// landed says whether a commit that was made in a worktree is among those from base to fork, or may be.
func (l *look) landed(ctx context.Context, t *tree, base, fork string) bool {
	if t.made == nil {
		return true
	}
	key := base + " " + fork
	list, known := l.p.between[key]
	if !known {
		commits, all, err := l.p.o.Git.Between(ctx, t.place.Common, base, fork)
		if err != nil {
			return true
		}
		if list = commits; !all {
			list = nil
		}
	}
	l.between[key] = list
	return list == nil || slices.ContainsFunc(list, func(c string) bool { return t.made[c] })
}

// trunk is the primary branch of a repository, as it was asked for last; "" where none is known.
type trunk struct {
	mark   uint64 // of the files in which it stands
	branch string
	tips   []string // where it points, here and as the remote has it
}

// primary asks where the primary branch of a repository points, unless that is known.
func (l *look) primary(ctx context.Context, common string) (tips []string) {
	was, known := l.p.trunks[common]
	if !known || was.mark != markOf(common, was.branch) {
		p, err := l.p.o.Git.Primary(ctx, common, "")
		was = trunk{mark: markOf(common, p.Name), branch: p.Name}
		if err == nil { // where it points may have changed since it was asked
			p, err = l.p.o.Git.Renew(ctx, common, p)
		}
		if err != nil && !errors.Is(err, git.ErrNoPrimary) {
			return nil
		}
		for _, ref := range p.Refs {
			was.tips = append(was.tips, p.Tips[ref])
		}
		l.p.trunks[common] = was
	}
	return was.tips
}

func markOf(common, branch string) uint64 {
	return stamp(common, "config", "packed-refs", "refs/remotes/origin/HEAD", "refs/remotes/origin/"+branch, "refs/heads/"+branch)
}

// each does something for each worktree, a few side by side, and returns those for which that went well.
func (l *look) each(ctx context.Context, trees []*tree, do func(context.Context, *tree) error) (well []*tree) {
	slots, failed := make(chan struct{}, workers), make([]error, len(trees))
	var wg sync.WaitGroup
	for i, t := range trees {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			failed[i] = do(ctx, t)
		})
	}
	wg.Wait()
	for i, t := range trees {
		if failed[i] != nil {
			l.cannot(fleet.Path(t.place.Top), failed[i])
			continue
		}
		well = append(well, t)
	}
	return well
}

// fork is git.Reader.Fork, asked once for the same commits.
func (l *look) fork(ctx context.Context, p git.Place, heads ...string) (string, error) {
	slices.Sort(heads)
	heads = slices.Compact(heads)
	if len(heads) == 1 {
		return heads[0], nil
	}
	key := strings.Join(heads, " ")
	fork, known := l.p.forks[key]
	if !known {
		var err error
		if fork, err = l.p.o.Git.Fork(ctx, p.Common, heads...); err != nil {
			return "", err
		}
	}
	l.forks[key] = fork
	return fork, nil
}
