package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/view"
)

// world is a fake of every port.
type world struct {
	pass     fleet.Pass
	lookErr  error
	alerts   []fleet.Alert
	events   []fleet.Event
	silences []fleet.Silence
	told     []fleet.Message
	hears    []string
	approved []string

	approveErr error
	offers     string // text of what an approval would begin
	askErr     error
	orders     []fleet.PatrolOrder
	filters    []control.EventFilter
	ackedBy    string
	agent      string
	agentErr   error
	// agentErrOnce: only the first look fails.
	agentErrOnce bool
	down         int
	became       string // the program that the daemon was told to go on as

	registrations []fleet.Registration
	taken         []fleet.Order
	takeErr       error
	hooks         []fleet.HookEvent
	failed        []fleet.Failure
	runs          []fleet.Run
	attended      int
	replies       []string // "RUN: text", in the spool
	beats         []string // agents that said that they are at work
	records       *memory
	vitals        view.Vitals
	readings      []fleet.Reading
}

func (w *world) Look(context.Context, time.Duration) (fleet.Pass, error) { return w.pass, w.lookErr }
func (w *world) Patrol(_ context.Context, o fleet.PatrolOrder) (fleet.Pass, error) {
	w.orders = append(w.orders, o)
	return w.pass, w.lookErr
}
func (w *world) Judge(_ context.Context, r fleet.Recording) (fleet.Pass, error) {
	p := w.pass
	p.Snapshot = r.Snapshot
	return p, w.lookErr
}
func (w *world) Alerts(context.Context, bool) ([]fleet.Alert, error) { return w.alerts, nil }
func (w *world) Acknowledge(_ context.Context, n int64, by string) (fleet.Alert, error) {
	w.ackedBy = by
	a := w.alerts[0]
	a.AckedBy = by
	return a, nil
}
func (w *world) Silence(_ context.Context, s fleet.Silence) error {
	w.silences = append(w.silences, s)
	return nil
}
func (w *world) Events(_ context.Context, f control.EventFilter) ([]fleet.Event, error) {
	w.filters = append(w.filters, f)
	var out []fleet.Event
	for _, e := range w.events {
		if e.ID > f.After {
			out = append(out, e)
		}
	}
	return out, nil
}
func (w *world) Journal(_ context.Context, day string) (api.Journal, error) {
	if day == "2020-01-01" {
		return api.Journal{}, fmt.Errorf("cannot read the journal: %w", fs.ErrNotExist)
	}
	return api.Journal{Day: "2026-11-20", Text: "## Patrol\n"}, nil
}
func (w *world) Commands(a fleet.Action) []fleet.Command {
	return []fleet.Command{{Argv: []string{"do", a.Do, a.Subject.Name}}}
}
func (w *world) Rules() []api.Rule {
	return []api.Rule{{Name: "lock-dead", Priority: "P2", Over: "lock"}}
}
func (w *world) TOML() string     { return "[rule.lock-dead]\n" }
func (w *world) Kinds() api.Kinds { return api.Kinds{Kinds: []api.Kind{{Name: "claude"}}} }
func (w *world) Explain(kind, title, screen string) (api.Explanation, error) {
	if kind == "nobody" {
		return api.Explanation{}, errors.New(`cannot explain: no kind "nobody"`)
	}
	if screen == "panic" {
		panic("on purpose")
	}
	return api.Explanation{State: "working", Signals: []api.Signal{}}, nil
}

