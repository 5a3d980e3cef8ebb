package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/matrix"
)

// Room is what an Inbox needs of the homeserver.
type Room interface {
	Sender
	Sync(ctx context.Context, l matrix.Listen) (matrix.Batch, error)
	WhoAmI(ctx context.Context) (string, error)
	Event(ctx context.Context, room, id string) (matrix.Event, error)
}

// Inbox reads what people say in one room, and answers them there. The answer has its
// message's ID as its transaction: it comes once.
type Inbox struct {
	Called string   // the notifier that tells of alerts there
	Room   string   // its ID
	People []string // IDs of users; no one else's replies are read
	With   Room

	mu sync.Mutex
	me string // the user that Custos is; asked for once
}

var _ report.Inbox = (*Inbox)(nil)

// Place implements report.Inbox.
func (e *Inbox) Place() fleet.Place {
	return fleet.Place{Name: e.Called, Room: e.Room, People: e.People, Asks: true}
}

// listenFor is how long the homeserver is asked to wait for something to be said.
const listenFor = 20 * time.Second

// Poll implements report.Inbox. The cursor is the homeserver's token. One that it
// does not know any more is replaced by its newest, and so is an answer that is too
// large to be read: what was said meanwhile is lost then.
func (e *Inbox) Poll(ctx context.Context, cursor string) (report.Batch, error) {
	me, err := e.self(ctx)
	if err != nil {
		return report.Batch{}, err
	}
	l := matrix.Listen{Room: e.Room, From: e.People, Since: cursor, Wait: listenFor}
	b, err := e.With.Sync(ctx, l)
	if cursor != "" && lost(err) {
		l.Since, l.Wait = "", 0
		b, err = e.With.Sync(ctx, l)
		b.Limited = true
	}
	if err != nil {
		return report.Batch{}, err
	}
	h := report.Batch{Cursor: b.Next, Missed: b.Limited}
	for _, ev := range b.Events {
		s, err := e.said(ctx, ev, me)
		if err != nil {
			return report.Batch{}, err
		}
		if ev.Type == "m.text" {
			h.Said = append(h.Said, s)
		}
	}
	return h, nil
}

// lost says whether the homeserver cannot go on from a token.
func lost(err error) bool {
	var refused *matrix.Error
	return errors.Is(err, matrix.ErrTooMuch) || errors.As(err, &refused) && refused.Status == http.StatusBadRequest
}

func (e *Inbox) self(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.me != "" {
		return e.me, nil
	}
	me, err := e.With.WhoAmI(ctx)
	e.me = me
	return me, err
}

// said turns an event into what was said, with the text of the message of Custos
// that it answers.
func (e *Inbox) said(ctx context.Context, ev matrix.Event, me string) (fleet.Said, error) {
	s := fleet.Said{ID: ev.ID, Room: e.Room, By: ev.Sender, Text: ev.Body, Thread: ev.Thread, Age: fleet.Duration(ev.Age), Own: ev.Sender == me, Edit: ev.Edit}
	for _, id := range []string{ev.Thread, ev.Answers} { // the nearer one counts
		if id == "" || s.Own || s.Edit {
			continue
		}
		about, err := e.With.Event(ctx, e.Room, id)
		var refused *matrix.Error
		if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
			continue // it is gone: what it said cannot be told
		}
		if err != nil {
			return s, err
		}
		if about.Sender == me {
			s.About = about.Body
		}
	}
	return s, nil
}

// Answer implements report.Inbox.
func (e *Inbox) Answer(ctx context.Context, m fleet.Message) error {
	t := matrix.Text{Type: "m.notice", Body: report.Clip(m.Body, maxText), Answers: m.Answers, Thread: m.Thread}
	_, err := e.With.Send(ctx, e.Room, m.ID, t)
	return final(err)
}

// final marks the errors that trying again cannot mend.
func final(err error) error {
	var refused *matrix.Error
	if errors.As(err, &refused) && refused.Permanent() {
		return fmt.Errorf("%w: %w", err, report.ErrPermanent)
	}
	return err
}
