// Package live shows terminals while somebody looks, and lets one person at a time type into
// one. However many look, a terminal is looked at once for all of them; while nobody does, it
// is not looked at.
package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"custos/internal/terminal"
)

// Scene is one terminal that an agent shows itself in.
type Scene struct {
	ID    string        // another one when it is another terminal
	Every time.Duration // how often it may be looked at
	// Shoot returns what it shows now: safe to show, and redacted.
	Shoot func(context.Context) ([]terminal.Line, error)
}

// Options are what a Hub stands on. All must be set.
type Options struct {
	// Find says where an agent shows itself now; an error says to people why nowhere.
	Find func(ctx context.Context, agent string) (Scene, error)
	// Seat says where a person may type to an agent now; an error says to them why not.
	Seat func(ctx context.Context, agent string) (Seat, error)
	// Good says whether a session of the page is good still.
	Good func(ctx context.Context, session string) bool
	// Note writes down what people should know of later.
	Note func(ctx context.Context, n Note)
	// Changed is told that what is to be shown of who types has changed.
	Changed func()
}

// Hub is all the terminals that are looked at. It is safe for concurrent use.
type Hub struct {
	o Options

	mu    sync.Mutex
	shows map[string]*show // by agent
	holds map[string]*hold
	ended map[string]string // why the last hold of an agent ended
	begun int               // the number of the newest
}

// New makes one, which looks at nothing. The numbers of its holds are above those of one that
// was made before, for a page outlives it.
func New(o Options) *Hub {
	return &Hub{o: o, shows: map[string]*show{}, holds: map[string]*hold{}, ended: map[string]string{}, begun: int(time.Now().Unix())}
}

// Event is one thing that who looks is told.
type Event struct {
	Kind string // frame, gone, typing; "" when there is nothing new
	ID   string // of a frame: by it who comes again goes on
	Data []byte // JSON
}

const (
	// rest is how long a quiet terminal is left alone, lively how long one counts as none
	// after it has changed.
	rest   = 250 * time.Millisecond
	lively = 2 * time.Second
	// echo is how long an agent is given to show what was typed.
	echo = 15 * time.Millisecond
	// seeks is how often it is looked where an agent shows itself.
	seeks = time.Second
	// alive is how often who looks is told that there is nothing new.
	alive = 5 * time.Second
	// kept is how many pictures are kept for who comes again.
	kept = 32
)

// picture is one picture, with its number.
type picture struct {
	number int64
	lines  []terminal.Line
	next   []byte // how this one came of the one before; nil for the first
}

// show is one agent that is looked at.
type show struct {
	agent string
	epoch string // numbers of another time are not ours
	end   context.CancelFunc
	poked chan struct{}

	mu      sync.Mutex
	lookers int
	kept    []picture
	gone    string        // why nothing is shown now; "" when something is
	news    chan struct{} // closed when there is anything new
}

// Look tells of what an agent shows until ctx ends or tell fails, as it is, not as it was: of
// what comes while tell takes its time only the last is told. after is the ID of the last
// frame that is known; "" for none.
func (h *Hub) Look(ctx context.Context, agent, after string, tell func(Event) error) error {
	s := h.join(agent)
	defer h.part(s)
	v := viewer{h: h, s: s, id: after}
	timer := time.NewTicker(alive)
	defer timer.Stop()
	for {
		news, events, err := v.news()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := tell(e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		case <-timer.C:
			if err := tell(Event{}); err != nil {
				return err
			}
		}
	}
}

// viewer is what one looker knows.
type viewer struct {
	h            *Hub
	s            *show
	id           string
	gone, typing string
	begun        bool
}

// news is what is new to the viewer, and is closed when there is more.
func (v *viewer) news() (<-chan struct{}, []Event, error) {
	typing := v.h.typing(v.s.agent)
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	var out []Event
	if typing != v.typing || !v.begun {
		out = append(out, Event{Kind: "typing", Data: []byte(typing)})
	}
	if v.s.gone != v.gone {
		if v.gone = v.s.gone; v.gone != "" {
			said, err := json.Marshal(map[string]string{"says": v.gone})
			if err != nil {
				return nil, nil, err
			}
			out = append(out, Event{Kind: "gone", Data: said})
		} else {
			v.id = ""
		}
	}
	v.begun, v.typing = true, typing
	if v.gone != "" || len(v.s.kept) == 0 {
		return v.s.news, out, nil
	}
	if v.id == v.s.id(v.s.kept[len(v.s.kept)-1]) {
		return v.s.news, out, nil
	}
	e, err := v.s.since(v.id)
	out, v.id = append(out, e), e.ID
	return v.s.news, out, err
}

