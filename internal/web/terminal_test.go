package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/terminal"
	"custos/internal/terminal/live"
)

// screened is a page on which builder shows a text, and is typed to.
type screened struct {
	*world
	mu    sync.Mutex
	text  string
	typed []terminal.Stroke
	shots int
}

// shows has builder show another text.
func (w *screened) shows(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = text
}

func newScreened(t *testing.T, text string) *screened {
	t.Helper()
	w := &screened{world: newWorld(t), text: text}
	w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: "builder", Owner: "custos", Project: "shop", Pane: "builder:0.0"}}
	w.answers["GET /v1/agents/other"] = api.AgentDetail{Agent: api.AgentRow{Name: "other", Owner: "custos"}}
	w.answers["GET /v1/agents/builder/screen"] = api.Screen{Text: text}
	w.sessions["shown"] = Session{ID: "l2", Link: true, Agent: "builder", Terminal: true}
	w.sessions["project"] = Session{ID: "l3", Link: true, Project: "shop", Terminal: true}
	w.sessions["bob"] = Session{ID: "s2", By: "bob", Terminal: true}
	w.Terminals = live.New(live.Options{
		Find: func(context.Context, string) (live.Scene, error) {
			return live.Scene{ID: "one", Every: time.Millisecond, Shoot: func(context.Context) ([]terminal.Line, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.shots++
				return terminal.Read(w.text), nil
			}}, nil
		},
		Seat: func(context.Context, string) (live.Seat, error) {
			return live.Seat{ID: "one", Press: func(_ context.Context, k []terminal.Stroke) error { w.typed = append(w.typed, k...); return nil }}, nil
		},
		Good: func(context.Context, string) bool { return true }, Note: func(context.Context, live.Note) {}, Changed: func() {},
	})
	t.Cleanup(w.Terminals.Close)
	w.held = w.made(t)
	return w
}

// until is an answer that is read until a word is in it.
type until struct {
	http.ResponseWriter
	word   string
	enough func()
	text   strings.Builder
}

func (u *until) Write(b []byte) (int, error) {
	u.text.Write(b)
	if strings.Contains(u.text.String(), u.word) {
		u.enough()
	}
	return u.ResponseWriter.Write(b)
}

func (u *until) Flush() {}

// streams is what a browser is told of a terminal until a word comes.
func (w *screened) streams(t *testing.T, path, word string, with ...func(*http.Request)) string {
	t.Helper()
	r := request(http.MethodGet, path, nil, with...)
	ctx, end := context.WithTimeout(r.Context(), 10*time.Second)
	defer end()
	out := &until{ResponseWriter: newRecorder(), word: word, enough: end}
	w.held.ServeHTTP(out, r.WithContext(ctx))
	return out.text.String()
}

// A terminal is told of as frames, to who may see it; nothing of what a program writes but
// characters and looks is in them.
func TestATerminalIsStreamed(t *testing.T) {
	w := newScreened(t, "\x1b[31mred\x1b[0m </pre><script>alert(1)</script>\x1b]0;title\x07\x1b]8;;https://evil.example\x07link")
	for _, who := range []string{"ann", "shown", "project"} {
		got := w.streams(t, "/agents/builder/terminal", "event: frame", cookie(who))
		if !strings.Contains(got, "event: typing\ndata: {}\n\n") || !strings.Contains(got, `data: {"whole":true,"rows":1,"set":[{"at":0,"line":[["red","f1"],[" \u003c/pre\u003e`) {
			t.Errorf("%s is told %s", who, got)
		}
		if strings.Contains(got, "evil") || strings.Contains(got, "title") || strings.Contains(got, "<") {
			t.Errorf("%s is told too much: %s", who, got)
		}
	}
}

// A link shows the terminal of what it names, if it shows terminals at all.
func TestALinkShowsTheTerminalItNames(t *testing.T) {
	w := newScreened(t, "secret of builder")
	for _, c := range []struct{ who, path string }{
		{"link", "/agents/builder/terminal"}, {"shown", "/agents/other/terminal"}, {"project", "/agents/other/terminal"}, {"nobody", "/agents/builder/terminal"}, {"", "/agents/builder/terminal"},
	} {
		rec := w.get(t, c.path, cookie(c.who))
		if rec.Code != http.StatusForbidden && rec.Code != http.StatusUnauthorized || strings.Contains(rec.Body.String(), "secret") {
			t.Errorf("%s sees %s: %s", c.who, c.path, describe(rec))
		}
	}
	if w.shots != 0 {
		t.Errorf("%d pictures were taken for who may not see them", w.shots)
	}
}

