package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// measured is a page of a fleet where everything is that can be.
func measured() Metrics {
	w := newWorld()
	acked, silent, pending, over := w.alerts[0], w.alerts[0], w.alerts[0], w.alerts[0]
	acked.Rule, acked.AckedBy = "acked", "me"
	silent.Rule, silent.SilencedUntil = "silent", instant(time.Hour)
	pending.Rule, pending.Status = "pending", fleet.AlertPending
	over.Rule, over.Status = "over", fleet.AlertResolved
	s := w.pass.Snapshot
	s.Host.At, s.Host.Took = instant(-3*time.Second), fleet.Duration(5*time.Millisecond)
	s.Logs.Status = fleet.StatusUnknown
	s.Self.Value.Receivers = []fleet.Receiver{{Name: "phone", Barred: "it is not in its room", Waiting: fleet.Duration(90 * time.Second)}, {Name: "room"}}
	s.Agents.Value = []fleet.Agent{{State: fleet.StateIdle}, {State: fleet.StateIdle}, {State: fleet.StateCrashed}}
	return Metrics{At: instant(0), Version: "1.2.3", Started: instant(-time.Hour), Patrols: 7, PatrolAt: instant(-time.Minute), PassAt: instant(-2 * time.Second),
		Snapshot: s, Alerts: []fleet.Alert{w.alerts[0], acked, silent, pending, over}, Costs: []fleet.Cost{{Key: fleet.CostOfJudge, Calls: 2, Tokens: 30, Told: 400000, Table: 100000}, {Calls: 9, Tokens: 9, Table: 9}}}
}

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if r.Code != http.StatusOK {
		t.Fatalf("status %d: %s", r.Code, r.Body)
	}
	return r.Body.String()
}

func page(m *Meter, now Metrics) http.Handler {
	return MetricsPage(m, func(context.Context) Metrics { return now })
}

