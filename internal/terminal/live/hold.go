package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"custos/internal/terminal"
)

// Seat is where a person types: one terminal, and the agent in it.
type Seat struct {
	ID string // another one when it is another terminal, or another agent is in it
	// Press types. It asks once more who is there.
	Press func(context.Context, []terminal.Stroke) error
}

// Who is a person, by a session of the page and by the view of it that they are at: a browser
// has one session, and a view in each of its windows.
type Who struct{ Session, View, By string }

var (
	// ErrNotYours says that somebody does not type there, or does not any more: nothing was typed.
	ErrNotYours = errors.New("nothing was typed")
	// ErrElsewhere says that they type there already, in another view: they may take over from it.
	ErrElsewhere = errors.New("nothing was taken over")
)

// Note is what people should know of later.
type Note struct {
	Of   string // names one hold: it begins and it ends, and there is a note of each
	Text string
}

// Unended are the notes of holds of which the beginning was written down and no end: what held
// them ended without a word.
func Unended(all []Note) (out []Note) {
	count := map[string]int{}
	for _, n := range all {
		count[n.Of]++
	}
	for _, n := range all {
		if n.Of != "" && count[n.Of] == 1 && strings.Contains(n.Text, takesOver) {
			out = append(out, Note{n.Of, "the keyboard was given back, for Custos had ended; how many keys were typed is not known: " + n.Text})
		}
	}
	return out
}

// takesOver is in the note of each beginning.
const takesOver = " takes over the keyboard of agent "

const (
	// idle is how long who types nothing keeps others from it.
	idle = time.Minute
	// checks is how often it is looked whether a person may type there still.
	checks = time.Second
)

// hold is one person who types to one agent.
type hold struct {
	id, agent string
	note      string // what it is called where it is written down: its id lets somebody type
	number    int    // of all that there were
	who       Who
	seat      string
	since     time.Time
	end       context.CancelFunc

	mu   sync.Mutex // held while keys are pressed
	last time.Time
	turn int64 // of what was typed last
	keys int
	over bool
}

// Take lets a person type to an agent, until they leave it, type nothing for a minute, their
// session ends, or the terminal or the agent in it is another one. It returns what names that,
// and its number. One view of one person at a time: over takes it from another view of the
// same session, which is ErrElsewhere else.
func (h *Hub) Take(ctx context.Context, agent string, who Who, over bool) (id string, number int, err error) {
	// First: of one that has ended nobody is told that they might take it over from another window.
	seat, err := h.o.Seat(ctx, agent)
	if err != nil {
		return "", 0, fmt.Errorf("cannot take over: %w", err)
	}
	old := h.held(agent)
	why, err := h.yields(ctx, old, who, over)
	if err != nil {
		return "", 0, err
	}
	now := time.Now()
	watched, end := context.WithCancel(context.Background())
	x := &hold{id: rand.Text(), note: rand.Text(), agent: agent, who: who, seat: seat.ID, since: now, last: now, end: end}
	if !h.begins(x, old) {
		end()
		return "", 0, errors.New("cannot take over: somebody else has just begun to type there")
	}
	if old != nil {
		h.finish(old, why)
	}
	h.o.Note(ctx, Note{x.note, who.By + takesOver + agent + " by the page"})
	go h.watch(watched, x)
	h.told(agent)
	return x.id, x.number, nil
}

// yields says why one who types there ends for somebody else, or that they do not.
func (h *Hub) yields(ctx context.Context, old *hold, who Who, over bool) (why string, err error) {
	switch {
	case old == nil:
		return "", nil
	case old.who.Session == who.Session && old.who.View == who.View:
		return "it was taken up anew", nil
	case !h.o.Good(ctx, old.who.Session):
		return "their session has ended", nil
	case old.who.Session != who.Session:
		return "", fmt.Errorf("cannot take over: %s types there since %s", old.who.By, old.from())
	case !over:
		return "", fmt.Errorf("%w: you type there in another window of this browser since %s", ErrElsewhere, old.from())
	}
	return "it was taken over in another window of the same browser", nil
}

func (x *hold) from() string { return x.since.UTC().Format("15:04:05 UTC") }

// begins puts one in the place of an old one, nil for none; so nobody is told that there is
// none in between. False: another one has taken that place.
func (h *Hub) begins(x, old *hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.holds[x.agent]; now != nil && now != old {
		return false
	}
	h.begun++
	x.number, h.holds[x.agent] = h.begun, x
	return true
}

func (h *Hub) held(agent string) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds[agent]
}

