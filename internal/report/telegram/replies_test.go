package telegram_test

import (
	"context"
	"slices"
	"testing"

	"custos/internal/fleet"
	"custos/internal/report/telegram"
	client "custos/internal/sys/telegram"
	"custos/internal/sys/telegramtest"
)

func TestReplies(t *testing.T) {
	s := telegramtest.New(t, "1:key", "-100")
	e := &telegram.Inbox{Called: "phone", Chat: "-100", People: []string{"7"}, With: &client.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "1:key", nil }}}
	s.Say(-100, 7, "thaw") // from before
	h, err := e.Poll(t.Context(), "")
	if err != nil || len(h.Said) != 0 || h.Cursor != "2" {
		t.Fatalf("%+v, %v", h, err)
	}
	s.Update("message", -100, 7, "ack", "an alert (custos why 3)")
	s.Say(-200, 7, "elsewhere")
	first, err := e.Poll(t.Context(), h.Cursor)
	if err != nil || len(first.Said) != 2 || first.Cursor != "4" {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := e.Poll(t.Context(), h.Cursor) // it was not all taken
	if err != nil || len(again.Said) != 2 || again.Said[0].ID != first.Said[0].ID {
		t.Errorf("%+v, %v", again, err)
	}
	got := first.Said[0]
	if got.By != "7" || got.Room != "-100" || got.About != "an alert (custos why 3)" || got.Own || first.Said[1].Room == "-100" {
		t.Errorf("heard %+v", first.Said)
	}
	if err := e.Answer(t.Context(), fleet.Message{ID: "r", Body: "Acted", Answers: got.ID}); err != nil {
		t.Fatal(err)
	}
	if sent := s.Sent(); len(sent) != 1 || sent[0].Text != "Acted" || sent[0].Answers != 1002 || !sent[0].Silent {
		t.Errorf("%+v", sent)
	}
}

func TestFirstTimeInAnEmptyChat(t *testing.T) {
	s := telegramtest.New(t, "1:key", "-100")
	e := &telegram.Inbox{Called: "phone", Chat: "-100", People: []string{"7"}, With: &client.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "1:key", nil }}}
	h, err := e.Poll(t.Context(), "")
	if err != nil || h.Cursor != "0" {
		t.Fatalf("%+v, %v", h, err)
	}
	s.Say(-100, 7, "status")
	if h, err = e.Poll(t.Context(), h.Cursor); err != nil || len(h.Said) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// Words as people give them to a bot, and whose they are.
func TestWordsToABot(t *testing.T) {
	s := telegramtest.New(t, "1:key", "-100")
	c := &client.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "1:key", nil }}
	e := &telegram.Inbox{Called: "phone", Chat: "-100", People: []string{"7"}, With: c}
	for _, say := range []func(){
		func() { s.Say(-100, 7, "/approve 1") },
		func() { s.Say(-100, 7, "/status@custos_bot") },
		func() { s.Say(-100, 7, "/Ack@CUSTOS_bot that") },
		func() { s.Say(-100, 7, "/freeze@another_bot") },  // not for us
		func() { s.Forward(-100, 7, "approve 2", false) }, // somebody else's words
		func() { s.Forward(-100, 7, "approve 3", true) },
		func() { s.Via(-100, 7, "approve 4") },
		func() { s.SayIn(42, -100, 7, "deny 5") },
	} {
		say()
	}
	h, err := e.Poll(t.Context(), "1")
	if err != nil || h.Cursor != "9" {
		t.Fatalf("%+v, %v", h, err)
	}
	var got []string
	for _, said := range h.Said {
		got = append(got, said.Text)
	}
	if want := []string{"approve 1", "status", "Ack that", "deny 5"}; !slices.Equal(got, want) {
		t.Fatalf("heard %q, want %q", got, want)
	}
	last := h.Said[3]
	if err := e.Answer(t.Context(), fleet.Message{ID: "r", Body: "Acted", Answers: last.ID, Thread: last.Thread}); err != nil || s.Sent()[0].Topic != 42 {
		t.Errorf("answered outside of the topic: %+v, %v", s.Sent(), err)
	}
}

// A notifier of a topic speaks there, and only what is said there is heard.
func TestATopic(t *testing.T) {
	s := telegramtest.New(t, "1:key", "-100")
	c := &client.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "1:key", nil }}
	n := telegram.Notifier{Called: "phone", Chat: "-100", Topic: 42, To: c}
	if err := n.Notify(t.Context(), fleet.Message{ID: "m", Subject: "x", Priority: fleet.P2}); err != nil || s.Sent()[0].Topic != 42 {
		t.Errorf("%+v, %v", s.Sent(), err)
	}
	e := &telegram.Inbox{Called: "phone", Chat: "-100", Topic: 42, People: []string{"7"}, With: c}
	s.SayIn(41, -100, 7, "freeze")
	s.Say(-100, 7, "freeze")
	s.SayIn(42, -100, 7, "status")
	if h, err := e.Poll(t.Context(), "1"); err != nil || len(h.Said) != 1 || h.Said[0].Text != "status" {
		t.Errorf("%+v, %v", h, err)
	}
}