// A stream ends with its session.
func TestATerminalsStreamEndsWithItsSession(t *testing.T) {
	w := newScreened(t, "hello")
	now := time.Now()
	f := &frames{w: newRecorder(), rc: http.NewResponseController(newRecorder()), now: func() time.Time { return now }, known: now, good: func() bool { _, ok := w.sessions["ann"]; return ok }}
	if err := f.tell(live.Event{}); err != nil {
		t.Fatal(err)
	}
	delete(w.sessions, "ann")
	now = now.Add(knownFor)
	if err := f.tell(live.Event{}); err == nil {
		t.Error("it goes on")
	}
}

func taken(t *testing.T, w *screened, who string) string {
	t.Helper()
	rec := w.post(t, "/agents/builder/terminal/take", url.Values{"view": {viewOf(who)}}, cookie(who))
	var got held
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusOK || got.Hold == "" {
		t.Fatalf("%s takes it: %s, %v", who, describe(rec), err)
	}
	return got.Hold
}

// viewOf is what a tab of somebody calls itself.
func viewOf(who string) string { return fmt.Sprintf("%032x", who) }

func pressed(hold, turn, keys string) url.Values {
	return url.Values{"hold": {hold}, "turn": {turn}, "keys": {keys}}
}

// A person takes over the keyboard, types and gives it back; nobody else does meanwhile.
func TestAPersonTypes(t *testing.T) {
	w := newScreened(t, "hello")
	hold := taken(t, w, "ann")
	if rec := w.post(t, "/agents/builder/terminal/take", url.Values{"view": {viewOf("bob")}}, cookie("bob")); rec.Code != http.StatusConflict || !strings.Contains(rec.Body.String(), "ann types there") {
		t.Errorf("bob: %s", describe(rec))
	}
	for turn, keys := range []string{`[{"text":"a<b"},{"key":"Enter"}]`, `[{"paste":"two\nlines"}]`} {
		if rec := w.post(t, "/agents/builder/terminal/keys", pressed(hold, fmt.Sprint(turn+1), keys)); rec.Code != http.StatusOK {
			t.Errorf("%s: %s", keys, describe(rec))
		}
	}
	if fmt.Sprint(w.typed) != "[{a<b  } { Enter } {  two\nlines}]" {
		t.Errorf("typed is %q", w.typed)
	}
	w.typed = nil
	for name, form := range map[string]url.Values{
		"no turn": pressed(hold, "", `[{"text":"x"}]`), "no keys": pressed(hold, "3", ""), "no list": pressed(hold, "3", `{"text":"x"}`), "no key": pressed(hold, "3", `[{"key":"x;kill"}]`),
		"a control character": pressed(hold, "3", `[{"text":"\u001b"}]`), "too much": pressed(hold, "3", `[{"paste":"`+strings.Repeat("x", 600_000)+`"}]`),
	} {
		if rec := w.post(t, "/agents/builder/terminal/keys", form); rec.Code != http.StatusBadRequest {
			t.Errorf("%s: %s", name, describe(rec))
		}
	}
	if rec := w.post(t, "/agents/builder/terminal/keys", pressed(hold, "4", `[{"text":"x"}]`), cookie("bob")); rec.Code != http.StatusConflict {
		t.Errorf("bob types by ann's: %s", describe(rec))
	}
	if rec := w.post(t, "/agents/builder/terminal/burn", nil); rec.Code != http.StatusBadRequest {
		t.Errorf("there is no such thing: %s", describe(rec))
	}
	w.post(t, "/agents/builder/terminal/release", url.Values{"hold": {hold}})
	if rec := w.post(t, "/agents/builder/terminal/keys", pressed(hold, "5", `[{"text":"x"}]`)); rec.Code != http.StatusConflict || len(w.typed) != 0 {
		t.Errorf("after it was given back: %s, typed %q", describe(rec), w.typed)
	}
	taken(t, w, "bob")
}

