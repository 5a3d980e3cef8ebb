package catalog

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/store"
	"custos/internal/sys/matrixtest"
	"custos/internal/sys/telegramtest"
)

// people makes those who are told by a configuration.
func people(t *testing.T, text string, env map[string]string) (People, error) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "custos.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string {
		if key == "HOME" || key == "TMUX_TMPDIR" {
			return home
		}
		return env[key]
	}
	sections := slices.Compact(slices.Sorted(slices.Values(append(Sections(), peopleSections()...))))
	cfg, err := config.Load(config.Options{File: file, Getenv: getenv, Sections: sections})
	if err != nil {
		t.Fatal(err)
	}
	return NewPeople(&World{Config: cfg, Getenv: getenv}, io.Discard)
}

// From an alert in the ledger to a room, a chat and a program, each once, and to
// the all-clear: with a real database, and the servers as their makers describe them.
func TestPeopleAreTold(t *testing.T) {
	home := matrixtest.New(t)
	env := map[string]string{"MATRIX_TOKEN": home.User("@custos:fake", "x"), "BOT": "1:secret"}
	home.Room("!ops:fake", "@custos:fake")
	bot := telegramtest.New(t, "1:secret", "-100")
	var pings atomic.Int32
	deadMan := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pings.Add(1) }))
	defer deadMan.Close()
	env["PING"] = deadMan.URL + "/uuid"
	file := filepath.Join(t.TempDir(), "told")
	p, err := people(t, fmt.Sprintf(`
[notifier.ops]
type = "matrix"
server = %q
room = "!ops:fake"
token_env = "MATRIX_TOKEN"
[notifier.phone]
type = "telegram"
server = %q
chat = "-100"
token_env = "BOT"
[notifier.pager]
type = "command"
run = ["/bin/sh", "-c", "cat >>%s"]
[notifier.alive]
type = "ping"
token_env = "PING"
[route.all]
to = ["ops", "phone", "pager"]
group_interval = "1m"
`, home.URL, bot.URL, file), env)
	if err != nil {
		t.Fatal(err)
	}
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "custos.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := report.New(report.Options{Notifiers: p.Notifiers, Routes: p.Routes, Outbox: st, Memory: st, History: st, Pulses: p.Pulses, Host: "h", Now: func() fleet.Instant { return now }})
	a := fleet.Alert{AlertKey: fleet.AlertKey{Rule: "disk-full", Subject: fleet.Subject{Kind: fleet.KindMount, Name: "/"}},
		Priority: fleet.P1, Status: fleet.AlertFiring, Summary: "it is full; token=hunter2 \x1b[31m", Since: now, FiredAt: now, LastTrue: now}
	commit := func(before, is []fleet.Alert) {
		t.Helper()
		pass := fleet.Pass{Past: fleet.Past{Alerts: before}, Assessment: fleet.Assessment{Alerts: is}}
		pass.Snapshot.At = now
		if err := st.Commit(t.Context(), fleet.Turn{At: now, Assessment: pass.Assessment, Outbox: report.Draft(pass, nil)}); err != nil {
			t.Fatal(err)
		}
	}
	commit(nil, []fleet.Alert{a})
	for range 3 {
		if err := r.Deliver(t.Context()); err != nil {
			t.Error(err)
		}
	}
	now = now.Add(10 * time.Minute)
	over := a
	over.Status, over.EndedAt = fleet.AlertResolved, now
	commit([]fleet.Alert{a}, []fleet.Alert{over})
	for range 3 {
		if err := r.Deliver(t.Context()); err != nil {
			t.Error(err)
		}
	}
	said := home.Events("!ops:fake")
	if len(said) != 2 || said[0].Content["msgtype"] != "m.text" || said[1].Content["msgtype"] != "m.notice" {
		t.Fatalf("said %+v", said)
	}
	first, last := fmt.Sprint(said[0].Content["body"]), fmt.Sprint(said[1].Content["body"])
	if !strings.HasPrefix(first, "custos on h: [P1] disk-full: it is full; token=***\nAlerts:\n- [P1]") || !strings.Contains(first, "since 09:00 UTC; custos why 1") {
		t.Errorf("first %q", first)
	}
	if !strings.HasPrefix(last, "custos on h: all clear\nEnded:\n") {
		t.Errorf("last %q", last)
	}
	if got := bot.Sent(); len(got) != 2 || got[0].Silent || !got[1].Silent || got[0].Text != first {
		t.Errorf("the chat got %+v", got)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), `"all_clear":true`) {
		t.Errorf("the program got %q, %v", b, err)
	}
	if due, err := st.Due(t.Context(), now.Add(time.Hour), 10); err != nil || len(due) != 0 {
		t.Errorf("left in the outbox: %+v, %v", due, err)
	}
	if err := p.Pulses[0].Beat(t.Context()); err != nil || pings.Load() != 1 {
		t.Errorf("%d pings, %v", pings.Load(), err)
	}
}

