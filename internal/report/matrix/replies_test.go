package matrix_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/report/matrix"
	client "custos/internal/sys/matrix"
	"custos/internal/sys/matrixtest"
)

const room = "!ops:fake"

func ear(t *testing.T) (*matrixtest.Homeserver, *matrix.Inbox) {
	h := matrixtest.New(t)
	token := h.User("@custos:fake", "x")
	h.Room(room, "@custos:fake", "@ann:fake")
	with := &client.Client{Server: h.URL, Token: func(context.Context) (string, error) { return token, nil }}
	return h, &matrix.Inbox{Called: "ops", Room: room, People: []string{"@ann:fake", "@custos:fake"}, With: with}
}

func hear(t *testing.T, e *matrix.Inbox, cursor string) (lines []string, next string, missed bool) {
	t.Helper()
	h, err := e.Poll(t.Context(), cursor)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range h.Said {
		lines = append(lines, fmt.Sprintf("%s %q about %q own %v edit %v", s.By, s.Text, s.About, s.Own, s.Edit))
	}
	return lines, h.Cursor, h.Missed
}

// What was there at first is not heard; what is said later is, with the message of
// Custos that it answers.
func TestHear(t *testing.T) {
	h, e := ear(t)
	h.Say(room, "@ann:fake", matrixtest.Text("thaw"))
	old, next, _ := hear(t, e, "")
	if len(old) > 0 || next == "" {
		t.Fatalf("from before: %q", old)
	}
	h.Say(room, "@ann:fake", matrixtest.Text("status"))
	ours := h.Say(room, "@custos:fake", matrixtest.Text("an alert (custos why 3)"))
	theirs := h.Say(room, "@ann:fake", matrixtest.Text("custos why 4"))
	h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.notice", "body": "a bot"})
	for _, id := range []string{ours, theirs, "$gone"} {
		h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.text", "body": "ack", "m.relates_to": map[string]any{"rel_type": "m.thread", "event_id": id, "m.in_reply_to": map[string]any{"event_id": id}}})
	}
	got, _, missed := hear(t, e, next)
	want := []string{`@ann:fake "status" about "" own false edit false`, `@custos:fake "an alert (custos why 3)" about "" own true edit false`,
		`@ann:fake "custos why 4" about "" own false edit false`, `@ann:fake "ack" about "an alert (custos why 3)" own false edit false`,
		`@ann:fake "ack" about "" own false edit false`, `@ann:fake "ack" about "" own false edit false`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || missed {
		t.Errorf("heard\n%s", strings.Join(got, "\n"))
	}
}

// TestHearInAThread: what is said in a thread names the last message there for clients
// that know no threads; it answers what the thread began with.
func TestHearInAThread(t *testing.T) {
	h, e := ear(t)
	_, next, _ := hear(t, e, "")
	alert := h.Say(room, "@custos:fake", matrixtest.Text("an alert (custos why 3)"))
	done := h.Say(room, "@custos:fake", matrixtest.Text("Acted on your reply"))
	for _, falls := range []bool{true, false} {
		h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.text", "body": "ack", "m.relates_to": map[string]any{"rel_type": "m.thread", "event_id": alert,
			"is_falling_back": falls, "m.in_reply_to": map[string]any{"event_id": done}}})
	}
	got, _, _ := hear(t, e, next)
	want := []string{`@ann:fake "ack" about "an alert (custos why 3)" own false edit false`, `@ann:fake "ack" about "Acted on your reply" own false edit false`}
	if len(got) != 4 || strings.Join(got[2:], "\n") != strings.Join(want, "\n") {
		t.Errorf("heard\n%s", strings.Join(got, "\n"))
	}
}

// A batch too large to be read, and a token the server does not know, are left
// behind: what is said after that is heard.
func TestHearGoesOn(t *testing.T) {
	for name, lose := range map[string]func(*matrixtest.Homeserver) (cursor string){
		"too much":        func(h *matrixtest.Homeserver) string { h.Huge(1); return "s0" },
		"unknown token":   func(*matrixtest.Homeserver) string { return "nonsense" },
		"a large backlog": func(h *matrixtest.Homeserver) string { return "s0" },
	} {
		h, e := ear(t)
		for range 10_000 {
			h.Say(room, "@ann:fake", matrixtest.Text("chatter"))
		}
		got, next, missed := hear(t, e, lose(h))
		if len(got) > 50 || !missed {
			t.Errorf("%s: heard %d, missed %v", name, len(got), missed)
		}
		h.Say(room, "@ann:fake", matrixtest.Text("status"))
		if got, _, _ := hear(t, e, next); len(got) != 1 || !strings.Contains(got[0], "status") {
			t.Errorf("%s: afterwards: %q", name, got)
		}
	}
}

func TestAnswer(t *testing.T) {
	h, e := ear(t)
	m := fleet.Message{ID: "r-1", Body: "Acted on your reply", Answers: "$a", Thread: "$t"}
	h.Swallow(1)
	if e.Answer(t.Context(), m) == nil {
		t.Error("the answer was lost, and no error")
	}
	if err := e.Answer(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	said := h.Events(room)
	if len(said) != 1 || said[0].Content["body"] != "Acted on your reply" || fmt.Sprint(said[0].Content["m.relates_to"]) != "map[event_id:$t is_falling_back:false m.in_reply_to:map[event_id:$a] rel_type:m.thread]" {
		t.Errorf("%+v", said)
	}
}