func (w *world) control() *control.Control {
	return &control.Control{People: []string{Caller{UID: os.Getuid()}.Name(), Caller{}.Name()}, Tell: func(_ context.Context, m fleet.Message) error { w.told = append(w.told, m); return nil },
		Receivers: func(fleet.Message) []string { return w.hears },
		Posts:     postsOf{w}, Events: w.Events, History: w, Screens: w, Teller: w, Journal: w.Journal, Readings: func(context.Context, fleet.Instant) ([]fleet.Reading, error) { return w.readings, nil }, Hub: func(context.Context) api.Hub { return api.Hub{Status: "absent"} }, HubLooks: func(context.Context, int64) api.HubLooks { return api.HubLooks{} }, Settings: func(context.Context) api.Settings { return api.Settings{} }, Costs: w.Costs, UsageFaults: w.UsageFaults, MoreMayBe: func(context.Context) (string, string) { return "", "" }, Prices: func() api.Prices { return api.Prices{Date: "2026-11-20"} }, Priced: func(model string) bool { return model == "b" }, Vitals: func(context.Context) view.Vitals { return w.vitals }, Status: func(context.Context) api.Status { return api.Status{Version: "test"} },
		Orders: w, Agents: w, Alerts: w, Approver: w, Brakes: &braking{}, Web: &showing{}, Look: w.Look, Pauses: &pausing{}, Merges: merging{}, Roles: []fleet.Role{{Name: "known", Kind: "claude", Dir: "/src", Prompt: "Do {{work}}: {{title}}"}}, Teams: []fleet.Team{{Name: "feature", Roles: []string{"known"}}}, RoleBook: roleBook{}, Budgets: &raising{}, Grants: granting{}, Plugins: pluginsOf{runsOf{w}}, Code: pluginsOf{runsOf{w}},
		Formulas: formulasOf{w}, Runs: runsOf{w}, Schedules: w.Schedules, Attend: func() { w.attended++ }, Reply: w.reply, Records: w.records, Asker: w, Registry: w.Registrations, Rules: w, Mender: &healer{}, Version: "test", Examine: func(context.Context, func(string) bool) (i doctor.Installation) { return i }, Anew: func(context.Context) {}, Now: func() fleet.Instant { return instant(0) }}
}

func (w *world) options() Options {
	if w.records == nil {
		w.records = &memory{w: w}
	}
	return Options{
		Control: w.control(), Cycle: w, Explainer: w, HookFiles: w,
		Now:  func() fleet.Instant { return instant(0) },
		Down: func() { w.down++ }, Become: func(program string) error { w.became = program; return nil },
		AgentOf: func(context.Context, Caller) (string, error) {
			err := w.agentErr
			if w.agentErrOnce {
				w.agentErr = nil
			}
			return w.agent, err
		},
		InProcess: true,
	}
}

// Change keeps nothing, and knows any agent.
func (w *world) Change(_ context.Context, agent string, change func(fleet.Registration) (fleet.Registration, error)) (fleet.Registration, error) {
	return change(fleet.Registration{Name: agent, Instance: "i", Desired: fleet.DesiredRunning, Owner: fleet.OwnerCustos})
}
func (w *world) Replaced(fleet.Registration) bool { return true }

func (w *world) Beat(_ context.Context, agent string) (fleet.Instant, error) {
	w.beats = append(w.beats, agent)
	return instant(0), nil
}

// Deny notes who denied what.
func (w *world) Deny(ctx context.Context, of fleet.AlertKey, by string, consent func(denied, instead []fleet.Action) ([]fleet.Message, error)) error {
	w.approved = append(w.approved, "not "+of.String()+" by "+by)
	actions, _, _ := w.Offer(ctx, of, by)
	_, err := consent(actions, actions)
	return err
}

// Approve notes who approved of what.
func (w *world) Approve(ctx context.Context, of fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	w.approved = append(w.approved, of.String()+" by "+by)
	actions, _, _ := w.Offer(ctx, of, by)
	_, err := consent(actions)
	return errors.Join(err, w.approveErr)
}

// Offer is one action, with the text that offers say.
func (w *world) Offer(_ context.Context, of fleet.AlertKey, _ string) ([]fleet.Action, string, error) {
	if w.offers == "nothing" {
		return nil, "mode: it is frozen", nil
	}
	return []fleet.Action{{ID: "a1", Do: "remove-lock", Subject: of.Subject, Text: w.offers}}, "", nil
}

// Ask notes what is asked for, by what the world is like.
func (w *world) Ask(_ context.Context, by string, what func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), _ ...fleet.PartName) (*fleet.Action, error) {
	f, err := what(w.pass.Past, w.pass.Snapshot)
	if err != nil || f == nil || w.askErr != nil {
		return nil, cmp.Or(err, w.askErr)
	}
	w.approved = append(w.approved, f.Wishes[0].Do+" "+f.Wishes[0].Text+" by "+by)
	return &fleet.Action{ID: "a1", Do: f.Wishes[0].Do, Subject: f.Subject}, nil
}

