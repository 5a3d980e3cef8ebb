package store

import (
	"context"

	"custos/internal/fleet"
)

// Learn notes what an action has learned of its agent before it ended: the agent
// that it started is known from then on, however long it takes to show that it is
// ready, and whatever becomes of Custos meanwhile.
func (s *Store) Learn(ctx context.Context, id string, from fleet.Registration) error {
	return s.write(ctx, "note what action "+id+" has learned", from.StartedAt, func(t *tx) error {
		rec, err := t.action(id)
		switch {
		case err != nil:
			return err
		case rec == nil:
			return ErrNotFound
		case rec.Result != nil:
			return ErrEnded
		}
		reg, err := t.registration(rec.Subject.Name)
		if err != nil || reg == nil {
			return err
		}
		_, err = t.putRegistration(reg.Learn(from))
		return err
	})
}

// learn notes what an action that ended taught about its agent, and what went
// wrong. A spawn that failed was rolled back, and so is its registration, unless
// the agent was there before: then what was wanted of it is wanted again.
func (t *tx) learn(rec fleet.ActionRecord) error {
	if rec.Subject.Kind != fleet.KindAgent || rec.Result == nil {
		return nil
	}
	reg, err := t.registration(rec.Subject.Name)
	if err != nil || reg == nil {
		return err
	}
	if verdict := badStart(rec); verdict != "" {
		if err := t.fail(failureOf(*reg, verdict, rec.Result.Why)); err != nil {
			return err
		}
	}
	if neverLived(rec, *reg) {
		return t.unregister(*reg)
	}
	now := wantedBefore(rec, *reg)
	if from := rec.Result.Registration; from != nil {
		now = now.Learn(*from)
	}
	_, err = t.putRegistration(now)
	return err
}

// badStart names the failure of a start; "" for everything else.
func badStart(rec fleet.ActionRecord) string {
	switch {
	case rec.Result.Status != fleet.ResultFailed:
		return ""
	case rec.Do == fleet.OrderRecover.Action():
		return "recovery_failed"
	case rec.Do == fleet.OrderSpawn.Action():
		return "start_failed"
	}
	return ""
}

// neverLived says whether a spawn that came to nothing was of a new agent. When
// it is in doubt whether it came to nothing, the agent stays.
func neverLived(rec fleet.ActionRecord, reg fleet.Registration) bool {
	was := rec.Target.Registration
	return rec.Do == fleet.OrderSpawn.Action() && was != nil && was.Revision == 0 && reg.Instance == "" && startedNothing(rec, reg)
}

// startedNothing says whether an action that was to start an agent has ended before
// any process of it began.
func startedNothing(rec fleet.ActionRecord, reg fleet.Registration) bool {
	starts := rec.Do == fleet.OrderSpawn.Action() || rec.Do == fleet.OrderRecover.Action()
	if failed := rec.Result.Status == fleet.ResultFailed || rec.Result.Status == fleet.ResultRefused; !starts || !failed || rec.Target.Registration == nil {
		return false
	}
	was, learned := rec.Target.Registration.Instance, rec.Result.Registration
	return reg.Instance == was && (learned == nil || learned.Instance == was)
}

// wantedBefore returns an agent as it was wanted before a person ordered a start that
// came to nothing: what was stopped stays stopped. One that was to run already is
// wanted by that person now, and what anybody said since stays.
func wantedBefore(rec fleet.ActionRecord, reg fleet.Registration) fleet.Registration {
	was := rec.Target.Registration
	bySame := fleet.IsPerson(rec.By) && reg.Desired == fleet.DesiredRunning && reg.DesiredBy == rec.By && reg.DesiredAt == rec.PlannedAt
	if !bySame || !startedNothing(rec, reg) || was.Desired == fleet.DesiredRunning {
		return reg
	}
	reg.Desired, reg.DesiredBy, reg.DesiredAt, reg.DesiredFor = was.Desired, was.DesiredBy, was.DesiredAt, was.DesiredFor
	return reg
}

// unregister removes an agent that never came to life.
func (t *tx) unregister(r fleet.Registration) error {
	if _, err := t.exec("DELETE FROM registrations WHERE name = ?", r.Name); err != nil {
		return err
	}
	return t.event(fleet.Event{Kind: "agent.removed", Subject: agentSubject(r.Name), Text: "it was never started"})
}
