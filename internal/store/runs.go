package store

import (
	"context"
	"fmt"
	"maps"

	"custos/internal/fleet"
)

// TakeRun writes a new run down, before anything of it is begun. One whose ID was
// taken before is returned as it has become, and fresh is false; when it asks for
// something else, or another run of its formula and project is not over, the
// error is ErrExists.
func (s *Store) TakeRun(ctx context.Context, run fleet.Run) (taken fleet.Run, fresh bool, err error) {
	err = s.write(ctx, "take run "+fleet.Line(run.ID, 80), run.At, func(t *tx) error {
		old, err := t.run(run.ID)
		if err != nil {
			return err
		}
		if old != nil {
			taken = *old
			if !asksTheSame(*old, run) {
				return fmt.Errorf("another run: its ID %w", ErrExists)
			}
			return nil
		}
		run.Revision = 0
		if run.State == "" {
			run.State = fleet.RunOpen
		}
		taken, err = t.putRun(run, fmt.Errorf("its place %w", ErrExists))
		fresh = true
		return err
	})
	return taken, fresh && err == nil, err
}

// asksTheSame says whether two runs of one ID were asked for with the same words.
func asksTheSame(a, b fleet.Run) bool {
	return a.Formula == b.Formula && a.Project == b.Project && a.By == b.By && a.Mode == b.Mode &&
		a.Schedule == b.Schedule && maps.Equal(a.Vars, b.Vars)
}

// ChangeRun changes one run, in one transaction: change is given it as it is, and
// what it returns is written, under another revision. An error of change is
// returned, and nothing is written. It fails with ErrNotFound when there is no
// such run, and with ErrExists when a run that was over is to go on while another
// one of its formula and project does.
func (s *Store) ChangeRun(ctx context.Context, id string, at fleet.Instant, change func(fleet.Run) (fleet.Run, error)) (fleet.Run, error) {
	var r fleet.Run
	err := s.write(ctx, "change run "+fleet.Line(id, 80), at, func(t *tx) error {
		old, err := t.run(id)
		if err == nil && old == nil {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		revision := old.Revision
		if r, err = change(*old); err != nil {
			return err
		}
		r.ID, r.Revision = id, revision
		r, err = t.putRun(r, fmt.Errorf("its place %w", ErrExists))
		return err
	})
	return r, err
}

// Runs lists runs with their steps, in the order they were taken.
func (s *Store) Runs(ctx context.Context, f fleet.RunFilter) ([]fleet.Run, error) {
	var c conditions
	c.when(f.ID != "", "id = ?", f.ID)
	c.when(f.Formula != "", "formula = ?", f.Formula)
	c.when(f.Open, "over = 0")
	newest := "SELECT seq FROM runs " + c.where() + " ORDER BY seq DESC LIMIT ?"
	var bad []badRow
	list, err := collectRuns(ctx, s.r, &bad, "WHERE seq IN ("+newest+") ORDER BY seq", append(c.args, atMost(f.Limit)))
	if err != nil {
		return nil, failed("list runs", err)
	}
	s.moveAside(ctx, bad)
	return list, nil
}

// putRuns writes the runs that a turn changes, then those that it begins. One
// that was changed by another meanwhile, or whose place was taken, fails the whole
// turn with ErrConflict.
func putRuns(t *tx, turn fleet.Turn) error {
	for _, begins := range []bool{false, true} {
		for _, r := range turn.Plan.Runs {
			if begins != (r.Revision == 0) {
				continue
			}
			if _, err := t.putRun(r, ErrConflict); err != nil {
				return fmt.Errorf("run %s: %w", fleet.Line(r.ID, 80), err)
			}
		}
	}
	return nil
}

// putGiven writes down the orders that follow from records. One that was given
// before stays as it has become.
func putGiven(t *tx, turn fleet.Turn) error {
	for _, o := range turn.Plan.Given {
		old, err := t.order(o.ID)
		if err != nil {
			return err
		}
		if old != nil {
			continue
		}
		o.State = fleet.OrderOpen
		if err := t.takeOrder(o); err != nil {
			return err
		}
	}
	return nil
}
