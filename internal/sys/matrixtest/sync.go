package matrixtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event answers with one event of a room.
func (h *Homeserver) event(w http.ResponseWriter, r *http.Request, user, _ string) {
	room, id := r.PathValue("room"), r.PathValue("event")
	h.mu.Lock()
	i := slices.IndexFunc(h.events, func(e Event) bool { return e.ID == id && e.Room == room })
	member := h.rooms[room][user]
	var e Event
	if i >= 0 {
		e = h.events[i]
	}
	h.mu.Unlock()
	if i < 0 || !member {
		fail(w, 404, "M_NOT_FOUND", "Event not found.")
		return
	}
	answer(w, 200, e)
}

// filter is what of a filter this server heeds, given inline.
type filter struct {
	Room struct {
		Rooms    []string `json:"rooms"`
		Timeline struct {
			Limit   int      `json:"limit"`
			Types   []string `json:"types"`
			Senders []string `json:"senders"`
		} `json:"timeline"`
	} `json:"room"`
}

func (f filter) lets(e Event) bool {
	t := f.Room.Timeline
	return (t.Types == nil || slices.Contains(t.Types, e.Type)) && (t.Senders == nil || slices.Contains(t.Senders, e.Sender))
}

// sync answers with what was said since a token, and waits for it when there is
// nothing yet.
func (h *Homeserver) sync(w http.ResponseWriter, r *http.Request, user, _ string) {
	q := r.URL.Query()
	since, err := strconv.Atoi(strings.TrimPrefix(q.Get("since"), "s"))
	if err != nil && q.Get("since") != "" {
		fail(w, 400, "M_UNKNOWN", "Invalid stream token")
		return
	}
	wait, _ := strconv.Atoi(q.Get("timeout"))
	var f filter
	if strings.HasPrefix(q.Get("filter"), "{") && json.Unmarshal([]byte(q.Get("filter")), &f) != nil {
		fail(w, 400, "M_NOT_JSON", "Invalid filter JSON")
		return
	}
	timer := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer timer.Stop()
	for {
		h.mu.Lock()
		rooms, next, news, huge := h.joined(user, since, f), len(h.events), h.news, h.huge > 0
		if huge {
			h.huge--
		}
		h.mu.Unlock()
		if len(rooms) > 0 && next > since || wait == 0 || q.Get("since") == "" || huge {
			h.answerSync(w, rooms, next, huge)
			return
		}
		select {
		case <-news:
		case <-timer.C:
			wait = 0
		case <-r.Context().Done():
			return
		}
	}
}

func (h *Homeserver) answerSync(w http.ResponseWriter, rooms map[string]any, next int, huge bool) {
	out := map[string]any{"next_batch": "s" + strconv.Itoa(next), "device_one_time_keys_count": map[string]any{}, "device_unused_fallback_key_types": []any{}}
	if len(rooms) > 0 {
		out["rooms"] = map[string]any{"join": rooms}
	}
	if huge {
		out["padding"] = strings.Repeat("x", 16<<20)
	}
	answer(w, 200, out)
}

// joined lists the rooms of a user with what was said since. mu is held.
func (h *Homeserver) joined(user string, since int, f filter) map[string]any {
	out := map[string]any{}
	for room, members := range h.rooms {
		if !members[user] || f.Room.Rooms != nil && !slices.Contains(f.Room.Rooms, room) {
			continue
		}
		said, limited := h.timeline(room, since, f)
		if len(said) == 0 && since > 0 {
			continue
		}
		out[room] = map[string]any{"timeline": map[string]any{"events": said, "limited": limited, "prev_batch": "s" + strconv.Itoa(since)},
			"state": map[string]any{"events": []any{}}, "ephemeral": map[string]any{"events": []any{}}, "account_data": map[string]any{"events": []any{}},
			"summary": map[string]any{}, "unread_notifications": map[string]any{"highlight_count": 0, "notification_count": len(said)}}
	}
	return out
}

// timeline is what was said in a room since, at most as much of it as is asked
// for: the last of it. mu is held.
func (h *Homeserver) timeline(room string, since int, f filter) ([]Event, bool) {
	said := []Event{}
	for _, e := range h.events {
		if e.Room == room && e.seq >= since && f.lets(e) {
			e.Room = "" // a timeline does not repeat it
			said = append(said, e)
		}
	}
	if n := f.Room.Timeline.Limit; n > 0 && len(said) > n {
		return said[len(said)-n:], true
	}
	return said, false
}
