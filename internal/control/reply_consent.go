package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Asks is the book of what people were asked in chats.
type Asks interface {
	// Asks lists what people may approve or deny now, by the alert.
	Asks(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error)
	// AskOf is the ask for some actions of an alert.
	AskOf(of fleet.AlertKey, number int64, actions []fleet.Action) fleet.Ask
	// Asked is what was asked about an alert in a place.
	Asked(ctx context.Context, place string, of fleet.AlertKey) (ledger.Asked, error)
	// Use notes that an ask was answered: the same answer is not good for another time.
	Use(ctx context.Context, a fleet.Alert, ask fleet.Ask, at fleet.Instant, text string) error
}

// replyConsent approves or denies what was asked about an alert: exactly that, once.
func (c *Control) replyConsent(ctx context.Context, h *Incoming) (Answered, error) {
	if out, done, err := c.orderedBefore(ctx, h); done || err != nil {
		return out, err
	}
	if why, _ := c.Brakes.Frozen(); why != "" {
		return Answered{}, refusedf("Custos is frozen: %s", why)
	}
	found, err := c.alertsOf(ctx, h)
	if err != nil {
		return Answered{}, err
	}
	a := found[0]
	h.Reply.Number = a.Number // also when it was said in answer to a message
	ask, err := c.askedOf(ctx, h, a)
	if err != nil {
		return Answered{About: a.AlertKey}, err
	}
	out, err := c.consentTo(ctx, h, a, ask)
	out.About = a.AlertKey
	return out, err
}

func (c *Control) consentTo(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) (Answered, error) {
	switch {
	case ask.Dialog != "":
		return c.answerDialog(ctx, h, a, ask)
	case ask.Gate != "":
		return c.answerGate(ctx, h, a, ask)
	case h.Reply.Verb == ledger.ReplyDeny:
		return c.deny(ctx, h, a, ask)
	}
	return c.approveAsked(ctx, h, a, ask)
}

// orderedBefore finds the order of a reply that a crash kept from being answered.
func (c *Control) orderedBefore(ctx context.Context, h *Incoming) (Answered, bool, error) {
	o, err := c.Orders.Order(ctx, h.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Answered{}, false, nil
	case err == nil && o.State == fleet.OrderRefused:
		err = refusedf("%s", o.Why)
	}
	return h.acted(became(o)), err == nil, err
}

// askedOf is what there is to consent to, if the reply holds for what would be done now.
func (c *Control) askedOf(ctx context.Context, h *Incoming, a fleet.Alert) (fleet.Ask, error) {
	asks, err := c.Asks.Asks(ctx)
	if err != nil {
		return fleet.Ask{}, err
	}
	asked, err := c.Asks.Asked(ctx, h.Place.Name, a.AlertKey)
	if err != nil {
		return fleet.Ask{}, err
	}
	ask := asks[a.AlertKey]
	if why := ledger.Bound(a.Number, asked, ask, h.At); why != nil {
		return fleet.Ask{}, Refusal{why}
	}
	return ask, nil
}

// answerDialog answers the very dialog that the person was asked about.
func (c *Control) answerDialog(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) (Answered, error) {
	choice := ask.Yes
	if h.Reply.Verb == ledger.ReplyDeny {
		choice = ask.No
	}
	if choice == "" {
		return Answered{}, refusedf("what it asks is too long to be shown whole here: custos show %s", ask.Agent)
	}
	o, err := c.orderBy(ctx, h, fleet.Order{Do: fleet.OrderAnswer, Agent: ask.Agent, Dialog: ask.Dialog, Text: choice})
	if err != nil {
		return Answered{}, err
	}
	out := h.acted(fmt.Sprintf("agent %s is answered %q: %s", ask.Agent, choice, became(o)))
	out.Order = o.ID
	return out, c.use(ctx, h, a, ask)
}

// answerGate closes the gate that waits for a person's word. To say the same again changes
// nothing, so that a crash before the answer is no harm.
func (c *Control) answerGate(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) (Answered, error) {
	as := fleet.GatePassed
	if h.Reply.Verb == ledger.ReplyDeny {
		as = fleet.GateFailed
	}
	_, err := c.Records.Edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		g := ledger.Gate(all, ask.Gate)
		if g == nil {
			return fleet.Records{}, refusedf("there is no gate %s any more", ask.Gate)
		}
		return ledger.CloseGate(*g, as, "said so in "+h.Place.Name, h.By, c.Now())
	})
	switch {
	case errors.Is(err, ledger.ErrIllegal), errors.Is(err, ledger.ErrTaken):
		return Answered{}, Refusal{err}
	case err != nil:
		return Answered{}, err
	}
	return h.acted(fmt.Sprintf("gate %s is closed as %s", ask.Gate, as)), c.use(ctx, h, a, ask)
}

func (c *Control) use(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) error {
	return c.Asks.Use(ctx, a, ask, h.At, h.Reply.String()+" by "+h.By)
}

// deny leaves what was asked undone, and takes the alert up: who says no knows. Where
// something is done instead, that is begun.
func (c *Control) deny(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) (Answered, error) {
	if ask.Denied != "" {
		var out Answered
		err := c.Approver.Deny(ctx, a.AlertKey, h.By, func(denied, instead []fleet.Action) ([]fleet.Message, error) {
			return c.begun(h, a, ask, denied, instead, &out)
		})
		if err != nil {
			return Answered{}, err
		}
		return out, c.use(ctx, h, a, ask)
	}
	if err := c.use(ctx, h, a, ask); err != nil {
		return Answered{}, err
	}
	if _, err := c.Alerts.Acknowledge(ctx, a.Number, h.By); err != nil && !errors.Is(err, ledger.ErrIllegal) {
		return Answered{}, err
	}
	return h.acted("it is left as it is, and the alert is taken up by " + h.By), nil
}

// approveAsked has done what was asked. The answer is committed with the actions, so
// that neither is there without the other.
func (c *Control) approveAsked(ctx context.Context, h *Incoming, a fleet.Alert, ask fleet.Ask) (Answered, error) {
	var out Answered
	err := c.Approver.Approve(ctx, a.AlertKey, h.By, func(actions []fleet.Action) ([]fleet.Message, error) {
		return c.begun(h, a, ask, actions, actions, &out)
	})
	if err != nil {
		return Answered{}, err
	}
	return out, c.use(ctx, h, a, ask)
}

// begun is the answer that tells what is begun, where what was asked is what would be done
// now.
func (c *Control) begun(h *Incoming, a fleet.Alert, ask fleet.Ask, asked, begun []fleet.Action, out *Answered) ([]fleet.Message, error) {
	if now := c.Asks.AskOf(a.AlertKey, a.Number, asked); now.Hash != ask.Hash {
		return nil, refusedf("what would be done has just changed: it will be asked anew")
	}
	text := "begun:"
	for _, act := range begun {
		out.Began = append(out.Began, act.ID)
		text += fmt.Sprintf(" %s %s;", act.Do, act.Subject)
	}
	return []fleet.Message{h.Answer(ledger.Acted(h.Reply, text+" the all-clear follows when it helped"), a.AlertKey)}, nil
}
