package matrix_test

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/sys/matrix"
	"custos/internal/sys/matrixtest"
)

// Whether Custos would be heard in a room is asked without a word said there, and
// the answer is that of the send.
func TestMaySpeak(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*matrixtest.Homeserver)
		room   string
		barred bool
		says   string
	}{
		"a member":        {func(*matrixtest.Homeserver) {}, room, false, ""},
		"taken out":       {func(h *matrixtest.Homeserver) { h.Leave(room, "@custos:fake", "leave") }, room, true, "no member"},
		"banned":          {func(h *matrixtest.Homeserver) { h.Leave(room, "@custos:fake", "ban") }, room, true, "M_FORBIDDEN"},
		"never was there": {func(*matrixtest.Homeserver) {}, "!other:fake", true, "M_FORBIDDEN"},
		"everybody may speak": {func(h *matrixtest.Homeserver) {
			h.Levels(room, map[string]any{"users": map[string]any{"@ann:fake": 100}})
		}, room, false, ""},
		"only the named may speak": {func(h *matrixtest.Homeserver) { h.Levels(room, map[string]any{"events_default": 50}) }, room, true, "level is too low"},
		"custos is named": {func(h *matrixtest.Homeserver) {
			h.Levels(room, map[string]any{"events_default": 50, "users": map[string]any{"@custos:fake": 50}})
		}, room, false, ""},
		"messages have a level": {func(h *matrixtest.Homeserver) {
			h.Levels(room, map[string]any{"events": map[string]any{"m.room.message": 10}, "users_default": 5})
		}, room, true, "level is too low"},
		"levels as text": {func(h *matrixtest.Homeserver) {
			h.Levels(room, map[string]any{"events_default": "50", "users": map[string]any{"@custos:fake": " 50 "}})
		}, room, false, ""},
		"levels as text, too low": {func(h *matrixtest.Homeserver) {
			h.Levels(room, map[string]any{"events_default": "50", "users_default": "0"})
		}, room, true, "level is too low"},
		"custos made it": {func(h *matrixtest.Homeserver) {
			h.Create(room, matrixtest.Made{By: "@custos:fake", Version: "12"})
			h.Levels(room, map[string]any{"events_default": 50})
		}, room, false, ""},
		"custos made it with another": {func(h *matrixtest.Homeserver) {
			h.Create(room, matrixtest.Made{By: "@ann:fake", Version: "12", Also: []string{"@custos:fake"}})
			h.Levels(room, map[string]any{"events_default": 50})
		}, room, false, ""},
		"custos made it long ago": {func(h *matrixtest.Homeserver) {
			h.Create(room, matrixtest.Made{By: "@custos:fake", Version: "11"})
			h.Levels(room, map[string]any{"events_default": 50})
		}, room, true, "level is too low"},
		"another made it": {func(h *matrixtest.Homeserver) {
			h.Create(room, matrixtest.Made{By: "@ann:fake", Version: "12"})
			h.Levels(room, map[string]any{"events_default": 50})
		}, room, true, "level is too low"},
		"locked": {func(h *matrixtest.Homeserver) { h.Lock("@custos:fake") }, room, true, "M_USER_LOCKED"},
	} {
		t.Run(name, func(t *testing.T) {
			h, cl := client(t)
			c.breaks(h)
			err := cl.MaySpeak(t.Context(), c.room)
			if errors.Is(err, matrix.ErrBarred) != c.barred || (err != nil) != c.barred || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if len(h.Events(c.room)) != 0 {
				t.Error("something was said")
			}
			if _, sent := cl.Send(t.Context(), c.room, "t", matrix.Text{Type: "m.text", Body: "x"}); (sent != nil) != c.barred {
				t.Errorf("it said %v, and sending: %v", err, sent)
			}
		})
	}
}

// A homeserver that does not answer has barred nobody.
func TestMaySpeakIsNotKnown(t *testing.T) {
	h, c := client(t)
	h.Down(502)
	if err := c.MaySpeak(t.Context(), room); err == nil || errors.Is(err, matrix.ErrBarred) {
		t.Error(err)
	}
}
