package ledger_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestReplyVocabulary reads testdata/replies.txtar.
func TestReplyVocabulary(t *testing.T) {
	a, err := txtar.ParseFile("testdata/replies.txtar")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range a.Files {
		for line := range strings.Lines(string(f.Data)) {
			quoted, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
			var text string
			for _, part := range strings.Split(quoted, ` + `) {
				s, err := strconv.Unquote(part)
				if !ok || err != nil {
					t.Fatalf("%s: %s: %v", f.Name, line, err)
				}
				text += s
			}
			got := "-"
			if r, ok := ledger.ParseReply(text); ok {
				got = r.String()
			}
			if got != want {
				t.Errorf("%q is %s, want %s", text, got, want)
			}
			n++
		}
	}
	if n < 60 {
		t.Errorf("%d lines only", n)
	}
}

func FuzzReply(f *testing.F) {
	b, err := os.ReadFile("testdata/replies.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := ledger.ParseReply(text)
		if !ok {
			return
		}
		if again, ok := ledger.ParseReply(r.String()); !ok || again.Verb != r.Verb || again.Number != r.Number {
			t.Errorf("%q is %+v, which is %+v", text, r, again)
		}
		if r.Number < 0 || r.For < 0 || time.Duration(r.For) > 7*24*time.Hour {
			t.Errorf("%q is %+v", text, r)
		}
		if (r.Verb == ledger.ReplyApprove || r.Verb == ledger.ReplyDeny) && r.Name != "" {
			t.Errorf("%q approves by name: %+v", text, r)
		}
	})
}

func place() fleet.Place {
	return fleet.Place{Name: "ops", Room: "!r:hs", People: []string{"@ann:hs", "@bob:hs"}, Asks: true}
}

func said(change func(*fleet.Said)) fleet.Said {
	s := fleet.Said{ID: "$1", Room: "!r:hs", By: "@ann:hs", Text: "approve 3"}
	if change != nil {
		change(&s)
	}
	return s
}

func TestHeeded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.Said)
		want   bool
	}{
		"a person":          {nil, true},
		"two lines":         {func(s *fleet.Said) { s.Text = "a\n\tb" }, true},
		"a stranger":        {func(s *fleet.Said) { s.By = "@eve:hs" }, false},
		"a name that looks": {func(s *fleet.Said) { s.By = "@ann:hs.evil" }, false},
		"nobody":            {func(s *fleet.Said) { s.By = "" }, false},
		"another room":      {func(s *fleet.Said) { s.Room = "!other:hs" }, false},
		"an edit":           {func(s *fleet.Said) { s.Edit = true }, false},
		"Custos itself":     {func(s *fleet.Said) { s.Own = true }, false},
		"no ID":             {func(s *fleet.Said) { s.ID = "" }, false},
		"an escape":         {func(s *fleet.Said) { s.Text = "approve 3\x1b[2J" }, false},
		"a zero":            {func(s *fleet.Said) { s.Text = "approve 3\x00" }, false},
		"right to left":     {func(s *fleet.Said) { s.Text = "approve \u202e3" }, false},
		"no width":          {func(s *fleet.Said) { s.Text = "approve\u200b 3" }, false},
		"no text":           {func(s *fleet.Said) { s.Text = "approve \xff" }, false},
		"4 KiB":             {func(s *fleet.Said) { s.Text = strings.Repeat("x", 4096) }, true},
		"more than 4 KiB":   {func(s *fleet.Said) { s.Text = strings.Repeat("x", 4097) }, false},
		"1 MB":              {func(s *fleet.Said) { s.Text = strings.Repeat("x", 1<<20) }, false},
	} {
		if got := ledger.Heeded(place(), said(c.change)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if ledger.Heeded(fleet.Place{Name: "ops", Room: "!r:hs"}, said(nil)) {
		t.Error("where nobody is named, somebody is heard")
	}
}

func TestStale(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: false, time.Hour: false, time.Hour + time.Second: true} {
		if got := ledger.Stale(fleet.Said{Age: fleet.Duration(age)}); got != want {
			t.Errorf("after %v: %v", age, got)
		}
	}
}