func instant(after time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}.Add(after)
}

func newWorld() *world {
	s := fleet.Snapshot{At: instant(0), From: fleet.Vantage{Host: "box"}}
	for _, name := range fleet.PartNames() {
		s.Sight(name).Status = fleet.StatusOK
	}
	s.Locks.Value = []fleet.Lock{{Path: "/tmp/a.lock"}, {Path: "/tmp/b.lock"}}
	key := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/tmp/a.lock"}}
	alert := fleet.Alert{AlertKey: key, Number: 3, Status: fleet.AlertFiring, Priority: fleet.P2, Summary: "dead", Since: instant(-time.Hour), LastTrue: instant(0)}
	return &world{
		pass:   fleet.Pass{Snapshot: s, Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert}}, Past: fleet.Past{NextAlert: 4}, Plan: fleet.Plan{At: instant(0)}},
		alerts: []fleet.Alert{alert},
		events: []fleet.Event{{ID: 1, At: instant(0), Kind: "patrol", Text: "one"}, {ID: 2, At: instant(0), Kind: "ack", Alert: key, Text: "two"}},
	}
}

func client(w *world) *api.Client { return api.NewClient(api.InProcess(New(w.options()))) }

// wantError checks the kind of an error and a piece of its text.
func wantError(t *testing.T, err error, kind, text string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Message, text) {
		t.Errorf("got %v (%+v), want %s with %q", err, e, kind, text)
	}
}

