// Package matrixtest is a homeserver for tests: the part of the Matrix
// client-server API that a client needs to log in, to say something and to hear
// what was said, built from the public specification (spec.matrix.org). It
// forgets a transaction never (Synapse does after a day), limits rates when told to, and can be down.
//
// What it answers is as Synapse has it, element-hq/synapse: synapse/api/errors.py at
// 001b1ec4d5 (codes, bodies, Retry-After beside retry_after_ms; M_UNKNOWN_POS is of sliding
// sync only), rest/client/sync.py at 0193155a93 (what has nothing is left out), types
// (StreamToken.from_string: 400 M_UNKNOWN), api/auth/base.py at 0939be191e (who left sees
// the state as of then, who was banned does not), rest/client/room.py at 000d38dcf9 (state
// with ?format=event), event_auth.py (levels may be text: int(level)); who made a room of
// version 12 or later is above all levels (MSC4289).
package matrixtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Event is what was said in a room.
type Event struct {
	ID      string         `json:"event_id"`
	Type    string         `json:"type"`
	Sender  string         `json:"sender"`
	At      int64          `json:"origin_server_ts"`
	Content map[string]any `json:"content"`
	Room    string         `json:"room_id,omitempty"`
	seq     int
}

// Homeserver is a running fake.
type Homeserver struct {
	URL string

	mu      sync.Mutex
	users   map[string]string // access token → user ID
	secrets map[string]string // user ID → password
	rooms   map[string]map[string]bool
	left    map[string]string         // room and user → leave or ban
	levels  map[string]map[string]any // room → content of m.room.power_levels
	made    map[string]Made
	locked  map[string]bool // users
	events  []Event
	txns    map[string]string // token, room, txn → event ID
	news    chan struct{}     // closed when something was said
	limit   time.Duration     // of the next refusal
	limited int               // requests still to be refused
	down    int               // status of every answer; 0: up
	swallow int               // answers still to be lost after the request was carried out
	skew    time.Duration     // of its clock
	huge    int               // syncs still to be answered with megabytes
}

// New starts a homeserver that ends with the test.
func New(t testing.TB) *Homeserver {
	h := &Homeserver{users: map[string]string{}, secrets: map[string]string{}, rooms: map[string]map[string]bool{}, left: map[string]string{}, levels: map[string]map[string]any{}, made: map[string]Made{}, locked: map[string]bool{},
		txns: map[string]string{}, news: make(chan struct{})}
	s := httptest.NewServer(h.handler())
	t.Cleanup(s.Close)
	h.URL = s.URL
	return h
}

// User makes an account, and returns an access token of it.
func (h *Homeserver) User(id, password string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	token := fmt.Sprintf("syt_%d_fake", len(h.users))
	h.users[token], h.secrets[id] = id, password
	return token
}

// Room makes a room with members.
func (h *Homeserver) Room(id string, members ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rooms[id] = map[string]bool{}
	for _, m := range members {
		h.rooms[id][m] = true
	}
}

// Limit refuses the next n requests with M_LIMIT_EXCEEDED.
func (h *Homeserver) Limit(n int, after time.Duration) {
	h.set(func() { h.limited, h.limit = n, after })
}

// Down answers every request with that status, 0 for none.
func (h *Homeserver) Down(status int) { h.set(func() { h.down = status }) }

// Swallow carries the next n requests out and breaks the connection off before the answer.
func (h *Homeserver) Swallow(n int) { h.set(func() { h.swallow = n }) }

// Skew sets the clock of the server, by its distance from ours.
func (h *Homeserver) Skew(d time.Duration) { h.set(func() { h.skew = d }) }

// Huge answers the next n syncs with more than anybody reads.
func (h *Homeserver) Huge(n int) { h.set(func() { h.huge = n }) }

// Say has somebody say something in a room, whether a member or not, and returns
// the ID of the event.
func (h *Homeserver) Say(room, user string, content map[string]any) (id string) {
	h.set(func() {
		id = h.said(user, fmt.Sprintf("said %d", len(h.events)), Event{Type: "m.room.message", Content: content, Room: room})
	})
	return id
}

// Text is the content of a plain message.
func Text(body string) map[string]any { return map[string]any{"msgtype": "m.text", "body": body} }

func (h *Homeserver) set(f func()) { h.mu.Lock(); defer h.mu.Unlock(); f() }

// Events lists what was said in a room.
func (h *Homeserver) Events(room string) (out []Event) {
	h.set(func() {
		for _, e := range h.events {
			if e.Room == room {
				out = append(out, e)
			}
		}
	})
	return out
}

