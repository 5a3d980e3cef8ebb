package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// receivers are where people are told. A person may try one; an agent has tell.
func receivers() Noun {
	return Noun{"receivers", []Verb{{Name: "list", Access: Anyone, Do: asks((*Control).listReceivers)}, {Name: "try", Access: Person, Do: asks((*Control).tryReceiver)}}}
}

// Posts are the receivers of the daemon, without its terminal.
type Posts interface {
	// Standing says of each how it stands.
	Standing() []fleet.Receiver
	// Try tells one of them at once, past every route and quiet hour. An error says why it was
	// not taken.
	Try(ctx context.Context, to string, m fleet.Message) error
	// Note writes down what happened.
	Note(ctx context.Context, e fleet.Event) error
}

func (c *Control) listReceivers(context.Context, Call) (api.Receivers, error) {
	return view.Receivers(c.Posts.Standing()), nil
}

// tryReceiver sends a test message to one receiver. That it is sent, and what came of it, is
// written down.
func (c *Control) tryReceiver(ctx context.Context, call Call) (api.Tried, error) {
	var names []string
	for _, r := range c.Posts.Standing() {
		names = append(names, r.Name)
	}
	to := call.ID
	if !slices.Contains(names, to) {
		return api.Tried{}, missing("receiver", to, names, "custos preflight")
	}
	now, by := c.Now(), fleet.Line(call.By, 60)
	if err := c.noteTry(ctx, fmt.Sprintf("%s sends receiver %s a test message", by, to)); err != nil {
		return api.Tried{}, fmt.Errorf("cannot send a test message, as it cannot be written down: %w", err)
	}
	err := c.Posts.Try(ctx, to, fleet.Message{ID: fmt.Sprintf("try-%d", now.Wall.UnixNano()), Kind: fleet.MessageTold, At: now, Priority: fleet.P2,
		Subject: "a test message of Custos to " + to, Body: by + " has asked for it. Nothing is wrong."})
	took := c.Now().Since(now).Round(10 * time.Millisecond).String()
	if err != nil {
		why := fleet.Redact(fleet.Line(err.Error(), 300))
		return api.Tried{}, errors.Join(&api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("receiver %s did not take the test message: %s", to, why), Hint: "custos doctor"},
			c.noteTry(ctx, fmt.Sprintf("receiver %s did not take the test message: %s", to, why)))
	}
	return api.Tried{To: to, Took: took}, c.noteTry(ctx, fmt.Sprintf("receiver %s took the test message after %s", to, took))
}

func (c *Control) noteTry(ctx context.Context, text string) error {
	return c.Posts.Note(context.WithoutCancel(ctx), fleet.Event{At: c.Now(), Kind: "receiver.try", Text: text})
}
