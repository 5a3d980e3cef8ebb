package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
)

func askFor(a fleet.Alert, hash string) fleet.Ask {
	return fleet.Ask{Alert: a.AlertKey, Number: a.Number, Hash: hash, Lines: []string{fmt.Sprintf("approve %d does %s", a.Number, hash)}}
}

// asker is one receiver with what it knows, whose clock is moved by hand.
type asker struct {
	told  report.Delivered
	at    time.Duration
	asks  map[fleet.AlertKey]fleet.Ask
	alert []fleet.Alert
}

func (x *asker) now() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(x.at), Up: fleet.Duration(time.Hour + x.at), Boot: "b"}
}

// hears returns what is told after so long; "" for nothing.
func (x *asker) hears(after time.Duration) string {
	x.at += after
	routes := []report.Route{{Name: "r", To: []string{"ops"}, Priority: fleet.P2, Interval: time.Second, Repeat: []time.Duration{}}}
	v := report.Deliver(report.Scene{At: x.now(), Alerts: x.alert, Asks: x.asks}, x.told, routes, "ops")
	if x.told = v.Told; v.Send == nil {
		return ""
	}
	x.told = x.told.Arrived(*v.Send, x.now())
	return v.Send.Message.Subject + "\n" + v.Send.Message.Body
}

func (x *asker) asked(t *testing.T) string {
	b, err := json.Marshal(x.told)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := report.AskedOf(b, x.alert[0].AlertKey)
	return key
}

func firing(x *asker, n int64) fleet.Alert {
	return fleet.Alert{AlertKey: fleet.AlertKey{Rule: "lock", Subject: fleet.Subject{Kind: fleet.KindLock, Name: fmt.Sprint("/l", n)}}, Number: n,
		Status: fleet.AlertFiring, Priority: fleet.P2, Summary: "it is left", Since: x.now(), FiredAt: x.now()}
}

// What is asked is told with the alert; told again when it is another thing, and
// not when it is the same, when nothing is asked any more, or when somebody knows.
func TestAsksAreTold(t *testing.T) {
	x := &asker{}
	a := firing(x, 3)
	x.alert = []fleet.Alert{a}
	ask := func(hash string) { x.asks = map[fleet.AlertKey]fleet.Ask{a.AlertKey: askFor(a, hash)} }
	ask("one")
	if m := x.hears(time.Second); !strings.Contains(m, "Asks:\n- approve 3 does one\n") || x.asked(t) != "one/0" {
		t.Fatalf("told %q, asked %q", m, x.asked(t))
	}
	if m := x.hears(time.Hour); m != "" {
		t.Errorf("the same is told again: %q", m)
	}
	x.asks = nil // a cooldown: nothing to approve just now
	if m := x.hears(time.Hour); m != "" {
		t.Errorf("that nothing is asked is told: %q", m)
	}
	ask("two")
	if m := x.hears(time.Hour); !strings.Contains(m, "asks: [P2] lock") || !strings.Contains(m, "approve 3 does two") || x.asked(t) != "two/0" {
		t.Errorf("another thing is asked: %q, asked %q", m, x.asked(t))
	}
	x.alert[0].AckedBy = "ann"
	ask("three")
	if m := x.hears(time.Hour); m != "" || x.asked(t) != "two/0" {
		t.Errorf("somebody knows, and is asked: %q", m)
	}
	x.alert = []fleet.Alert{a}
	all := x.alert
	x.alert = nil
	if m := x.hears(time.Hour); !strings.Contains(m, "all clear") {
		t.Errorf("it ended: %q", m)
	}
	if x.alert = all; x.asked(t) != "" {
		t.Errorf("what ended is still asked: %q", x.asked(t))
	}
}

// What has more lines than a message has room for is told of once, and not again and
// again because it could not be asked.
func TestAskOfManyLinesIsNoFlood(t *testing.T) {
	x := &asker{}
	a := firing(x, 3)
	x.alert = []fleet.Alert{a}
	ask := askFor(a, "one")
	for range 30 {
		ask.Lines = append(ask.Lines, "+ a line")
	}
	x.asks = map[fleet.AlertKey]fleet.Ask{a.AlertKey: ask}
	if m := x.hears(time.Second); !strings.Contains(m, "[P2] lock") || strings.Contains(m, "approve 3") || x.asked(t) != "" {
		t.Fatalf("told %q, asked %q", m, x.asked(t))
	}
	if m := x.hears(time.Hour); m != "" {
		t.Errorf("it is told again: %q", m)
	}
}

// What does not fit into a message is not asked: nobody approves what was cut off.
func TestAsksThatDoNotFit(t *testing.T) {
	x := &asker{asks: map[fleet.AlertKey]fleet.Ask{}}
	for n := range int64(40) {
		a := firing(x, n+1)
		ask := askFor(a, "same")
		switch n {
		case 0:
			ask.Lines = []string{strings.Repeat("x", 500)}
		case 1:
			ask.Lines = strings.Split(strings.Repeat("y", 300)+"\n"+strings.Repeat("y", 300)+"\n"+strings.Repeat("y", 300)+"\n"+strings.Repeat("y", 350), "\n")
		}
		if n > 8 && n < 15 {
			ask.Lines = append([]string{strings.Repeat("z", 350), strings.Repeat("z", 350)}, ask.Lines...)
		}
		x.alert, x.asks[a.AlertKey] = append(x.alert, a), ask
	}
	m := x.hears(time.Second)
	b, err := json.Marshal(x.told)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, a := range x.alert {
		key, _ := report.AskedOf(b, a.AlertKey)
		if key == "" {
			continue
		}
		asked++
		if shown := m[:min(len(m), 4000)]; !strings.Contains(shown, fmt.Sprintf("- approve %d does same\n", a.Number)) {
			t.Errorf("asked about %d without showing it", a.Number)
		}
	}
	if asked == 0 || asked > 10 {
		t.Errorf("%d asked in one message", asked)
	}
}

// A message that may have arrived is one that may be answered.
func TestAskedOfADoubtfulMessage(t *testing.T) {
	x := &asker{}
	a := firing(x, 3)
	x.alert, x.asks = []fleet.Alert{a}, map[fleet.AlertKey]fleet.Ask{a.AlertKey: askFor(a, "one")}
	routes := []report.Route{{Name: "r", To: []string{"ops"}, Priority: fleet.P2}}
	v := report.Deliver(report.Scene{At: x.now(), Alerts: x.alert, Asks: x.asks}, x.told, routes, "ops")
	x.told = v.Told
	if x.asked(t) != "one/0" {
		t.Errorf("asked %q", x.asked(t))
	}
	if key, _ := report.AskedOf([]byte("no JSON"), a.AlertKey); key != "" {
		t.Error(key)
	}
}