func (h *Homeserver) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_matrix/client/versions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"versions": []string{"v1.3", "v1.11"}})
	})
	for _, v := range []string{"v3", "r0"} {
		base := "/_matrix/client/" + v
		mux.HandleFunc("POST "+base+"/login", h.login)
		mux.HandleFunc("GET "+base+"/account/whoami", h.known(func(w http.ResponseWriter, _ *http.Request, user, _ string) {
			answer(w, 200, map[string]any{"user_id": user, "device_id": "FAKE"})
		}))
		mux.HandleFunc("PUT "+base+"/rooms/{room}/send/{type}/{txn}", h.known(h.send))
		mux.HandleFunc("GET "+base+"/rooms/{room}/event/{event}", h.known(h.event))
		mux.HandleFunc("GET "+base+"/rooms/{room}/state/{type}", h.known(h.state))
		mux.HandleFunc("GET "+base+"/rooms/{room}/state/{type}/{key...}", h.known(h.state))
		mux.HandleFunc("GET "+base+"/sync", h.known(h.sync))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", h.now().UTC().Format(http.TimeFormat))
		if !h.refuse(w) {
			mux.ServeHTTP(w, r)
		}
	})
}

// refuse answers instead of the server when it is down or limits rates.
func (h *Homeserver) refuse(w http.ResponseWriter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.down != 0:
		w.WriteHeader(h.down)
		fmt.Fprint(w, "<html>Bad Gateway</html>") // what a proxy says
		return true
	case h.limited > 0:
		h.limited--
		w.Header().Set("Retry-After", fmt.Sprint(math.Ceil(h.limit.Seconds())))
		answer(w, 429, map[string]any{"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": h.limit.Milliseconds()})
		return true
	}
	return false
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, code, text string) {
	answer(w, status, map[string]any{"errcode": code, "error": text})
}

func (h *Homeserver) login(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Type       string `json:"type"`
		User       string `json:"user"`
		Password   string `json:"password"`
		Identifier struct {
			User string `json:"user"`
		} `json:"identifier"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Type != "m.login.password" {
		fail(w, 400, "M_UNKNOWN", "Unknown login type")
		return
	}
	id := in.Identifier.User
	if id == "" {
		id = in.User
	}
	h.mu.Lock()
	secret, known := h.secrets[id]
	h.mu.Unlock()
	if !known || secret != in.Password {
		fail(w, 403, "M_FORBIDDEN", "Invalid username or password")
		return
	}
	answer(w, 200, map[string]any{"user_id": id, "access_token": h.User(id, secret), "device_id": "FAKE", "home_server": "fake"})
}

func (h *Homeserver) known(f func(http.ResponseWriter, *http.Request, string, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			token = r.URL.Query().Get("access_token")
		}
		if token == "" {
			fail(w, 401, "M_MISSING_TOKEN", "Missing access token")
			return
		}
		h.mu.Lock()
		user, ok := h.users[token]
		locked := h.locked[user]
		h.mu.Unlock()
		switch {
		case !ok:
			answer(w, 401, map[string]any{"errcode": "M_UNKNOWN_TOKEN", "error": "Invalid access token passed.", "soft_logout": false})
			return
		case locked:
			answer(w, 401, map[string]any{"errcode": "M_USER_LOCKED", "error": "User account has been locked", "soft_logout": true})
			return
		}
		f(w, r, user, token)
	}
}

const tooLarge = 65536 // bytes of an event as canonical JSON (event_auth.py, MAX_PDU_SIZE)

// size is that of an event, with what the server adds to it.
func size(content map[string]any) int {
	const added = 1 << 10 // hashes, signatures, parents
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // canonical JSON escapes only what it must
	_ = e.Encode(content)
	return b.Len() + added
}

func (h *Homeserver) send(w http.ResponseWriter, r *http.Request, user, token string) {
	var content map[string]any
	if json.NewDecoder(r.Body).Decode(&content) != nil {
		fail(w, 400, "M_NOT_JSON", "Content not JSON.")
		return
	}
	if size(content) > tooLarge {
		fail(w, 413, "M_TOO_LARGE", "event too large")
		return
	}
	room := r.PathValue("room")
	h.mu.Lock()
	if !h.rooms[room][user] {
		h.mu.Unlock()
		fail(w, 403, "M_FORBIDDEN", "User "+user+" not in room "+room)
		return
	}
	if !h.maySend(room, user, r.PathValue("type")) {
		h.mu.Unlock()
		fail(w, 403, "M_FORBIDDEN", "You don't have permission to post that to the room. user_level (0) < send_level (50)")
		return
	}
	id := h.said(user, token+" "+room+" "+r.PathValue("txn"), Event{Type: r.PathValue("type"), Content: content, Room: room})
	lost := h.swallow > 0
	if lost {
		h.swallow--
	}
	h.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	answer(w, 200, map[string]any{"event_id": id})
}

// now is the clock of the server.
func (h *Homeserver) now() (at time.Time) {
	h.set(func() { at = time.Now().Add(h.skew) })
	return at
}

// said keeps an event, once for each transaction. mu is held.
func (h *Homeserver) said(user, txn string, e Event) string {
	if id, again := h.txns[txn]; again {
		return id
	}
	e.ID, e.Sender, e.At, e.seq = fmt.Sprintf("$e%d", len(h.events)), user, time.Now().Add(h.skew).UnixMilli(), len(h.events)
	h.events, h.txns[txn] = append(h.events, e), e.ID
	close(h.news)
	h.news = make(chan struct{})
	return e.ID
}
