// Package telegramtest is a Telegram Bot API for tests, built from its public
// description (core.telegram.org/bots/api): sendMessage, getUpdates with long
// polling and offsets, getMe; error bodies and flood control as described.
//
// What is not described there is after the server's source, tdlib/telegram-bot-api,
// telegram-bot-api/Client.cpp at 025884aeca: a second getUpdates that waits ends the first
// with 409 (abort_long_poll), and each is 409 while a webhook is set; an answer holds 4 MiB
// of updates at most (JsonUpdates); a negative offset forgets what is before it
// (do_get_updates); HttpConnection.cpp and ClientManager.cpp: Retry-After beside
// parameters.retry_after, and 404 or 401 for a token that is none.
package telegramtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// Sent is a message the bot has sent.
type Sent struct {
	Chat, Text string
	Silent     bool
	Answers    int64 // ID of the message that it answers
	Topic      int64 // of a forum; 0: none
}

// Server is a running fake.
type Server struct {
	URL string

	mu      sync.Mutex
	token   string
	chats   map[string]bool
	sent    []Sent
	updates []map[string]any
	news    chan struct{}
	flood   int           // requests still to be refused
	after   time.Duration // of the refusal
	status  string        // of the bot in every chat
	down    int
	swallow int // answers still to be lost after the request was carried out
	skew    time.Duration

	confirmed int           // the last update that is not given again
	waiting   chan struct{} // ends the getUpdates that waits; nil: none does
	webhook   bool
	muted     bool // nobody but administrators may write, in every chat
}

// New starts a server that ends with the test. chats are the IDs the bot may write to.
func New(t testing.TB, token string, chats ...string) *Server {
	s := &Server{token: token, chats: map[string]bool{}, news: make(chan struct{})}
	for _, c := range chats {
		s.chats[c] = true
	}
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Flood refuses the next n requests with 429 and retry_after, in whole seconds.
func (s *Server) Flood(n int, after time.Duration) { s.set(func() { s.flood, s.after = n, after }) }

// Down answers every request with that status, 0 for none.
func (s *Server) Down(status int) { s.set(func() { s.down = status }) }

// Swallow carries the next n requests out and breaks the connection off before the answer.
func (s *Server) Swallow(n int) { s.set(func() { s.swallow = n }) }

// Sent lists what the bot has sent.
func (s *Server) Sent() (out []Sent) {
	s.set(func() { out = append(out, s.sent...) })
	return out
}

// Skew sets the clock of the server, by its distance from ours.
func (s *Server) Skew(d time.Duration) { s.set(func() { s.skew = d }) }

// Say has a person write to the bot.
func (s *Server) Say(chat, from int64, text string) { s.Update("message", chat, from, text, "") }

// Forward has a person hand on what somebody else wrote: as Message has it since Bot API
// 7.0 (forward_origin), or before (forward_date and its like).
func (s *Server) Forward(chat, from int64, text string, old bool) {
	s.Update("message", chat, from, text, "")
	s.change(func(m map[string]any) {
		if old {
			m["forward_date"], m["forward_from"] = 1, map[string]any{"id": 99, "is_bot": false}
			return
		}
		m["forward_origin"] = map[string]any{"type": "user", "date": 1, "sender_user": map[string]any{"id": 99, "is_bot": false}}
	})
}

// Via has a person send what an inline bot wrote (via_bot).
func (s *Server) Via(chat, from int64, text string) {
	s.Update("message", chat, from, text, "")
	s.change(func(m map[string]any) { m["via_bot"] = map[string]any{"id": 98, "is_bot": true} })
}

// SayIn has a person write in a topic of a forum (message_thread_id).
func (s *Server) SayIn(topic, chat, from int64, text string) {
	s.Update("message", chat, from, text, "")
	s.change(func(m map[string]any) { m["message_thread_id"], m["is_topic_message"] = topic, true })
}

// change changes the newest message.
func (s *Server) change(f func(map[string]any)) {
	s.set(func() { f(s.updates[len(s.updates)-1]["message"].(map[string]any)) })
}

// Update is an update of that kind: message, edited_message. about is the text of
// the message of the bot that it answers; "" for none.
func (s *Server) Update(kind string, chat, from int64, text, about string) {
	s.set(func() {
		n := len(s.updates) + 1
		m := map[string]any{"message_id": 1000 + n, "date": time.Now().Add(s.skew).Unix(),
			"text": text, "chat": map[string]any{"id": chat, "type": "group"}, "from": map[string]any{"id": from, "is_bot": false, "first_name": "P"}}
		if about != "" {
			m["reply_to_message"] = map[string]any{"message_id": 1, "date": 1, "text": about, "from": map[string]any{"id": 1, "is_bot": true}}
		}
		s.updates = append(s.updates, map[string]any{"update_id": n, kind: m})
		close(s.news)
		s.news = make(chan struct{})
	})
}

func (s *Server) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.set(func() { w.Header().Set("Date", time.Now().Add(s.skew).UTC().Format(http.TimeFormat)) })
	if s.refuse(w) {
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+s.token+"/")
	if !ok {
		fail(w, 401, "Unauthorized", nil)
		return
	}
	switch method {
	case "getMe":
		answer(w, map[string]any{"id": 1, "is_bot": true, "first_name": "custos", "username": "custos_bot"})
	case "getChat":
		s.chat(w, r)
	case "getChatMember":
		s.member(w, r)
	case "sendMessage":
		s.send(w, r)
	case "getUpdates":
		s.poll(w, r)
	default:
		fail(w, 404, "Not Found", nil)
	}
}

