package store

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// Messages for agents lie in the outbox: kept once, told to nobody else, seen in
// the stories of both agents.
func TestMessagesForAgents(t *testing.T) {
	s := fresh(t)
	message := func(id, to string, kind fleet.MessageKind) fleet.Message {
		return fleet.Message{ID: id, Kind: kind, To: to, About: "worker", Priority: fleet.P3, Subject: "worker is being recovered", Body: "it crashed", At: at(0),
			Alert: fleet.AlertKey{Rule: "agent-crashed", Subject: agentSubject("worker")}}
	}
	first, second := message("1", "lead", fleet.MessageRecoveryAttempt), message("2", "lead", fleet.MessageRecoveryExhausted)
	for range 2 {
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Outbox: []fleet.Message{first, {ID: "p", Priority: fleet.P2, Subject: "for people"}}}))
	}
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(time.Second), Outbox: []fleet.Message{second, message("3", "other", fleet.MessageRecoveryFailed)}}))
	due, err := s.Due(t.Context(), at(time.Minute), 10)
	ok(t, err)
	if len(due) != 1 || due[0].ID != "p" {
		t.Errorf("people are told %s", asJSON(due))
	}
	for agent, want := range map[string][]fleet.Message{"lead": {first, second}, "worker": nil, "": nil} {
		list, err := s.MessagesFor(t.Context(), agent, 0)
		ok(t, err)
		if asJSON(list) != asJSON(want) && len(list)+len(want) > 0 {
			t.Errorf("%q is to be told %s, want %s", agent, asJSON(list), asJSON(want))
		}
	}
	if list, err := s.MessagesFor(t.Context(), "lead", 1); err != nil || len(list) != 1 || list[0].ID != "2" {
		t.Errorf("the newest one is %s, %v", asJSON(list), err)
	}
	for agent, want := range map[string]string{"lead": "recovery_attempt recovery_exhausted", "worker": "recovery_attempt recovery_exhausted recovery_failed"} {
		if got := kinds(t, s, EventFilter{Subject: agentSubject(agent)}); got != want {
			t.Errorf("the story of %s: %q, want %q", agent, got, want)
		}
	}
	ok(t, s.Sent(t.Context(), "1", at(time.Minute)))
	if list, err := s.MessagesFor(t.Context(), "lead", 0); err != nil || len(list) != 1 {
		t.Errorf("once told it waits on: %s, %v", asJSON(list), err)
	}
	ok(t, s.Trim(t.Context(), at(29*24*time.Hour)))
	if list, err := s.MessagesFor(t.Context(), "lead", 0); err != nil || len(list) != 1 {
		t.Errorf("after four weeks: %s, %v", asJSON(list), err)
	}
	ok(t, s.Trim(t.Context(), at(31*24*time.Hour)))
	if list, err := s.MessagesFor(t.Context(), "lead", 0); err != nil || len(list) != 0 {
		t.Errorf("after a month it is still kept: %s, %v", asJSON(list), err)
	}
}

// An outbox of version 3 keeps what waits in it.
func TestOutboxOfAnOlderVersion(t *testing.T) {
	s := fresh(t)
	_, err := s.w.Exec("DROP INDEX outbox_recipient")
	ok(t, err)
	for _, column := range []string{"kind", "recipient"} {
		_, err := s.w.Exec("ALTER TABLE outbox DROP COLUMN " + column)
		ok(t, err)
	}
	_, err = s.w.Exec(`INSERT INTO outbox (id, state, priority, wall, boot, up, json) VALUES ('old', 'due', 'P2', '', '', 0, '{"id":"old"}')`)
	ok(t, err)
	list, err := migrations()
	ok(t, err)
	_, err = s.w.Exec("PRAGMA user_version=3")
	ok(t, err)
	ok(t, migrate(t.Context(), s.w, list[:4]))
	due, err := s.Due(t.Context(), at(0), 10)
	ok(t, err)
	if len(due) != 1 || due[0].ID != "old" {
		t.Errorf("due %s", asJSON(due))
	}
}

// What somebody has people told is due to people, and in the story of who said it.
func TestToldIsDueAndAnEvent(t *testing.T) {
	s := fresh(t)
	m := fleet.Message{ID: "t1", Kind: fleet.MessageTold, About: "builder", At: at(0), Priority: fleet.P2, Subject: "builder: done"}
	person := m
	person.ID, person.About, person.Subject = "t2", "", "ops: out"
	for range 2 { // the same again is nothing new
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Outbox: []fleet.Message{m, person}}))
	}
	due, err := s.Due(t.Context(), at(0), 9)
	ok(t, err)
	list, err := s.Events(t.Context(), 0, 9, EventFilter{Subject: agentSubject("builder")})
	ok(t, err)
	own, err := s.Events(t.Context(), 0, 9, EventFilter{Subject: fleet.Subject{Kind: fleet.KindSelf, Name: "custos"}})
	ok(t, err)
	if len(due) != 2 || len(list) != 1 || list[0].Kind != "told" || list[0].Text != "builder: done" || len(own) != 1 {
		t.Errorf("due %s\nevents %s, %s", asJSON(due), asJSON(list), asJSON(own))
	}
}
