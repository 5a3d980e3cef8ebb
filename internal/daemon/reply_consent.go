package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/report"
	"custos/internal/store"
)

// consent approves or denies what was asked about an alert: exactly that, once.
func (d *desk) consent(ctx context.Context, x *exchange) (string, fleet.AlertKey, error) {
	if err := onlyChat(x); err != nil {
		return "", fleet.AlertKey{}, err
	}
	if o, done, err := d.orderedBefore(ctx, x); done || err != nil {
		return ledger.Acted(x.reply, ordered(o)), fleet.AlertKey{}, err
	}
	if why := Frozen(d.s.cfg); why != "" {
		return "", fleet.AlertKey{}, refusal{errors.New("Custos is frozen: " + why)}
	}
	found, err := d.alerts(ctx, x)
	if err != nil {
		return "", fleet.AlertKey{}, err
	}
	a := found[0]
	x.reply.Number = a.Number // also when it was said in answer to a message
	asks, err := d.s.asks(ctx)
	if err != nil {
		return "", a.AlertKey, err
	}
	ask := asks[a.AlertKey]
	if err := d.bound(ctx, x, a, ask); err != nil {
		return "", a.AlertKey, err
	}
	switch {
	case ask.Dialog != "":
		return d.answerDialog(ctx, x, a, ask)
	case x.reply.Verb == ledger.ReplyDeny:
		return d.deny(ctx, x, a, ask)
	}
	return d.approve(ctx, x, a, ask)
}

// orderedBefore finds the order of a reply that a crash kept from being answered.
func (d *desk) orderedBefore(ctx context.Context, x *exchange) (fleet.Order, bool, error) {
	list, err := x.st.Orders(ctx, store.OrderFilter{ID: x.id})
	if err != nil || len(list) == 0 {
		return fleet.Order{}, false, err
	}
	if o := list[0]; o.State == fleet.OrderRefused {
		return o, true, refusal{errors.New(o.Why)}
	}
	return list[0], true, nil
}

// bound says whether a reply holds for what would be done now.
func (d *desk) bound(ctx context.Context, x *exchange, a fleet.Alert, ask fleet.Ask) error {
	kept, err := x.st.Told(ctx, x.place.Name)
	if err != nil {
		return err
	}
	key, at := report.AskedOf(kept, a.AlertKey)
	if why := ledger.Bound(a.Number, ledger.Asked{Key: key, At: at}, ask, x.at); why != nil {
		return refusal{why}
	}
	return nil
}

// answerDialog answers the very dialog that the person was asked about.
func (d *desk) answerDialog(ctx context.Context, x *exchange, a fleet.Alert, ask fleet.Ask) (string, fleet.AlertKey, error) {
	choice := ask.Yes
	if x.reply.Verb == ledger.ReplyDeny {
		choice = ask.No
	}
	if choice == "" {
		return "", a.AlertKey, refusal{errors.New("what it asks is too long to be shown whole here: custos show " + ask.Agent)}
	}
	o, err := d.order(ctx, x, fleet.Order{Do: fleet.OrderAnswer, Agent: ask.Agent, Dialog: ask.Dialog, Text: choice})
	if err != nil {
		return "", a.AlertKey, err
	}
	if err := d.used(ctx, x, a, ask); err != nil {
		return "", a.AlertKey, err
	}
	d.outcome(x, a.AlertKey, func(ctx context.Context) (string, bool) { return orderOutcome(ctx, x) })
	return ledger.Acted(x.reply, fmt.Sprintf("agent %s is answered %q: %s", ask.Agent, choice, ordered(o))), a.AlertKey, nil
}

// used notes that an ask was answered: the same answer is not good for another time.
func (d *desk) used(ctx context.Context, x *exchange, a fleet.Alert, ask fleet.Ask) error {
	return x.st.Record(ctx, fleet.Event{At: x.at, Kind: askAnswered, Alert: a.AlertKey, Subject: a.Subject, Action: ask.Hash, Text: x.reply.String() + " by " + x.by})
}

