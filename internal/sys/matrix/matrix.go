// Package matrix is a client of the Matrix client-server API, as the public
// specification (spec.matrix.org, v1.3 and later) has it: what is needed to say
// something in a room, and to hear what is said there. It has no end-to-end encryption: a room that asks for it
// gets plain text, which its members see marked as such.
package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"custos/internal/sys/httpjson"
)

// Client speaks to one homeserver as one user.
type Client struct {
	Server string                                // like https://matrix.example.org
	Token  func(context.Context) (string, error) // access token, asked for at each request
	HTTP   *http.Client                          // nil: one with a time-out that follows no redirect
}

// Text is what is said in a room.
type Text struct {
	Type string // m.text, or m.notice for what a bot says by the way
	Body string // plain
	HTML string // the same with tags; "" for none
	// Everybody has every member of the room notified (m.mentions).
	Everybody bool
	Answers   string // ID of the event that it answers; "" for none
	Thread    string // ID of the event that the thread began with; "" outside of one
}

// Error is a refusal of the homeserver.
type Error struct {
	Status int           // of HTTP
	Code   string        // like M_LIMIT_EXCEEDED; "" when the answer was no Matrix error
	After  time.Duration // when it may be tried again; 0: not said
}

func (e *Error) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the homeserver answered %d %s", e.Status, e.Code))
}

// RetryAfter is how long the homeserver wants to be left alone.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Permanent says whether the same request will be refused always: it is the
// message, not the moment, the token or the room.
func (e *Error) Permanent() bool {
	switch e.Code {
	case "M_BAD_JSON", "M_NOT_JSON", "M_TOO_LARGE", "M_INVALID_PARAM", "M_MISSING_PARAM":
		return true
	}
	return e.Status == http.StatusRequestEntityTooLarge
}

// Send says something in a room and returns the ID of the event. txn makes it
// idempotent: the homeserver takes the same one from the same token but once, and
// answers with the same event.
func (c *Client) Send(ctx context.Context, room, txn string, t Text) (string, error) {
	content := map[string]any{"msgtype": t.Type, "body": t.Body}
	if t.HTML != "" {
		content["format"], content["formatted_body"] = "org.matrix.custom.html", t.HTML
	}
	if t.Everybody {
		content["m.mentions"] = map[string]bool{"room": true}
	}
	if rel := relation(t); rel != nil {
		content["m.relates_to"] = rel
	}
	var out struct {
		EventID string `json:"event_id"`
	}
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(room) + "/send/m.room.message/" + url.PathEscape(txn)
	if _, err := c.do(ctx, request{http.MethodPut, path, content, &out, most}); err != nil {
		return "", fmt.Errorf("cannot send to room %s: %w", room, err)
	}
	return out.EventID, nil
}

// most is how much of an answer is read, in bytes.
const most = 1 << 20

// request is one request, and where its answer goes.
type request struct {
	method, path string
	in, out      any   // in is nil for none
	most         int64 // bytes of the answer
}

// do asks, and returns the header of the answer.
func (c *Client) do(ctx context.Context, q request) (http.Header, error) {
	req, err := c.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	resp, answer, err := httpjson.Ask(c.HTTP, req, q.most)
	switch {
	case resp != nil && resp.StatusCode/100 != 2:
		return nil, refusal(resp, answer)
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(answer, q.out); err != nil {
		return nil, errors.New("its answer is no JSON: is that a homeserver?")
	}
	return resp.Header, nil
}

// ask makes the request of HTTP.
func (c *Client) ask(ctx context.Context, q request) (*http.Request, error) {
	req, err := httpjson.Request(ctx, q.method, strings.TrimSuffix(c.Server, "/")+q.path, q.in)
	if err != nil {
		return nil, err
	}
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token) // never in the URL, which proxies log
	return req, nil
}

func refusal(resp *http.Response, answer []byte) error {
	var said struct {
		Code  string `json:"errcode"`
		After int64  `json:"retry_after_ms"`
	}
	_ = json.Unmarshal(answer, &said) // a proxy in between answers with a page
	e := &Error{Status: resp.StatusCode, Code: word(said.Code), After: time.Duration(said.After) * time.Millisecond}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && e.After == 0 {
		e.After = time.Duration(s) * time.Second // the header is the newer way to say it
	}
	e.After = max(e.After, 0)
	return e
}

// word keeps an error code when it is one: nothing else of the answer is repeated.
func word(code string) string {
	odd := func(r rune) bool { return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }
	if len(code) > 60 || strings.ContainsFunc(code, odd) {
		return ""
	}
	return code
}
