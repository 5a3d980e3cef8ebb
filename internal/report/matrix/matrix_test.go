package matrix_test

import (
	"context"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/report/matrix"
	client "custos/internal/sys/matrix"
	"custos/internal/sys/matrixtest"
)

// What is bad, or waits for a person's word, makes a sound: clients make none for
// m.notice.
func TestSound(t *testing.T) {
	h := matrixtest.New(t)
	key := h.User("@custos:fake", "x")
	h.Room("!r:fake", "@custos:fake")
	c := &client.Client{Server: h.URL, Token: func(context.Context) (string, error) { return key, nil }}
	for name, x := range map[string]struct {
		m     fleet.Message
		sound fleet.Priority
		want  string
	}{
		"P2":                       {fleet.Message{Priority: fleet.P2}, "", "m.text"},
		"P3":                       {fleet.Message{Priority: fleet.P3}, "", "m.notice"},
		"P3 that asks":             {fleet.Message{Priority: fleet.P3, Asks: true}, "", "m.text"},
		"all is clear":             {fleet.Message{Priority: fleet.P1, AllClear: true}, "", "m.notice"},
		"P2 where only P1 is loud": {fleet.Message{Priority: fleet.P2}, fleet.P1, "m.notice"},
		"P4 where all is loud":     {fleet.Message{Priority: fleet.P4}, fleet.P4, "m.text"},
	} {
		x.m.ID, x.m.Subject = name, name
		if err := (matrix.Notifier{Called: "ops", Room: "!r:fake", Sound: x.sound, To: c}).Notify(t.Context(), x.m); err != nil {
			t.Fatal(err)
		}
		said := h.Events("!r:fake")
		if last := said[len(said)-1].Content; last["msgtype"] != x.want || last["m.mentions"] != nil {
			t.Errorf("%s: %v, want %s", name, last, x.want)
		}
	}
}

// TestTheLongest: what is cut to be taken is taken, whatever it is made of.
func TestTheLongest(t *testing.T) {
	h := matrixtest.New(t)
	key := h.User("@custos:fake", "x")
	h.Room("!r:fake", "@custos:fake")
	c := &client.Client{Server: h.URL, Token: func(context.Context) (string, error) { return key, nil }}
	for _, of := range []string{"x", "<", "\"\\", "ä", "💥"} {
		m := fleet.Message{ID: of, Subject: "long", Body: strings.Repeat(of, 100_000), Priority: fleet.P2}
		if err := (matrix.Notifier{Called: "ops", Room: "!r:fake", To: c}).Notify(t.Context(), m); err != nil {
			t.Errorf("of %s: %v", of, err)
		}
	}
}
