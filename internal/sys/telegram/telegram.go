// Package telegram is a client of the Telegram Bot API, as core.telegram.org/bots/api
// describes it: what is needed to say something in a chat, and to hear what is said there.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"custos/internal/sys/httpjson"
)

// Server is where the Bot API is.
const Server = "https://api.telegram.org"

// MaxText is how long a message may be, in UTF-16 code units.
const MaxText = 4096

// Client speaks as one bot.
type Client struct {
	Server string                                // "": Server
	Token  func(context.Context) (string, error) // of the bot, asked for at each request
	HTTP   *http.Client                          // nil: one with a time-out that follows no redirect
}

// Text is what is said in a chat. It is plain: no entities are parsed.
type Text struct {
	Chat   string // ID, or @name of a channel
	Body   string
	Silent bool // without a sound
	// Answers is the ID of the message that it answers; 0 for none.
	Answers int64
	Topic   int64 // of a forum; 0: none
}

// Error is a refusal of the Bot API.
type Error struct {
	Code  int           // error_code
	Says  string        // description, which the Bot API gives for programmers
	After time.Duration // when it may be tried again; 0: not said
	Moved string        // the ID of the chat after it became a supergroup; "" otherwise
}

func (e *Error) Error() string {
	if e.Moved != "" {
		return fmt.Sprintf("Telegram answered %d: the chat is %s by now", e.Code, e.Moved)
	}
	if e.Code == http.StatusConflict {
		return "Telegram answered 409: another program asks what is said to this bot, or a webhook is set for it"
	}
	return fmt.Sprintf("Telegram answered %d", e.Code)
}

// Malformed says whether the text itself was refused: that will be so always. A
// chat that is not found may be mended by a person.
func (e *Error) Malformed() bool {
	return e.Code == http.StatusBadRequest && (strings.Contains(e.Says, "message is too long") || strings.Contains(e.Says, "text is empty") || strings.Contains(e.Says, "parse"))
}

// RetryAfter is how long Telegram wants to be left alone.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Send says something and returns the ID of the message. It is not idempotent: the
// Bot API knows no transactions, so what is tried again after a lost answer comes
// twice.
func (c *Client) Send(ctx context.Context, t Text) (int64, error) {
	in := map[string]any{"chat_id": t.Chat, "text": t.Body, "disable_notification": t.Silent,
		"link_preview_options": map[string]bool{"is_disabled": true}}
	if t.Answers != 0 {
		in["reply_parameters"] = map[string]any{"message_id": t.Answers, "allow_sending_without_reply": true}
	}
	if t.Topic != 0 {
		in["message_thread_id"] = t.Topic
	}
	var out struct {
		ID int64 `json:"message_id"`
	}
	if _, err := c.call(ctx, "sendMessage", in, &out); err != nil {
		return 0, fmt.Errorf("cannot send to chat %s: %w", t.Chat, err)
	}
	return out.ID, nil
}

// most is how much of an answer is read, in bytes: fifty updates of 4096
// characters that answer others of 4096 have less.
const most = 8 << 20

// ErrTooMuch says that an answer is larger than is read.
var ErrTooMuch = httpjson.ErrTooMuch

// call calls a method, and returns the header of its answer. The token is part of the URL, so no error may hold one.
func (c *Client) call(ctx context.Context, method string, in, out any) (http.Header, error) {
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	server := strings.TrimSuffix(cmp.Or(c.Server, Server), "/")
	req, err := httpjson.Request(ctx, http.MethodPost, server+"/bot"+url.PathEscape(token)+"/"+method, in)
	if err != nil {
		return nil, err
	}
	resp, answer, err := httpjson.Ask(c.HTTP, req, most)
	if err != nil {
		return nil, err
	}
	return resp.Header, read(resp.StatusCode, answer, out)
}

func read(status int, answer []byte, out any) error {
	var said struct {
		OK         bool            `json:"ok"`
		Result     json.RawMessage `json:"result"`
		Code       int             `json:"error_code"`
		Says       string          `json:"description"`
		Parameters struct {
			After   int64       `json:"retry_after"`
			Migrate json.Number `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		if status/100 != 2 {
			return &Error{Code: status}
		}
		return errors.New("its answer is no JSON: is that the Bot API?")
	}
	if !said.OK {
		if said.Code == 0 {
			said.Code = status
		}
		return &Error{Code: said.Code, Says: said.Says, After: time.Duration(max(said.Parameters.After, 0)) * time.Second, Moved: said.Parameters.Migrate.String()}
	}
	return json.Unmarshal(said.Result, out)
}
