package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// putOutbox keeps what is to be told. A message for an agent is also an event in
// the story of both: of who is told, and of whom it tells.
func putOutbox(t *tx, turn fleet.Turn) error {
	for _, m := range turn.Outbox {
		isNew, err := t.put(line{table: "outbox", value: m, names: columns{{"id", m.ID}}, at: &turn.At, where: first,
			first: columns{{"state", "due"}, {"priority", string(m.Priority)}, {"kind", string(m.Kind)}, {"recipient", m.To}}})
		if err != nil {
			return err
		}
		if !isNew || m.To == "" && m.Kind != fleet.MessageTold {
			continue
		}
		if err := t.event(messageEvent(m)); err != nil {
			return err
		}
	}
	return nil
}

// messageEvent is the event of a message for an agent, of an answer to a person, or
// of what somebody has people told.
func messageEvent(m fleet.Message) fleet.Event {
	e := fleet.Event{Kind: string(m.Kind), Subject: agentSubject(m.To), Text: fleet.Line(strings.TrimSuffix(m.Subject+": "+m.Body, ": "), 400),
		Alert: fleet.AlertKey{Rule: m.Alert.Rule, Subject: agentSubject(m.About)}}
	switch {
	case m.Kind == fleet.MessageTold && m.About == "":
		e.Subject, e.Alert = fleet.Subject{Kind: fleet.KindSelf, Name: "custos"}, fleet.AlertKey{}
	case m.Kind == fleet.MessageTold:
		e.Subject, e.Alert = agentSubject(m.About), fleet.AlertKey{}
	case m.Answers != "":
		e.Subject, e.Alert = m.Alert.Subject, m.Alert
	}
	return e
}

// MessagesFor lists what an agent has not been told yet, oldest first: the newest
// limit, or 1000 when that is not positive. It stays undelivered until there is
// a way to deliver it.
func (s *Store) MessagesFor(ctx context.Context, agent string, limit int) ([]fleet.Message, error) {
	if agent == "" {
		return nil, nil
	}
	out, err := list[fleet.Message](ctx, s, "list messages for agent "+fleet.Line(agent, 80), source{
		table: "outbox", key: "id", where: `WHERE recipient = ? AND state = 'due' ORDER BY wall DESC, rowid DESC LIMIT ?`, args: []any{agent, atMost(limit)},
	})
	slices.Reverse(out)
	return out, err
}

// Due lists at most limit messages for people that are to be delivered at at, the
// most urgent and then the oldest first.
func (s *Store) Due(ctx context.Context, at fleet.Instant, limit int) ([]fleet.Message, error) {
	return list[fleet.Message](ctx, s, "list messages to send", source{
		table: "outbox", key: "id",
		where: `WHERE recipient = '' AND state = 'due' AND (wall <= ? OR (boot = ? AND boot <> '' AND up <= ?))
			ORDER BY priority, wall, rowid LIMIT ?`,
		args: []any{wall(at.Wall), at.Boot, int64(at.Up), limit},
	})
}

// Sent strikes a message off: it was delivered.
func (s *Store) Sent(ctx context.Context, id string, at fleet.Instant) error {
	return s.message(ctx, "note that message "+id+" was sent", id, at, "sent", at, "")
}

// Failed puts a message off until next, with why it was not delivered; a zero
// next gives it up.
func (s *Store) Failed(ctx context.Context, id string, at fleet.Instant, why string, next fleet.Instant) error {
	state, when := "due", next
	if next.IsZero() {
		state, when = "given_up", at
	}
	return s.message(ctx, "note that message "+id+" was not sent", id, at, state, when, why)
}

func (s *Store) message(ctx context.Context, what, id string, at fleet.Instant, state string, when fleet.Instant, why string) error {
	return s.write(ctx, what, at, func(t *tx) error {
		n, err := t.exec(`UPDATE outbox SET state = ?, wall = ?, boot = ?, up = ?, tries = tries + 1, why = ?
			WHERE id = ? AND state = 'due'`, row(state, stamp(when), why, id)...)
		if err != nil || n > 0 {
			return err
		}
		return t.overAlready(id, state)
	})
}

// overAlready tells a message that is over, which may be struck off twice, from
// one that does not exist.
func (t *tx) overAlready(id, want string) error {
	var state string
	if err := t.QueryRowContext(t.ctx, "SELECT COALESCE(MAX(state), '') FROM outbox WHERE id = ?", id).Scan(&state); err != nil {
		return err
	}
	switch state {
	case "":
		return ErrNotFound
	case want:
		return nil
	}
	return fmt.Errorf("it %w as %s", ErrEnded, state)
}