func TestDefaultRoutes(t *testing.T) {
	p, err := people(t, "", nil)
	if err != nil || len(p.Routes) != 1 || p.Routes[0].Name != "terminal" {
		t.Errorf("%+v, %v", p.Routes, err)
	}
	p, err = people(t, "[notifier.a]\ntype = \"command\"\nrun = [\"x\"]\n", nil)
	if err != nil || len(p.Routes) != 2 || !slices.Equal(p.Routes[1].To, []string{"a"}) || p.Routes[1].Priority != fleet.P2 {
		t.Errorf("%+v, %v", p.Routes, err)
	}
	p, err = people(t, `[route.night]
to = ["terminal"]
priority = "P3"
quiet = "22:00-07:00"
zone = "UTC"
quiet_breaks = "never"
repeat = []
louder = "never"
`, nil)
	if err != nil || len(p.Routes) != 1 {
		t.Fatalf("%+v, %v", p.Routes, err)
	}
	want := report.Route{Name: "night", To: []string{"terminal"}, Priority: fleet.P3, Wait: 30 * time.Second, Interval: 5 * time.Minute, Repeat: []time.Duration{},
		Quiet: report.Quiet{From: 22 * time.Hour, Until: 7 * time.Hour, Zone: time.UTC}}
	if got := fmt.Sprintf("%+v", p.Routes[0]); got != fmt.Sprintf("%+v", want) {
		t.Errorf("%s\nwant\n%+v", got, want)
	}
}

func TestBadPeopleAreRefused(t *testing.T) {
	const matrix = "[notifier.a]\ntype = \"matrix\"\nserver = \"https://m\"\nroom = \"!r:m\"\n"
	for text, want := range map[string]string{
		"[notifier.a]\ntype = \"pigeon\"\n":                                               `[notifier.a] type: "pigeon" is none of`,
		"[notifier.terminal]\ntype = \"command\"\nrun = [\"x\"]\n":                        "choose another",
		"[notifier.a]\ntyp = \"matrix\"\n":                                                `custos.toml:2: unknown key "typ" in [notifier.a], did you mean "type"?`,
		"[notifier.a]\ntype = \"command\"\n":                                              "run: want a program",
		matrix:                                                                            "token_file, token_command, token_env: want exactly one",
		matrix + "token_env = \"A\"\ntoken_file = \"/b\"\n":                               "want exactly one",
		matrix + "token_file = \"relative\"\n":                                            "token_file: ",
		strings.Replace(matrix, "!r:m", "#r:m", 1) + "token_env = \"A\"\n":                "room: want the ID",
		strings.Replace(matrix, "https://m", "m", 1) + "token_env = \"A\"\n":              "server: want a URL",
		strings.Replace(matrix, "//m", "//u:pw@m", 1) + "token_env = \"A\"\n":             "without a password in it",
		"[notifier.a]\ntype = \"telegram\"\ntoken_env = \"A\"\n":                          "chat: want",
		"[route.r]\nto = [\"nobody\"]\n":                                                  `[route.r] to: "nobody" is none of terminal`,
		"[route.r]\n":                                                                     "to: want at least one of terminal",
		"[route.r]\nto = [\"terminal\"]\npriority = \"P9\"\n":                             "priority: ",
		"[route.r]\nto = [\"terminal\"]\nquiet = \"22-7\"\n":                              "quiet: ",
		"[route.r]\nto = [\"terminal\"]\nquiet = \"22:00-07:00\"\nzone = \"Mars/Base\"\n": "zone: ",
		"[route.r]\nto = [\"terminal\"]\nrepeat = [\"1s\"]\n":                             "repeat: ",
		"[route.r]\nto = [\"terminal\"]\nrule = [\"[\"]\n":                                "rule: ",
		"[route.r]\nto = [\"terminal\"]\ngroup_wait = \"soon\"\n":                         "group_wait: ",
	} {
		if _, err := people(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
