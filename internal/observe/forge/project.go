package forge

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
	"custos/internal/sys/httpcache"
)

// day is how long an issue is shown after it was closed, and how long one that a
// phase file named is remembered.
const day = 24 * time.Hour

// project is one project and what is remembered of it between looks.
type project struct {
	Project
	now func() time.Time

	mu     sync.Mutex
	looked time.Time // when the newest look began
	seen   time.Time // when the newest good look ended
	why    string    // why the newest look was not good
	issues map[int]forge.Issue
	recent map[int]forge.Issue // closed within a day
	pulls  map[int]forge.Pull
	said   map[int]said // of each open issue
	heads  map[int]push // of each pull request
	wanted map[int]time.Time
	asked  map[question]*answer
	failed time.Time // when an issue was asked for at once, in vain
	empty  int
	doubts int // looks in a row whose list was suddenly empty
	fresh  bool
	heard  bool // something happened there since the newest look
	eager  bool // the newest look was taken for that

	remembered func(project string) ([]byte, error)
	recalled   bool // what was remembered is read
}

// said is what the text of an issue says, while it does not change.
type said struct {
	updated time.Time
	length  int
	waits   []ref
}

// push is the head of a pull request, and when it was seen to come; zero when it
// was there before.
type push struct {
	commit string
	at     time.Time
}

func newProject(o Project, now func() time.Time) *project {
	return &project{Project: o, now: now, wanted: map[int]time.Time{}, asked: map[question]*answer{},
		said: map[int]said{}, heads: map[int]push{}}
}

// hear notes that something happened there.
func (p *project) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = true
}

// isDue says whether it is time for a look, and takes it for begun. What happened there
// brings it near.
func (p *project) isDue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, every := p.now(), p.Every
	if p.heard {
		every = min(every, LeastEvery)
	}
	p.fresh = p.looked.IsZero() || now.Sub(p.looked) >= every-every/10
	if p.fresh {
		p.looked, p.eager, p.heard = now, p.heard, false
	}
	return p.fresh
}

// look asks the forge, when it is time.
func (p *project) look(ctx context.Context) {
	if !p.isDue() {
		return
	}
	p.recall()
	err := p.lists(ctx)
	if err == nil {
		p.details(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.why = reason(err)
		return
	}
	p.why, p.seen = "", p.now()
}

// reason is an error as it may be shown.
func reason(err error) string { return fleet.Line(fleet.Redact(err.Error()), 200) }

// lists reads the three lists; all of them or none.
func (p *project) lists(ctx context.Context) error {
	open, err := p.Reader.Issues(ctx, time.Time{})
	if err != nil {
		return err
	}
	// The hour keeps the question the same, so that it can be answered with "not modified".
	closed, err := p.Reader.Issues(ctx, p.Clock.Clock().Add(-day).Truncate(time.Hour))
	if err != nil {
		return err
	}
	pulls, err := p.Reader.Pulls(ctx)
	if err != nil {
		return err
	}
	if err := p.doubt(ctx, open, closed, pulls); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take(open, closed, pulls)
	return nil
}

// take puts new lists in the place of the old ones.
func (p *project) take(open, closed []forge.Issue, pulls []forge.Pull) {
	old := p.issues
	p.issues, p.recent = byNumber(open), byNumber(closed)
	for n := range p.issues {
		delete(p.recent, n)
	}
	for n := range old { // it was neither seen to be closed: a page may have slipped
		if _, there := p.issues[n]; !there {
			if _, closed := p.recent[n]; !closed {
				p.wanted[n] = p.now()
				delete(p.asked, question{kind: askIssue, number: n})
			}
		}
	}
	p.pulls = map[int]forge.Pull{}
	for _, x := range pulls {
		if x.Number > 0 {
			p.pulls[x.Number] = x
		}
	}
	p.readTexts()
	p.notePushes()
	for n, at := range p.wanted {
		if p.now().Sub(at) > day {
			delete(p.wanted, n)
		}
	}
}

func byNumber(list []forge.Issue) map[int]forge.Issue {
	out := map[int]forge.Issue{}
	for _, i := range list {
		if !i.IsPull && i.Number > 0 {
			out[i.Number] = i
		}
	}
	return out
}

// readTexts reads the texts that changed.
func (p *project) readTexts() {
	texts := map[int]said{}
	for n, i := range p.issues {
		s, ok := p.said[n]
		if !ok || !s.updated.Equal(i.Updated) || s.length != len(i.Body) {
			s = said{i.Updated, len(i.Body), waitsFor(i.Body, p.URL)}
		}
		texts[n] = s
	}
	p.said = texts
}

// notePushes notes which pull requests have a new head since the last look.
func (p *project) notePushes() {
	heads := map[int]push{}
	for n, x := range p.pulls {
		h, ok := p.heads[n]
		switch {
		case !ok:
			h = push{commit: x.Head}
		case h.commit != x.Head:
			h = push{x.Head, p.Clock.Clock()}
		}
		heads[n] = h
	}
	p.heads = heads
}

// details asks what the lists do not tell: at once what is new, and a little of
// what may have changed.
func (p *project) details(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, q := range p.plan() {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if !p.settle(ctx, q, ask(ctx, p.Reader, q)) {
				stop()
			}
		})
	}
	wg.Wait()
}

// atOnce is how many questions about one project are asked at the same time.
const atOnce = 4

// settle keeps an answer, and says whether more may be asked. A question that was
// cut off, or that the host did not want to hear now, is as if it was never asked.
func (p *project) settle(ctx context.Context, q asking, a *answer) bool {
	if a.err != nil && (ctx.Err() != nil || isLimited(a.err)) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.tried = p.now()
	p.asked[q.question] = a
	return true
}

// isLimited says whether the host is to be left alone: nothing more is asked then.
func isLimited(err error) bool {
	var l *httpcache.Limited
	return errors.As(err, &l)
}

// plan is what this look asks, and forgets the answers to what nobody asks any more.
func (p *project) plan() []asking {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.questions()
	wants := map[question]bool{}
	for _, q := range all {
		wants[q.question] = true
	}
	maps.DeleteFunc(p.asked, func(q question, _ *answer) bool { return !wants[q] })
	p.expire(all)
	return choose(all, p.asked, p.now(), p.eager)
}

// emptiness counts a look that found nothing ready, once.
func (p *project) emptiness(ready fleet.Leaf[int], open bool) fleet.Leaf[int] {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, known := ready.Get()
	if !known {
		return fleet.Unknown[int](ready.Why())
	}
	switch {
	case n > 0 || !open:
		p.empty = 0
	case p.fresh:
		p.empty++
	}
	return fleet.Known(p.empty)
}
