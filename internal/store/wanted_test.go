package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// ordersStart commits a turn in which by orders that agent "a" be started, as a pass
// does: the action knows it as it was, and a person's order makes it wanted.
func ordersStart(s *Store, was fleet.Registration, do, by string, when fleet.Instant) error {
	a, now := agentAction("x1", do), was
	a.By, a.Target.Registration = by, &was
	if fleet.IsPerson(by) {
		now.Desired, now.DesiredBy, now.DesiredAt, now.DesiredFor = fleet.DesiredRunning, by, when, ""
	}
	plan := fleettest.Rows(fleet.Changes{Registrations: []fleet.Registration{now}})
	plan.Actions = []fleet.Action{a}
	return s.Commit(context.Background(), fleet.Turn{At: when, Plan: plan})
}

// wanted is what is wanted of an agent, and who wants it.
func wanted(r fleet.Registration) string {
	return fmt.Sprint(r.Desired, " by ", r.DesiredBy, " at ", r.DesiredAt.Wall.Unix(), " for ", r.DesiredFor)
}

// TestARefusedStartLeavesWhatWasWanted: whatever was wanted of an agent is wanted
// again when a start that a person ordered ends before anything was started. A start
// that began, or that may have, is wanted; so is what anybody said since.
func TestARefusedStartLeavesWhatWasWanted(t *testing.T) {
	fleettest.Checks(t, 60)
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n, ".db")), synchronous: "OFF"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		was := registered("a")
		was.Desired = fleet.Desired(draw(t, "wanted", "stopped", "paused", "draining"))
		was.DesiredBy, was.DesiredAt, was.DesiredFor = draw(t, "by", "ann", "bob", fleet.ByCustos), at(0), draw(t, "for", "", "account/x")
		was.Instance = draw(t, "instance", "", "i1")
		if was, err = s.Register(context.Background(), was, at(0)); err != nil {
			t.Fatal(err)
		}
		author := draw(t, "author", "ann", "eve", fleet.ByCustos)
		if err := ordersStart(s, was, draw(t, "do", "recover", "spawn"), author, at(time.Minute)); err != nil {
			t.Fatal(err)
		}
		now := read(t, s)
		want := wanted(was)
		if draw(t, "meanwhile", "nothing", "a stop") == "a stop" {
			now = stopped(t, s)
			want = wanted(now)
		}
		r := fleet.Result{ActionID: "x1", Status: fleet.ResultStatus(draw(t, "status", "done", "failed", "refused", "unverified", "in_doubt")), Ended: at(3 * time.Minute)}
		begun := r.Status != fleet.ResultFailed && r.Status != fleet.ResultRefused
		if r.Status != fleet.ResultRefused && draw(t, "started", "no", "yes") == "yes" {
			learned := was
			learned.Instance, begun = "i2", true
			r.Registration = &learned
		}
		if err := s.Finish(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if begun {
			want = wanted(now)
		}
		if got := wanted(read(t, s)); got != want {
			t.Fatalf("%s: it is to be %s, want %s", r.Status, got, want)
		}
	})
}

func read(t *rapid.T, s *Store) fleet.Registration {
	r, err := s.Registration(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stopped has somebody stop the agent while its start is under way.
func stopped(t *rapid.T, s *Store) fleet.Registration {
	r, err := s.UpdateRegistration(context.Background(), "a", at(2*time.Minute), func(r fleet.Registration) (fleet.Registration, error) {
		r.Desired, r.DesiredBy, r.DesiredAt = fleet.DesiredStopped, "carl", at(2*time.Minute)
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
