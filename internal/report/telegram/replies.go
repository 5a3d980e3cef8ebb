package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/telegram"
)

// Chat is what an Inbox needs of the Bot API.
type Chat interface {
	Sender
	Updates(ctx context.Context, offset int64, wait time.Duration, me string) ([]telegram.Update, error)
	Self(ctx context.Context) (id, name string, err error)
}

// Inbox reads what people say in one chat, and answers them there.
type Inbox struct {
	Called string   // the notifier that tells of alerts there
	Chat   string   // its ID
	Topic  int64    // of a forum: only what is said there is read; 0: all that is said in the chat
	People []string // IDs of users; no one else's replies are read
	With   Chat

	mu       sync.Mutex
	me, name string // of the bot: ID and @name; asked for once
}

var _ report.Inbox = (*Inbox)(nil)

// Place implements report.Inbox.
func (e *Inbox) Place() fleet.Place {
	return fleet.Place{Name: e.Called, Room: e.Chat, People: e.People, Asks: true}
}

// listenFor is how long Telegram is asked to wait for something to be said.
const listenFor = 20 * time.Second

// Poll implements report.Inbox. The cursor is the number of the next update.
func (e *Inbox) Poll(ctx context.Context, cursor string) (report.Batch, error) {
	me, err := e.self(ctx)
	if err != nil {
		return report.Batch{}, err
	}
	offset, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil { // the first time
		return e.begin(ctx, me)
	}
	list, err := e.With.Updates(ctx, offset, listenFor, me)
	if errors.Is(err, telegram.ErrTooMuch) {
		h, err := e.begin(ctx, me)
		h.Missed = true
		return h, err
	}
	if err != nil {
		return report.Batch{}, err
	}
	h := report.Batch{Cursor: cursor}
	for _, u := range list {
		h.Cursor = strconv.FormatInt(u.ID+1, 10)
		text, ours := e.words(u)
		if u.Message != 0 && ours {
			h.Said = append(h.Said, fleet.Said{ID: strconv.FormatInt(u.Message, 10), Room: u.Chat, By: u.From, Text: text,
				Thread: topic(u.Topic), About: u.About, Age: fleet.Duration(u.Age), Own: u.Bot})
		}
	}
	return h, nil
}

// words are what a person said to Custos: its own words, in its topic, and not to
// another bot. A command (/ack 3, /ack@custos_bot 3) says what it says without its sign.
func (e *Inbox) words(u telegram.Update) (text string, ours bool) {
	if u.Others || e.Topic != 0 && u.Topic != e.Topic {
		return "", false
	}
	command, is := strings.CutPrefix(u.Text, "/")
	if !is {
		return u.Text, true
	}
	word, rest, more := strings.Cut(command, " ")
	word, to, named := strings.Cut(word, "@")
	if named && !strings.EqualFold(to, e.name) {
		return "", false
	}
	if more {
		word += " " + rest
	}
	return word, true
}

// topic is a topic as a thread; "" for none.
func topic(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// begin forgets what was said before.
func (e *Inbox) begin(ctx context.Context, me string) (report.Batch, error) {
	last, err := e.With.Updates(ctx, -1, 0, me)
	h := report.Batch{Cursor: "0"}
	for _, u := range last {
		h.Cursor = strconv.FormatInt(u.ID+1, 10)
	}
	return h, err
}

func (e *Inbox) self(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.me != "" {
		return e.me, nil
	}
	me, name, err := e.With.Self(ctx)
	e.me, e.name = me, name
	return me, err
}

// Answer implements report.Inbox. An answer whose own answer was lost may come twice:
// the Bot API knows no transactions.
func (e *Inbox) Answer(ctx context.Context, m fleet.Message) error {
	to, _ := strconv.ParseInt(m.Answers, 10, 64)
	in, err := strconv.ParseInt(m.Thread, 10, 64)
	if err != nil {
		in = e.Topic
	}
	_, err = e.With.Send(ctx, telegram.Text{Chat: e.Chat, Topic: in, Body: fit(m.Body), Silent: true, Answers: to})
	return final(err)
}

// final marks the errors that trying again cannot mend.
func final(err error) error {
	var refused *telegram.Error
	if errors.As(err, &refused) && refused.Malformed() {
		return fmt.Errorf("%w: %w", err, report.ErrPermanent)
	}
	return err
}