// Typing says who types to an agent by the page; "" for nobody.
func (h *Hub) Typing(agent string) string {
	if x := h.held(agent); x != nil {
		return x.who.By
	}
	return ""
}

// typing is who types there, for who looks; for nobody, why the last one does not any more.
func (h *Hub) typing(agent string) string {
	h.mu.Lock()
	x, ended := h.holds[agent], h.ended[agent]
	h.mu.Unlock()
	if x == nil {
		said, _ := json.Marshal(struct {
			Ended string `json:"ended,omitempty"`
		}{ended})
		return string(said)
	}
	said, _ := json.Marshal(struct { // of texts it does not fail
		By    string `json:"by"`
		Since string `json:"since"`
		View  string `json:"view"`
		N     int    `json:"n"`
	}{x.who.By, x.from(), x.who.View, x.number})
	return string(said)
}

// Type types for who has taken over. The turns of one who types are counted up from 1: one
// that was typed already is not typed again. Strokes that are none are an error, and nothing
// is typed; ErrNotYours says that they may not type there any more.
func (h *Hub) Type(ctx context.Context, agent, id, session string, turn int64, strokes []terminal.Stroke) error {
	if err := terminal.CheckStrokes(strokes); err != nil {
		return err
	}
	x := h.held(agent)
	if x == nil || x.id != id || x.who.Session != session {
		return fmt.Errorf("%w: it was ended, or was never begun; take over once more", ErrNotYours)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.over:
		return fmt.Errorf("%w: it was ended just now", ErrNotYours)
	case turn <= x.turn:
		return nil
	}
	seat, err := h.o.Seat(ctx, agent)
	if err == nil && seat.ID != x.seat {
		err = errors.New("the terminal, or the agent in it, is another one by now")
	}
	if err != nil {
		go h.ends(x, err.Error())
		return fmt.Errorf("%w: %w", ErrNotYours, err)
	}
	// what goes wrong from here on may have been typed in part: it is not typed again
	x.turn, x.last = turn, time.Now()
	err = seat.Press(ctx, strokes)
	x.keys += terminal.Count(strokes)
	h.poke(agent)
	if err != nil {
		go h.ends(x, err.Error())
		return fmt.Errorf("%w, or not all of it: %w", ErrNotYours, err)
	}
	return nil
}

func (h *Hub) poke(agent string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.shows[agent]; s != nil {
		s.poke()
	}
}

// Release ends what a person has taken over.
func (h *Hub) Release(agent, id, session string) {
	if x := h.held(agent); x != nil && x.id == id && x.who.Session == session {
		h.ends(x, "they left it")
	}
}

// ends ends a hold, and tells who looks.
func (h *Hub) ends(x *hold, why string) {
	if h.finish(x, why) {
		h.told(x.agent)
	}
}

// finish ends a hold, once, and writes down how much was typed, and nothing of what.
func (h *Hub) finish(x *hold, why string) bool {
	x.mu.Lock()
	over, keys := x.over, x.keys
	x.over = true
	x.mu.Unlock()
	if over {
		return false
	}
	x.end()
	h.mu.Lock()
	if h.holds[x.agent] == x {
		delete(h.holds, x.agent)
		h.ended[x.agent] = why
	}
	h.mu.Unlock()
	h.o.Note(context.Background(), Note{x.note, fmt.Sprintf("%s typed %d keys to agent %s by the page in %s; it ended: %s", x.who.By, keys, x.agent, time.Since(x.since).Round(time.Second), why)})
	return true
}

// watch ends a hold that may not go on.
func (h *Hub) watch(ctx context.Context, x *hold) {
	ticker := time.NewTicker(checks)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if why := h.whyOver(ctx, x); why != "" && ctx.Err() == nil {
			h.ends(x, why)
			return
		}
	}
}

func (h *Hub) whyOver(ctx context.Context, x *hold) string {
	x.mu.Lock()
	last := x.last
	x.mu.Unlock()
	seat, err := h.o.Seat(ctx, x.agent)
	switch {
	case time.Since(last) >= idle:
		return "nothing was typed for a minute"
	case !h.o.Good(ctx, x.who.Session):
		return "their session has ended"
	case err != nil:
		return err.Error()
	case seat.ID != x.seat:
		return "the terminal, or the agent in it, is another one by now"
	}
	return ""
}

// Close ends whatever anybody has taken over.
func (h *Hub) Close() {
	h.mu.Lock()
	var all []*hold
	for _, x := range h.holds {
		all = append(all, x)
	}
	h.mu.Unlock()
	for _, x := range all {
		h.ends(x, "Custos ends, or begins anew")
	}
}
