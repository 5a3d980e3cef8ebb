package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"custos/internal/fleet"
)

// Inbox is one place where people answer Custos.
type Inbox interface {
	// Place says where it is, and whose replies are read there.
	Place() fleet.Place
	// Poll waits a while for what is said after the cursor, and returns it, oldest
	// first, with the next cursor. It is given a cursor again until all that came
	// with it was taken. "" is the first time: nothing said before it is returned.
	Poll(ctx context.Context, cursor string) (Batch, error)
	// Answer says something there, once for each ID of a message where the place
	// can tell. An error that wraps ErrPermanent gives it up.
	Answer(ctx context.Context, m fleet.Message) error
}

// Batch is what was said in a place.
type Batch struct {
	Said   []fleet.Said
	Cursor string
	Missed bool // more was said than is read: what came before is lost
}

// Handler acts on what is said. An error means that it is to be given the same again;
// what it has acted on it knows by its ID, and leaves alone.
type Handler interface {
	Take(ctx context.Context, p fleet.Place, s fleet.Said) error
}

// Answers is where the answers of desks wait.
type Answers interface {
	// MessagesFor returns what is not said yet, oldest first.
	MessagesFor(ctx context.Context, to string, limit int) ([]fleet.Message, error)
	// Sent strikes an answer off.
	Sent(ctx context.Context, id string, at fleet.Instant) error
	// Failed gives one up, when next is zero.
	Failed(ctx context.Context, id string, at fleet.Instant, why string, next fleet.Instant) error
}

// RepliesOptions are what Replies is made of; all of them are needed.
type RepliesOptions struct {
	Inboxes []Inbox
	Handler Handler
	Cursors Memory // keeps how far was read, by the name of the place
	Answers Answers
	Now     func() fleet.Instant
	Every   time.Duration // between two looks for answers that nobody announced; default 5 s
}

// Replies listens to people, and answers them.
type Replies struct{ o RepliesOptions }

// NewReplies returns Replies that do not listen yet.
func NewReplies(o RepliesOptions) *Replies {
	o.Every = orElse(o.Every, 5*time.Second)
	return &Replies{o}
}

// Run listens until ctx ends, to each place on its own. told is given what went wrong.
func (r *Replies) Run(ctx context.Context, told func(error)) {
	var parts sync.WaitGroup
	for _, e := range r.o.Inboxes {
		l := &listener{Replies: r, inbox: e, place: e.Place(), told: told, news: make(chan struct{}, 1)}
		parts.Go(func() { l.listen(ctx) })
		parts.Go(func() { l.answer(ctx) })
	}
	parts.Wait()
}

// listener listens to one place.
type listener struct {
	*Replies
	inbox Inbox
	place fleet.Place
	told  func(error)
	news  chan struct{} // something may have to be answered
}

// cursorKey is where it is kept how far was read in a place.
func cursorKey(place string) string { return "replies/" + place }

func (l *listener) listen(ctx context.Context) {
	cursor, known, tries := "", false, 0
	for ctx.Err() == nil {
		var err error
		if !known {
			cursor, err = l.recall(ctx)
			known = err == nil
		}
		if err == nil {
			cursor, err = l.once(ctx, cursor)
		}
		tries = l.rest(ctx, err, "read replies", tries)
	}
}

func (l *listener) recall(ctx context.Context) (string, error) {
	b, err := l.o.Cursors.Told(ctx, cursorKey(l.place.Name))
	return string(b), err
}

// once reads what there is, has it acted on, and only then moves on.
func (l *listener) once(ctx context.Context, cursor string) (string, error) {
	batch, err := l.poll(ctx, cursor)
	if err != nil {
		return cursor, err
	}
	for _, s := range batch.Said {
		if err := l.take(ctx, s); err != nil {
			return cursor, err
		}
	}
	if batch.Cursor != cursor {
		if err := l.o.Cursors.Keep(ctx, cursorKey(l.place.Name), []byte(batch.Cursor), l.o.Now()); err != nil {
			return cursor, err
		}
	}
	if batch.Missed {
		l.told(fmt.Errorf("cannot read all that was said in %s: only the last of it was read", l.place.Name))
	}
	return batch.Cursor, nil
}

func (l *listener) poll(ctx context.Context, cursor string) (h Batch, err error) {
	defer unpanicked(&err)
	return l.inbox.Poll(ctx, cursor)
}

func (l *listener) take(ctx context.Context, s fleet.Said) (err error) {
	defer l.wake()
	defer unpanicked(&err)
	return l.o.Handler.Take(ctx, l.place, s)
}

func unpanicked(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it panicked: %v", p)
	}
}

func (l *listener) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// answer says what there is to say, again and again.
func (l *listener) answer(ctx context.Context) {
	clock := time.NewTicker(l.o.Every)
	defer clock.Stop()
	tries := 0
	for {
		tries = l.rest(ctx, l.answerAll(ctx), "answer", tries)
		select {
		case <-ctx.Done():
			return
		case <-l.news:
		case <-clock.C:
		}
	}
}

// mostAnswers is how many are said at once.
const mostAnswers = 50

func (l *listener) answerAll(ctx context.Context) error {
	due, err := l.o.Answers.MessagesFor(ctx, fleet.AnswersFor(l.place.Name), mostAnswers)
	if err != nil {
		return err
	}
	for _, m := range due {
		err := l.say(ctx, m)
		switch {
		case errors.Is(err, ErrPermanent):
			err = errors.Join(err, l.o.Answers.Failed(ctx, m.ID, l.o.Now(), fleet.Redact(fleet.Line(err.Error(), 200)), fleet.Instant{}))
		case err == nil:
			err = l.o.Answers.Sent(ctx, m.ID, l.o.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sayWithin is how long saying one thing may take.
const sayWithin = 15 * time.Second

func (l *listener) say(ctx context.Context, m fleet.Message) (err error) {
	defer unpanicked(&err)
	ctx, cancel := context.WithTimeout(ctx, sayWithin)
	defer cancel()
	return l.inbox.Answer(ctx, safe(m))
}

// rest waits after what went wrong: each time longer, up to a minute, or as long as
// the place wants to be left alone. It returns how often in a row it went wrong.
func (l *listener) rest(ctx context.Context, err error, what string, tries int) int {
	if err == nil || ctx.Err() != nil {
		return 0
	}
	if tries == 0 { // once for a row of them
		l.told(fmt.Errorf("cannot %s in %s: %w", what, l.place.Name, err))
	}
	wait := max(min(time.Second<<min(tries, 6), time.Minute), min(asked(err), longest))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return tries + 1
}
