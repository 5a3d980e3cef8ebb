package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
)

// atDesk is a system that runs nothing, and a desk in it; custos.toml holds the given text.
func atDesk(t *testing.T, toml ...string) (*system, *replyHandler) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".config/custos/custos.toml")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err = errors.Join(err, os.WriteFile(file, []byte(strings.Join(toml, "")), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return map[string]string{"HOME": dir}[k] }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, &replyHandler{s: s, told: map[string]fleet.Instant{}, life: t.Context()}
}

func chat() fleet.Place {
	return fleet.Place{Name: "ops", Room: "!r", People: []string{"@ann:hs"}, Asks: true}
}

// take gives the desk what Ann said, and returns the answers that wait then.
func take(t *testing.T, s *system, d *replyHandler, p fleet.Place, said fleet.Said) (bodies []string) {
	t.Helper()
	if err := d.Take(t.Context(), p, said); err != nil {
		t.Fatalf("%q: %v", said.Text, err)
	}
	list, err := answers{s.ledger}.MessagesFor(t.Context(), fleet.AnswersFor(p.Name), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.Answers == "" || m.To != "@"+p.Name {
			t.Errorf("answer %+v", m)
		}
		bodies = append(bodies, m.Body)
	}
	return bodies
}

func annSays(id, text string) fleet.Said {
	return fleet.Said{ID: id, Room: "!r", By: "@ann:hs", Text: text}
}

// A reply that arrives twice is one: a freeze that was lifted since does not come back.
func TestReplyArrivesTwice(t *testing.T) {
	s, d := atDesk(t)
	if got := take(t, s, d, chat(), annSays("$1", "freeze")); len(got) != 1 || Frozen(s.cfg) == "" {
		t.Fatalf("answers %q, frozen %q", got, Frozen(s.cfg))
	}
	if _, err := thaw(s.cfg); err != nil {
		t.Fatal(err)
	}
	if got := take(t, s, d, chat(), annSays("$1", "freeze")); len(got) != 1 || Frozen(s.cfg) != "" {
		t.Errorf("answers %q, frozen %q", got, Frozen(s.cfg))
	}
	other := &replyHandler{s: s, told: map[string]fleet.Instant{}, life: t.Context()} // the next Custos
	if got := take(t, s, other, chat(), annSays("$1", "freeze")); len(got) != 1 || Frozen(s.cfg) != "" {
		t.Errorf("answers %q, frozen %q", got, Frozen(s.cfg))
	}
	if got := take(t, s, d, chat(), annSays("$2", "freeze")); len(got) != 2 || Frozen(s.cfg) == "" {
		t.Errorf("said again: answers %q, frozen %q", got, Frozen(s.cfg))
	}
}

// A thaw is for the freeze that the person knew of.
func TestThawOfALaterFreeze(t *testing.T) {
	s, d := atDesk(t)
	if err := freeze(s.cfg, "bob", "because"); err != nil {
		t.Fatal(err)
	}
	late := annSays("$1", "thaw")
	late.Age = fleet.Duration(10 * time.Minute)
	if got := take(t, s, d, chat(), late); len(got) != 1 || !strings.Contains(got[0], "frozen after you said that: bob: because") || Frozen(s.cfg) == "" {
		t.Errorf("answers %q, frozen %q", got, Frozen(s.cfg))
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(freezeFile(s.cfg), before, before); err != nil {
		t.Fatal(err)
	}
	if got := take(t, s, d, chat(), annSays("$2", "thaw")); len(got) != 2 || Frozen(s.cfg) != "" {
		t.Errorf("answers %q, frozen %q", got, Frozen(s.cfg))
	}
}

// What nobody vouches for may ask, and make quiet, and stop everything; no more.
func TestSpoolMayLess(t *testing.T) {
	s, d := atDesk(t)
	p := fleet.Place{Name: "spool/x", Room: "/spool", People: []string{"spool/x"}}
	if err := freeze(s.cfg, "bob", "because"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, text := range []string{"thaw", "approve 1", "deny 1", "stop builder"} {
		n++
		got := take(t, s, d, p, fleet.Said{ID: text, Room: "/spool", By: "spool/x", Text: text})
		if len(got) != n || !strings.Contains(got[n-1], "takes a person in a chat") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if Frozen(s.cfg) == "" {
		t.Error("it was thawed")
	}
	if got := take(t, s, d, p, fleet.Said{ID: "s", Room: "/spool", By: "spool/x", Text: "status"}); !strings.Contains(got[n], "frozen by bob") {
		t.Errorf("status: %q", got)
	}
}

// What is not understood is answered now and then, and strangers never are.
func TestNotUnderstood(t *testing.T) {
	s, d := atDesk(t)
	for i, text := range []string{"hello", "is anybody there?", "approve everything", "$(reboot)"} {
		if got := take(t, s, d, chat(), annSays(text, text)); len(got) != 1 || !strings.Contains(got[0], "approve N") {
			t.Errorf("%d: %q", i, got)
		}
	}
	old := annSays("old", "freeze")
	old.Age = fleet.Duration(2 * time.Hour)
	stranger := annSays("eve", "freeze")
	stranger.By = "@eve:hs"
	for _, said := range []fleet.Said{old, stranger} {
		if got := take(t, s, d, chat(), said); len(got) != 1 || Frozen(s.cfg) != "" {
			t.Errorf("%+v: %q, frozen %q", said, got, Frozen(s.cfg))
		}
	}
}

// Without a ledger nothing is acted on, and it is given again.
func TestDeskWithoutALedger(t *testing.T) {
	s, d := atDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Take(ctx, chat(), annSays("$1", "freeze")); err == nil || Frozen(s.cfg) != "" {
		t.Errorf("%v, frozen %q", err, Frozen(s.cfg))
	}
}
