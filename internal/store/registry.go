package store

import (
	"context"
	"fmt"
	"path"

	"custos/internal/fleet"
)

// Register writes down a new agent, as it is. It fails with ErrExists when one
// of that name was registered before, and returns it with its first revision.
func (s *Store) Register(ctx context.Context, r fleet.Registration, at fleet.Instant) (fleet.Registration, error) {
	r.Revision = 0
	err := s.write(ctx, "register agent "+fleet.Line(r.Name, 80), at, func(t *tx) error {
		old, err := t.registration(r.Name)
		if err == nil && old != nil {
			err = ErrExists
		}
		if err != nil {
			return err
		}
		r, err = t.putRegistration(r)
		return err
	})
	return r, err
}

// UpdateRegistration changes one registration, in one transaction: change is
// given it as it is, and what it returns is written, under another revision. An
// error of change is returned, and nothing is written. It fails with ErrNotFound
// when there is none of that name.
func (s *Store) UpdateRegistration(ctx context.Context, name string, at fleet.Instant, change func(fleet.Registration) (fleet.Registration, error)) (fleet.Registration, error) {
	var r fleet.Registration
	err := s.write(ctx, "change agent "+fleet.Line(name, 80), at, func(t *tx) error {
		old, err := t.registration(name)
		if err == nil && old == nil {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		if r, err = change(*old); err != nil {
			return err
		}
		r.Name, r.Revision = old.Name, old.Revision
		r, err = t.putRegistration(r)
		return err
	})
	return r, err
}

// Registrations lists every registered agent by name, the retired ones too.
func (s *Store) Registrations(ctx context.Context) ([]fleet.Registration, error) {
	return list[fleet.Registration](ctx, s, "list registered agents", source{table: "registrations", key: "name", where: "ORDER BY name"})
}

// putRegistrations writes the registrations that a turn changes. One that was
// changed by another meanwhile fails the whole turn with ErrConflict.
func putRegistrations(t *tx, turn fleet.Turn) error {
	for _, r := range turn.Plan.Registrations {
		if _, err := t.putRegistration(r); err != nil {
			return fmt.Errorf("agent %s: %w", fleet.Line(r.Name, 80), err)
		}
	}
	return nil
}

// registration returns nil for one that is not known, or that was damaged and
// is set aside now.
func (t *tx) registration(name string) (*fleet.Registration, error) {
	return oneRow[fleet.Registration](t, "registrations", "name", "name", name)
}

// putRegistration writes r when its revision is the stored one, and returns it
// with the next. To write what is stored already changes nothing.
func (t *tx) putRegistration(r fleet.Registration) (fleet.Registration, error) {
	old, err := t.registration(r.Name)
	if err != nil {
		return r, err
	}
	if old != nil {
		if same, err := same(*old, r, func(r *fleet.Registration) *int64 { return &r.Revision }); err != nil || same {
			return *old, err
		}
	}
	if (old == nil) != (r.Revision == 0) || old != nil && old.Revision != r.Revision {
		return r, ErrConflict
	}
	r.Revision++
	if _, err := t.put(line{table: "registrations", value: r, names: columns{{"name", r.Name}}, at: &t.at,
		now: columns{{"retired", r.Desired == fleet.DesiredRetired}, {"revision", r.Revision}}}); err != nil {
		return r, err
	}
	return r, t.told(old, r)
}

// same says whether r is the stored one, or what became of it by this very change.
func same[T any](old, r T, revision func(*T) *int64) (bool, error) {
	is, was := revision(&r), *revision(&old)
	if *is != was && *is+1 != was {
		return false, nil
	}
	*is = was
	a, err := encode(old)
	if err != nil {
		return false, err
	}
	b, err := encode(r)
	return a == b, err
}

// told logs what changed, keeps the failures, and lifts the mark of a stop when
// the agent is wanted again. The log is the only place that keeps what was.
func (t *tx) told(old *fleet.Registration, r fleet.Registration) error {
	for _, e := range changes(old, r) {
		if err := t.event(e); err != nil {
			return err
		}
	}
	for _, f := range failuresOf(old, r) {
		if err := t.fail(f); err != nil {
			return err
		}
	}
	return nil
}

func agentSubject(name string) fleet.Subject {
	return fleet.Subject{Kind: fleet.KindAgent, Name: name}
}

// changes lists what is new in r, as events.
func changes(old *fleet.Registration, r fleet.Registration) (list []fleet.Event) {
	add := func(kind, text string) {
		list = append(list, fleet.Event{Kind: kind, Subject: agentSubject(r.Name), Text: fleet.Line(text, 400)})
	}
	if old == nil {
		add("agent.registered", fmt.Sprintf("%s, %s by %s", r.Kind, r.Desired, r.DesiredBy))
		old = &fleet.Registration{Desired: r.Desired, PromptState: r.PromptState}
	}
	if old.Desired != r.Desired {
		add("agent.desired", fmt.Sprintf("%s by %s, was %s", r.Desired, r.DesiredBy, old.Desired))
	}
	if old.Instance != r.Instance {
		add("agent.started", fmt.Sprintf("instance %s, process %d", r.Instance, r.Process.PID)+onServer(r))
	}
	if newExit(*old, r) {
		add("agent.ended", exitWords(*r.Exit))
	}
	if old.Failed != r.Failed && r.Failed != "" {
		add("agent.failed", r.Failed)
	}
	if old.PromptState != r.PromptState {
		add("agent.prompt", string(r.PromptState))
	}
	if r.Checkpoint != nil && (old.Checkpoint == nil || old.Checkpoint.At != r.Checkpoint.At) {
		add("agent.checkpoint", r.Checkpoint.Head+" "+r.Checkpoint.Ref)
	}
	return list
}

// onServer names the terminal server that an agent was started on, where it is not the
// user's default one.
func onServer(r fleet.Registration) string {
	if r.Server == "" || path.Base(r.Server) == "default" {
		return ""
	}
	return ", on terminal server " + r.Server
}

// newExit says whether r tells of an end that old did not.
func newExit(old, r fleet.Registration) bool {
	return r.Exit != nil && (old.Exit == nil || old.Instance != r.Instance)
}

func exitWords(e fleet.Exit) string {
	words := "ended, in a way that cannot be told"
	if status, ok := e.Status.Get(); ok {
		words = fmt.Sprintf("ended with status %d", status)
	}
	if signal, ok := e.Signal.Get(); ok && signal != 0 {
		words = fmt.Sprintf("ended by signal %d", signal)
	}
	return words + e.Besides()
}