// since is the newest frame as it comes of one that is known, or whole.
func (s *show) since(id string) (Event, error) {
	newest := s.kept[len(s.kept)-1]
	e := Event{Kind: "frame", ID: s.id(newest)}
	for i, p := range s.kept {
		if s.id(p) != id {
			continue
		}
		if e.Data = newest.next; i != len(s.kept)-2 {
			data, err := json.Marshal(terminal.Diff(p.lines, newest.lines))
			e.Data = data
			return e, err
		}
		return e, nil
	}
	data, err := json.Marshal(struct {
		Whole bool `json:"whole"`
		terminal.Change
	}{true, terminal.Diff(nil, newest.lines)})
	e.Data = data
	return e, err
}

func (s *show) id(p picture) string { return fmt.Sprintf("%s-%d", s.epoch, p.number) }

// join has one more look at an agent; the first begins.
func (h *Hub) join(agent string) *show {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.shows[agent]
	if s == nil {
		ctx, end := context.WithCancel(context.Background())
		s = &show{agent: agent, epoch: rand.Text()[:8], end: end, poked: make(chan struct{}, 1), news: make(chan struct{})}
		h.shows[agent] = s
		go h.film(ctx, s)
	}
	s.lookers++
	return s
}

// part has one less; with the last it ends.
func (h *Hub) part(s *show) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.lookers--; s.lookers == 0 {
		delete(h.shows, s.agent)
		s.end()
	}
}

// told wakes who looks at an agent.
func (h *Hub) told(agent string) {
	h.mu.Lock()
	s := h.shows[agent]
	h.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wake()
	}
	h.o.Changed()
}

func (s *show) wake() {
	close(s.news)
	s.news = make(chan struct{})
}

// film takes pictures until ctx ends.
func (h *Hub) film(ctx context.Context, s *show) {
	for ctx.Err() == nil {
		scene, err := h.o.Find(ctx, s.agent)
		if err == nil {
			err = s.scene(ctx, scene, func() (bool, error) {
				now, err := h.o.Find(ctx, s.agent)
				return now.ID == scene.ID, err
			})
		}
		if err != nil {
			s.lose(err)
			s.pause(ctx, seeks)
		}
	}
}

// scene takes pictures of one terminal, until it is another one or cannot be looked at.
func (s *show) scene(ctx context.Context, scene Scene, still func() (bool, error)) error {
	sought := time.Now()
	var changed time.Time
	for ctx.Err() == nil {
		began := time.Now()
		if began.Sub(sought) >= seeks {
			if same, err := still(); err != nil || !same {
				return err
			}
			sought = began
		}
		lines, err := scene.Shoot(ctx)
		if err != nil {
			return err
		}
		if s.take(lines) {
			changed = began
		}
		wait := scene.Every
		if time.Since(changed) > lively {
			wait = max(wait, rest)
		}
		if s.pause(ctx, wait-time.Since(began)) { // somebody types
			changed = time.Now()
			s.wait(ctx, max(echo, scene.Every-time.Since(began)))
		}
	}
	return nil
}

// pause waits; it says whether it was because of a poke that it ended.
func (s *show) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.poked:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (s *show) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// take keeps a picture, if it is another one.
func (s *show) take(lines []terminal.Line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := picture{lines: lines, number: 1}
	if n := len(s.kept); n > 0 {
		last := s.kept[n-1]
		p.number = last.number + 1
		if s.gone == "" && slices.EqualFunc(last.lines, lines, slices.Equal[terminal.Line]) {
			return false
		}
		p.next, _ = json.Marshal(terminal.Diff(last.lines, lines)) // of texts and numbers: it does not fail
	}
	s.kept = append(s.kept, p)
	if len(s.kept) > kept {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.gone = ""
	s.wake()
	return true
}

// lose says why there is no picture.
func (s *show) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone != err.Error() {
		s.gone = err.Error()
		s.wake()
	}
}

// poke has the next picture taken soon.
func (s *show) poke() {
	select {
	case s.poked <- struct{}{}:
	default:
	}
}
