package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/observe"
	"custos/internal/rules"
)

// asking is a machine whose lock is removed only when a person approves.
func asking(t *testing.T) *machine { return askingBy(t, "") }

// askingBy is that with more lines in the rule.
func askingBy(t *testing.T, lines string) *machine {
	w := newMachine(t)
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin(), rules.Source{Name: "custos.toml", Text: []byte("[rule.lock-dead]\nmode = \"ask\"\n" + lines)})
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
			_, one, err := w.loop.Offer(t.Context(), offers[0].For, "somebody")
			if err != nil || len(one.Actions) != 1 || one.Actions[0].ID != offers[0].Actions[0].ID {
				t.Fatalf("of that alert alone: %+v, %v", one, err)
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

// A denial begins what is done instead, and nothing else, and says by whom; where nothing is
// done instead it begins nothing.
func TestDeny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		_, offers, err := w.loop.Offers(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		key := offers[0].For
		says := func(err error) func(denied, instead []fleet.Action) ([]fleet.Message, error) {
			return func(denied, instead []fleet.Action) ([]fleet.Message, error) {
				if len(denied) != 1 || denied[0].ID != offers[0].Actions[0].ID || len(instead) != 1 || instead[0].Do != "keep-lock" || instead[0].ID == denied[0].ID {
					t.Errorf("shown %+v, and instead %+v", denied, instead)
				}
				return []fleet.Message{{ID: "r"}}, err
			}
		}
		if err := w.loop.Deny(t.Context(), key, "ann", says(nil)); !errors.Is(err, loop.ErrNothingOffered) || len(w.turns) != 0 {
			t.Fatalf("with nothing instead: %v, %v", err, w.turns)
		}
		w.denied = "keep-lock"
		no := errors.New("no")
		if err := w.loop.Deny(t.Context(), key, "ann", says(no)); !errors.Is(err, no) || len(w.turns) != 0 {
			t.Fatalf("without consent: %v, %v", err, w.turns)
		}
		if err := w.loop.Deny(t.Context(), key, "ann", says(nil)); err != nil {
			t.Fatal(err)
		}
		turn := w.turns[len(w.turns)-1]
		if len(turn.Plan.Actions) != 1 || turn.Plan.Actions[0].Do != "keep-lock" || turn.Plan.Actions[0].Approved != "ann" || len(turn.Outbox) != 1 {
			t.Errorf("committed %+v", turn)
		}
		w.dead, w.frozen = true, "bob"
		if err := w.loop.Deny(t.Context(), key, "ann", says(nil)); !errors.Is(err, loop.ErrNothingOffered) || !strings.Contains(err.Error(), "frozen") {
			t.Errorf("frozen: %v", err)
		}
	})
}

