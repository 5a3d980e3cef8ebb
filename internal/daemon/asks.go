package daemon

import (
	"context"

	"custos/internal/asking"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/report"
	"custos/internal/store"
)

// askPort is what people were asked in chats as the port of control wants it.
type askPort struct{ s *system }

var _ control.Asks = askPort{}

// Asks lists what people may approve or deny now.
func (b askPort) Asks(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error) {
	return b.s.asks(ctx)
}

// AskOf is the ask for some actions.
func (b askPort) AskOf(of fleet.AlertKey, number int64, actions []fleet.Action) fleet.Ask {
	return b.s.askAbout(loop.Offer{For: of, Actions: actions}, number)
}

// Asked is what was asked in a place.
func (b askPort) Asked(ctx context.Context, place string, of fleet.AlertKey) (ledger.Asked, error) {
	kept, err := b.s.ledger.Told(ctx, place)
	if err != nil {
		return ledger.Asked{}, err
	}
	key, at := report.AskedOf(kept, of)
	return ledger.Asked{Key: key, At: at}, nil
}

// Use notes that an ask was answered.
func (b askPort) Use(ctx context.Context, a fleet.Alert, ask fleet.Ask, at fleet.Instant, text string) error {
	return b.s.ledger.write(ctx, func(st *store.Store) error {
		return st.Record(ctx, fleet.Event{At: at, Kind: askAnswered, Alert: a.AlertKey, Subject: a.Subject, Action: ask.Hash, Text: text})
	})
}

// asks are what people may approve or deny, by the alert: what waits for nothing
// but their approval, the dialogs that agents of ours stand at, and the gates that wait for a
// person's word.
func (s *system) asks(ctx context.Context) (map[fleet.AlertKey]fleet.Ask, error) {
	past, err := s.ledger.Past(ctx, s.world.Now())
	if err != nil || past.Blind != "" || past.Amnesia || !anyFires(past.Alerts) {
		return nil, err
	}
	pass, offers, err := s.loop.Offers(ctx, "somebody")
	if err != nil {
		return nil, err
	}
	out := map[fleet.AlertKey]fleet.Ask{}
	numbers := map[fleet.AlertKey]int64{}
	for _, a := range past.Alerts {
		if a.Status != fleet.AlertFiring {
			continue
		}
		numbers[a.AlertKey] = a.Number
		if asking.IsAnswered(past, a.Subject, pass.Snapshot.Agents.At) {
			continue
		}
		if ask, stands := asking.Dialog(pass.Snapshot, a); stands {
			out[a.AlertKey] = ask
		} else if ask, waits := ledger.AskGate(past.Records, a); waits {
			out[a.AlertKey] = ask
		}
	}
	for _, o := range offers {
		if n := numbers[o.For]; n > 0 && out[o.For].Hash == "" {
			out[o.For] = s.askAbout(o, n)
		}
	}
	return out, s.countUses(ctx, out)
}

func anyFires(list []fleet.Alert) bool {
	for _, a := range list {
		if a.Status == fleet.AlertFiring {
			return true
		}
	}
	return false
}

// askAnswered is the kind of the event that an ask was answered. Its Action is the hash.
const askAnswered = "ask.answered"

// countUses makes an ask another one each time it was answered: an answer is good
// for once, though the same should be asked again.
func (s *system) countUses(ctx context.Context, asks map[fleet.AlertKey]fleet.Ask) error {
	st, err := s.ledger.reader(ctx)
	if err != nil {
		return err
	}
	for k, a := range asks {
		if a.Hash == "" {
			continue
		}
		n, err := st.CountEvents(ctx, askAnswered, a.Hash)
		if err != nil {
			return err
		}
		if a.Uses = n; n > 0 {
			asks[k] = a
		}
	}
	return nil
}

// askAbout is the ask for what an alert's finding would lead to.
func (s *system) askAbout(o loop.Offer, number int64) fleet.Ask {
	return asking.Actions(fleet.Ask{Alert: o.For, Number: number, Refused: o.Refused}, o.Actions, s.actor)
}
