package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

const hookSecret = "s3cret&more"

// hooked is a place where webhooks are heard.
type hooked struct {
	ear    http.Handler
	book   *memory
	log    strings.Builder
	now    fleet.Instant
	secret func(context.Context) (string, error)
	fails  error // of what is written down
	heard  []string
}

func (h *hooked) Edit(ctx context.Context, do func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	if h.fails != nil {
		return fleet.Records{}, h.fails
	}
	return h.book.Edit(ctx, do)
}

func newHooked() *hooked {
	h := &hooked{book: &memory{w: newWorld()}, now: instant(0)}
	h.secret = func(context.Context) (string, error) { return hookSecret, nil }
	h.ear = ReceiveWebhooks(Webhooks{Records: h, Now: func() fleet.Instant { return h.now }, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Heard:  func(repo string) { h.heard = append(h.heard, repo) },
		Secret: func(ctx context.Context) (string, error) { return h.secret(ctx) }})
	return h
}

func sumOf(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// post sends a body with pairs of headers.
func (h *hooked) post(path, body string, headers ...string) *httptest.ResponseRecorder {
	return h.send(http.MethodPost, path, body, headers...)
}

func (h *hooked) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	r := httptest.NewRecorder()
	h.ear.ServeHTTP(r, req)
	return r
}

// sign is the header that GitHub, Forgejo and Gitea send.
func sign(body string) []string {
	return []string{"X-Hub-Signature-256", "sha256=" + sumOf(hookSecret, body)}
}

func TestWebhookAnswers(t *testing.T) {
	const body, hub, gitea = `{"ref":"main"}`, "X-Hub-Signature-256", "X-Gitea-Signature"
	good := sumOf(hookSecret, body)
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		says                     string
	}{
		{"GitHub's", "POST", "/trigger/ci/deploy", body, []string{hub, "sha256=" + good}, 202, `{"id":"t1"}`},
		{"Gitea's", "POST", "/trigger/x", body, []string{gitea, good}, 202, `{"id":"t1"}`},
		{"both", "POST", "/trigger/x", body, []string{gitea, good, hub, "sha256=" + good}, 202, `{"id":"t1"}`},
		{"an empty body", "POST", "/trigger/x", "", sign(""), 202, `{"id":"t1"}`},
		{"the largest", "POST", "/trigger/x", strings.Repeat("x", 1<<20), sign(strings.Repeat("x", 1<<20)), 202, `{"id":"t1"}`},
		{"no signature", "POST", "/trigger/x", body, nil, 401, "the signature is missing or wrong"},
		{"an empty one", "POST", "/trigger/x", body, []string{gitea, ""}, 401, "the signature is missing or wrong"},
		{"half of one", "POST", "/trigger/x", body, []string{gitea, good[:32]}, 401, "the signature is missing or wrong"},
		{"no hex", "POST", "/trigger/x", body, []string{gitea, strings.Repeat("z", 64)}, 401, "the signature is missing or wrong"},
		{"without its name", "POST", "/trigger/x", body, []string{hub, good}, 401, "the signature is missing or wrong"},
		{"another secret's", "POST", "/trigger/x", body, []string{hub, "sha256=" + sumOf("other", body)}, 401, "the signature is missing or wrong"},
		{"an empty secret's", "POST", "/trigger/x", body, []string{hub, "sha256=" + sumOf("", body)}, 401, "the signature is missing or wrong"},
		{"another body's", "POST", "/trigger/x", body + " ", []string{hub, "sha256=" + good}, 401, "the signature is missing or wrong"},
		{"one right, one wrong", "POST", "/trigger/x", body, []string{gitea, good, hub, "sha256=" + sumOf("other", body)}, 401, "the signature is missing or wrong"},
		{"by SHA-1", "POST", "/trigger/x", body, []string{"X-Hub-Signature", "sha1=" + good[:40]}, 401, "the signature is missing or wrong"},
		{"elsewhere", "POST", "/v1/triggers", body, sign(body), 404, "there is nothing here"},
		{"the root", "GET", "/", "", nil, 404, "there is nothing here"},
		{"without a name", "POST", "/trigger/", body, sign(body), 404, "there is nothing here"},
		{"no name of a trigger", "POST", "/trigger/a%20b", body, sign(body), 404, "there is no such trigger"},
		{"no name, unsigned", "POST", "/trigger/a%20b", body, nil, 401, "the signature is missing or wrong"},
		{"a look", "GET", "/trigger/x", "", sign(""), 405, "want POST"},
		{"too large", "POST", "/trigger/x", strings.Repeat("x", 1<<20+1), sign(strings.Repeat("x", 1<<20+1)), 413, "the body is larger than 1 MB"},
	} {
		h := newHooked()
		r := h.send(c.method, c.path, c.body, c.headers...)
		if r.Code != c.code || strings.TrimSpace(r.Body.String()) != c.says {
			t.Errorf("%s: %d %q, want %d %q", c.name, r.Code, r.Body, c.code, c.says)
		}
		if made := len(h.book.all.Triggers); made == 1 != (c.code == 202) {
			t.Errorf("%s: %d triggers are written down", c.name, made)
		}
		if c.code == 405 && r.Header().Get("Allow") != "POST" {
			t.Errorf("%s: it allows %q", c.name, r.Header().Get("Allow"))
		}
	}
}

