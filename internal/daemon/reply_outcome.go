package daemon

import (
	"context"
	"fmt"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/store"
)

// followUp looks what becomes of what a reply has begun.
func (d *replyHandler) followUp(x *exchange, became control.Answered) {
	switch {
	case became.Order != "":
		d.outcome(x, became.About, func(ctx context.Context) (string, bool) { return orderOutcome(ctx, x) })
	case len(became.Began) > 0:
		d.outcome(x, became.About, func(ctx context.Context) (string, bool) { return actionsOutcome(ctx, x, became.Began) })
	}
}

// How long, and how often, it is looked what became of what was begun.
const (
	outcomeWithin = 10 * time.Minute
	outcomeEvery  = time.Second
)

// outcome tells the person, once, when what was begun did not come to its end. That
// it did is told by the end of the alert. After a crash it is not told: the alert,
// which goes on, is.
func (d *replyHandler) outcome(x *exchange, about fleet.AlertKey, look func(context.Context) (text string, over bool)) {
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
