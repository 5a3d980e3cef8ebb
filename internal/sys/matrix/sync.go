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

// ErrTooMuch says that an answer is larger than is read.
var ErrTooMuch = httpjson.ErrTooMuch

// Event is a message that was said in a room.
type Event struct {
	ID      string
	Sender  string // ID of the user
	Type    string // m.text, m.notice, …
	Body    string // plain
	Edit    bool   // it replaces another one
	Answers string // ID of the event that it answers; "" for none
	Thread  string // ID of the event that its thread began with; "" for none
	Age     time.Duration
}

// Listen says what is to be heard.
type Listen struct {
	Room  string
	From  []string // users; messages of others are left out
	Since string   // token of the last batch; "" for the first, which holds nothing worth hearing
	Wait  time.Duration
}

// Batch is what was said since another one.
type Batch struct {
	Next    string
	Events  []Event // the last of them, oldest first
	Limited bool    // there were more
}

const (
	mostEvents = 50
	mostSync   = 8 << 20 // bytes: so many events of 64 KiB, and what stands around them
)

// Sync returns what was said since l.Since, and waits for it when there is nothing yet.
func (c *Client) Sync(ctx context.Context, l Listen) (Batch, error) {
	filter, err := json.Marshal(filterOf(l))
	if err != nil {
		return Batch{}, err
	}
	q := url.Values{"filter": {string(filter)}, "timeout": {strconv.FormatInt(l.Wait.Milliseconds(), 10)}, "set_presence": {"offline"}}
	if l.Since != "" {
		q.Set("since", l.Since)
	}
	var out struct {
		Next  string `json:"next_batch"`
		Rooms struct {
			Join map[string]struct {
				Timeline timeline `json:"timeline"`
			} `json:"join"`
		} `json:"rooms"`
	}
	header, err := c.do(ctx, request{method: http.MethodGet, path: "/_matrix/client/v3/sync?" + q.Encode(), out: &out, most: mostSync})
	if err != nil {
		return Batch{}, fmt.Errorf("cannot listen to room %s: %w", l.Room, err)
	}
	if out.Next == "" {
		return Batch{}, fmt.Errorf("cannot listen to room %s: its answer has no next_batch: is that a homeserver?", l.Room)
	}
	t := out.Rooms.Join[l.Room].Timeline
	b := Batch{Next: out.Next, Limited: t.Limited}
	if l.Since == "" {
		return Batch{Next: out.Next}, nil
	}
	at, _ := http.ParseTime(header.Get("Date"))
	for _, raw := range t.Events {
		var e rawEvent
		if json.Unmarshal(raw, &e) == nil { // one that is none keeps no other from being heard
			b.Events = append(b.Events, e.event(at))
		}
	}
	return b, nil
}

// filterOf has the homeserver send nothing but what is listened for.
func filterOf(l Listen) any {
	none := map[string]any{"types": []string{}}
	limit := mostEvents
	if l.Since == "" {
		limit = 1
	}
	timeline := map[string]any{"limit": limit, "types": []string{"m.room.message"}, "senders": append([]string{}, l.From...)}
	return map[string]any{"presence": none, "account_data": none,
		"room": map[string]any{"rooms": []string{l.Room}, "timeline": timeline, "state": none, "ephemeral": none, "account_data": none}}
}

type timeline struct {
	Events  []json.RawMessage `json:"events"`
	Limited bool              `json:"limited"`
}

// rawEvent is an event as it comes. What it holds is anybody's word: a field of
// another type than is expected makes it an event without that.
type rawEvent struct {
	ID      string          `json:"event_id"`
	Type    string          `json:"type"`
	Sender  string          `json:"sender"`
	At      int64           `json:"origin_server_ts"`
	Content json.RawMessage `json:"content"`
}

type content struct {
	Type string          `json:"msgtype"`
	Body string          `json:"body"`
	New  json.RawMessage `json:"m.new_content"`
	Rel  relates         `json:"m.relates_to"`
}

type relates struct {
	Type    string `json:"rel_type"`
	Event   string `json:"event_id"`
	Falls   bool   `json:"is_falling_back"` // what it answers is named for clients that know no threads
	Answers struct {
		Event string `json:"event_id"`
	} `json:"m.in_reply_to"`
}

// event reads an event, as old as it is at a moment of the homeserver's clock.
func (e rawEvent) event(at time.Time) Event {
	out := Event{ID: e.ID, Sender: e.Sender, Age: unknownAge}
	if !at.IsZero() && e.At > 0 {
		out.Age = max(at.Sub(time.UnixMilli(e.At)), 0)
	}
	var c content
	if e.Type != "m.room.message" || json.Unmarshal(e.Content, &c) != nil {
		return out
	}
	out.Type, out.Body = c.Type, c.Body
	out.Edit = len(c.New) > 0 || c.Rel.Type == "m.replace"
	out.Answers = c.Rel.Answers.Event
	if c.Rel.Type == "m.thread" {
		out.Thread = c.Rel.Event
	}
	if out.Thread != "" && c.Rel.Falls {
		out.Answers = ""
	}
	if out.Answers != "" {
		out.Body = withoutQuote(out.Body)
	}
	return out
}

// unknownAge is that of what has no date: old.
const unknownAge = 365 * 24 * time.Hour

// withoutQuote drops what older clients put before an answer: the message that is
// answered, each line after "> ", and an empty line.
func withoutQuote(body string) string {
	if !strings.HasPrefix(body, "> ") {
		return body
	}
	lines := strings.Split(body, "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], ">") {
		lines = lines[1:]
	}
	if len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// relation is how a text hangs together with what was said before; nil: not at all.
func relation(t Text) map[string]any {
	rel := map[string]any{}
	if t.Answers != "" {
		rel["m.in_reply_to"] = map[string]string{"event_id": t.Answers}
	}
	if t.Thread != "" {
		rel["rel_type"], rel["event_id"], rel["is_falling_back"] = "m.thread", t.Thread, t.Answers == ""
	}
	if len(rel) == 0 {
		return nil
	}
	return rel
}

// WhoAmI returns the ID of the user that the token belongs to.
func (c *Client) WhoAmI(ctx context.Context) (string, error) {
	var out struct {
		User string `json:"user_id"`
	}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/_matrix/client/v3/account/whoami", out: &out, most: most}); err != nil {
		return "", fmt.Errorf("cannot ask the homeserver who Custos is: %w", err)
	}
	if out.User == "" {
		return "", errors.New("cannot ask the homeserver who Custos is: it does not say")
	}
	return out.User, nil
}

// Event returns one event of a room.
func (c *Client) Event(ctx context.Context, room, id string) (Event, error) {
	var out rawEvent
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(room) + "/event/" + url.PathEscape(id)
	header, err := c.do(ctx, request{method: http.MethodGet, path: path, out: &out, most: most})
	if err != nil {
		return Event{}, fmt.Errorf("cannot read an event of room %s: %w", room, err)
	}
	at, _ := http.ParseTime(header.Get("Date"))
	return out.event(at), nil
}