// What is kept: the event, the beginning of the body, and no secret.
func TestWebhookIsKept(t *testing.T) {
	h := newHooked()
	body := `{"secret":"` + hookSecret + `","plain":"` + hookSecret + `","again":"s3cret\u0026more","token":"abc","say":"` + "\x1b[31m" + strings.Repeat("é", 5000) + `"}`
	r := h.post("/trigger/ci/deploy", body, append(sign(body), "X-GitHub-Event", "push\x07", "X-GitHub-Delivery", strings.Repeat("d", 500))...)
	if r.Code != 202 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	got := h.book.all.Triggers[0]
	if got.Name != "ci/deploy" || got.By != fleet.ByWebhook || fleet.IsPerson(got.By) || got.At != h.now || !strings.HasPrefix(got.Key, "asked/hook/") || len(got.Key) > 100 {
		t.Errorf("written down is %+v", got)
	}
	if !strings.HasPrefix(got.Text, "push\n{") || len(got.Text) > 4<<10 || len(got.Text) < 4000 || strings.ContainsAny(got.Text, "\x1b\x07") {
		t.Errorf("%d bytes are kept: %.200q", len(got.Text), got.Text)
	}
	for _, leak := range []string{hookSecret, "more", "abc"} {
		if strings.Contains(got.Text+got.Key+h.log.String()+r.Body.String(), leak) {
			t.Errorf("%q leaks: %.200q", leak, got.Text)
		}
	}
}

// A token at the very end of what is kept leaves no half behind.
func TestWebhookTokenAtTheCut(t *testing.T) {
	for before := 4070; before < 4096; before++ {
		h := newHooked()
		body := strings.Repeat("x", before) + " ghp_" + strings.Repeat("A", 36) + " end"
		if r := h.post("/trigger/x", body, sign(body)...); r.Code != 202 || strings.Contains(h.book.all.Triggers[0].Text, "ghp_A") {
			t.Fatalf("%d, after %d bytes: %q", r.Code, before, h.book.all.Triggers[0].Text[4000:])
		}
	}
}

// A delivery is one trigger, however often it comes; what names none is the same while
// its body and its second are.
func TestWebhookReplay(t *testing.T) {
	for _, id := range []string{"X-GitHub-Delivery", "X-Gitea-Delivery", "X-Forgejo-Delivery", "Idempotency-Key"} {
		h := newHooked()
		send := func(name, body, delivery string) string {
			t.Helper()
			r := h.post("/trigger/"+name, body, append(sign(body), id, delivery)...)
			if r.Code != 202 {
				t.Fatalf("%d %s", r.Code, r.Body)
			}
			return strings.TrimSpace(r.Body.String())
		}
		first := send("x", "a", "1")
		h.now = instant(time.Hour)
		if again := send("x", "a", "1"); again != first || len(h.book.all.Triggers) != 1 {
			t.Errorf("%s: a replay is %s, and was %s", id, again, first)
		}
		if send("x", "a", "2"); len(h.book.all.Triggers) != 2 {
			t.Errorf("%s: another delivery is taken for the first", id)
		}
		if send("y", "a", "1"); len(h.book.all.Triggers) != 3 {
			t.Errorf("%s: another name is taken for the first", id)
		}
	}
	h := newHooked()
	for i, c := range []struct {
		after time.Duration
		body  string
		want  int
	}{{0, "a", 1}, {900 * time.Millisecond, "a", 1}, {900 * time.Millisecond, "b", 2}, {time.Second, "a", 3}} {
		h.now = instant(c.after)
		if h.post("/trigger/x", c.body, sign(c.body)...); len(h.book.all.Triggers) != c.want {
			t.Errorf("%d: there are %d triggers, want %d", i, len(h.book.all.Triggers), c.want)
		}
	}
}

