package store

import (
	"errors"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// TestWhatALeaseOfAnEarlierEpochDoes: it is neither planned nor begun once a larger one was seen; one
// of the same epoch, and what is done by no lease, goes on.
func TestWhatALeaseOfAnEarlierEpochDoes(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "custos.db"))
	at := fleet.Instant{Boot: "b", Up: 1e9}
	by := func(id string, epoch uint64) fleet.Action {
		a := fleet.Action{ID: id, Do: "comment", Subject: fleet.Subject{Kind: fleet.KindIssue, Name: id}, For: fleet.AlertKey{Rule: "r", Subject: fleet.Subject{Kind: fleet.KindIssue, Name: id}}}
		if epoch > 0 {
			a.Fence = &fleet.Fence{Key: "forge/x", Epoch: epoch}
		}
		return a
	}
	commit := func(a fleet.Action) error {
		return s.Commit(t.Context(), fleet.Turn{At: at, Plan: fleet.Plan{At: at, Actions: []fleet.Action{a}}})
	}
	saw := func(epoch uint64) {
		if err := s.SawEpoch(t.Context(), "forge/x", epoch, at); err != nil {
			t.Fatal(err)
		}
	}
	saw(5)
	saw(4) // late news
	for _, a := range []fleet.Action{by("a5", 5), by("b5", 5), by("none", 0)} {
		if err := commit(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(t.Context(), "b5", at); err != nil {
		t.Fatal(err)
	}
	saw(7)
	var f interface{ Fenced() bool }
	if err := s.Start(t.Context(), "a5", at); !errors.As(err, &f) || !f.Fenced() {
		t.Errorf("an action of epoch 5 begins after 7: %v", err)
	}
	if err := s.Start(t.Context(), "none", at); err != nil {
		t.Error(err)
	}
	if err := commit(by("a6", 6)); !errors.As(err, &f) {
		t.Errorf("an action of epoch 6 is planned after 7: %v", err)
	}
	if got, err := s.Actions(t.Context(), ActionFilter{ID: "a6"}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.Epochs(t.Context()); err != nil || len(got) != 1 || got["forge/x"] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}
