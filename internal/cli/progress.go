package cli

import (
	"fmt"
	"sync"
	"time"
)

// When something takes its time, a terminal is told after a second and then each second; a
// pipe or a file gets a line each ten.
const (
	progressBegins = time.Second
	progressLine   = 10 * time.Second
)

// progress says on Stderr what this command does, and for how long, while it takes its time:
// whoever waits sees that it has not hung.
type progress struct {
	a     *app
	began time.Time
	stop  chan struct{}
	gone  chan struct{}
	mu    sync.Mutex // of what follows, and of Stderr
	doing string
	said  bool // a line of it stands on the terminal
}

// progress begins to say it; it must be ended before anything else is written.
func (a *app) progress(doing string) *progress {
	p := &progress{a: a, began: time.Now(), doing: doing, stop: make(chan struct{}), gone: make(chan struct{})}
	a.at = p
	go p.run()
	return p
}

// now says what is done from now on, in the middle of it.
func (p *progress) now(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
}

// end wipes away what a terminal was told. It may be called twice.
func (p *progress) end() {
	select {
	case <-p.gone:
	default:
		close(p.stop)
		<-p.gone
		p.beside(func() {})
	}
}

// beside writes something else to Stderr: not behind what stands there, nor in the middle of
// it. nil is none.
func (p *progress) beside(write func()) {
	if p == nil {
		write()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said {
		fmt.Fprint(p.a.Stderr, "\r\x1b[K")
		p.said = false
	}
	write()
}

func (p *progress) run() {
	defer close(p.gone)
	every := progressLine
	if p.a.Progress {
		every = progressBegins
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.say()
		}
	}
}

func (p *progress) say() {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.began).Round(time.Second)
	if !p.a.Progress {
		fmt.Fprintf(p.a.Stderr, "custos: still %s, %s so far\n", p.doing, took)
		return
	}
	p.said = true
	line := fmt.Sprintf("%s … %s", p.doing, took)
	if p.a.ErrWidth > 0 {
		line = cut(line, p.a.ErrWidth-1)
	}
	fmt.Fprint(p.a.Stderr, "\r\x1b[K"+line)
}
