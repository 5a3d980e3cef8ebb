package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// after is a moment d after 09:00 UTC.
func after(d time.Duration) fleet.Instant { return at(0).Add(d) }

func one(name string) []Route {
	return []Route{{Name: name, To: []string{"phone"}, Priority: fleet.P2, Wait: 30 * time.Second, Interval: 5 * time.Minute, Louder: 4 * time.Hour}}
}

func fires(rule string, p fleet.Priority, since time.Duration) fleet.Alert {
	a := alert(rule, p, fleet.AlertFiring)
	a.Since, a.FiredAt = after(since), after(since)
	return a
}

// knowing is the state of a receiver that was told of alerts at a moment.
func knowing(when time.Duration, alerts ...fleet.Alert) Delivered {
	v := Deliver(Scene{At: after(when), Alerts: alerts, Hurry: true}, Delivered{}, one("r"), "phone")
	if v.Send == nil {
		return v.Told
	}
	return v.Told.Arrived(*v.Send, after(when))
}

func TestDeliver(t *testing.T) {
	p1, p2, p3 := fires("a", fleet.P1, 0), fires("b", fleet.P2, 0), fires("c", fleet.P3, 0)
	with := func(a fleet.Alert, change func(*fleet.Alert)) fleet.Alert { change(&a); return a }
	ended := func(a fleet.Alert) fleet.Alert {
		return with(a, func(a *fleet.Alert) { a.Status = fleet.AlertResolved })
	}
	const m, h = time.Minute, time.Hour
	for _, c := range []struct {
		name   string
		told   Delivered
		at     time.Duration
		now    []fleet.Alert
		change func(*Scene, []Route)
		want   string // subject; "" for nothing
	}{
		{"waits for what belongs together", Delivered{}, 10 * time.Second, []fleet.Alert{p1}, nil, ""},
		{"a command does not wait", Delivered{}, 10 * time.Second, []fleet.Alert{p1}, func(s *Scene, _ []Route) { s.Hurry = true }, "custos on h: [P1] a: it is so"},
		{"begins", Delivered{}, m, []fleet.Alert{p1}, nil, "custos on h: [P1] a: it is so"},
		{"two are one message", Delivered{}, m, []fleet.Alert{p1, p2}, nil, "custos on h: 2 new, 2 open"},
		{"too little for the route", Delivered{}, h, []fleet.Alert{p3}, nil, ""},
		{"pending", Delivered{}, h, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Status = fleet.AlertPending })}, nil, ""},
		{"silenced", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.SilencedUntil = after(h) })}, nil, ""},
		{"degraded, and not for people yet", Delivered{}, m, []fleet.Alert{with(p3, func(a *fleet.Alert) { a.Patrols, a.TellAfter = 3, 4 })}, nil, ""},
		{"degraded for so many patrols", Delivered{}, m, []fleet.Alert{with(p3, func(a *fleet.Alert) { a.Patrols, a.TellAfter = 4, 4 })}, nil, "custos on h: [P3] c: it is so"},
		{"urgent, and not for people yet", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Patrols, a.TellAfter = 1, 2 })}, nil, ""},
		{"urgent for so many patrols", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Patrols, a.TellAfter = 2, 2 })}, nil, "custos on h: [P1] a: it is so"},
		{"silence ran out", Delivered{}, 2 * h, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.SilencedUntil = after(h) })}, nil, "custos on h: [P1] a: it is so"},
		{"explained", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.CausedBy = []fleet.AlertKey{p2.AlertKey} })}, nil, ""},
		{"told by another host", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.ToldBy = "box2" })}, nil, ""},
		{"taken up before it was told", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.AckedBy = "me" })}, nil, ""},
		{"known", knowing(m, p1), 10 * m, []fleet.Alert{p1}, nil, ""},
		{"too soon after the last", knowing(m, p1), 3 * m, []fleet.Alert{p1, p2}, nil, ""},
		{"a second one", knowing(m, p1), 7 * m, []fleet.Alert{p1, p2}, nil, "custos on h: [P2] b: it is so"},
		{"worse", knowing(m, p2), 7 * m, []fleet.Alert{with(p2, func(a *fleet.Alert) { a.Priority = fleet.P0 })}, nil, "custos on h: worse: [P0] b: it is so"},
		{"better is no news", knowing(m, p1), 7 * m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Priority = fleet.P2 })}, nil, ""},
		{"ends", knowing(m, p1, p2), 7 * m, []fleet.Alert{p2, ended(p1)}, nil, "custos on h: ended: [P1] a: it is so"},
		{"all clear", knowing(m, p1), 7 * m, []fleet.Alert{ended(p1)}, nil, "custos on h: all clear"},
		{"all clear though its subject is gone", knowing(m, p1), 7 * m, nil, nil, "custos on h: all clear"},
		{"ends silenced", knowing(m, p1), 7 * m, []fleet.Alert{with(ended(p1), func(a *fleet.Alert) { a.SilencedUntil = after(h) })}, nil, "custos on h: all clear"},
		{"blind is not ended", knowing(m, p1), 7 * m, nil, func(s *Scene, _ []Route) { s.Blind = true }, ""},
		{"its row was set aside, which is no end", knowing(m, p1), 7 * m, nil, func(s *Scene, _ []Route) { s.Aside = []int64{p1.Number} }, ""},
		{"another row was set aside", knowing(m, p1), 7 * m, nil, func(s *Scene, _ []Route) { s.Aside = []int64{p1.Number + 7} }, "custos on h: all clear"},
		{"its row was set aside, and what came after it ended", knowing(m, p1), 7 * m, []fleet.Alert{with(ended(p1), func(a *fleet.Alert) { a.Number += 7 })}, func(s *Scene, _ []Route) { s.Aside = []int64{p1.Number} }, "custos on h: all clear"},
		{"not told, not ended", Delivered{}, 7 * m, []fleet.Alert{ended(p1)}, nil, ""},
		{"repeated", knowing(m, p1), h + 2*m, []fleet.Alert{p1}, nil, "custos on h: not taken up, told 2 times: [P1] a: it is so"},
		{"taken up, not repeated", knowing(m, p1), h + 2*m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.AckedBy = "me" })}, nil, ""},
		{"never repeated", knowing(m, p1), 9 * h, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Repeat = []time.Duration{} }, ""},
		{"night", Delivered{}, m, []fleet.Alert{p2}, func(_ *Scene, r []Route) { r[0].Quiet = Quiet{From: 8 * h, Until: 10 * h, Breaks: fleet.P1} }, ""},
		{"urgent at night", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Quiet = Quiet{From: 8 * h, Until: 10 * h, Breaks: fleet.P1} }, "custos on h: [P1] a: it is so"},
		{"nothing breaks the night", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Quiet = Quiet{From: 8 * h, Until: 10 * h} }, ""},
		{"in the morning", Delivered{}, h + m, []fleet.Alert{p2}, func(_ *Scene, r []Route) { r[0].Quiet = Quiet{From: 8 * h, Until: 10 * h, Breaks: fleet.P1} }, "custos on h: [P2] b: it is so"},
		{"other receiver", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].To = []string{"room"} }, ""},
		{"other rule", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Rules = []string{"disk-*"} }, ""},
		{"other kind", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Kinds = []string{"agent"} }, ""},
		{"this kind", Delivered{}, m, []fleet.Alert{p1}, func(_ *Scene, r []Route) { r[0].Kinds = []string{"host"} }, "custos on h: [P1] a: it is so"},
		{"project", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Subject.Name = "custos#12" })}, func(_ *Scene, r []Route) { r[0].Projects = []string{"cust*"} }, "custos on h: [P1] a: it is so"},
		{"other project", Delivered{}, m, []fleet.Alert{with(p1, func(a *fleet.Alert) { a.Subject.Name = "other#12" })}, func(_ *Scene, r []Route) { r[0].Projects = []string{"cust*"} }, ""},
		{"old enough for a route of the worse", Delivered{}, 5 * h, []fleet.Alert{p2}, func(_ *Scene, r []Route) { r[0].Priority = fleet.P1 }, "custos on h: [P2] b: it is so"},
		{"the clock went back", knowing(5*h, p1), 7 * m, []fleet.Alert{p1, p2}, nil, "custos on h: 1 new, 1 not taken up, 2 open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, routes := Scene{At: after(c.at), Host: "h", Alerts: c.now}, one("r")
			if c.change != nil {
				c.change(&s, routes)
			}
			got, before := "", fmt.Sprintf("%+v", c.told)
			v := Deliver(s, c.told, routes, "phone")
			if v.Send != nil {
				got = v.Send.Message.Subject
			}
			if got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
			if fmt.Sprintf("%+v", c.told) != before {
				t.Error("it has written to what it was given")
			}
		})
	}
}

