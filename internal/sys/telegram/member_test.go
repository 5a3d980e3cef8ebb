package telegram_test

import (
	"errors"
	"testing"

	"custos/internal/sys/telegram"
)

// Whether the bot would be heard in a chat is asked without a word said there.
func TestMaySpeak(t *testing.T) {
	for name, c := range map[string]struct {
		status, chat string
		mute         bool
		down         int
		barred, odd  bool
	}{
		"a member": {chat: "-100"}, "an administrator": {chat: "-100", status: "administrator"}, "left": {chat: "-100", status: "left", barred: true},
		"thrown out": {chat: "-100", status: "kicked", barred: true}, "muted": {chat: "-100", status: "restricted", barred: true},
		"muted and gone": {chat: "-100", status: "restricted, gone", barred: true}, "all are muted": {chat: "-100", mute: true, barred: true},
		"all are muted but administrators": {chat: "-100", mute: true, status: "administrator"}, "a person": {chat: "7007", mute: false},
		"no such chat": {chat: "7", barred: true}, "it does not answer": {chat: "-100", down: 502, odd: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, cl := client(t)
			s.Status(c.status)
			s.Down(c.down)
			if c.mute {
				s.Mute()
			}
			err := cl.MaySpeak(t.Context(), c.chat)
			if errors.Is(err, telegram.ErrBarred) != c.barred || (err != nil) != (c.barred || c.odd) {
				t.Error(err)
			}
			if len(s.Sent()) != 0 {
				t.Error("something was sent")
			}
			if _, sent := cl.Send(t.Context(), telegram.Text{Chat: c.chat, Body: "x"}); (sent != nil) != (err != nil) {
				t.Errorf("it said %v, and sending: %v", err, sent)
			}
		})
	}
}
