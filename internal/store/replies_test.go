package store

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// An answer is for the people of its place only, is known by its ID for as long as
// it is kept, and is an event of what it is about.
func TestAnswersToPeople(t *testing.T) {
	s := fresh(t)
	key := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/l"}}
	m := fleet.Message{ID: "r-1", Kind: fleet.MessageReply, To: fleet.AnswersFor("ops"), At: at(0), Priority: fleet.P3, Subject: "reply of @ann:hs", Body: "Acted on your reply", Alert: key, Answers: "$1"}
	has := func(want bool) {
		t.Helper()
		if got, err := s.HasMessage(t.Context(), "r-1"); err != nil || got != want {
			t.Errorf("known: %v, %v", got, err)
		}
	}
	has(false)
	for range 2 {
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Outbox: []fleet.Message{m}}))
	}
	has(true)
	for to, want := range map[string]int{"@ops": 1, "@other": 0, "ops": 0} {
		if list, err := s.MessagesFor(t.Context(), to, 0); err != nil || len(list) != want {
			t.Errorf("for %s: %s, %v", to, asJSON(list), err)
		}
	}
	if due, err := s.Due(t.Context(), at(time.Minute), 10); err != nil || len(due) != 0 {
		t.Errorf("told to all: %s, %v", asJSON(due), err)
	}
	if got := kinds(t, s, EventFilter{Subject: key.Subject}); got != "reply" {
		t.Errorf("the story of the lock: %q", got)
	}
	ok(t, s.Sent(t.Context(), "r-1", at(time.Second)))
	has(true)
	if list, err := s.MessagesFor(t.Context(), "@ops", 0); err != nil || len(list) != 0 {
		t.Errorf("said, and still to be said: %s, %v", asJSON(list), err)
	}
}

func TestCountEvents(t *testing.T) {
	s := fresh(t)
	for _, e := range []fleet.Event{{Kind: "a", Action: "x"}, {Kind: "a", Action: "x"}, {Kind: "b", Action: "x"}, {Kind: "a", Action: "y"}} {
		e.At = at(0)
		ok(t, s.Record(t.Context(), e))
	}
	if n, err := s.CountEvents(t.Context(), "a", "x"); err != nil || n != 2 {
		t.Error(n, err)
	}
}
