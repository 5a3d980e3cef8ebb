package loop_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/rules"
)

// asking is a machine whose lock is removed only when a person approves.
func asking(t *testing.T) *machine {
	w := newMachine(t)
	set, err := rules.Parse("rules.toml", rules.Builtin(), rules.Source{Name: "custos.toml", Text: []byte("[rule.lock-dead]\nmode = \"ask\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	w.rules, w.dead = set, true
	w.run(20*time.Minute, time.Minute)
	return w
}

func consents(messages ...fleet.Message) func([]fleet.Action) ([]fleet.Message, error) {
	return func([]fleet.Action) ([]fleet.Message, error) { return messages, nil }
}

// What waits for a person is offered, changes nothing, and is the same each time.
func TestOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		var ids []string
		for range 3 {
			p, offers, err := w.loop.Offers(t.Context(), "ann")
			if err != nil || len(offers) != 1 || len(offers[0].Actions) != 1 || offers[0].For.Rule != "lock-dead" || len(p.Plan.Actions) != 0 {
				t.Fatalf("%+v, %v", offers, err)
			}
			ids = append(ids, offers[0].Actions[0].ID)
		}
		if ids[0] != ids[1] || ids[1] != ids[2] || len(w.turns) != 0 || !w.dead {
			t.Errorf("offers %v; turns %v", ids, w.turns)
		}
		w.dead = false
		if _, offers, err := w.loop.Offers(t.Context(), "ann"); err != nil || len(offers) != 0 {
			t.Errorf("with nothing wrong: %+v, %v", offers, err)
		}
	})
}

// An approval does what was offered and nothing else, says by whom, and commits the
// answer with it.
func TestApprove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		_, offers, err := w.loop.Offers(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		key := offers[0].For
		no := errors.New("no")
		if err := w.loop.Approve(t.Context(), key, "ann", func([]fleet.Action) ([]fleet.Message, error) { return nil, no }); !errors.Is(err, no) || len(w.turns) != 0 {
			t.Fatalf("without consent: %v, %v", err, w.turns)
		}
		if err := w.loop.Approve(t.Context(), key, "ann", consents(fleet.Message{ID: "r"})); err != nil {
			t.Fatal(err)
		}
		turn := w.turns[len(w.turns)-1]
		if len(turn.Plan.Actions) != 1 || turn.Plan.Actions[0].Approved != "ann" || turn.Plan.Actions[0].ID != offers[0].Actions[0].ID || len(turn.Outbox) != 1 || len(turn.Assessment.Alerts) != 0 || turn.Patrol != 0 {
			t.Errorf("committed %+v", turn)
		}
		err = w.loop.Approve(t.Context(), key, "ann", consents())
		if !errors.Is(err, loop.ErrNothingOffered) {
			t.Errorf("when it is over: %v", err)
		}
	})
}

// What is not the approved alert's is not done, and what a guard refuses is not
// done either, whoever approves.
func TestApproveNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		other := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/other"}}
		if err := w.loop.Approve(t.Context(), other, "ann", consents()); !errors.Is(err, loop.ErrNothingOffered) || len(w.turns) != 0 {
			t.Errorf("another alert: %v, %v", err, w.turns)
		}
		w.clash = 1
		key := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/l"}}
		if err := w.loop.Approve(t.Context(), key, "ann", consents()); err == nil || !strings.Contains(err.Error(), "cannot start") || !w.dead {
			t.Errorf("it was not committed: %v", err)
		}
		w.broken = true
		if err := w.loop.Approve(t.Context(), key, "ann", consents()); err == nil || !w.dead {
			t.Errorf("the past cannot be read: %v", err)
		}
	})
}
