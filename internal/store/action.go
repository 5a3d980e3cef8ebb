package store

import (
	"context"
	"fmt"

	"custos/internal/fleet"
)

// ActionFilter keeps actions that match every field that is set.
type ActionFilter struct {
	Subject fleet.Subject
	ID      string
	Open    bool // only those without a result
}

// Start notes that a planned action is about to change the world. It succeeds
// once: an action that has begun or ended gives ErrNotPlanned, one that was
// never committed ErrNotFound, one whose lease has had a larger epoch since an error that is Fenced. The note is on the disk when Start returns nil.
func (s *Store) Start(ctx context.Context, id string, at fleet.Instant) error {
	return s.write(ctx, "begin action "+id, at, func(t *tx) error {
		rec, err := t.action(id)
		if err != nil {
			return err
		}
		if rec == nil {
			return ErrNotFound
		}
		if rec.Stage != fleet.StagePlanned {
			return fmt.Errorf("%w: it is %s", errNotPlanned, rec.Stage)
		}
		if err := t.fence(rec.Action); err != nil {
			return err
		}
		rec.Stage, rec.StartedAt = fleet.StageStarted, at
		if err := t.saveAction(*rec, at); err != nil {
			return err
		}
		return t.event(about(rec.Action, "action.started", rec.Do))
	})
}

// Finish notes what became of an action, begun or not. The first result stays:
// the same status again is no error, another gives ErrEnded. A result whose
// action was lost to damage is kept all the same. The order that the action
// answers, and the registration of its agent, change with it; the verdict it
// brings is kept.
func (s *Store) Finish(ctx context.Context, r fleet.Result) error {
	return s.write(ctx, "end action "+r.ActionID, r.Ended, func(t *tx) error {
		rec, err := t.action(r.ActionID)
		if err != nil {
			return err
		}
		if rec == nil {
			rec = &fleet.ActionRecord{
				Action:    fleet.Action{ID: r.ActionID, Do: r.Do, Subject: r.Subject, For: r.For},
				PlannedAt: r.Began,
			}
		}
		if rec.Result != nil && rec.Result.Status == r.Status {
			return nil
		}
		if rec.Result != nil {
			return fmt.Errorf("it %w as %s", ErrEnded, rec.Result.Status)
		}
		rec.Stage, rec.Result = fleet.StageEnded, &r
		if err := t.saveAction(*rec, r.Ended); err != nil {
			return err
		}
		if err := t.event(about(rec.Action, "action.ended", outcome(r))); err != nil {
			return err
		}
		if err := t.answer(*rec); err != nil {
			return err
		}
		if err := t.judged(*rec); err != nil {
			return err
		}
		return t.learn(*rec)
	})
}

// outcome is "rotate-log: done: 41 MB freed".
func outcome(r fleet.Result) string {
	return withWhy(r.Do, string(r.Status), r.Effect, r.Why)
}

// action returns nil for one that is not known, or that was damaged and is set
// aside now.
func (t *tx) action(id string) (*fleet.ActionRecord, error) {
	return oneRow[fleet.ActionRecord](t, "actions", "id", "id", id)
}

func (t *tx) saveAction(rec fleet.ActionRecord, at fleet.Instant) error {
	_, err := t.put(actionLine(rec, at))
	return err
}

func actionLine(rec fleet.ActionRecord, at fleet.Instant) line {
	return line{table: "actions", value: rec, names: columns{{"id", rec.ID}}, at: &at,
		first: columns{{"subject", name(rec.Subject)}}, now: columns{{"stage", string(rec.Stage)}}}
}

// Unfinished lists the actions without a result, in the order they were
// planned: after a crash, those whose fate must be found out.
func (s *Store) Unfinished(ctx context.Context) ([]fleet.ActionRecord, error) {
	return s.Actions(ctx, ActionFilter{Open: true})
}

// Actions lists the actions that are kept, in the order they were committed.
func (s *Store) Actions(ctx context.Context, f ActionFilter) ([]fleet.ActionRecord, error) {
	var c conditions
	c.when(f.Subject != (fleet.Subject{}), "subject = ?", name(f.Subject))
	c.when(f.ID != "", "id = ?", f.ID)
	c.when(f.Open, "stage <> 'ended'")
	return list[fleet.ActionRecord](ctx, s, "list actions", source{
		table: "actions", key: "id", where: c.where() + " ORDER BY rowid", args: c.args,
	})
}