// deny leaves what was asked undone, and takes the alert up: whoever says no knows.
func (d *desk) deny(ctx context.Context, x *exchange, a fleet.Alert, ask fleet.Ask) (string, fleet.AlertKey, error) {
	if err := d.used(ctx, x, a, ask); err != nil {
		return "", a.AlertKey, err
	}
	b := book{d.s.ledger, d.s.world.Now}
	if _, err := b.Acknowledge(ctx, a.Number, x.by); err != nil && !errors.Is(err, ledger.ErrIllegal) {
		return "", a.AlertKey, err
	}
	return ledger.Acted(x.reply, "it is left as it is, and the alert is taken up by "+x.by), a.AlertKey, nil
}

// approve has done what was asked. The answer is committed with the actions, so
// that neither is there without the other.
func (d *desk) approve(ctx context.Context, x *exchange, a fleet.Alert, ask fleet.Ask) (string, fleet.AlertKey, error) {
	var ids []string
	err := d.s.loop.Approve(ctx, a.AlertKey, x.by, func(actions []fleet.Action) ([]fleet.Message, error) {
		now := d.s.askOffer(loop.Offer{For: a.AlertKey, Actions: actions}, a.Number)
		if now.Hash != ask.Hash {
			return nil, refusal{errors.New("what would be done has just changed: it will be asked anew")}
		}
		text := "begun:"
		for _, act := range actions {
			ids = append(ids, act.ID)
			text += fmt.Sprintf(" %s %s;", act.Do, act.Subject)
		}
		return []fleet.Message{x.answer(ledger.Acted(x.reply, text+" the all-clear follows when it helped"), a.AlertKey)}, nil
	})
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return "", a.AlertKey, refusal{err}
	case err != nil:
		return "", a.AlertKey, err
	}
	d.outcome(x, a.AlertKey, func(ctx context.Context) (string, bool) { return actionsOutcome(ctx, x, ids) })
	return "", a.AlertKey, d.used(ctx, x, a, ask)
}

// How long, and how often, it is looked what became of what was begun.
const (
	outcomeWithin = 10 * time.Minute
	outcomeEvery  = time.Second
)

// outcome tells the person, once, when what was begun did not come to its end. That
// it did is told by the end of the alert. After a crash it is not told: the alert,
// which goes on, is.
func (d *desk) outcome(x *exchange, about fleet.AlertKey, look func(context.Context) (text string, over bool)) {
	d.looking.Go(func() {
		ctx, cancel := context.WithTimeout(d.life, outcomeWithin)
		defer cancel()
		clock := time.NewTicker(outcomeEvery)
		defer clock.Stop()
		for {
			text, over := look(ctx)
			if over && text != "" {
				m := x.answer(text, about)
				m.ID += "-end"
				_ = x.commit(ctx, d.s.world.Now(), fleet.Changes{Messages: []fleet.Message{m}}) // told by the alert, too
			}
			if over {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
			}
		}
	})
}

// orderOutcome is why the order of a reply did not come to its end; "" when it did.
func orderOutcome(ctx context.Context, x *exchange) (string, bool) {
	list, err := x.st.Orders(ctx, store.OrderFilter{ID: x.id})
	if err != nil || len(list) == 0 || !list[0].IsOver() {
		return "", err == nil && len(list) == 0
	}
	if o := list[0]; o.State != fleet.OrderDone {
		return fmt.Sprintf("%s did not work: %s: %s", x.reply, o.State, o.Why), true
	}
	return "", true
}

// actionsOutcome is what did not work of the actions of a reply.
func actionsOutcome(ctx context.Context, x *exchange, ids []string) (text string, over bool) {
	for _, id := range ids {
		list, err := x.st.Actions(ctx, store.ActionFilter{ID: id})
		if err != nil || len(list) == 1 && list[0].Open() {
			return "", false
		}
		if len(list) == 0 {
			continue
		}
		if r := list[0].Result; r != nil && r.Status != fleet.ResultDone && r.Status != fleet.ResultUnneeded {
			text += fmt.Sprintf("%s: %s %s: %s: %s\n", x.reply, r.Do, r.Subject, r.Status, r.Why)
		}
	}
	return text, true
}
