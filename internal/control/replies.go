package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Incoming is a reply of a person, as its carrier received it in a chat or found it in a folder.
type Incoming struct {
	Reply ledger.Reply
	Place fleet.Place
	Said  fleet.Said
	ID    string        // the same for the same reply: what it brings about has it
	By    string        // who said it, for the record
	At    fleet.Instant // when it is acted on
	// Answer is the message that answers it, for what commits it with what is done.
	Answer func(text string, about fleet.AlertKey) fleet.Message
}

// Answered is what became of a reply.
type Answered struct {
	Text  string         // what is answered; "": the answer was committed with what is done
	About fleet.AlertKey // the alert it is about
	Order string         // ID of the order that was given; "": none
	Began []string       // IDs of the actions that were begun
}

// Refusal is an error for a person: what was asked for is not done, and why.
type Refusal struct{ Why error }

func (r Refusal) Error() string { return r.Why.Error() }
func (r Refusal) Unwrap() error { return r.Why }

// ReplyVerb is what a reply may ask for. Person is here one whom a chat vouches for.
type ReplyVerb struct {
	Verb   ledger.Verb
	Access Access
	do     func(*Control, context.Context, *Incoming) (Answered, error)
}

// Replies lists them all. Anyone who may write there may ask, make quiet, and stop everything.
func Replies() []ReplyVerb {
	return []ReplyVerb{
		{ledger.ReplyHelp, Anyone, (*Control).replyHelp},
		{ledger.ReplyStatus, Anyone, (*Control).replySituation},
		{ledger.ReplyStuck, Anyone, (*Control).replySituation},
		{ledger.ReplyFreeze, Anyone, (*Control).replyFreeze},
		{ledger.ReplyAck, Anyone, (*Control).replyAck},
		{ledger.ReplyIgnore, Anyone, (*Control).replyIgnore},
		{ledger.ReplyThaw, Person, (*Control).replyThaw},
		{ledger.ReplyStop, Person, (*Control).replyStop},
		{ledger.ReplyApprove, Person, (*Control).replyConsent},
		{ledger.ReplyDeny, Person, (*Control).replyConsent},
	}
}

// ActOn does what a reply asks for, or answers why it does not. After an error it may be
// tried again.
func (c *Control) ActOn(ctx context.Context, h Incoming) (Answered, error) {
	out, err := c.actOn(ctx, &h)
	var no Refusal
	if errors.As(err, &no) {
		out.Text, err = ledger.NotActed(h.Reply, no.Error()), nil
	}
	return out, err
}

func (c *Control) actOn(ctx context.Context, h *Incoming) (Answered, error) {
	verbs := Replies()
	i := slices.IndexFunc(verbs, func(v ReplyVerb) bool { return v.Verb == h.Reply.Verb })
	switch {
	case i < 0:
		return Answered{}, refusedf("%s is no verb of replies", h.Reply.Verb)
	case verbs[i].Access == Person && !h.Place.Asks:
		return Answered{}, refusedf("%s takes a person in a chat, or at the keyboard", h.Reply.Verb)
	}
	return verbs[i].do(c, ctx, h)
}

func refusedf(format string, args ...any) error { return Refusal{fmt.Errorf(format, args...)} }

func (h *Incoming) acted(what string) Answered { return Answered{Text: ledger.Acted(h.Reply, what)} }

func (c *Control) replyHelp(context.Context, *Incoming) (Answered, error) {
	return Answered{Text: ledger.Vocabulary()}, nil
}

// replySituation answers a question by what is so.
func (c *Control) replySituation(ctx context.Context, h *Incoming) (Answered, error) {
	text, err := c.Situation(ctx, h.Reply.Verb)
	return Answered{Text: text}, err
}

func (c *Control) replyFreeze(_ context.Context, h *Incoming) (Answered, error) {
	return h.acted("Custos acts on nothing until thaw"), c.Brakes.Freeze(h.By, "by a reply")
}

