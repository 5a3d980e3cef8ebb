package telegram_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/telegram"
)

func TestUpdates(t *testing.T) {
	s, c := client(t)
	for range 10_000 {
		s.Say(-100, 7, "from before")
	}
	last, err := c.Updates(t.Context(), -1, 0, "1")
	if err != nil || len(last) != 1 || last[0].ID != 10_000 {
		t.Fatalf("the last: %+v, %v", last, err)
	}
	s.Skew(10 * time.Minute)
	s.Say(-100, 7, "hello")
	s.Update("edited_message", -100, 7, "changed", "")
	s.Update("message", -100, 8, "in answer", "of the bot")
	s.Update("message", -7, 8, "elsewhere", "")
	list, err := c.Updates(t.Context(), last[0].ID+1, 0, "1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range list {
		if u.Age > time.Minute {
			t.Errorf("%+v is %v old by the server's own clock", u, u.Age)
		}
		got = append(got, fmt.Sprintf("%d %s %s %q %q", u.ID, u.Chat, u.From, u.Text, u.About))
	}
	want := []string{`10001 -100 7 "hello" ""`, `10003 -100 8 "in answer" "of the bot"`, `10004 -7 8 "elsewhere" ""`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("heard\n%s", strings.Join(got, "\n"))
	}
	if list, err = c.Updates(t.Context(), 10_002, 0, "99"); err != nil || list[0].About != "" {
		t.Errorf("an answer to somebody else: %+v, %v", list, err)
	}
	if me, err := c.Me(t.Context()); err != nil || me != "1" {
		t.Error(me, err)
	}
	if _, err := c.Send(t.Context(), telegram.Text{Chat: "-100", Body: "x", Answers: 1001}); err != nil || s.Sent()[0].Answers != 1001 {
		t.Errorf("%+v, %v", s.Sent(), err)
	}
}

// TestConflict: of two that wait for what is said to one bot, the first is sent away, and
// so is each while a webhook is set. What is told says what to look for.
func TestConflict(t *testing.T) {
	s, c := client(t)
	s.Say(-100, 7, "hello")
	s.Webhook(true)
	_, err := c.Updates(t.Context(), 0, 0, "1")
	if err == nil || !strings.Contains(err.Error(), "409") || !strings.Contains(err.Error(), "webhook") || !strings.Contains(err.Error(), "another program") {
		t.Errorf("with a webhook: %v", err)
	}
	s.Webhook(false)
	first := make(chan error, 1)
	go func() { _, err := c.Updates(t.Context(), 2, 50*time.Second, "1"); first <- err }()
	for sent := false; !sent; {
		if _, err := c.Updates(t.Context(), 2, time.Second, "1"); err != nil && !strings.Contains(err.Error(), "409") { // by the first, which came later
			t.Fatal(err)
		}
		select {
		case err := <-first:
			if sent = true; err == nil || !strings.Contains(err.Error(), "409") {
				t.Errorf("the first: %v", err)
			}
		default:
		}
	}
}