// The body says since when, for how long, how to hear more, and what is done.
func TestDeliverSaysSinceWhen(t *testing.T) {
	a := fires("a", fleet.P1, 0)
	edges := []fleet.Message{{ID: "m", Alert: a.AlertKey, Priority: fleet.P1, At: after(0), Subject: "[P1] a: it is so", Body: "stop-tree begun\nStatus: RAM=1MB Disk=2% Load=3.00\n"}}
	v := Deliver(Scene{At: after(3 * time.Minute), Alerts: []fleet.Alert{a}, News: edges}, Delivered{}, one("r"), "phone")
	want := "Alerts:\n- [P1] a: it is so (since 09:00 UTC, for 3m; custos why 3); stop-tree begun\nStatus: RAM=1MB Disk=2% Load=3.00\n"
	if v.Send == nil || v.Send.Message.Body != want {
		t.Fatalf("told %+v, want %q", v.Send, want)
	}
	told := v.Told.Arrived(*v.Send, after(3*time.Minute))
	if again := Deliver(Scene{At: after(4 * time.Minute), Alerts: []fleet.Alert{a}, News: edges}, told, one("r"), "phone"); again.Send != nil || len(again.Over) != 1 {
		t.Errorf("afterwards: %+v", again)
	}
}

// What came and went while the receiver was away, or at night, is told in one
// message; what was there for a moment only, never.
func TestDeliverTellsWhatCameAndWent(t *testing.T) {
	a := fires("a", fleet.P1, 0)
	edge := func(id string, over bool, when time.Duration) fleet.Message {
		return fleet.Message{ID: id, Alert: a.AlertKey, AllClear: over, Priority: a.Priority, At: after(when), Subject: line(a)}
	}
	long := []fleet.Message{edge("1", false, 0), edge("2", true, 20*time.Minute)}
	short := []fleet.Message{edge("1", false, 0), edge("2", true, 20*time.Second)}
	away := Delivered{Tries: 3}
	for name, c := range map[string]struct {
		told Delivered
		news []fleet.Message
		want string
	}{
		"away":          {away, long, "custos: came and went: [P1] a: it is so"},
		"for a moment":  {away, short, ""},
		"it was there":  {Delivered{}, long, ""},
		"told it began": {knowing(time.Minute, a), long, "custos: all clear"},
	} {
		v := Deliver(Scene{At: after(time.Hour), News: c.news}, c.told, one("r"), "phone")
		got := ""
		if v.Send != nil {
			got = v.Send.Message.Subject
		}
		if got != c.want {
			t.Errorf("%s: told %q, want %q", name, got, c.want)
		}
	}
}