// replyThaw lifts a freeze that was there when the person spoke: one that came later is
// not what was meant.
func (c *Control) replyThaw(_ context.Context, h *Incoming) (Answered, error) {
	said := h.At.Wall.Add(-time.Duration(h.Said.Age))
	const coarse = 2 * time.Second // clocks of chats give whole seconds
	if why, since := c.Brakes.Frozen(); since.After(said.Add(coarse)) {
		return Answered{}, refusedf("it was frozen after you said that: %s", why)
	}
	was, err := c.Brakes.Thaw()
	switch {
	case err != nil:
		return Answered{}, err
	case was == "":
		return h.acted("it was not frozen"), nil
	}
	return h.acted("it was frozen by " + was), nil
}

// alertsOf finds what a reply is about.
func (c *Control) alertsOf(ctx context.Context, h *Incoming) ([]fleet.Alert, error) {
	past, err := c.Past(ctx)
	if err != nil {
		return nil, err
	}
	found, no := ledger.About(h.Reply, h.Said.About, past.Alerts)
	if no != nil {
		return nil, Refusal{no}
	}
	return found, nil
}

func (c *Control) replyIgnore(ctx context.Context, h *Incoming) (Answered, error) {
	found, err := c.alertsOf(ctx, h)
	if err != nil {
		return Answered{}, err
	}
	var until fleet.Instant
	for _, q := range ignored(h.Reply, found, h.By, h.At, c.PatrolEvery) {
		if err := c.Alerts.Silence(ctx, q); err != nil {
			return Answered{}, err
		}
		until = q.Until
	}
	out := h.acted(named(found) + " is kept quiet until " + until.Wall.UTC().Format("2006-01-02 15:04 MST"))
	out.About = found[0].AlertKey
	return out, nil
}

func (c *Control) replyAck(ctx context.Context, h *Incoming) (Answered, error) {
	found, err := c.alertsOf(ctx, h)
	if err != nil {
		return Answered{}, err
	}
	out := h.acted(named(found) + " is taken up by " + h.By)
	out.About = found[0].AlertKey
	for _, a := range found {
		got, err := c.Alerts.Acknowledge(ctx, a.Number, h.By)
		switch {
		case errors.Is(err, ledger.ErrIllegal):
			return Answered{About: a.AlertKey}, refusedf("alert %d is over", a.Number)
		case err != nil:
			return Answered{}, err
		case got.AckedBy != h.By && len(found) == 1:
			out.Text = ledger.Acted(h.Reply, got.AckedBy+" had taken it up before")
		}
	}
	return out, nil
}

// named lists alerts for an answer.
func named(list []fleet.Alert) string {
	var out []string
	for i, a := range list {
		if i == 5 {
			out = append(out, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		out = append(out, fmt.Sprintf("#%d %s", a.Number, fleet.Line(a.String(), 120)))
	}
	return strings.Join(out, ", ")
}

// replyStop orders that an agent be stopped.
func (c *Control) replyStop(ctx context.Context, h *Incoming) (Answered, error) {
	name := strings.TrimPrefix(h.Reply.Name, "agent/")
	if name == "" {
		found, err := c.alertsOf(ctx, h)
		if err != nil {
			return Answered{}, err
		}
		if found[0].Subject.Kind != fleet.KindAgent {
			return Answered{}, refusedf("alert %d is about %s, which is no agent", found[0].Number, found[0].Subject)
		}
		name = found[0].Subject.Name
	}
	o, err := c.orderBy(ctx, h, fleet.Order{Do: fleet.OrderStop, Agent: name, Text: "by a reply"})
	return h.acted(became(o)), err
}

// orderBy gives an order, whose ID is that of the reply: given twice it is one.
func (c *Control) orderBy(ctx context.Context, h *Incoming, o fleet.Order) (fleet.Order, error) {
	o.ID, o.By = h.ID, h.By
	got, err := c.Orders.Take(ctx, o)
	switch {
	case errors.Is(err, ledger.ErrIllegal), errors.Is(err, ledger.ErrTaken):
		err = Refusal{err}
	case err == nil && got.State == fleet.OrderRefused:
		err = refusedf("%s", got.Why)
	}
	return got, err
}

// became is what became of an order so far.
func became(o fleet.Order) string {
	switch {
	case o.State == fleet.OrderQueued:
		return "it waits: " + o.Why
	case o.IsOver():
		return string(o.State) + ": " + o.Why
	}
	return "begun"
}
