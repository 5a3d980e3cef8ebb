package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/report"
)

// act does what a reply asks for. It returns the answer, and the alert it is about.
// An error that is a refusal is for the person; after any other it is tried again.
func (d *desk) act(ctx context.Context, x *exchange) (string, fleet.AlertKey, error) {
	none := fleet.AlertKey{}
	switch x.reply.Verb {
	case ledger.ReplyHelp:
		return ledger.Vocabulary(), none, nil
	case ledger.ReplyStatus, ledger.ReplyStuck:
		text, err := d.tell(ctx, x)
		return text, none, err
	case ledger.ReplyFreeze:
		err := freeze(d.s.cfg, x.by, "by a reply")
		return ledger.Acted(x.reply, "Custos acts on nothing until thaw"), none, err
	case ledger.ReplyThaw:
		text, err := d.thaw(x)
		return text, none, err
	case ledger.ReplyAck, ledger.ReplyIgnore:
		return d.quiet(ctx, x)
	case ledger.ReplyStop:
		return d.stop(ctx, x)
	}
	return d.consent(ctx, x)
}

// tell answers a question by what is so.
func (d *desk) tell(ctx context.Context, x *exchange) (string, error) {
	past, err := d.s.recall(ctx)
	if err != nil {
		return "", err
	}
	snap := d.s.board.Snapshot()
	if x.reply.Verb == ledger.ReplyStuck {
		return ledger.StuckAnswer(snap, past), nil
	}
	return ledger.StatusAnswer(snap, past, d.s.policy(fleet.PatrolOrder{}), report.Status(snap)), nil
}

// onlyChat refuses what takes a person that somebody vouches for.
func onlyChat(x *exchange) error {
	if x.place.Asks {
		return nil
	}
	return refusal{fmt.Errorf("%s takes a person in a chat, or at the keyboard", x.reply.Verb)}
}

// thaw lifts a freeze that was there when the person spoke: one that came later is
// not what was meant.
func (d *desk) thaw(x *exchange) (string, error) {
	if err := onlyChat(x); err != nil {
		return "", err
	}
	info, err := os.Stat(freezeFile(d.s.cfg))
	said := x.at.Wall.Add(-time.Duration(x.said.Age))
	const coarse = 2 * time.Second // clocks of chats tell whole seconds
	if err == nil && info.ModTime().After(said.Add(coarse)) {
		return "", refusal{errors.New("it was frozen after you said that: " + Frozen(d.s.cfg))}
	}
	was, err := thaw(d.s.cfg)
	if err != nil {
		return "", err
	}
	if was == "" {
		return ledger.Acted(x.reply, "it was not frozen"), nil
	}
	d.s.wake("thaw by a reply")
	return ledger.Acted(x.reply, "it was frozen by "+was), nil
}

// alerts finds what a reply is about.
func (d *desk) alerts(ctx context.Context, x *exchange) ([]fleet.Alert, error) {
	past, err := d.s.recall(ctx)
	if err != nil {
		return nil, err
	}
	found, no := ledger.About(x.reply, x.said.About, past.Alerts)
	if no != nil {
		return nil, refusal{no}
	}
	return found, nil
}

// quiet acknowledges alerts, or silences them.
func (d *desk) quiet(ctx context.Context, x *exchange) (string, fleet.AlertKey, error) {
	found, err := d.alerts(ctx, x)
	if err != nil {
		return "", fleet.AlertKey{}, err
	}
	if x.reply.Verb == ledger.ReplyAck {
		return d.ack(ctx, x, found)
	}
	b := book{d.s.ledger, d.s.world.Now}
	var until fleet.Instant
	for _, q := range control.Ignored(x.reply, found, x.by, x.at, d.s.cfg.PatrolEvery) {
		if err := b.Silence(ctx, q); err != nil {
			return "", found[0].AlertKey, err
		}
		until = q.Until
	}
	return ledger.Acted(x.reply, named(found)+" is not told of until "+until.Wall.UTC().Format("2006-01-02 15:04 MST")), found[0].AlertKey, nil
}

func (d *desk) ack(ctx context.Context, x *exchange, found []fleet.Alert) (string, fleet.AlertKey, error) {
	b := book{d.s.ledger, d.s.world.Now}
	for _, a := range found {
		got, err := b.Acknowledge(ctx, a.Number, x.by)
		switch {
		case errors.Is(err, ledger.ErrIllegal):
			return "", a.AlertKey, refusal{fmt.Errorf("alert %d is over", a.Number)}
		case err != nil:
			return "", a.AlertKey, err
		case got.AckedBy != x.by && len(found) == 1:
			return ledger.Acted(x.reply, got.AckedBy+" had taken it up before"), a.AlertKey, nil
		}
	}
	return ledger.Acted(x.reply, named(found)+" is taken up by "+x.by), found[0].AlertKey, nil
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

// stop orders that an agent be stopped.
func (d *desk) stop(ctx context.Context, x *exchange) (string, fleet.AlertKey, error) {
	none := fleet.AlertKey{}
	if err := onlyChat(x); err != nil {
		return "", none, err
	}
	name := strings.TrimPrefix(x.reply.Name, "agent/")
	if name == "" {
		found, err := d.alerts(ctx, x)
		if err != nil {
			return "", none, err
		}
		if found[0].Subject.Kind != fleet.KindAgent {
			return "", none, refusal{fmt.Errorf("alert %d is about %s, which is no agent", found[0].Number, found[0].Subject)}
		}
		name = found[0].Subject.Name
	}
	o, err := d.order(ctx, x, fleet.Order{Do: fleet.OrderStop, Agent: name, Text: "by a reply"})
	if err != nil {
		return "", none, err
	}
	return ledger.Acted(x.reply, ordered(o)), none, nil
}

// order gives an order, whose ID is that of the reply: given twice it is one.
func (d *desk) order(ctx context.Context, x *exchange, o fleet.Order) (fleet.Order, error) {
	o.ID, o.By = x.id, x.by
	got, err := clerk{d.s}.Take(ctx, o)
	if errors.Is(err, ledger.ErrIllegal) || errors.Is(err, ledger.ErrTaken) {
		return got, refusal{err}
	}
	if err == nil && got.State == fleet.OrderRefused {
		return got, refusal{errors.New(got.Why)}
	}
	return got, err
}

// ordered is what became of an order so far.
func ordered(o fleet.Order) string {
	switch {
	case o.State == fleet.OrderQueued:
		return "it waits: " + o.Why
	case o.IsOver():
		return string(o.State) + ": " + o.Why
	}
	return "begun"
}