// young is asking's machine with a board on which nothing was looked at yet: a look at
// the locks takes so long, or fails, and one at the repositories longer.
func young(t *testing.T, took time.Duration, fails error) (w *machine, run func()) {
	w = asking(t)
	locks := after(took, fleet.PartLocks, func(s *fleet.Snapshot) { s.Locks.Value = w.Snapshot().Locks.Value }, fails)
	board := observe.New(observe.Options{Probes: []observe.Probe{locks, slowly(48 * time.Second)}, Now: w.now})
	w.loop = loop.New(loop.Options{Board: board, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w,
		Touches: func(string) []fleet.PartName { return nil }, Every: 10 * time.Hour, Tick: 10 * time.Hour, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	go board.Run(ctx)
	return w, func() { stop(); synctest.Wait() }
}

// Where nothing was looked at yet, an approval waits for the looks that it rests on and
// for no other; what these cannot tell is not called over.
func TestApproveWaitsForItsOwnFirstLooks(t *testing.T) {
	key := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/l"}}
	synctest.Test(t, func(t *testing.T) {
		w, end := young(t, 2*time.Second, nil)
		defer end()
		err := w.loop.Approve(t.Context(), key, "ann", consents())
		if took := time.Since(w.begun); err != nil || len(w.turns) != 1 || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("after %s, with %d turns: %v", took, len(w.turns), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, end := young(t, 2*time.Second, errors.New("cannot read"))
		defer end()
		err := w.loop.Approve(t.Context(), key, "ann", consents())
		if !errors.Is(err, loop.ErrNothingOffered) || !strings.Contains(err.Error(), "cannot be told") || !strings.Contains(err.Error(), "cannot read") || len(w.turns) != 0 {
			t.Errorf("not seen: %v", err)
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

// What was offered by a rule that reads records is approved as it was offered: an
// approval is thought out from all that a pass is.
func TestApproveReadsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := askingBy(t, "[rule.gate-waits]\n"+`what = "A gate is not passed."
priority = "P3"
over = "gate"
expr = "gate.why == 'its expression says no'"
summary = "'gate ' + gate.id"
actions = [{ do = "remove-lock", targets = "lock", where = "lock.waited_for" }]
mode = "ask"
`)
		w.records.Gates = []fleet.Gate{{Head: fleet.Head{ID: "g1"}, Type: fleet.GateCondition, Title: "quiet", When: "true", State: fleet.GateOpen, At: w.now(), Since: w.now()}}
		w.holds = func(past fleet.Past, seen *fleet.Snapshot) {
			seen.Holds = []fleet.GateCheck{{Gate: past.Records.Gates[0].ID, Holds: fleet.Known(false), At: seen.At}}
		}
		w.run(20*time.Minute, time.Minute)
		_, offers, err := w.loop.Offers(t.Context(), "ann")
		i := slices.IndexFunc(offers, func(o loop.Offer) bool { return o.For.Rule == "gate-waits" })
		if err != nil || i < 0 || len(offers[i].Actions) != 1 {
			t.Fatalf("%+v, %v", offers, err)
		}
		if err := w.loop.Approve(t.Context(), offers[i].For, "ann", consents()); err != nil {
			t.Errorf("what was offered is refused: %v", err)
		}
	})
}

// No refusal is without a reason.
func TestRefusalsSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		key := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/other"}}
		err := w.loop.Approve(t.Context(), key, "ann", consents())
		if !errors.Is(err, loop.ErrNothingOffered) || !strings.Contains(err.Error(), "not found") {
			t.Errorf("another alert: %v", err)
		}
		key.Subject.Name = "/l"
		w.frozen = "bob: the disk"
		if err := w.loop.Approve(t.Context(), key, "ann", consents()); err == nil || !strings.HasSuffix(err.Error(), ": frozen: bob: the disk") || strings.Contains(err.Error(), "frozen: frozen") {
			t.Errorf("while it is frozen: %v", err)
		}
		w.frozen, w.dead = "", false
		if err := w.loop.Approve(t.Context(), key, "ann", consents()); !errors.Is(err, loop.ErrNothingOffered) || strings.HasSuffix(err.Error(), ": ") {
			t.Errorf("when it is over: %v", err)
		}
		_, err = w.loop.Ask(t.Context(), "ann", func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error) {
			return &fleet.Finding{AlertKey: fleet.AlertKey{Rule: "asked"}, Firing: true}, nil
		})
		if !errors.Is(err, loop.ErrNothingOffered) || !strings.Contains(err.Error(), "leads to no action") {
			t.Errorf("a finding that asks for nothing: %v", err)
		}
	})
}

// What is pending does not lead to nothing: nothing is done about it before it fires.
func TestNothingIsOfferedBeforeItFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := askingBy(t, "for = \"1m\"\n")
		err := w.loop.Approve(t.Context(), ofLock("/l")[0], "ann", consents())
		if !errors.Is(err, loop.ErrNothingOffered) || !strings.Contains(err.Error(), "has not fired yet") || len(w.turns) != 0 {
			t.Errorf("%v, %d turns", err, len(w.turns))
		}
	})
}
