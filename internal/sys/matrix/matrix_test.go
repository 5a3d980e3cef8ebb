package matrix_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/matrix"
	"custos/internal/sys/matrixtest"
)

const room = "!ops:fake"

func client(t *testing.T) (*matrixtest.Homeserver, *matrix.Client) {
	h := matrixtest.New(t)
	token := h.User("@custos:fake", "x")
	h.Room(room, "@custos:fake")
	return h, &matrix.Client{Server: h.URL, Token: func(context.Context) (string, error) { return token, nil }}
}

// The same transaction is one event, though its first answer was lost.
func TestSendIsIdempotent(t *testing.T) {
	h, c := client(t)
	h.Swallow(1)
	if _, err := c.Send(t.Context(), room, "t1", matrix.Text{Type: "m.text", Body: "hello", Everybody: true}); err == nil {
		t.Fatal("the answer was lost, and no error")
	}
	id, err := c.Send(t.Context(), room, "t1", matrix.Text{Type: "m.text", Body: "hello", Everybody: true})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	said := h.Events(room)
	if len(said) != 1 || said[0].ID != id || said[0].Content["body"] != "hello" || said[0].Content["m.mentions"] == nil {
		t.Errorf("said %+v", said)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		breaks    func(*matrixtest.Homeserver, *matrix.Client)
		room      string
		body      string
		code      string
		permanent bool
		after     time.Duration
	}{
		"limited": {func(h *matrixtest.Homeserver, _ *matrix.Client) { h.Limit(1, 2500*time.Millisecond) }, room, "x", "M_LIMIT_EXCEEDED", false, 2500 * time.Millisecond},
		"unknown token": {func(_ *matrixtest.Homeserver, c *matrix.Client) {
			c.Token = func(context.Context) (string, error) { return "syt_secretsecret", nil }
		}, room, "x", "M_UNKNOWN_TOKEN", false, 0},
		"not in room":    {func(*matrixtest.Homeserver, *matrix.Client) {}, "!other:fake", "x", "M_FORBIDDEN", false, 0},
		"too large":      {func(*matrixtest.Homeserver, *matrix.Client) {}, room, strings.Repeat("x", 1<<20), "M_TOO_LARGE", true, 0},
		"a proxy's page": {func(h *matrixtest.Homeserver, _ *matrix.Client) { h.Down(502) }, room, "x", "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, cl := client(t)
			c.breaks(h, cl)
			_, err := cl.Send(t.Context(), c.room, "t", matrix.Text{Type: "m.text", Body: c.body})
			var e *matrix.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Permanent() != c.permanent || e.RetryAfter() != c.after {
				t.Errorf("%v: %+v", err, e)
			}
			if err != nil && (strings.Contains(err.Error(), "syt_") || strings.Contains(err.Error(), "<html>")) {
				t.Errorf("the error shows too much: %v", err)
			}
		})
	}
}

// No answer shows the token, or is followed to another server with it.
func TestNobodyElseGetsTheToken(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	c := &matrix.Client{Server: first.URL, Token: func(context.Context) (string, error) { return "syt_secret", nil }}
	if _, err := c.Send(t.Context(), room, "t", matrix.Text{}); err == nil || asked > 0 {
		t.Errorf("followed %d times: %v", asked, err)
	}
	first.Close()
	if _, err := c.Send(t.Context(), room, "t", matrix.Text{}); err == nil || strings.Contains(err.Error(), "syt_") {
		t.Error(err)
	}
}