// Nobody is heard but who is named, whatever is said where and how.
func TestOnlyTheNamedAreHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"@ann:hs", "@bob:hs", "@eve:hs", "!r:hs", "!x:hs", "", "$1"})
		s := fleet.Said{ID: word.Draw(t, "id"), Room: word.Draw(t, "room"), By: word.Draw(t, "by"), Text: rapid.String().Draw(t, "text"),
			Own: rapid.Bool().Draw(t, "own"), Edit: rapid.Bool().Draw(t, "edit")}
		if !ledger.Heeded(place(), s) {
			return
		}
		if s.Own || s.Edit || s.Room != "!r:hs" || s.By != "@ann:hs" && s.By != "@bob:hs" || strings.ContainsAny(s.Text, "\x00\x1b\x07\r") {
			t.Fatalf("heard: %+v", s)
		}
	})
}

func moment(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(d), Up: fleet.Duration(time.Hour + d), Boot: "b"}
}

func alertsKnown() []fleet.Alert {
	at := func(n int64, rule, kind, name string, status fleet.AlertStatus) fleet.Alert {
		return fleet.Alert{AlertKey: fleet.AlertKey{Rule: rule, Subject: fleet.Subject{Kind: fleet.Kind(kind), Name: name}}, Number: n, Status: status,
			Priority: fleet.P2, Summary: name + " is wrong", Since: moment(-time.Hour), EndedAt: moment(0)}
	}
	return []fleet.Alert{at(3, "agent-waiting", "agent", "builder", fleet.AlertFiring), at(4, "lock-stale", "lock", "/tmp/a.lock", fleet.AlertFiring),
		at(5, "agent-stuck", "agent", "builder", fleet.AlertFiring), at(6, "disk-full", "mount", "/", fleet.AlertResolved), at(7, "log-large", "log", "/x", fleet.AlertPending)}
}

func TestAbout(t *testing.T) {
	for text, c := range map[string]struct{ about, want string }{
		"ack 3":                 {"", "3"},
		"ack 6":                 {"", "alert 6 is over since 12:00 UTC"},
		"ack 7":                 {"", "alert 7 is over"},
		"ack 99":                {"", "no alert 99 fires"},
		"ack builder":           {"", "3 5"},
		"ack agent/builder":     {"", "3 5"},
		"ack a.lock":            {"", "4"},
		"ack lock//tmp/a.lock":  {"", "4"},
		"ack agent-stuck":       {"", "5"},
		"ack nothing":           {"", `no alert fires that is about "nothing"`},
		"ack disk-full":         {"", "no alert fires"},
		"ack":                   {"custos on h: [P2] lock-stale: x (since 12:00; custos why 4)", "4"},
		"deny that":             {"#4: approve 4 has this done, deny 4 leaves it (custos why 4)", "4"},
		"approve":               {"2 new (custos why 3), (custos why 4)", "that message tells of 3, 4: say which, like \"approve 3\""},
		"ignore":                {"", "say which alert"},
		"deny":                  {"nothing of alerts", "say which alert"},
		"approve 3":             {"custos why 4", "3"}, // what is said counts
		"ack custos why 4":      {"", "no alert fires"},
		"ignore /tmp/a.lock 2h": {"", "4"},
	} {
		r, ok := ledger.ParseReply(text)
		if !ok {
			t.Fatalf("%q is no reply", text)
		}
		found, err := ledger.About(r, c.about, alertsKnown())
		got := fmt.Sprint(err)
		if err == nil {
			var n []string
			for _, a := range found {
				n = append(n, strconv.FormatInt(a.Number, 10))
			}
			got = strings.Join(n, " ")
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %s, want %s", text, got, c.want)
		}
	}
}