// News that is of no alert goes out once, as it is.
func TestDeliverPlainNews(t *testing.T) {
	news := []fleet.Message{{ID: "x", Priority: fleet.P2, At: after(0), Subject: "the morning report", Body: "all went well"}}
	v := Deliver(Scene{At: after(0), Host: "h", News: news}, Delivered{}, one("r"), "phone")
	if v.Send == nil || v.Send.Message.Subject != "custos on h: the morning report" || !strings.Contains(v.Send.Message.Body, "all went well") {
		t.Fatalf("told %+v", v.Send)
	}
	if v = Deliver(Scene{At: after(time.Second), News: news}, v.Told.Arrived(*v.Send, after(0)), one("r"), "phone"); v.Send != nil || !slices.Equal(v.Over, []string{"x"}) {
		t.Errorf("told again: %+v", v)
	}
}

// A message that may have arrived is tried as it is, with its ID; later it is
// thought out anew.
func TestDeliverTriesTheSame(t *testing.T) {
	a := fires("a", fleet.P1, 0)
	first := Deliver(Scene{At: after(time.Minute), Alerts: []fleet.Alert{a}}, Delivered{}, one("r"), "phone")
	failed := first.Told.failed("down", 0, after(time.Minute))
	again := Deliver(Scene{At: after(2 * time.Minute)}, failed, one("r"), "phone")
	if again.Send == nil || again.Send.Message.ID != first.Send.Message.ID {
		t.Errorf("tried %+v after %+v", again.Send, first.Send)
	}
	later := Deliver(Scene{At: after(time.Hour)}, failed, one("r"), "phone")
	if later.Send == nil || later.Send.Message.Subject != "custos: came and went: [P1] a: it is so" || later.Send.Message.AllClear {
		t.Errorf("an hour later it tried %+v", later.Send)
	}
}

// Whatever is in a message comes out clean, without secrets and short.
func TestMessagesAreSafe(t *testing.T) {
	a := fires("a", fleet.P1, 0)
	a.Summary = "\x1b[31mred\x07\ntoken=hunter2hunter2 " + strings.Repeat("é", 1<<20)
	news := []fleet.Message{{ID: "x", Priority: fleet.P1, Subject: strings.Repeat("s", 1<<20), Body: "\x1b]0;x\x07password=hunter2\n" + strings.Repeat("界", 1<<20)}}
	v := Deliver(Scene{At: after(time.Hour), Alerts: []fleet.Alert{a}, News: news}, Delivered{}, one("r"), "phone")
	m := v.Send.Message
	if all := m.Subject + m.Body; strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "hunter2") || len(all) > 20<<10 {
		t.Errorf("%d bytes: %.300q", len(all), all)
	}
}