// Webhook says whether a webhook is set.
func (s *Server) Webhook(is bool) { s.set(func() { s.webhook = is }) }

// Mute takes from every member what a chat permits them all (ChatPermissions).
func (s *Server) Mute() { s.set(func() { s.muted = true }) }

// Status says what the bot is in every chat, in the words of ChatMember: "left",
// "kicked", "restricted" (may then not send), "restricted, gone" (could send, and is not
// in it), "member", …; "" is member.
func (s *Server) Status(status string) { s.set(func() { s.status = status }) }

// mute is why the bot may not write though it is in the chat; "" when it may.
func (s *Server) mute() (why string) {
	s.set(func() {
		if s.status == "restricted" || s.muted && s.status != "administrator" && s.status != "creator" {
			why = "Bad Request: not enough rights to send text messages to the chat"
		}
	})
	return why
}

// barred is why the bot may not send, as the Bot API says it; "" when it may.
func (s *Server) barred() (why string) {
	s.set(func() {
		switch s.status {
		case "left":
			why = "Forbidden: bot is not a member of the supergroup chat"
		case "restricted, gone":
			why = "Forbidden: bot is not a member of the supergroup chat"
		case "kicked":
			why = "Forbidden: bot was kicked from the supergroup chat"
		}
	})
	return why
}

// chat answers getChat: of what it says, what it permits all its members.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Chat json.RawMessage `json:"chat_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	var known, muted bool
	id := strings.Trim(string(in.Chat), `"`)
	s.set(func() { known, muted = s.chats[id], s.muted })
	switch {
	case !known:
		fail(w, 400, "Bad Request: chat not found", nil)
	case s.barred() != "":
		fail(w, 403, s.barred(), nil)
	case !strings.HasPrefix(id, "-"):
		answer(w, map[string]any{"id": json.Number(id), "type": "private"})
	default:
		answer(w, map[string]any{"id": json.Number(id), "type": "supergroup", "permissions": map[string]any{"can_send_messages": !muted}})
	}
}

// member answers getChatMember (core.telegram.org/bots/api#getchatmember) of the bot itself.
func (s *Server) member(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Chat json.RawMessage `json:"chat_id"`
		User int64           `json:"user_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	var known bool
	var status string
	s.set(func() { known, status = s.chats[strings.Trim(string(in.Chat), `"`)], s.status })
	switch why := s.barred(); {
	case !known:
		fail(w, 400, "Bad Request: chat not found", nil)
	case status == "kicked":
		fail(w, 403, why, nil)
	case in.User != 1:
		fail(w, 400, "Bad Request: user not found", nil)
	default:
		word, _, gone := strings.Cut(cmp.Or(status, "member"), ",")
		out := map[string]any{"status": word, "user": map[string]any{"id": 1, "is_bot": true}}
		if word == "restricted" {
			out["is_member"], out["can_send_messages"] = !gone, gone
		}
		answer(w, out)
	}
}

