package store

import (
	"cmp"
	"context"
	"fmt"

	"custos/internal/fleet"
)

// TakeOrder writes down an order, open, and in the same transaction those that go with
// it: there is no moment at which one of them is there and another is not. One whose ID
// was taken before is returned as it has become, and fresh is false; when it asks for
// something else the error is ErrExists.
func (s *Store) TakeOrder(ctx context.Context, o fleet.Order, with ...fleet.Order) (taken fleet.Order, fresh bool, err error) {
	err = s.write(ctx, "take order "+fleet.Line(o.ID, 80), o.At, func(t *tx) error {
		old, err := t.order(o.ID)
		if err != nil {
			return err
		}
		if old != nil {
			taken = *old
			if !old.Same(o) {
				return fmt.Errorf("another order: %w", ErrExists)
			}
			return nil
		}
		taken, fresh = o, true
		taken.State = cmp.Or(o.State, fleet.OrderOpen)
		for _, one := range append([]fleet.Order{o}, with...) {
			if err := t.takeOrder(one); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, fresh && err == nil, err
}

// takeOrder writes a new order down.
func (t *tx) takeOrder(o fleet.Order) error {
	o.State = cmp.Or(o.State, fleet.OrderOpen)
	old, err := t.order(o.ID)
	if err != nil {
		return err
	}
	if old != nil {
		return fmt.Errorf("order %s: %w", fleet.Line(o.ID, 80), ErrExists)
	}
	if err := t.saveOrder(o); err != nil {
		return err
	}
	return t.orderEvent("order.taken", o, string(o.Do)+" by "+o.By)
}

// OrderFilter keeps orders that match every field that is set.
type OrderFilter struct {
	ID    string
	Agent string
	Open  bool // only those that are not over
	Limit int  // the newest; 1000 when it is not positive
}

// Orders lists orders in the order they were given.
func (s *Store) Orders(ctx context.Context, f OrderFilter) ([]fleet.Order, error) {
	var c conditions
	c.when(f.ID != "", "id = ?", f.ID)
	c.when(f.Agent != "", "agent = ?", f.Agent)
	c.when(f.Open, "over = 0")
	newest := "SELECT seq FROM orders " + c.where() + " ORDER BY seq DESC LIMIT ?"
	return list[fleet.Order](ctx, s, "list orders", source{
		table: "orders", key: "id", where: "WHERE seq IN (" + newest + ") ORDER BY seq", args: append(c.args, atMost(f.Limit)),
	})
}

// LetOrder opens an order that was asked for, as someone here approves of it, and writes down in the same transaction
// those that go with it. One that waits for that no more is ErrEnded; ErrExists says that what goes with it is there.
func (s *Store) LetOrder(ctx context.Context, id, by string, at fleet.Instant, with ...fleet.Order) error {
	return s.write(ctx, "approve of order "+fleet.Line(id, 80), at, func(t *tx) error {
		o, err := t.order(id)
		switch {
		case err != nil:
			return err
		case o == nil:
			return ErrNotFound
		case o.State != fleet.OrderAsked:
			return fmt.Errorf("it %w as %s", ErrEnded, o.State)
		}
		o.State, o.Approved, o.At = fleet.OrderOpen, by, at
		err = t.saveOrder(*o)
		for i := 0; i < len(with) && err == nil; i++ {
			err = t.takeOrder(with[i])
		}
		if err != nil {
			return err
		}
		return t.orderEvent("order.approved", *o, string(o.Do)+" by "+o.By+", approved by "+by)
	})
}

// EndOrder ends an order otherwise than by a pass: a person takes it back, or a
// spool tells what became of it. One that is over stays as it is: the same state
// again is no error, another is ErrEnded. One whose action is under way cannot
// be taken back: ErrConflict.
func (s *Store) EndOrder(ctx context.Context, id string, state fleet.OrderState, why string, at fleet.Instant) error {
	return s.write(ctx, "end order "+fleet.Line(id, 80), at, func(t *tx) error {
		o, err := t.order(id)
		switch {
		case err != nil:
			return err
		case o == nil:
			return ErrNotFound
		case o.IsOver() && o.State == state:
			return nil
		case o.IsOver():
			return fmt.Errorf("it %w as %s", ErrEnded, o.State)
		case o.Action != "":
			return fmt.Errorf("%w: action %s is under way", ErrConflict, o.Action)
		}
		o.State, o.Guard, o.Why, o.Hint, o.Until = state, "", why, "", fleet.Instant{}
		if !o.IsOver() {
			return fmt.Errorf("%q ends no order", state)
		}
		return t.putOrder(*o)
	})
}

// putOrders writes what a pass decided of orders. One that is over stays over;
// when it was to be answered by an action of this turn, the turn is not lawful.
func putOrders(t *tx, turn fleet.Turn) error {
	for _, o := range turn.Plan.Orders {
		old, err := t.order(o.ID)
		if err != nil {
			return err
		}
		switch {
		case old == nil: // damaged, and set aside
		case !old.IsOver():
			err = t.putOrder(o)
		case o.Action != old.Action && o.Action != "":
			err = fmt.Errorf("order %s: %w", o.ID, ErrConflict)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer notes what became of the order that an action answers.
func (t *tx) answer(rec fleet.ActionRecord) error {
	if rec.Order == "" || rec.Result == nil {
		return nil
	}
	o, err := t.order(rec.Order)
	if err != nil || o == nil || o.IsOver() || o.Action != rec.ID {
		return err
	}
	return t.putOrder(o.After(*rec.Result))
}

// order returns nil for one that is not known, or that was damaged and is set
// aside now.
func (t *tx) order(id string) (*fleet.Order, error) {
	return oneRow[fleet.Order](t, "orders", "id", "id", id)
}

// putOrder writes an order, and logs it when it changed.
func (t *tx) putOrder(o fleet.Order) error {
	text, err := encode(o)
	if err != nil {
		return err
	}
	var same bool
	err = t.QueryRowContext(t.ctx, "SELECT json = ? FROM orders WHERE id = ?", text, o.ID).Scan(&same)
	if err != nil || same {
		return err
	}
	if err := t.saveOrder(o); err != nil {
		return err
	}
	kind := "order." + string(o.State)
	if o.State == fleet.OrderOpen {
		kind = "order.reopened"
		if o.Action != "" {
			kind = "order.planned"
		}
	}
	return t.orderEvent(kind, o, withWhy(string(o.Do), string(o.Guard), o.Why))
}

// orderEvent notes something of an order, by its ID: an agent may have many.
func (t *tx) orderEvent(kind string, o fleet.Order, text string) error {
	e := fleet.Event{Kind: kind, Action: o.Action, Text: fleet.Line(o.ID+": "+text, 400)}
	if o.Agent != "" {
		e.Subject = agentSubject(o.Agent)
	}
	return t.event(e)
}

func (t *tx) saveOrder(o fleet.Order) error {
	_, err := t.put(line{table: "orders", value: o, names: columns{{"id", o.ID}}, at: &t.at,
		first: columns{{"agent", o.Agent}}, now: columns{{"over", o.IsOver()}}})
	return err
}
