package store

import (
	"context"
	"slices"

	"custos/internal/fleet"
)

// FailureFilter keeps failures that match every field that is set.
type FailureFilter struct {
	Agent string
	Since fleet.Instant // wall clock
	Limit int           // the newest; 1000 when it is not positive
}

// Failures lists what went wrong with agents, oldest first.
func (s *Store) Failures(ctx context.Context, f FailureFilter) ([]fleet.Failure, error) {
	var c conditions
	c.when(f.Agent != "", "agent = ?", f.Agent)
	c.when(!f.Since.IsZero(), "wall >= ?", wall(f.Since.Wall))
	found, err := list[fleet.Failure](ctx, s, "list failures", source{
		table: "failures", key: "id", where: c.where() + " ORDER BY id DESC LIMIT ?", args: append(c.args, atMost(f.Limit)),
	})
	slices.Reverse(found)
	return found, err
}

// tierModel is the tier of a failure that a model told of.
const tierModel = 1

func (t *tx) fail(f fleet.Failure) error {
	if f.At.IsZero() {
		f.At = t.at
	}
	const next = "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'failures'), 0) + 1"
	if err := t.QueryRowContext(t.ctx, next).Scan(&f.ID); err != nil {
		return err
	}
	text, err := encode(f)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO failures (id, agent, wall, boot, up, json) VALUES (?, ?, ?, ?, ?, ?)",
		row(f.ID, f.Agent, stamp(f.At), text)...)
	return err
}

// failuresOf lists the failures that a change of a registration tells of: an end
// nobody asked for, one that nobody saw before another instance took its place, a
// conversation that could not be resumed, and that the agent is given up.
func failuresOf(old *fleet.Registration, r fleet.Registration) (list []fleet.Failure) {
	if old == nil {
		old = &fleet.Registration{}
	}
	switch {
	case r.Unresumed != nil && old.Instance != r.Instance:
		f := failureOf(r, "resume_failed", "resume failed, started anew: "+exitWords(*r.Unresumed))
		f.Instance, f.At = r.Unresumed.Instance, r.Unresumed.At
		list = append(list, f)
	case unseenEnd(*old, r):
		list = append(list, failureOf(*old, "crashed", "ended unseen, and was started again"))
	}
	if crashed(r) && !(crashed(*old) && old.Instance == r.Instance) { // later news may tell that it did not end well
		f := failureOf(r, "crashed", exitWords(*r.Exit))
		f.At = r.Exit.At
		list = append(list, f)
	}
	if old.Failed != r.Failed && r.Failed != "" {
		list = append(list, failureOf(r, "given_up", r.Failed))
	}
	return list
}

func crashed(r fleet.Registration) bool {
	return r.Exit != nil && r.Exit.Failed() && !r.Exit.Rebooted()
}

// unseenEnd says whether an instance that was to run, and that no reboot ended, gave
// way to another without anybody having seen it end.
func unseenEnd(old, now fleet.Registration) bool {
	return old.Instance != "" && old.Instance != now.Instance && old.Exit == nil &&
		old.Desired == fleet.DesiredRunning && old.Process.Boot == now.Process.Boot
}

func failureOf(r fleet.Registration, verdict, reason string) fleet.Failure {
	return fleet.Failure{Agent: r.Name, Role: r.Role, Project: r.Project, Run: r.Run, Task: r.Task, Instance: r.Instance,
		Verdict: verdict, Reason: fleet.Line(reason, 400), Tags: []string{"watchdog", "auto-recorded"}}
}
