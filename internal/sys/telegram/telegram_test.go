package telegram_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/telegram"
	"custos/internal/sys/telegramtest"
)

const token = "12345:secretsecret"

func client(t *testing.T) (*telegramtest.Server, *telegram.Client) {
	s := telegramtest.New(t, token, "-100", "7007")
	return s, &telegram.Client{Server: s.URL, Token: func(context.Context) (string, error) { return token, nil }}
}

func TestSend(t *testing.T) {
	s, c := client(t)
	if id, err := c.Send(t.Context(), telegram.Text{Chat: "-100", Body: "_hello_ <b>", Silent: true}); err != nil || id != 1 {
		t.Fatal(id, err)
	}
	if got := s.Sent(); len(got) != 1 || got[0] != (telegramtest.Sent{Chat: "-100", Text: "_hello_ <b>", Silent: true}) {
		t.Errorf("sent %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		breaks    func(*telegramtest.Server, *telegram.Client)
		text      telegram.Text
		code      int
		malformed bool
		after     time.Duration
	}{
		"flood": {func(s *telegramtest.Server, _ *telegram.Client) { s.Flood(1, 7*time.Second) }, telegram.Text{Chat: "-100", Body: "x"}, 429, false, 7 * time.Second},
		"wrong token": {func(_ *telegramtest.Server, c *telegram.Client) {
			c.Token = func(context.Context) (string, error) { return "9:othersecret", nil }
		}, telegram.Text{Chat: "-100", Body: "x"}, 401, false, 0},
		"other chat":     {func(*telegramtest.Server, *telegram.Client) {}, telegram.Text{Chat: "7", Body: "x"}, 400, false, 0},
		"too long":       {func(*telegramtest.Server, *telegram.Client) {}, telegram.Text{Chat: "-100", Body: strings.Repeat("x", 5000)}, 400, true, 0},
		"a proxy's page": {func(s *telegramtest.Server, _ *telegram.Client) { s.Down(502) }, telegram.Text{Chat: "-100", Body: "x"}, 502, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, cl := client(t)
			c.breaks(s, cl)
			_, err := cl.Send(t.Context(), c.text)
			var e *telegram.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Malformed() != c.malformed || e.RetryAfter() != c.after {
				t.Errorf("%v: %+v", err, e)
			}
		})
	}
}

// The token is part of the URL: it is in no error for that.
func TestNoErrorHoldsTheToken(t *testing.T) {
	for name, server := range map[string]string{"nobody listens": "http://127.0.0.1:1", "no URL": "http://[::1", "no scheme": "nothing"} {
		c := &telegram.Client{Server: server, Token: func(context.Context) (string, error) { return token, nil }}
		if _, err := c.Send(t.Context(), telegram.Text{Chat: "-100", Body: "x"}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, c := client(t)
	s.Swallow(1)
	if _, err := c.Send(t.Context(), telegram.Text{Chat: "-100", Body: "x"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