// Every route of the table answers with what its schema says, and none is
// forgotten here.
func TestEveryRouteAnswers(t *testing.T) {
	w := newWorld()
	w.registrations = []fleet.Registration{{Name: "builder", Kind: "claude", Owner: fleet.OwnerCustos}}
	w.runs = []fleet.Run{nightly("known")}
	w.records = &memory{w: w, all: fleet.Records{
		Merges: []fleet.MergeItem{{Head: fleet.Head{ID: "known", Revision: 1}, Queue: "shop", Source: "retry", Commit: "c1", Priority: fleet.P3, State: fleet.MergeWaiting, By: "ann"}},
		Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w9", Revision: 1}, Title: "x", State: fleet.WorkOpen}, {Head: fleet.Head{ID: "w8", Revision: 1}, Title: "y", Priority: fleet.P3, State: fleet.WorkOpen},
			{Head: fleet.Head{ID: "w7", Revision: 1}, Title: "z", State: fleet.WorkOpen}, {Head: fleet.Head{ID: "w6", Revision: 1}, Title: "of a team", Team: "feature", State: fleet.WorkOpen},
			{Head: fleet.Head{ID: "w5", Revision: 1}, Title: "a review", Role: "known", State: fleet.WorkOpen, Review: &fleet.Review{Item: "known", Commit: "c1", Round: 1}}},
		Convoys: []fleet.Convoy{{Head: fleet.Head{ID: "known", Revision: 1}, Title: "x", State: fleet.ConvoyOpen}},
		Gates:   []fleet.Gate{{Head: fleet.Head{ID: "known", Revision: 1}, Type: fleet.GateHuman, Title: "x", State: fleet.GateOpen}},
		Mails:   []fleet.Mail{{Head: fleet.Head{ID: "known", Revision: 1}, From: fleet.ByCustos, To: []string{"builder"}, Subject: "x", Priority: fleet.P3}},
	}}
	w.pass.Past.Orders = []fleet.Order{{ID: "o1", Do: fleet.OrderStop, Agent: "builder", By: "me", State: fleet.OrderQueued}}
	recording, err := client(w).Record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"POST /v1/plan":       string(recording),
		"POST /v1/silences":   `{"rule":"lock-dead","for":"2h"}`,
		"POST /v1/grants":     `{"agent":"quiet","rule":"sudo","once":true}`,
		"POST /v1/budgets":    `{"name":"day","by":"+1usd","for":"2h0m0s"}`,
		"POST /v1/explain":    `{"screen":"hello"}`,
		"POST /v1/tell":       `{"text":"hello"}`,
		"POST /v1/doctor/fix": `{"actions":[{"do":"mend","subject":"lock//l","rule":"lock-dead"}]}`,
		"POST /v1/projects":   `{"project":"shop"}`,
		"POST /v1/orders":     `{"do":"stop","agent":"builder"}`,

		"POST /v1/formulas":           `{"name":"nightly"}`,
		"POST /v1/formulas/{id}/{do}": `{}`,
		"POST /v1/runs":               `{"name":"nightly","dir":"/"}`,
		"POST /v1/runs/{id}":          `{"do":"cancel"}`,

		"POST /v1/work":         `{"title":"x"}`,
		"POST /v1/work/{id}":    `{"do":"close"}`,
		"POST /v1/slings":       `{"work":"w8","role":"known"}`,
		"POST /v1/teams":        `{"team":"feature","work":"w7"}`,
		"POST /v1/teams/{id}":   `{"do":"stop"}`,
		"POST /v1/reviews/{id}": `{"approve":true}`,
		"POST /v1/merges":       `{"branch":"other","queue":"shop"}`,
		"POST /v1/merges/{id}":  `{"do":"hold","why":"not now"}`,
		"POST /v1/convoys":      `{"title":"x","members":["w9"]}`,
		"POST /v1/convoys/{id}": `{"do":"add","members":["shop#1"]}`,

		"POST /v1/mail":      `{"to":["builder"],"subject":"x"}`,
		"POST /v1/mail/{id}": `{"do":"read"}`,

		"POST /v1/gates":            `{"type":"human","title":"x"}`,
		"POST /v1/gates/{id}/close": `{"why":"x"}`,
		"POST /v1/triggers":         `{"name":"x"}`,

		"POST /v1/handoff": `{"agent":"builder","text":"x"}`,

		"POST /v1/become": `{"program":"/bin/custos"}`,

		"POST /v1/code":             `{"dir":"/p/.custos","digest":"d"}`,
		"POST /v1/plugins":          `{"file":"/p/plugin.md","text":"x"}`,
		"POST /v1/plugins/{id}/run": `{}`,

		"POST /v1/hookfiles/{kind}": `{"do":"install","settings":"{}"}`,
	}
	w.registrations = append(w.registrations, fleet.Registration{Name: "quiet", Instance: "i1", Where: fleet.WhereHeadless, Policy: "default"})
	h := New(w.options())
	for _, r := range routes() {
		if r.stream != nil {
			continue // TestEventStream
		}
		url := strings.NewReplacer("/work/{id}", "/work/w9", "/teams/{id}", "/teams/w6", "/reviews/{id}", "/reviews/w5", "/formulas/{id}", "/formulas/recording", "/plugins/{id}", "/plugins/recording", "/orders/{id}/cancel", "/orders/o1/cancel", "/orders/{id}/approve", "/orders/asked/approve", "/agents/{id}/log", "/agents/quiet/log", "/agents/{id}", "/agents/builder", "/alerts/{id}", "/alerts/3", "/web/{id}/{do}", "/web/known/revoke-all", "{name}", "recording", "{do}", "disable", "{id}", "known", "{kind}", "claude").Replace(r.pattern)
		if url == "/v1/story" {
			url += "?of=3"
		}
		if url == "/v1/then" {
			url += "?at=2020-01-01T00:00:00Z"
		}
		rec := httptest.NewRecorder()
		w.agent = map[string]string{"/v1/heartbeat": "builder", "/v1/left": "builder"}[url] // no person gives one, or has spent
		h.ServeHTTP(rec, httptest.NewRequest(r.method, url, strings.NewReader(bodies[r.method+" "+r.pattern])))
		if rec.Code != 200 || !json.Valid(rec.Body.Bytes()) || rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s", r.method, url, rec.Code, rec.Body)
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/become", strings.NewReader(`{"program":"/bin/tried","try":true}`)))
	if rec.Code != 200 || w.became == "/bin/tried" {
		t.Errorf("asked whether it may be: %d, and it becomes %s", rec.Code, w.became)
	}
	if w.down != 1 || w.became != "/bin/custos" || len(w.silences) != 1 || w.ackedBy == "" || len(w.orders) != 1 {
		t.Errorf("not every order arrived: %+v", w)
	}
}

