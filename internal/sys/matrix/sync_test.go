package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/matrix"
	"custos/internal/sys/matrixtest"
)

func listen(since string) matrix.Listen {
	return matrix.Listen{Room: room, From: []string{"@ann:fake"}, Since: since}
}

func TestSync(t *testing.T) {
	h, c := client(t)
	h.User("@ann:fake", "x")
	h.Room("!other:fake", "@custos:fake")
	for range 10_000 {
		h.Say(room, "@ann:fake", matrixtest.Text("from before"))
	}
	first, err := c.Sync(t.Context(), listen(""))
	if err != nil || len(first.Events) != 0 || first.Next == "" {
		t.Fatalf("the first batch: %+v, %v", first, err)
	}
	h.Skew(10 * time.Minute)
	h.Say(room, "@eve:fake", matrixtest.Text("a stranger"))
	h.Say("!other:fake", "@ann:fake", matrixtest.Text("elsewhere"))
	root := h.Say(room, "@ann:fake", matrixtest.Text("plain"))
	h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.text", "body": "> <@custos:fake> approve 1\n> more\n\nin answer", "m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": root}}})
	h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.text", "body": "in a thread", "m.relates_to": map[string]any{"rel_type": "m.thread", "event_id": root}})
	h.Say(room, "@ann:fake", map[string]any{"msgtype": "m.text", "body": "* edit", "m.new_content": map[string]any{"body": "edit"}})
	h.Say(room, "@ann:fake", map[string]any{"msgtype": 7, "body": []int{1}, "m.relates_to": "nonsense"})
	b, err := c.Sync(t.Context(), listen(first.Next))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range b.Events {
		if e.Age > time.Minute {
			t.Errorf("%+v is %v old by the server's own clock", e, e.Age)
		}
		got = append(got, fmt.Sprintf("%s %q %s %s %v", e.Type, e.Body, e.Answers, e.Thread, e.Edit))
	}
	want := []string{`m.text "plain"   false`, `m.text "in answer" ` + root + `  false`, `m.text "in a thread"  ` + root + ` false`, `m.text "* edit"   true`, ` ""   false`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e, err := c.Event(t.Context(), room, root); err != nil || e.Body != "plain" || e.Sender != "@ann:fake" {
		t.Errorf("%+v, %v", e, err)
	}
	if me, err := c.WhoAmI(t.Context()); err != nil || me != "@custos:fake" {
		t.Error(me, err)
	}
}

// What is more than is asked for is left out, and said to be.
func TestSyncIsBounded(t *testing.T) {
	h, c := client(t)
	first, err := c.Sync(t.Context(), listen(""))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		h.Say(room, "@ann:fake", matrixtest.Text(fmt.Sprint(i)))
	}
	b, err := c.Sync(t.Context(), listen(first.Next))
	if err != nil || len(b.Events) != 50 || !b.Limited || b.Events[49].Body != "199" {
		t.Errorf("%d events, limited %v, %v", len(b.Events), b.Limited, err)
	}
	h.Huge(1)
	if _, err := c.Sync(t.Context(), listen(b.Next)); !errors.Is(err, matrix.ErrTooMuch) {
		t.Errorf("16 MiB: %v", err)
	}
}

// A server that is none, or lies about types, is an error or silence, never a panic.
func TestSyncOfNonsense(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"next_batch":7}`, `{"next_batch":"s","rooms":[]}`, "<html>"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		c := &matrix.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "syt_x", nil }}
		if b, err := c.Sync(t.Context(), listen("s0")); err == nil {
			t.Errorf("%q is %+v", text, b)
		}
		s.Close()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"next_batch":"s1","rooms":{"join":{%q:{"timeline":{"events":[7,null,{"event_id":3},{"event_id":"$1","type":"m.room.message","sender":"@ann:fake","origin_server_ts":"x"}]}}}}}`, room)
	}))
	defer s.Close()
	c := &matrix.Client{Server: s.URL, Token: func(context.Context) (string, error) { return "syt_x", nil }}
	b, err := c.Sync(t.Context(), listen("s0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Events {
		if e.Body != "" || e.ID != "" {
			t.Errorf("heard %+v", e)
		}
	}
}
