package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Update is one message that was sent to the bot.
type Update struct {
	ID      int64  // of the update: never twice
	Message int64  // ID in its chat; 0 when the update is none of a new text
	Chat    string // ID of the chat
	From    string // ID of the user; "" for none
	Bot     bool   // the user is a bot
	Text    string
	Topic   int64 // of a forum; 0: none
	// Others says that the words are not the user's own: handed on, or written by a bot
	// through which they were sent.
	Others bool
	About  string // text of the message of this bot that it answers; "" for none
	Age    time.Duration
}

const mostUpdates = 50

// Updates returns what was said from an update on, oldest first, and waits for it
// when there is nothing yet: whole seconds. What lies before offset is forgotten by
// Telegram. An offset of -1 is the last update alone. me is the ID of the bot.
func (c *Client) Updates(ctx context.Context, offset int64, wait time.Duration, me string) ([]Update, error) {
	in := map[string]any{"offset": offset, "limit": mostUpdates, "timeout": int(wait / time.Second), "allowed_updates": []string{"message"}}
	var out []json.RawMessage
	header, err := c.call(ctx, "getUpdates", in, &out)
	if err != nil {
		return nil, fmt.Errorf("cannot listen to Telegram: %w", err)
	}
	at, _ := http.ParseTime(header.Get("Date"))
	list := make([]Update, 0, len(out))
	for _, raw := range out {
		u, err := readUpdate(raw, at, me)
		if err != nil {
			return list, fmt.Errorf("cannot listen to Telegram: %w", err)
		}
		list = append(list, u)
	}
	return list, nil
}

type rawMessage struct {
	ID   int64  `json:"message_id"`
	Date int64  `json:"date"`
	Text string `json:"text"`
	Chat struct {
		ID int64 `json:"id"`
	} `json:"chat"`
	From *struct {
		ID  int64 `json:"id"`
		Bot bool  `json:"is_bot"`
	} `json:"from"`
	Answers *rawMessage `json:"reply_to_message"`

	// Of a topic of a forum, and of words of other people: forward_origin since
	// Bot API 7.0, the others before.
	Topic   int64           `json:"message_thread_id"`
	InTopic bool            `json:"is_topic_message"`
	Origin  json.RawMessage `json:"forward_origin"`
	Sent    int64           `json:"forward_date"`
	Via     json.RawMessage `json:"via_bot"`
}

// readUpdate reads an update, as old as it is at a moment of Telegram's clock. One
// that is not understood is one without a message; one without a number is an error.
func readUpdate(raw json.RawMessage, at time.Time, me string) (Update, error) {
	var head struct {
		ID      *int64          `json:"update_id"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.ID == nil {
		return Update{}, errors.New("an update without a number")
	}
	u, m := Update{ID: *head.ID, Age: unknownAge}, rawMessage{}
	if len(head.Message) == 0 || json.Unmarshal(head.Message, &m) != nil || m.Text == "" {
		return u, nil
	}
	u.Message, u.Text, u.Chat = m.ID, m.Text, strconv.FormatInt(m.Chat.ID, 10)
	u.Others = len(m.Origin) > 0 || m.Sent != 0 || len(m.Via) > 0
	if m.InTopic {
		u.Topic = m.Topic
	}
	if m.From != nil {
		u.From, u.Bot = strconv.FormatInt(m.From.ID, 10), m.From.Bot
	}
	if a := m.Answers; a != nil && a.From != nil && strconv.FormatInt(a.From.ID, 10) == me {
		u.About = a.Text
	}
	if !at.IsZero() && m.Date > 0 {
		u.Age = max(at.Sub(time.Unix(m.Date, 0)), 0)
	}
	return u, nil
}

// unknownAge is that of what has no date: old.
const unknownAge = 365 * 24 * time.Hour

// Me returns the ID of the bot.
func (c *Client) Me(ctx context.Context) (string, error) {
	id, _, err := c.Self(ctx)
	return id, err
}

// Self returns the ID of the bot, and its name, without the @.
func (c *Client) Self(ctx context.Context) (id, name string, err error) {
	var out struct {
		ID   int64  `json:"id"`
		Name string `json:"username"`
	}
	if _, err := c.call(ctx, "getMe", map[string]any{}, &out); err != nil {
		return "", "", fmt.Errorf("cannot ask Telegram who Custos is: %w", err)
	}
	return strconv.FormatInt(out.ID, 10), out.Name, nil
}