func TestBadQuestions(t *testing.T) {
	w := newWorld()
	c := client(w)
	ctx := t.Context()
	_, err := c.Acknowledge(ctx, 3, api.AckOrder{ID: "another"})
	wantError(t, err, api.Changed, "another alert 3 than the one that was shown")
	_, err = c.Approve(ctx, 3, api.ApproveOrder{ID: "another"})
	wantError(t, err, api.Changed, "another alert 3 than the one that was shown")
	_, err = c.Acknowledge(ctx, 99, api.AckOrder{})
	wantError(t, err, api.NotFound, "alert 99: there is no such alert")
	for _, o := range []struct {
		order      api.SilenceOrder
		kind, text string
	}{
		{api.SilenceOrder{For: "2h"}, api.BadInput, "cannot silence everything"},
		{api.SilenceOrder{Rule: "lock-dead", For: "soon"}, api.BadInput, `cannot silence for "soon"`},
		{api.SilenceOrder{Rule: "lock-dead", For: "9000h"}, api.BadInput, "up to 90 days"},
		{api.SilenceOrder{Rule: "lock-dead", For: "-2h"}, api.BadInput, "up to 90 days"},
		{api.SilenceOrder{Rule: "no-such", For: "2h"}, api.NotFound, `rule "no-such"`},
		{api.SilenceOrder{Subject: "builder", For: "2h"}, api.BadInput, "want kind/name"},
		{api.SilenceOrder{Subject: "nokind/x", For: "2h"}, api.BadInput, "want kind/name"},
	} {
		_, err = c.Silence(ctx, o.order)
		wantError(t, err, o.kind, o.text)
	}
	_, err = c.Explain(ctx, api.ExplainOrder{Screen: " \n"})
	wantError(t, err, api.BadInput, "empty screen")
	_, err = c.Explain(ctx, api.ExplainOrder{Kind: "nobody", Screen: "x"})
	wantError(t, err, api.BadInput, `no kind "nobody"`)
	_, err = c.Explain(ctx, api.ExplainOrder{Screen: strings.Repeat("x", small+1)})
	wantError(t, err, api.BadInput, "larger than")
	_, err = c.Explain(ctx, api.ExplainOrder{Screen: "panic"})
	wantError(t, err, api.Internal, "on purpose")
	_, err = c.Journal(ctx, "yesterday")
	wantError(t, err, api.BadInput, "want a day like")
	_, err = c.Journal(ctx, "2020-01-01")
	wantError(t, err, api.NotFound, "cannot read the journal")
	_, err = c.Schema(ctx, "nothing")
	wantError(t, err, api.NotFound, "first-look")
	_, err = c.Judge(ctx, []byte(`{"version": 99}`))
	wantError(t, err, api.BadInput, "version 99")
	_, err = c.Story(ctx, "nothing-like-it")
	wantError(t, err, api.NotFound, "nothing is known by that name")
	_, err = c.Story(ctx, "/tmp/")
	wantError(t, err, api.BadInput, "lock//tmp/a.lock, lock//tmp/b.lock")
	_, err = c.Story(ctx, "77")
	wantError(t, err, api.NotFound, "no such alert")
	if len(w.silences) != 0 || w.ackedBy != "" {
		t.Error("a bad order was carried out")
	}
	w.lookErr = errors.New("cannot look: the moon is in the way")
	_, err = c.FirstLook(ctx)
	wantError(t, err, api.CannotLook, "the moon")
}

