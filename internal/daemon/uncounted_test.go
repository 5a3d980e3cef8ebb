package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
)

// limited builds Custos with a budget of each agent and one of the fleet, as a daemon or as one command.
func limited(t *testing.T, home string, daemon bool) *system {
	t.Helper()
	env := map[string]string{"HOME": home}
	const text = "[budget.day]\nusd = 1\n[budget.each]\nscope = \"agent\"\nusd = 1\n"
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	s.daemon = daemon
	return s
}

// Without a daemon nothing is counted: that nothing was spent is said of no budget, whether there is a ledger or not.
func TestWithoutADaemonWhatWasSpentIsNotKnown(t *testing.T) {
	home := t.TempDir()
	for _, since := range []string{"nothing was ever counted: ", "nothing is counted since 20"} {
		s := limited(t, home, false)
		if since != "nothing was ever counted: " {
			s.readOnce(t.Context())
		}
		c := api.NewClient(api.InProcess(s.handler(t.Context(), nil)))
		v, err := c.Budgets(t.Context())
		if err != nil || !strings.HasPrefix(v.Unknown, since) || !strings.Contains(v.Unknown, nobodyCounts) || len(v.Rows) != 1 || v.Rows[0].Stage != api.StageUnknown || v.Rows[0].Used != nil {
			t.Errorf("budgets: %+v, %v", v, err)
		}
		costs, err := c.Costs(t.Context(), "7d", "day")
		if err != nil || costs.Unknown != v.Unknown {
			t.Errorf("costs: %q, want %q, %v", costs.Unknown, v.Unknown, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What cannot be written down is not counted, since it was last; what cannot be read is named, and all else counts.
func TestWhatKeepsADaemonFromCountingIsSaid(t *testing.T) {
	s := limited(t, t.TempDir(), true)
	defer s.Close()
	at := time.Date(2026, 11, 24, 13, 1, 0, 0, time.UTC)
	full := fmt.Errorf("%w: the disk is full", catalog.ErrUnwritten)
	torn := errors.New("cannot read /x/s.jsonl: permission denied")
	for _, c := range []struct {
		err             error
		news            bool
		unknown, unread string
	}{
		{nil, false, "", ""},
		{full, true, "nothing is counted since 2026-11-24 13:01 UTC: " + full.Error(), ""},
		{full, false, "nothing is counted since 2026-11-24 13:01 UTC: " + full.Error(), ""},
		{torn, true, "", "not all conversations can be read: " + torn.Error()},
		{nil, true, "", ""},
	} {
		news := s.counted.all(at, c.err)
		unknown, unread := s.moreMayBe(t.Context())
		if news != c.news || unknown != c.unknown || unread != c.unread {
			t.Errorf("%v: %v, %q, %q", c.err, news, unknown, unread)
		}
		at = at.Add(map[bool]time.Duration{false: 0, true: time.Minute}[c.err != nil])
	}
	s.counted.failed(torn)
	s.readOnce(t.Context())
	s.board.Touched(fleet.PartSpending)
	s.board.Await(t.Context(), fleet.PartSpending)
	v, err := api.NewClient(api.InProcess(s.handler(t.Context(), nil))).Budgets(t.Context())
	if err != nil || v.Unknown != "" || !strings.Contains(v.AtLeast, torn.Error()) || len(v.Rows) != 1 || v.Rows[0].Stage != api.StageUnknown || !strings.Contains(v.Rows[0].Blind, torn.Error()) {
		t.Errorf("%+v, %v", v, err)
	}
}