func TestBound(t *testing.T) {
	ask := fleet.Ask{Number: 3, Hash: "abc"}
	for name, c := range map[string]struct {
		asked ledger.Asked
		now   fleet.Ask
		want  string
	}{
		"holds":             {ledger.Asked{Key: ask.Key(), At: moment(-time.Hour)}, ask, ""},
		"never asked":       {ledger.Asked{At: moment(-time.Hour)}, ask, "nothing was asked here"},
		"another action":    {ledger.Asked{Key: ask.Key(), At: moment(-time.Hour)}, fleet.Ask{Number: 3, Hash: "abd"}, "is not what would be done now"},
		"answered before":   {ledger.Asked{Key: ask.Key(), At: moment(-time.Hour)}, fleet.Ask{Number: 3, Hash: "abc", Uses: 1}, "was answered"},
		"long ago":          {ledger.Asked{Key: ask.Key(), At: moment(-12*time.Hour - time.Second)}, ask, "more than 12 hours ago"},
		"clock set back":    {ledger.Asked{Key: ask.Key(), At: moment(time.Hour)}, ask, "ago"},
		"nothing any more":  {ledger.Asked{Key: ask.Key(), At: moment(-time.Hour)}, fleet.Ask{}, "there is nothing to approve"},
		"a guard refuses":   {ledger.Asked{Key: ask.Key(), At: moment(-time.Hour)}, fleet.Ask{Refused: "frozen: by ann"}, "frozen: by ann"},
		"nothing and never": {ledger.Asked{}, fleet.Ask{}, "there is nothing to approve"},
	} {
		err := ledger.Bound(3, c.asked, c.now, moment(0))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An approval holds for one thing only: what was asked, not answered, not old.
func TestApprovalHoldsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.SampledFrom([]string{"", "a", "b"})
		asked := fleet.Ask{Hash: hash.Draw(t, "asked"), Uses: rapid.IntRange(0, 2).Draw(t, "used before")}
		now := fleet.Ask{Hash: hash.Draw(t, "now"), Uses: rapid.IntRange(0, 2).Draw(t, "used now")}
		ago := time.Duration(rapid.Int64Range(-1, 20).Draw(t, "hours")) * time.Hour
		err := ledger.Bound(1, ledger.Asked{Key: asked.Key(), At: moment(-ago)}, now, moment(0))
		holds := asked.Hash != "" && asked.Key() == now.Key() && ago >= 0 && ago <= 12*time.Hour
		if (err == nil) != holds {
			t.Fatalf("asked %+v %v ago, now %+v: %v", asked, ago, now, err)
		}
	})
}

func TestAnswersTellTheTruth(t *testing.T) {
	snap := fleet.Snapshot{At: moment(0)}
	snap.Agents = fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: []fleet.Agent{
		{Name: "builder", State: fleet.StateWaiting, Reason: "it asks for permission", Dwell: fleet.Known(fleet.Duration(7 * time.Minute)), Dialog: &fleet.Dialog{Question: "Do you want to proceed?"}},
		{Name: "docs", State: fleet.StateWorking}}}
	past := fleet.Past{Alerts: alertsKnown()}
	status := ledger.StatusAnswer(snap, past, fleet.Policy{Mode: fleet.ModeAsk, Frozen: "ann: because"}, "RAM=1MB")
	for _, want := range []string{"mode ask, frozen by ann: because", "agents: 2 (1 waiting, 1 working)", "alerts: 3 × P2", "RAM=1MB"} {
		if !strings.Contains(status, want) {
			t.Errorf("%q is not in\n%s", want, status)
		}
	}
	stuck := ledger.StuckAnswer(snap, past)
	for _, want := range []string{"#3 [P2] builder is wrong (agent-waiting, for 1h)", "#4 ", "#5 ", "agent builder: waiting for 7m: it asks for permission: Do you want to proceed?"} {
		if !strings.Contains(stuck, want) {
			t.Errorf("%q is not in\n%s", want, stuck)
		}
	}
	later := snap
	later.Agents.At = moment(-3 * time.Minute) // it has waited for so long since they were looked at
	if got := ledger.StuckAnswer(later, past); !strings.Contains(got, "agent builder: waiting for 10m") {
		t.Errorf("three minutes after the look: %s", got)
	}
	if strings.Contains(stuck, "docs") || strings.Contains(stuck, "#6") {
		t.Errorf("it tells of what goes on:\n%s", stuck)
	}
	blind := fleet.Snapshot{At: moment(0), Agents: fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusUnknown, Why: "tmux does not answer"}}}
	for _, text := range []string{ledger.StuckAnswer(blind, fleet.Past{Blind: "x"}), ledger.StatusAnswer(blind, fleet.Past{Blind: "x"}, fleet.Policy{}, "")} {
		if !strings.Contains(text, "tmux does not answer") || !strings.Contains(text, "cannot be told") || strings.Contains(text, "Nothing") {
			t.Errorf("blind, it says %q", text)
		}
	}
	if got := ledger.StuckAnswer(fleet.Snapshot{Agents: fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: fleet.StatusOK}}}, fleet.Past{}); !strings.HasPrefix(got, "Nothing is stuck") {
		t.Error(got)
	}
}