func TestUnknownRouteAndField(t *testing.T) {
	h := New(newWorld().options())
	for url, want := range map[string]int{"/v1/nothing": 404, "/": 404} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
		if rec.Code != want || !json.Valid(rec.Body.Bytes()) {
			t.Errorf("%s: %d %s", url, rec.Code, rec.Body)
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/patrol", strings.NewReader(`{"aply":true}`)))
	if rec.Code != 400 {
		t.Errorf("an unknown field: %d %s", rec.Code, rec.Body)
	}
}

// An agent, and whoever cannot be shown to be none, may ask but not order.
func TestAgentsMayNotOrder(t *testing.T) {
	for name, w := range map[string]*world{
		"agent":   {agent: "builder"},
		"unknown": {agentErr: errors.New("no /proc")},
	} {
		t.Run(name, func(t *testing.T) {
			n := newWorld()
			n.agent, n.agentErr = w.agent, w.agentErr
			c := client(n)
			ctx := t.Context()
			if _, err := c.FirstLook(ctx); err != nil {
				t.Errorf("may not look: %v", err)
			}
			if _, err := c.Patrol(ctx, api.PatrolOrder{}); err != nil {
				t.Errorf("may not patrol: %v", err)
			}
			_, err := c.Patrol(ctx, api.PatrolOrder{Apply: true})
			wantError(t, err, api.Forbidden, "cannot do this")
			_, err = c.Acknowledge(ctx, 3, api.AckOrder{})
			wantError(t, err, api.Forbidden, "cannot do this")
			_, err = c.Silence(ctx, api.SilenceOrder{Rule: "lock-dead", For: "1h"})
			wantError(t, err, api.Forbidden, "cannot do this")
			wantError(t, c.Down(ctx), api.Forbidden, "cannot do this")
			if len(n.orders) != 1 || n.orders[0].Apply || n.down != 0 || n.ackedBy != "" || len(n.silences) != 0 {
				t.Errorf("an agent's order was carried out: %+v", n)
			}
		})
	}
}

// Over the socket the kernel says who calls; without it, nobody is let in.
func TestSocket(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.InProcess = false
	dir, err := os.MkdirTemp("", "custos") // t.TempDir() may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "run", "s")
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, New(o)) }()
	c, err := api.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if st, err := c.Status(t.Context()); err != nil || st.Version != "test" {
			t.Errorf("status = %+v, %v", st, err)
		}
	}
	c.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
	rec := httptest.NewRecorder()
	New(o).ServeHTTP(rec, httptest.NewRequest("GET", "/v1/status", nil))
	if rec.Code != http.StatusForbidden {
		t.Errorf("an unknown caller got %d", rec.Code)
	}
	rec = httptest.NewRecorder()
	stranger := context.WithValue(t.Context(), callerKey{}, Caller{UID: os.Getuid() + 1})
	New(o).ServeHTTP(rec, httptest.NewRequest("GET", "/v1/status", nil).WithContext(stranger))
	if rec.Code != http.StatusForbidden {
		t.Errorf("another user got %d", rec.Code)
	}
	_, err = api.Dial(t.Context(), path)
	wantError(t, err, api.Unreachable, "cannot reach the daemon")
}

func TestListenRefuses(t *testing.T) {
	if _, err := Listen("/" + strings.Repeat("x", 120)); err == nil || !strings.Contains(err.Error(), "shorter runtime_dir") {
		t.Errorf("a long path: %v", err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(file) <= longestSocket {
		if _, err := Listen(file); err == nil {
			t.Error("a file was replaced by a socket")
		}
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("the file is gone")
	}
	if _, err := PeerOf(&net.TCPConn{}); err == nil {
		t.Error("a TCP connection has credentials")
	}
}

func TestEventStream(t *testing.T) {
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	rec := &ending{ResponseRecorder: httptest.NewRecorder(), flushed: cancel}
	New(w.options()).ServeHTTP(rec, httptest.NewRequest("GET", "/v1/events?after=1", nil).WithContext(ctx))
	want := "id: 2\nevent: ack\ndata: {\"id\":2,"
	if !strings.HasPrefix(rec.Body.String(), want) || !strings.HasSuffix(rec.Body.String(), "\n\n") {
		t.Errorf("got %q", rec.Body)
	}
	bad := httptest.NewRecorder()
	New(w.options()).ServeHTTP(bad, httptest.NewRequest("GET", "/v1/events?after=x", nil))
	if bad.Code != 400 {
		t.Errorf("got %d", bad.Code)
	}
}

// ending is a recorder whose reader goes away after the first flush.
type ending struct {
	*httptest.ResponseRecorder
	flushed func()
}

func (e *ending) Flush() { e.ResponseRecorder.Flush(); e.flushed() }
