package store

import (
	"context"
	"fmt"
	"strconv"

	"custos/internal/fleet"
)

// Commit writes one turn of the cycle down, in one transaction: its alerts, its
// actions as planned, what it left undone, its runs, the orders that follow, its
// agents, its messages. What was committed before (an action's ID, a message's ID)
// is left as it is, so that a turn committed twice is committed once. It fails with
// ErrConflict, and nothing is written, when a registration or a run it changes was
// changed by another meanwhile.
func (s *Store) Commit(ctx context.Context, turn fleet.Turn) error {
	return s.write(ctx, "commit the turn", turn.At, func(t *tx) error {
		for _, step := range []func(*tx, fleet.Turn) error{
			putAlerts, putActions, putSkips, putOrders, putRegistrations, putRuns, putRecords, putGiven, putAgents, putQuotas, putVerdicts, putOutbox, putPatrol,
		} {
			if err := step(t, turn); err != nil {
				return err
			}
		}
		return nil
	})
}

func putActions(t *tx, turn fleet.Turn) error {
	for _, a := range turn.Plan.Actions {
		if err := t.fence(a); err != nil {
			return err
		}
		l := actionLine(fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: turn.At}, turn.At)
		l.where = first
		isNew, err := t.put(l)
		if err != nil {
			return err
		}
		if !isNew {
			continue
		}
		if err := t.event(about(a, "action.planned", a.Do+": "+a.Why)); err != nil {
			return err
		}
		if err := t.unskip(a); err != nil {
			return err
		}
	}
	return nil
}

// about is an event about an action.
func about(a fleet.Action, kind, text string) fleet.Event {
	return fleet.Event{Kind: kind, Alert: a.For, Subject: a.Subject, Action: a.ID, Text: text}
}

// putSkips keeps the present refusal of each wished action, and logs one only
// when its guard is another than last time: a cooldown is one event, not one a
// pass.
func putSkips(t *tx, turn fleet.Turn) error {
	refused := t.mirror.refused()
	for _, k := range turn.Plan.Skipped {
		if old := refused[wish{k.Do, k.Subject, k.For}]; old != nil && old.value.Guard == k.Guard && !t.mirror.touched.has("skips", old.id) {
			continue
		}
		isNew, err := t.put(line{table: "skips", value: k, where: "guard <> excluded.guard", now: columns{{"guard", string(k.Guard)}},
			names: columns{{"do", k.Do}, {"subject", name(k.Subject)}, {"rule", k.For.Rule}, {"alert", name(k.For.Subject)}}})
		if err != nil {
			return err
		}
		if !isNew {
			continue
		}
		if err := t.event(about(k.Action, "action.skipped", fmt.Sprintf("%s: %s: %s", k.Do, k.Guard, k.Reason()))); err != nil {
			return err
		}
	}
	return nil
}

// unskip forgets the refusal of an action that is planned now.
func (t *tx) unskip(a fleet.Action) error {
	_, err := t.exec("DELETE FROM skips WHERE do = ? AND subject = ? AND rule = ? AND alert = ?",
		a.Do, name(a.Subject), a.For.Rule, name(a.For.Subject))
	return err
}

func putAgents(t *tx, turn fleet.Turn) error {
	for _, a := range turn.Agents {
		if _, err := t.put(line{table: "agents", value: a, names: columns{{"name", a.Name}}, at: &a.LastSeen, where: "json <> excluded.json"}); err != nil {
			return err
		}
	}
	return nil
}

func putQuotas(t *tx, turn fleet.Turn) error {
	for _, q := range turn.Quotas {
		if _, err := t.put(line{table: "quotas", value: q, names: columns{{"account", q.Account}, {"window", q.Window}}, at: &turn.At}); err != nil {
			return err
		}
	}
	return nil
}

// putPatrol counts the patrol; a number that was counted already is not counted
// again.
func putPatrol(t *tx, turn fleet.Turn) error {
	last, err := number(t.ctx, t, "patrol")
	if err != nil || turn.Patrol <= last {
		return err
	}
	if err := t.setMeta("patrol", strconv.FormatInt(turn.Patrol, 10)); err != nil {
		return err
	}
	if err := t.setInstant("patrol_at", turn.At); err != nil {
		return err
	}
	return t.event(fleet.Event{Kind: "patrol", Text: fmt.Sprintf("patrol %d: %s, %s, %d skipped",
		turn.Patrol, fleet.Counted(len(turn.Assessment.Findings), "finding"), fleet.Counted(len(turn.Plan.Actions), "action"), len(turn.Plan.Skipped))})
}