func (s *Server) refuse(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != 0:
		w.WriteHeader(s.down)
		fmt.Fprint(w, "<html>Bad Gateway</html>")
		return true
	case s.flood > 0:
		s.flood--
		seconds := int(s.after / time.Second)
		w.Header().Set("Retry-After", fmt.Sprint(seconds))
		fail(w, 429, fmt.Sprintf("Too Many Requests: retry after %d", seconds), map[string]any{"retry_after": seconds})
		return true
	}
	return false
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func fail(w http.ResponseWriter, code int, text string, parameters map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	out := map[string]any{"ok": false, "error_code": code, "description": text}
	if parameters != nil {
		out["parameters"] = parameters
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Chat   json.RawMessage `json:"chat_id"`
		Text   string          `json:"text"`
		Silent bool            `json:"disable_notification"`
		Topic  int64           `json:"message_thread_id"`
		Reply  struct {
			Message int64 `json:"message_id"`
		} `json:"reply_parameters"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		fail(w, 400, "Bad Request: can't parse JSON object", nil)
		return
	}
	chat := strings.Trim(string(in.Chat), `"`)
	s.mu.Lock()
	known := s.chats[chat]
	s.mu.Unlock()
	switch {
	case !known:
		fail(w, 400, "Bad Request: chat not found", nil)
	case s.barred() != "":
		fail(w, 403, s.barred(), nil)
	case s.mute() != "":
		fail(w, 400, s.mute(), nil)
	case strings.TrimSpace(in.Text) == "":
		fail(w, 400, "Bad Request: message text is empty", nil)
	case len(utf16.Encode([]rune(in.Text))) > 4096:
		fail(w, 400, "Bad Request: message is too long", nil)
	default:
		s.took(w, Sent{Chat: chat, Text: in.Text, Silent: in.Silent, Topic: in.Topic, Answers: in.Reply.Message})
	}
}

func (s *Server) took(w http.ResponseWriter, m Sent) {
	s.mu.Lock()
	s.sent = append(s.sent, m)
	n, lost := len(s.sent), s.swallow > 0
	if lost {
		s.swallow--
	}
	s.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	answer(w, map[string]any{"message_id": n, "date": time.Now().Unix(), "text": m.Text})
}

// poll answers with the updates from offset on, and waits for one when there is
// none: what lies before offset is confirmed, and never given again.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Offset  int      `json:"offset"`
		Limit   int      `json:"limit"`
		Timeout int      `json:"timeout"`
		Kinds   []string `json:"allowed_updates"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if in.Limit < 1 || in.Limit > 100 {
		in.Limit = 100
	}
	var hooked bool
	if s.set(func() { hooked = s.webhook }); hooked {
		fail(w, 409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", nil)
		return
	}
	timer := time.NewTimer(time.Duration(min(in.Timeout, 50)) * time.Second)
	defer timer.Stop()
	var ends chan struct{}
	for over := in.Timeout == 0; ; {
		s.mu.Lock()
		if in.Offset < 0 {
			in.Offset = max(len(s.updates)+1+in.Offset, 0)
		}
		s.confirmed = max(s.confirmed, in.Offset-1)
		out, news := []map[string]any{}, s.news
		for _, u := range s.updates {
			if n := u["update_id"].(int); n > s.confirmed && asked(u, in.Kinds) && len(out) < in.Limit {
				out = append(out, u)
			}
		}
		s.mu.Unlock()
		if len(out) > 0 || over {
			answer(w, out)
			return
		}
		if ends == nil {
			ends = s.only()
		}
		select {
		case <-ends:
			fail(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			return
		case <-news:
		case <-timer.C:
			over = true
		case <-r.Context().Done():
			return
		}
	}
}

// only ends the getUpdates that waits, for another one that is to wait.
func (s *Server) only() (ends chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
	}
	s.waiting = make(chan struct{})
	return s.waiting
}

// asked says whether an update is of a kind that is asked for.
func asked(u map[string]any, kinds []string) bool {
	for _, k := range kinds {
		if _, is := u[k]; is {
			return true
		}
	}
	return kinds == nil
}