// A hundred and twenty a minute are heard. What is not signed takes nobody's place.
func TestWebhookPace(t *testing.T) {
	h := newHooked()
	for range 500 {
		h.post("/trigger/x", "a")
	}
	for i := range hooksAMinute {
		body := fmt.Sprint(i)
		if r := h.post("/trigger/x", body, sign(body)...); r.Code != 202 {
			t.Fatalf("the %dth: %d %s", i+1, r.Code, r.Body)
		}
	}
	r := h.post("/trigger/x", "one more", sign("one more")...)
	if r.Code != 429 || r.Header().Get("Retry-After") != "60" || len(h.book.all.Triggers) != hooksAMinute {
		t.Errorf("%d %v, and %d triggers", r.Code, r.Header(), len(h.book.all.Triggers))
	}
	h.now = instant(59 * time.Second)
	if r := h.post("/trigger/x", "b", sign("b")...); r.Code != 429 {
		t.Errorf("within the minute: %d", r.Code)
	}
	for _, after := range []time.Duration{time.Minute, -time.Hour} { // the clock may be set back
		h.now = instant(after)
		if r := h.post("/trigger/x", "b", sign("b")...); r.Code != 202 {
			t.Errorf("after %s: %d", after, r.Code)
		}
	}
}

// stuck is a body that never ends.
type stuck struct{ reading, over chan struct{} }

func (s stuck) Read([]byte) (int, error) {
	s.reading <- struct{}{}
	<-s.over
	return 0, errors.New("hung up")
}

// So many bodies are read at a time; who comes then is asked to come again.
func TestWebhooksAtOnce(t *testing.T) {
	h, body := newHooked(), stuck{make(chan struct{}), make(chan struct{})}
	codes := make(chan int)
	for range hooksAtOnce {
		go func() {
			r := httptest.NewRecorder()
			h.ear.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/trigger/x", body))
			codes <- r.Code
		}()
		<-body.reading
	}
	if r := h.post("/trigger/x", "a", sign("a")...); r.Code != 429 {
		t.Errorf("one too many: %d", r.Code)
	}
	close(body.over)
	for range hooksAtOnce {
		if code := <-codes; code != 400 {
			t.Errorf("who hangs up gets %d", code)
		}
	}
	if r := h.post("/trigger/x", "a", sign("a")...); r.Code != 202 {
		t.Errorf("afterwards: %d", r.Code)
	}
}

// What is wrong here is told to the log, and not to the sender, who may try again.
func TestWebhookFails(t *testing.T) {
	for _, spoil := range []func(*hooked){
		func(h *hooked) { h.fails = errors.New("the disk is full") },
		func(h *hooked) {
			h.secret = func(context.Context) (string, error) { return "", errors.New("the disk is full") }
		},
	} {
		h := newHooked()
		spoil(h)
		r := h.post("/trigger/x", "a", sign("a")...)
		if r.Code != 503 || strings.Contains(r.Body.String(), "disk") || !strings.Contains(h.log.String(), "the disk is full") {
			t.Errorf("%d %s, logged %s", r.Code, r.Body, h.log.String())
		}
	}
	h := newHooked()
	h.secret = func(context.Context) (string, error) { return "", nil }
	if r := h.post("/trigger/x", "a", "X-Gitea-Signature", sumOf("", "a")); r.Code != 401 {
		t.Errorf("an empty secret signs: %d", r.Code)
	}
}

// A secret that was exchanged is taken up within half a minute, and strangers do not
// have it read more often.
func TestWebhookSecretIsHeld(t *testing.T) {
	now, reads := instant(0), 0
	read := Held(func(context.Context) (string, error) { reads++; return fmt.Sprint(reads), nil }, func() fleet.Instant { return now })
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "1"}, {29 * time.Second, "1"}, {30 * time.Second, "2"}, {31 * time.Second, "2"}, {-time.Hour, "3"}} {
		now = instant(c.after)
		if got, err := read(t.Context()); got != c.want || err != nil {
			t.Errorf("after %s it is %q, %v, want %q", c.after, got, err, c.want)
		}
	}
}

// Nothing listens without a secret that can be read; with one, a webhook is heard over
// the wire until the end.
func TestWebhookListener(t *testing.T) {
	lost := func(context.Context) (string, error) { return "", errors.New("gone") }
	for _, o := range []WebhookListener{{Address: "127.0.0.1:0"}, {Address: "127.0.0.1:0", Secret: lost}} {
		if l, err := ListenWebhooks(t.Context(), o); err == nil {
			l.Close()
			t.Error("it listens without a secret")
		}
	}
	h := newHooked()
	l, err := ListenWebhooks(t.Context(), WebhookListener{Address: "127.0.0.1:0", Secret: h.secret})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeWebhooks(ctx, l, h.ear) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/trigger/x", strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Gitea-Signature", sumOf(hookSecret, "a"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 202 {
		t.Errorf("it answers %s", res.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