// ear is a receiver that takes the same message but once, and what it knows.
type ear struct {
	got   map[string]bool
	knows map[string]bool // alerts it believes to fire
	clear int             // all-clears since something began
	heard int
	lost  bool // an answer of its was lost: it may hear the same in other words
}

func (e *ear) hear(t *rapid.T, d Delivery) {
	if e.got[d.Message.ID] {
		return
	}
	e.got[d.Message.ID] = true
	e.heard++
	for k, w := range d.Words {
		e.knows[k] = w.Over.IsZero()
		if w.Over.IsZero() {
			e.clear, e.lost = 0, false
		}
	}
	if d.Message.AllClear {
		if e.clear++; e.clear > 1 && !e.lost {
			t.Fatalf("a second all-clear: %+v", d.Message)
		}
		for k, open := range e.knows {
			if open {
				t.Fatalf("all clear, and %s is open", k)
			}
		}
	}
}

// Whatever alerts and the receiver do: in the end it knows exactly what is true;
// unless its answers were lost there is one all-clear, and it is true; and then it
// is told nothing more.
func TestDeliverProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		routes, now := one("r"), 0*time.Second
		routes[0].Repeat = []time.Duration{}
		quiet := Quiet{From: 22 * time.Hour, Until: 7 * time.Hour, Breaks: fleet.P1}
		e := &ear{got: map[string]bool{}, knows: map[string]bool{}}
		var told Delivered
		truth := map[string]fleet.Alert{}
		step := func(outcome string) {
			var list []fleet.Alert
			for _, a := range truth {
				list = append(list, a)
			}
			v := Deliver(Scene{At: after(now), Alerts: list}, reborn(t, told), routes, "phone")
			told = v.Told
			if v.Send == nil {
				return
			}
			if outcome != "refused" {
				e.hear(t, *v.Send)
			}
			e.lost = e.lost || outcome == "lost"
			if outcome == "arrived" {
				told = told.Arrived(*v.Send, after(now))
			} else {
				told = told.failed(outcome, 0, after(now))
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "rule")
				a := fires(name, rapid.SampledFrom([]fleet.Priority{fleet.P0, fleet.P1, fleet.P2}).Draw(t, "priority"), now)
				if _, on := truth[a.String()]; on {
					delete(truth, a.String())
				} else {
					truth[a.String()] = a
				}
			}
			routes[0].Quiet = rapid.SampledFrom([]Quiet{{}, quiet}).Draw(t, "quiet")
			step(rapid.SampledFrom([]string{"arrived", "arrived", "arrived", "refused", "lost"}).Draw(t, "outcome"))
		}
		routes[0].Quiet = Quiet{}
		for range 6 { // nothing changes any more, and the receiver is there
			now += time.Hour
			step("arrived")
		}
		for k, on := range e.knows {
			if _, is := truth[k]; is != on {
				t.Fatalf("it believes that %s: %v; and it is %v", k, on, is)
			}
		}
		for k := range truth {
			if !e.knows[k] {
				t.Fatalf("it never heard of %s", k)
			}
		}
		n := e.heard
		now += time.Hour
		if step("arrived"); e.heard != n {
			t.Fatal("nothing has changed, and it is told something")
		}
	})
}

// reborn is what is left of a state when Custos is started again.
func reborn(t *rapid.T, told Delivered) (out Delivered) {
	text, err := json.Marshal(told)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestQuietHours(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, c := range []struct {
		q    Quiet
		at   string
		p    fleet.Priority
		want bool
	}{
		{Quiet{From: 22 * time.Hour, Until: 7 * time.Hour}, "23:00", fleet.P2, true},
		{Quiet{From: 22 * time.Hour, Until: 7 * time.Hour}, "06:59", fleet.P0, true},
		{Quiet{From: 22 * time.Hour, Until: 7 * time.Hour}, "07:00", fleet.P2, false},
		{Quiet{From: 22 * time.Hour, Until: 7 * time.Hour}, "21:59", fleet.P2, false},
		{Quiet{From: 22 * time.Hour, Until: 7 * time.Hour, Zone: berlin}, "21:00", fleet.P2, true},
		{Quiet{From: 12 * time.Hour, Until: 13 * time.Hour}, "12:30", fleet.P2, true},
		{Quiet{From: 12 * time.Hour, Until: 13 * time.Hour, Breaks: fleet.P1}, "12:30", fleet.P1, false},
		{Quiet{}, "12:30", fleet.P2, false},
	} {
		when, err := time.Parse("15:04", c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.q.holds(when, c.p); got != c.want {
			t.Errorf("%+v at %s: %v", c.q, c.at, got)
		}
	}
}
