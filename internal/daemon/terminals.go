package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/store"
	"custos/internal/terminal"
	"custos/internal/terminal/live"
)

// How often a terminal is looked at while somebody looks: one of our own server by a client
// that is there already, any other by a client each time.
const (
	looksOften  = 100 * time.Millisecond
	looksSeldom = time.Second
)

// terminals makes what shows terminals on the page.
func (p *webPage) terminals() *live.Hub {
	return live.New(live.Options{Find: p.scene, Seat: p.seat, Good: p.good, Note: p.noteTyping, Changed: p.s.changes.Note})
}

// shownAgent is an agent as it is seen now, for who wants to look at its terminal.
func (p *webPage) shownAgent(ctx context.Context, name string) (fleet.Agent, error) {
	p.s.board.Await(ctx, fleet.PartAgents)
	snap := p.s.board.Snapshot()
	if !snap.Agents.Usable() {
		return fleet.Agent{}, errors.New("the agents are not seen now")
	}
	for _, a := range snap.Agents.Value {
		if a.Name == name {
			return a, nil
		}
	}
	return fleet.Agent{}, errors.New("there is no such agent now")
}

// scene is where an agent shows itself.
func (p *webPage) scene(ctx context.Context, name string) (live.Scene, error) {
	a, err := p.shownAgent(ctx, name)
	switch {
	case err != nil:
		return live.Scene{}, err
	case a.TerminalStopped != 0:
		return live.Scene{}, fmt.Errorf("its terminal server (process %d) is stopped by a signal", a.TerminalStopped)
	case a.Pane == nil:
		return p.printed(a), nil
	}
	return p.painted(a.Pane.ID), nil
}

// painted is the scene of a pane. What looks as it did is not read again.
func (p *webPage) painted(id fleet.PaneID) live.Scene {
	painter, often := p.s.world.Painter(id)
	every := looksSeldom
	if often {
		every = looksOften
	}
	var hides terminal.Redactor
	var last session.Painting
	var lines []terminal.Line
	return live.Scene{ID: fmt.Sprint(id), Every: every, Shoot: func(ctx context.Context) ([]terminal.Line, error) {
		now, err := painter.Paint(ctx, id)
		if errors.Is(err, session.ErrGone) {
			return nil, errors.New("its terminal is gone")
		}
		if err == nil && (lines == nil || now != last) {
			// a cell that is marked is no part of a secret: it is hidden before
			last, lines = now, terminal.WithCursor(hides.Hide(terminal.Read(now.Text)), now.X, now.Y)
		}
		return lines, err
	}}
}

// mostPrinted is how many lines are shown of what an agent without a terminal printed.
const mostPrinted = 200

// printed is the scene of an agent without a terminal: the end of what it printed.
func (p *webPage) printed(a fleet.Agent) live.Scene {
	return live.Scene{ID: "output " + a.Instance, Every: looksSeldom, Shoot: func(ctx context.Context) ([]terminal.Line, error) {
		text, err := screens{p.s}.headless(ctx, a)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("it has no terminal and no output of its own")
		}
		return terminal.Plain(bottom(fleet.Text(text), mostPrinted)), err
	}}
}

// seat is where a person may type to an agent: as with custos attach that is one of ours or
// adopted, also while it is paused, which keeps Custos from it and not its person; but not
// while Custos is frozen, which keeps it from whatever it would do.
func (p *webPage) seat(ctx context.Context, name string) (live.Seat, error) {
	if why := Frozen(p.s.cfg); why != "" {
		return live.Seat{}, fmt.Errorf("frozen: %s", why)
	}
	a, err := p.shownAgent(ctx, name)
	switch {
	case err != nil:
		return live.Seat{}, err
	case a.Owner != fleet.OwnerCustos && a.Owner != fleet.OwnerAdopted:
		return live.Seat{}, errors.New("it is not ours: it can only be looked at")
	case a.Pane == nil:
		return live.Seat{}, errors.New("it has no terminal")
	case a.TerminalStopped != 0:
		return live.Seat{}, fmt.Errorf("its terminal server (process %d) is stopped by a signal", a.TerminalStopped)
	case a.Process.PID == 0 || a.Pane.Dead:
		return live.Seat{}, errors.New("it has ended")
	}
	keyboard, err := p.s.world.Keyboard(a.Pane.ID)
	if err != nil {
		return live.Seat{}, err
	}
	return live.Seat{ID: fmt.Sprint(a.Pane.ID, a.Process), Press: func(ctx context.Context, all []terminal.Stroke) error {
		strokes := make([]session.Stroke, 0, len(all))
		for _, s := range all {
			strokes = append(strokes, session.Stroke(s))
		}
		return keyboard.Press(ctx, a.Pane.ID, a.Process, strokes)
	}}, nil
}

// good says whether a session is good still, and a person's.
func (p *webPage) good(ctx context.Context, id string) bool {
	all, err := p.Sessions(ctx)
	if err != nil {
		return false
	}
	now := p.s.world.Now()
	for _, s := range all {
		if s.ID == id {
			return s.Kind == fleet.WebPerson && now.Before(s.Until)
		}
	}
	return false
}

// typing is the kind of the events that say who types where.
const typing = "web.typing"

// endTyping writes down the end of what a daemon before this one could not: nobody types any
// more by one that has ended.
func (p *webPage) endTyping(ctx context.Context) {
	begun, err := recall(ctx, p.s.ledger, func(st *store.Store) ([]fleet.Event, error) {
		return st.LastEvents(ctx, 0, store.EventFilter{Kind: typing})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.s.o.Log.Warn("Cannot tell who typed by the page before", "err", err)
	}
	notes := make([]live.Note, 0, len(begun))
	for _, e := range begun {
		notes = append(notes, live.Note{Of: e.Action, Text: e.Text})
	}
	for _, n := range live.Unended(notes) {
		p.noteTyping(ctx, n)
	}
}

// noteTyping writes down who types where.
func (p *webPage) noteTyping(ctx context.Context, n live.Note) {
	p.note(ctx, fleet.Event{Kind: typing, Action: n.Of, Text: n.Text})
}
