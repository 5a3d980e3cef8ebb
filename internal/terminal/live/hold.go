package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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

// Who is a person, by a session of the page.
type Who struct{ Session, By string }

// ErrNotYours says that somebody does not type there, or does not any more: nothing was typed.
var ErrNotYours = errors.New("nothing was typed")

const (
	// idle is how long who types nothing keeps others from it.
	idle = time.Minute
	// checks is how often it is looked whether a person may type there still.
	checks = time.Second
)

// hold is one person who types to one agent.
type hold struct {
	id, agent string
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
// session ends, or the terminal or the agent in it is another one. It returns what names
// that. One person at a time: the same session takes it from itself, as in another window.
func (h *Hub) Take(ctx context.Context, agent string, who Who) (string, error) {
	if old := h.held(agent); old != nil && old.who.Session != who.Session && h.o.Good(ctx, old.who.Session) {
		return "", fmt.Errorf("cannot take over: %s types there since %s", old.who.By, old.since.UTC().Format("15:04:05 UTC"))
	} else if old != nil {
		h.ends(old, "it was taken up anew")
	}
	seat, err := h.o.Seat(ctx, agent)
	if err != nil {
		return "", fmt.Errorf("cannot take over: %w", err)
	}
	now := time.Now()
	watched, end := context.WithCancel(context.Background())
	x := &hold{id: rand.Text(), agent: agent, who: who, seat: seat.ID, since: now, last: now, end: end}
	if !h.begins(x) {
		end()
		return "", errors.New("cannot take over: somebody else has just begun to type there")
	}
	h.o.Note(ctx, fmt.Sprintf("%s takes over the keyboard of agent %s by the page", who.By, agent))
	go h.watch(watched, x)
	h.told(agent)
	return x.id, nil
}

func (h *Hub) begins(x *hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds[x.agent] != nil {
		return false
	}
	h.holds[x.agent] = x
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

// typing is who types there, for who looks.
func (h *Hub) typing(agent string) string {
	x := h.held(agent)
	if x == nil {
		return "{}"
	}
	said, _ := json.Marshal(map[string]string{"by": x.who.By, "since": x.since.UTC().Format("15:04:05 UTC")}) // of texts it does not fail
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

// ends ends a hold, once, and writes down how much was typed, and nothing of what.
func (h *Hub) ends(x *hold, why string) {
	x.mu.Lock()
	over, keys := x.over, x.keys
	x.over = true
	x.mu.Unlock()
	if over {
		return
	}
	x.end()
	h.mu.Lock()
	if h.holds[x.agent] == x {
		delete(h.holds, x.agent)
	}
	h.mu.Unlock()
	h.o.Note(context.Background(), fmt.Sprintf("%s typed %d keys to agent %s by the page in %s; it ended: %s", x.who.By, keys, x.agent, time.Since(x.since).Round(time.Second), why))
	h.told(x.agent)
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
