package matrixtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Leave takes a member out of a room: membership is leave, or ban.
func (h *Homeserver) Leave(room, user, membership string) {
	h.set(func() { delete(h.rooms[room], user); h.left[room+" "+user] = membership })
}

// Levels sets the content of m.room.power_levels of a room.
func (h *Homeserver) Levels(room string, content map[string]any) {
	h.set(func() { h.levels[room] = content })
}

// Made is how a room was made: by whom, and of which version.
type Made struct {
	By, Version string
	Also        []string // additional_creators
}

// Create says how a room was made.
func (h *Homeserver) Create(room string, m Made) { h.set(func() { h.made[room] = m }) }

// Lock locks the account of a user.
func (h *Homeserver) Lock(user string) { h.set(func() { h.locked[user] = true }) }

// creates says whether a user is above all levels of a room. mu is held.
func (m Made) creates(user string) bool {
	n, err := strconv.Atoi(m.Version)
	return err == nil && n >= 12 && (m.By == user || slices.Contains(m.Also, user))
}

// state answers with the content of one state event. As the specification has it
// (client-server API v1.11, "Getting events for a room"), a member that left sees the
// state as of then; who never was one, or was banned, is refused.
func (h *Homeserver) state(w http.ResponseWriter, r *http.Request, user, _ string) {
	room, key := r.PathValue("room"), r.PathValue("key")
	h.mu.Lock()
	member, left, levels := h.rooms[room][user], h.left[room+" "+user], h.levels[room]
	other, made := h.rooms[room][key], h.made[room]
	h.mu.Unlock()
	switch what := r.PathValue("type"); {
	case !member && left != "leave":
		fail(w, 403, "M_FORBIDDEN", "User "+user+" not in room "+room+", and room previews are disabled")
	case what == "m.room.member" && key == user && left != "" && !member:
		answer(w, 200, map[string]any{"membership": left})
	case what == "m.room.member" && other:
		answer(w, 200, map[string]any{"membership": "join"})
	case what == "m.room.power_levels" && key == "" && levels != nil:
		answer(w, 200, levels)
	case what == "m.room.create" && key == "" && made.By != "":
		content := map[string]any{"room_version": made.Version}
		if len(made.Also) > 0 {
			content["additional_creators"] = made.Also
		}
		if r.URL.Query().Get("format") != "event" {
			answer(w, 200, content)
			return
		}
		answer(w, 200, map[string]any{"type": what, "sender": made.By, "state_key": "", "content": content, "event_id": "$create", "room_id": room})
	default:
		fail(w, 404, "M_NOT_FOUND", "Event not found.")
	}
}

// maySend holds the level of a user against that for an event that is no state, by
// the rules of m.room.power_levels. mu is held.
func (h *Homeserver) maySend(room, user, kind string) bool {
	levels := h.levels[room]
	number := func(in map[string]any, key string, otherwise int) int {
		if n, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(in[key]))); err == nil {
			return n
		}
		return otherwise
	}
	users, _ := levels["users"].(map[string]any)
	events, _ := levels["events"].(map[string]any)
	has := number(users, user, number(levels, "users_default", 0))
	return h.made[room].creates(user) || has >= number(events, kind, number(levels, "events_default", 0))
}
