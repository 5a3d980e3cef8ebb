package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"custos/internal/fleet"
)

// stepsOf is the json of a run's steps: a list of texts, in order, so that one
// that is damaged spoils no other row of the query.
const stepsOf = "(SELECT json_group_array(s.json ORDER BY s.position) FROM run_steps s WHERE s.run = runs.id)"

// readRun puts a run together from its row and the json of its steps. A run of
// which one step cannot be read is damaged as a whole: it is not to be carried out
// without that step.
func readRun(row, steps string) (r fleet.Run, err error) {
	if err := json.Unmarshal([]byte(row), &r); err != nil {
		return r, err
	}
	var texts []string
	if err := json.Unmarshal([]byte(steps), &texts); err != nil {
		return r, fmt.Errorf("its steps: %w", err)
	}
	r.Steps = nil
	for i, text := range texts {
		var s fleet.RunStep
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return r, fmt.Errorf("step %d: %w", i+1, err)
		}
		r.Steps = append(r.Steps, s)
	}
	return r, nil
}

// runsCache holds the runs that are not over, and the newest of each schedule,
// whatever their age.
func runsCache() *cache[fleet.Run] {
	s := plain[fleet.Run]("runs", "id", "over = 0 OR newest = 1", true)
	s.extra, s.order = stepsOf+", ''", given
	s.parse = func(k *kept[fleet.Run], in text) (err error) {
		k.value, err = readRun(in.json, in.first)
		return err
	}
	return s
}

func collectRuns(ctx context.Context, q querier, bad *[]badRow, where string, args []any) (list []fleet.Run, err error) {
	rows, err := q.QueryContext(ctx, "SELECT id, json, "+stepsOf+" FROM runs "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, text, steps string
		if err := rows.Scan(&id, &text, &steps); err != nil {
			return nil, err
		}
		r, err := readRun(text, steps)
		if err != nil {
			*bad = append(*bad, badRow{"runs", "id", id, err.Error(), text})
			continue
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// run returns nil for one that is not known, or that was damaged and is set aside
// now.
func (t *tx) run(id string) (*fleet.Run, error) {
	var bad []badRow
	list, err := collectRuns(t.ctx, t, &bad, "WHERE id = ?", []any{id})
	if err != nil {
		return nil, err
	}
	for _, b := range bad {
		if err := t.moveAside(b, wall(t.at.Wall)); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// moveStepsAside moves the steps of a run that is about to be moved aside.
func (t *tx) moveStepsAside(b badRow, now string) error {
	_, err := t.exec(`INSERT INTO set_aside (wall, what, key, why, json)
		SELECT ?, 'run_steps', s.run || '/' || s.step, 'its run cannot be read', s.json
		FROM run_steps s JOIN runs r ON r.id = s.run WHERE r.id = ? AND r.json = ? ORDER BY s.position`, now, b.key, b.json)
	return err
}

// putRun writes r when its revision is the stored one, and returns it with the
// next. To write what is stored already changes nothing. It fails with taken when
// r begins, or goes on after it was over, where another run is.
func (t *tx) putRun(r fleet.Run, taken error) (fleet.Run, error) {
	old, err := t.run(r.ID)
	if err != nil {
		return r, err
	}
	if old != nil {
		if same, err := same(*old, r, func(r *fleet.Run) *int64 { return &r.Revision }); err != nil || same {
			return *old, err
		}
	}
	if (old == nil) != (r.Revision == 0) || old != nil && old.Revision != r.Revision {
		return r, ErrConflict
	}
	if !r.IsOver() && (old == nil || old.IsOver()) {
		if err := t.free(r, taken); err != nil {
			return r, err
		}
	}
	r.Revision++
	if err := t.saveRun(old, r); err != nil {
		return r, err
	}
	for _, e := range runChanges(old, r) {
		if err := t.event(e); err != nil {
			return r, err
		}
	}
	return r, nil
}

// free fails with taken when a run of the same formula and project is not over.
func (t *tx) free(r fleet.Run, taken error) error {
	var id string
	err := t.QueryRowContext(t.ctx, "SELECT id FROM runs WHERE formula = ? AND project = ? AND over = 0 AND id <> ?",
		r.Formula, r.Project, r.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: run %s of formula %s is not over", taken, id, fleet.Line(r.Formula, 80))
}

func (t *tx) saveRun(old *fleet.Run, r fleet.Run) error {
	since := t.at
	if r.IsOver() && !r.EndedAt.IsZero() {
		since = r.EndedAt
	}
	if old == nil && r.Schedule != "" {
		if _, err := t.exec("UPDATE runs SET newest = 0 WHERE schedule = ? AND newest = 1", r.Schedule); err != nil {
			return err
		}
	}
	bare := r
	bare.Steps = nil
	if _, err := t.put(line{table: "runs", value: bare, names: columns{{"id", r.ID}}, at: &since,
		first: columns{{"formula", r.Formula}, {"project", r.Project}, {"schedule", r.Schedule}, {"newest", r.Schedule != ""}},
		now:   columns{{"over", r.IsOver()}, {"revision", r.Revision}}}); err != nil {
		return err
	}
	return t.saveSteps(old, r)
}

// saveSteps writes the steps that changed.
func (t *tx) saveSteps(old *fleet.Run, r fleet.Run) error {
	if old == nil {
		old = &fleet.Run{}
	}
	for i, s := range r.Steps {
		if i < len(old.Steps) && reflect.DeepEqual(old.Steps[i], s) {
			continue
		}
		if _, err := t.put(line{table: "run_steps", value: s, names: columns{{"run", r.ID}, {"position", i}},
			now: columns{{"step", s.ID}, {"state", string(s.State)}}}); err != nil {
			return err
		}
	}
	if len(old.Steps) <= len(r.Steps) {
		return nil
	}
	_, err := t.exec("DELETE FROM run_steps WHERE run = ? AND position >= ?", r.ID, len(r.Steps))
	return err
}
