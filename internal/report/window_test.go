package report

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// In a window of maintenance what it covers is not told; what still fires
// afterwards is, and what came and went in it never.
func TestMaintenance(t *testing.T) {
	const m, h = time.Minute, time.Hour
	window := func(change func(*Window)) []Window {
		w := Window{Name: "w", For: h, Began: func(at time.Time) (time.Time, bool) { return after(0).Wall, !at.Before(after(0).Wall) }}
		if change != nil {
			change(&w)
		}
		return []Window{w}
	}
	a := fires("a", fleet.P0, m)
	for _, c := range []struct {
		name    string
		told    Delivered
		at      time.Duration
		now     []fleet.Alert
		windows []Window
		want    string
	}{
		{"begins in it", Delivered{}, 10 * m, []fleet.Alert{a}, window(nil), ""},
		{"still there after it", Delivered{}, h, []fleet.Alert{a}, window(nil), "custos on h: [P0] a: it is so"},
		{"other rule", Delivered{}, 10 * m, []fleet.Alert{a}, window(func(w *Window) { w.Rules = []string{"disk-*"} }), "custos on h: [P0] a: it is so"},
		{"this rule", Delivered{}, 10 * m, []fleet.Alert{a}, window(func(w *Window) { w.Rules = []string{"disk-*", "a"} }), ""},
		{"other kind", Delivered{}, 10 * m, []fleet.Alert{a}, window(func(w *Window) { w.Kinds = []string{"agent"} }), "custos on h: [P0] a: it is so"},
		{"not begun", Delivered{}, 10 * m, []fleet.Alert{a}, window(func(w *Window) { w.Began = func(time.Time) (time.Time, bool) { return time.Time{}, false } }), "custos on h: [P0] a: it is so"},
		{"told before it, not repeated in it", knowing(-h, fires("a", fleet.P0, -2*h)), 30 * m, []fleet.Alert{fires("a", fleet.P0, -2*h)}, window(nil), ""},
		{"told before it, ends in it", knowing(-h, fires("a", fleet.P0, -2*h)), 30 * m, nil, window(nil), "custos on h: all clear"},
	} {
		v := Deliver(Scene{At: after(c.at), Host: "h", Alerts: c.now, Windows: c.windows}, c.told, one("r"), "phone")
		got := ""
		if v.Send != nil {
			got = v.Send.Message.Subject
		}
		if got != c.want {
			t.Errorf("%s: told %q, want %q", c.name, got, c.want)
		}
	}
	edges := []fleet.Message{{ID: "1", Alert: a.AlertKey, Priority: a.Priority, At: after(m), Subject: line(a)},
		{ID: "2", Alert: a.AlertKey, AllClear: true, Priority: a.Priority, At: after(20 * m), Subject: line(a)}}
	for _, c := range []struct {
		windows []Window
		silent  bool
	}{{nil, false}, {window(nil), true}} {
		v := Deliver(Scene{At: after(2 * h), News: edges, Windows: c.windows}, Delivered{Tries: 3}, one("r"), "phone")
		if (v.Send == nil) != c.silent {
			t.Errorf("with %d windows what came and went is %+v", len(c.windows), v.Send)
		}
	}
}

// What is told again says again what holds Custos back and what to do, and how the
// host does by now.
func TestRepeatSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, phone := newWorld(), &someone{name: "phone"}
		r := New(Options{Notifiers: []Notifier{phone}, Routes: one("r"), Outbox: w, Memory: w, History: w, Now: w.now, Status: func() string { return "RAM=5MB Disk=6% Load=7.00" }})
		a := alert("a", fleet.P1, "")
		a.Runbook = "custos runbook a"
		run(t, r, func() {
			w.put(a, true)
			time.Sleep(time.Hour + 10*time.Minute)
		})
		got := phone.heard()
		if len(got) != 2 {
			t.Fatalf("told %d times", len(got))
		}
		for _, m := range got {
			for _, want := range []string{"see custos runbook a", "Status: RAM=5MB Disk=6% Load=7.00\n", "for a person to see"} {
				if strings.Count(m.Body, want) != 1 {
					t.Errorf("%q is not once in %q", want, m.Body)
				}
			}
		}
	})
}