func TestMetricsPage(t *testing.T) {
	m := NewMeter()
	m.Passed(3 * time.Millisecond)
	m.Passed(-time.Second) // a clock was set back
	m.Ended(fleet.Result{Do: "remove-lock", Status: fleet.ResultDone})
	m.Ended(fleet.Result{Do: "remove-lock", Status: fleet.ResultDone})
	got := scrape(t, page(m, measured()))
	for _, want := range []string{
		`custos_alert{kind="lock",priority="P2",rule="lock-dead",state="firing",subject="/tmp/a.lock"} 1`,
		`custos_alert{kind="lock",priority="P2",rule="acked",state="acknowledged",subject="/tmp/a.lock"} 1`,
		`custos_alert{kind="lock",priority="P2",rule="silent",state="silenced",subject="/tmp/a.lock"} 1`,
		`custos_alert{kind="lock",priority="P2",rule="pending",state="pending",subject="/tmp/a.lock"} 1`,
		"custos_alerts_unlisted 0", `custos_build_info{version="1.2.3"} 1`, "custos_frozen 0", "custos_ledger_readable 1", "custos_patrols 7",
		"custos_last_pass_age_seconds 2", `custos_part_status{part="logs",status="unknown"} 1`, `custos_part_age_seconds{part="host"} 3`,
		`custos_part_look_seconds{part="host"} 0.005`, `custos_agents{state="idle"} 2`, `custos_agents{state="crashed"} 1`,
		`custos_receiver_barred{receiver="phone"} 1`, `custos_receiver_waiting_seconds{receiver="phone"} 90`,
		`custos_receiver_barred{receiver="room"} 0`, `custos_receiver_waiting_seconds{receiver="room"} 0`,
		"custos_model_calls_total 2", "custos_model_tokens_total 30", "custos_model_cost_dollars_total 0.5",
		"custos_pass_duration_seconds_count 2", `custos_pass_duration_seconds_bucket{le="0.004"} 2`,
		`custos_actions_total{action="remove-lock",result="done"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(got, `rule="over"`) || strings.Contains(got, "go_goroutines") || t.Failed() {
		t.Errorf("the page is\n%s", got)
	}
}

// The page is what Prometheus' own tool calls sound.
func TestPromtoolTakesIt(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	m := NewMeter()
	m.Passed(time.Millisecond)
	m.Ended(fleet.Result{Do: "remove-lock", Status: fleet.ResultDone})
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape(t, page(m, measured())))
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// Whatever names and texts there are, and however many, there is a page; and what
// cannot be read is not told as nothing.
func TestMetricsOfTheStrange(t *testing.T) {
	m := measured()
	m.Alerts = nil
	for i := range mostAlerts + 10 {
		a := fleet.Alert{AlertKey: fleet.AlertKey{Rule: fmt.Sprint("r", i)}, Status: fleet.AlertFiring}
		a.Subject = fleet.Subject{Kind: fleet.KindLock, Name: "\xff\"\n\\ \x1b[31m" + strings.Repeat("é", 1000)}
		m.Alerts = append(m.Alerts, a)
	}
	twin := m.Alerts[0]
	twin.Subject.Name += "other"
	m.Alerts = append([]fleet.Alert{twin}, m.Alerts...)
	got := scrape(t, page(nil, m))
	if !strings.Contains(got, "custos_alerts_unlisted 11\n") || strings.Contains(got, "\x1b") || strings.Count(got, "\ncustos_alert{") != mostAlerts {
		t.Errorf("%d alerts are listed of %d", strings.Count(got, "\ncustos_alert{"), len(m.Alerts))
	}
	m.Blind = true
	if got := scrape(t, page(nil, m)); strings.Contains(got, "custos_alert{") || !strings.Contains(got, "custos_ledger_readable 0\n") {
		t.Error("a ledger that cannot be read has alerts")
	}
}

// At the socket there are metrics where a daemon runs, and else a word that none does.
func TestMetricsRoute(t *testing.T) {
	o := newWorld().options()
	r := httptest.NewRecorder()
	New(o).ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if r.Code != http.StatusNotFound || !strings.Contains(r.Body.String(), "no daemon runs") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	o.Metrics = page(nil, measured())
	if got := scrape(t, New(o)); !strings.Contains(got, "custos_patrols 7\n") {
		t.Errorf("it answers %s", got)
	}
}

// Nothing listens where other machines reach it without a token; and who has none,
// or comes by a foreign name, gets nothing.
func TestMetricsListener(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.8.9.1:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "box:1": false, "127.0.0.1.example.org:1": false, "": false} {
		if Loopback(address) != want {
			t.Errorf("Loopback(%q) is %v", address, !want)
		}
	}
	if l, err := ListenMetrics(MetricsListener{Address: "0.0.0.0:0"}); err == nil {
		l.Close()
		t.Error("it listens to everybody")
	}
	token := "s3cret"
	ask := func(o MetricsListener, path, host, auth string) (int, string) {
		t.Helper()
		l, err := ListenMetrics(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, GuardMetrics(o, page(nil, measured()))) }()
		defer func() { cancel(); <-ended }()
		req, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		req.Header.Set("Authorization", auth)
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	open := MetricsListener{Address: "127.0.0.1:0"}
	closed := MetricsListener{Address: "127.0.0.1:0", Token: func(context.Context) (string, error) { return token, nil }}
	lost := MetricsListener{Address: "127.0.0.1:0", Token: func(context.Context) (string, error) { return "", net.ErrClosed }}
	for _, c := range []struct {
		name       string
		o          MetricsListener
		path, host string
		auth       string
		want       int
	}{
		{"open", open, "/metrics", "", "", 200},
		{"by name", open, "/metrics", "localhost:9911", "", 200},
		{"without a port", open, "/metrics", "[::1]", "", 200},
		{"by a foreign name", open, "/metrics", "evil.example.org", "", 403},
		{"something else", open, "/v1/status", "", "", 404},
		{"no token", closed, "/metrics", "", "", 401},
		{"wrong token", closed, "/metrics", "", "Bearer s3crets", 401},
		{"other scheme", closed, "/metrics", "", "Basic s3cret", 401},
		{"token", closed, "/metrics", "box:9911", "Bearer s3cret", 200},
		{"token that cannot be read", lost, "/metrics", "", "Bearer ", 401},
	} {
		if code, body := ask(c.o, c.path, c.host, c.auth); code != c.want || (code == 200) != strings.Contains(body, "custos_patrols 7") {
			t.Errorf("%s: %d %.200s", c.name, code, body)
		}
	}
}
