// Package telegram sends messages to people in a Telegram chat.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf16"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/telegram"
)

// Sender says something in a chat.
type Sender interface {
	Send(ctx context.Context, t telegram.Text) (int64, error)
	// MaySpeak asks whether something could be said, and wraps telegram.ErrBarred when not.
	MaySpeak(ctx context.Context, chat string) error
}

// Notifier says each message in one chat: what is less than Sound, and an all-clear,
// without a sound; what asks for an approval with one.
type Notifier struct {
	Called string         // what routes call it
	Chat   string         // its ID, or @name of a channel
	Topic  int64          // of a forum, where it is said; 0: none
	Sound  fleet.Priority // "": P2
	To     Sender
}

var (
	_ report.Notifier = Notifier{}
	_ report.Prover   = Notifier{}
)

// Name is what routes call it.
func (n Notifier) Name() string { return n.Called }

// Notify says the message. A message whose answer was lost may come twice: the Bot
// API knows no transactions.
func (n Notifier) Notify(ctx context.Context, m fleet.Message) error {
	silent := !report.Sounds(m, n.Sound)
	_, err := n.To.Send(ctx, telegram.Text{Chat: n.Chat, Topic: n.Topic, Body: fit(m.Subject + "\n" + m.Body), Silent: silent})
	return final(err)
}

// fit cuts a text to what Telegram takes, which counts UTF-16.
func fit(s string) string {
	units := utf16.Encode([]rune(s))
	if len(units) <= telegram.MaxText {
		return s
	}
	cut := telegram.MaxText - 1
	if utf16.IsSurrogate(rune(units[cut])) && units[cut] >= 0xDC00 {
		cut-- // not in the middle of a character
	}
	return string(utf16.Decode(units[:cut])) + "…"
}

// Prove implements report.Prover.
func (n Notifier) Prove(ctx context.Context) error {
	err := n.To.MaySpeak(ctx, n.Chat)
	if errors.Is(err, telegram.ErrBarred) {
		return fmt.Errorf("%w: %w", err, report.ErrBarred)
	}
	return err
}