// Two tabs of one browser have one session, and are two that type: the second is told that the
// first one does, and takes over only when it says so. The first one is told who types now, and
// types no more.
func TestOneTabOfABrowserTypes(t *testing.T) {
	w := newScreened(t, "hello")
	first := taken(t, w, "ann")
	second := url.Values{"view": {strings.Repeat("b", 32)}}
	if rec := w.post(t, "/agents/builder/terminal/take", second); rec.Code != http.StatusLocked || !strings.Contains(rec.Body.String(), "another window of this browser since") {
		t.Errorf("a second tab: %s", describe(rec))
	}
	if rec := w.post(t, "/agents/builder/terminal/keys", pressed(first, "1", `[{"text":"a"}]`)); rec.Code != http.StatusOK {
		t.Errorf("the first one does not type any more: %s", describe(rec))
	}
	if got := w.streams(t, "/agents/builder/terminal", "event: frame"); !strings.Contains(got, `"view":"`+viewOf("ann")+`"`) {
		t.Errorf("who looks is told %s", got)
	}
	second.Set("over", "1")
	rec := w.post(t, "/agents/builder/terminal/take", second)
	var now held
	if err := json.Unmarshal(rec.Body.Bytes(), &now); err != nil || rec.Code != http.StatusOK || now.Number == 0 {
		t.Fatalf("it takes over: %s, %v", describe(rec), err)
	}
	if rec := w.post(t, "/agents/builder/terminal/keys", pressed(first, "2", `[{"text":"b"}]`)); rec.Code != http.StatusConflict {
		t.Errorf("the first one types on: %s", describe(rec))
	}
	if got := w.streams(t, "/agents/builder/terminal", "event: frame"); !strings.Contains(got, fmt.Sprintf(`"n":%d}`, now.Number)) || !strings.Contains(got, `"view":"`+second.Get("view")+`"`) {
		t.Errorf("who looks is told %s", got)
	}
	if rec := w.post(t, "/agents/builder/terminal/take", url.Values{"view": {strings.Repeat("c", 32)}, "over": {"1"}}, cookie("bob")); rec.Code != http.StatusConflict {
		t.Errorf("another person takes over: %s", describe(rec))
	}
	for _, view := range []string{"", "x y", strings.Repeat("b", 33)} {
		if rec := w.post(t, "/agents/builder/terminal/take", url.Values{"view": {view}}); rec.Code != http.StatusBadRequest {
			t.Errorf("a view called %q: %s", view, describe(rec))
		}
	}
	if fmt.Sprint(w.typed) != "[{a  }]" {
		t.Errorf("typed is %q", w.typed)
	}
}

// By a link, as an agent, from another page and without a session nobody types.
func TestOnlyAPersonTypes(t *testing.T) {
	w := newScreened(t, "hello")
	hold := taken(t, w, "ann")
	form := pressed(hold, "1", `[{"text":"x"}]`)
	for name, with := range map[string]func(*http.Request){
		"a link": cookie("shown"), "nobody": cookie(""), "another page": header("Sec-Fetch-Site", "cross-site"), "JSON": header("Content-Type", "application/json"),
	} {
		for _, do := range []string{"take", "keys", "release"} {
			if rec := w.post(t, "/agents/builder/terminal/"+do, form, with); rec.Code < 400 {
				t.Errorf("%s may %s: %s", name, do, describe(rec))
			}
		}
	}
	w.barred = errors.New("cannot do this for agent evil: it takes a person")
	w.refused = nil
	rec := w.post(t, "/agents/builder/terminal/keys", form)
	if rec.Code != http.StatusForbidden || len(w.refused) != 1 || !strings.Contains(w.refused[0], "/agents/builder/terminal/keys") {
		t.Errorf("an agent: %s, written down is %q", describe(rec), w.refused)
	}
	if len(w.typed) != 0 || w.Terminals.Typing("builder") != "ann" {
		t.Errorf("typed is %q", w.typed)
	}
}

// Without JavaScript the terminal is read as it was, and nothing is offered that needs it.
func TestWithoutJavaScriptTheTerminalIsRead(t *testing.T) {
	w := newScreened(t, "hello there")
	doc := parsed(t, w.get(t, "/agents/builder"))
	if pre := byID(t, doc, "terminal"); text(pre) != "hello there" || attr(pre, "data-from") != "/agents/builder/terminal" {
		t.Errorf("%q", text(pre))
	}
	if box := byID(t, doc, "keyboard"); text(box) != "" {
		t.Errorf("it offers %q", text(box))
	}
	rec := w.get(t, "/assets/terminal.css")
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), ".terminal .f208{color:#ff8700}") {
		t.Errorf("the looks: %.200s", describe(rec))
	}
}

// The terminal of another machine is shown as it was, and nothing is offered that goes there:
// it is told what shows it as it is, in words that no name of that machine chooses.
func TestTheTerminalOfAnotherMachineIsToldWhereItIs(t *testing.T) {
	w := newScreened(t, "hello there")
	w.mirrored.Store(true)
	for _, c := range []struct{ name, pane, want string }{
		{"builder", "builder:0.0", "custos --host box attach builder"},
		{"builder", "", "custos --host box peek builder"},
		{"x;reboot", "builder:0.0", "custos --host box status"},
	} {
		w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: c.name, Owner: "custos", Pane: c.pane}}
		doc := parsed(t, w.get(t, "/hosts/box/agents/builder"))
		if pre := byID(t, doc, "terminal"); text(pre) != "hello there" || attr(pre, "data-from") != "" {
			t.Errorf("%s: %q of %q", c.name, text(pre), attr(pre, "data-from"))
		}
		if said := text(byID(t, doc, "there")); !strings.Contains(said, c.want+" shows it as it is") {
			t.Errorf("%s: %q", c.name, said)
		}
	}
	if page := w.get(t, "/hosts/box/agents/builder").Body.String(); strings.Contains(page, `id="keyboard"`) {
		t.Error("it offers to type there")
	}
	if page := w.get(t, "/agents/builder").Body.String(); strings.Contains(page, `id="there"`) {
		t.Error("one of this machine is told to be elsewhere")
	}
}
