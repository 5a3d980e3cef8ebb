package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/store"
)

// watching is a daemon's system that runs nothing, with a ledger that was opened;
// custos.toml holds the given text.
func watching(t *testing.T, toml ...string) *system {
	t.Helper()
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
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)},
		as{what: "custos test", wait: onewriter.Patience, every: time.Minute, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// selfSeen is what the probe of Custos itself sees now.
func selfSeen(t *testing.T, s *system) fleet.Self {
	t.Helper()
	probes, err := catalog.Probes(s.world)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		if p.Spec().Part != fleet.PartSelf {
			continue
		}
		put, err := p.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var snap fleet.Snapshot
		put(&snap)
		return snap.Self.Value
	}
	t.Fatal("there is no probe of self")
	return fleet.Self{}
}

// ills are the ways in which the past cannot be read.
var ills = map[string]func(t *testing.T, s *system){
	"the read fails": func(t *testing.T, s *system) {
		if err := s.ledger.st.Close(); err != nil {
			t.Fatal(err)
		}
	},
	"the database cannot be opened": func(t *testing.T, s *system) {
		if err := s.ledger.Close(); err != nil {
			t.Fatal(err)
		}
		name := storeFile(s.cfg)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	},
}

// TestADamagedLedgerIsNoEmptyOne: what it held is lost, and that is known; the
// rest is not.
func TestADamagedLedgerIsNoEmptyOne(t *testing.T) {
	s := watching(t)
	damage(t, s)
	v := selfSeen(t, s)
	if lost, known := v.Amnesia.Get(); !known || !lost || v.Lost.Or("") == "" {
		t.Errorf("amnesia %t (%s), lost %q", lost, v.Amnesia.Why(), v.Lost.Or(""))
	}
	if v.ClockBehind.IsKnown() || v.RowsAside.IsKnown() || v.MemoryDiffers.IsKnown() {
		t.Errorf("of a damaged ledger it is told: %+v", v.Remembered)
	}
}

// TestRepliesThatCannotBeReadAreNotNone: of what people answered nothing is known, when
// the ledger cannot be read in whatever way.
func TestRepliesThatCannotBeReadAreNotNone(t *testing.T) {
	for name, spoil := range withDamage() {
		t.Run(name, func(t *testing.T) {
			s := watching(t)
			now := s.world.Now()
			if lines, err := s.replied(fleet.Instant{}, now); err != nil || len(lines) != 0 {
				t.Fatalf("before: %q, %v", lines, err)
			}
			spoil(t, s)
			if lines, err := s.replied(fleet.Instant{}, now); err == nil {
				t.Errorf("it says %q and no error", lines)
			}
		})
	}
}

// withDamage are all ways: to lose a ledger is another thing than not to reach it.
func withDamage() map[string]func(*testing.T, *system) {
	ways := maps.Clone(ills)
	ways["it is damaged"] = damage
	ways["it is damaged while it is open"] = damageOpen
	return ways
}

// damage makes of the database something that is none.
func damage(t *testing.T, s *system) {
	t.Helper()
	if err := s.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(storeFile(s.cfg), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// damageOpen writes noise over the database, and waits until that is met: what SQLite
// keeps of it in memory can be read for a while.
func damageOpen(t *testing.T, s *system) {
	t.Helper()
	noise := []byte(strings.Repeat("no database ", 20000))
	for _, name := range []string{storeFile(s.cfg), storeFile(s.cfg) + "-wal"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(noise, 0)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for s.ledger.hurt.Load() == nil && t.Context().Err() == nil {
		_ = s.ledger.Commit(t.Context(), fleet.Turn{At: s.world.Now()})
		_, _ = s.recall(t.Context())
	}
}

// TestADamagedLedgerIsWrittenToNoMore: what SQLite could write still is refused, the
// daemon is to begin anew, once, and not again within a minute.
func TestADamagedLedgerIsWrittenToNoMore(t *testing.T) {
	s := watching(t)
	damageOpen(t, s)
	if err := s.ledger.Commit(t.Context(), fleet.Turn{At: s.world.Now()}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a turn is committed to it: %v", err)
	}
	if past, err := s.ledger.Past(t.Context(), s.world.Now()); err != nil || !past.Amnesia {
		t.Errorf("the past: amnesia %t, %v", past.Amnesia, err)
	}
	if n := len(s.hurt); n != 1 {
		t.Errorf("the daemon is told %d times to begin anew", n)
	}
	now := time.Now()
	for _, c := range []struct{ last, want time.Duration }{{0, time.Minute}, {20 * time.Second, 40 * time.Second}, {time.Hour, 0}, {-time.Hour, time.Minute}} {
		if got := rest(now.Add(-c.last), now); got != c.want {
			t.Errorf("%v after the last time it waits %v, want %v", c.last, got, c.want)
		}
	}
}

// TestNoReadOfThePastThatFailsIsAFact makes each read fail that the plug-ins are
// handed: every one says so, and none tells of an empty past.
func TestNoReadOfThePastThatFailsIsAFact(t *testing.T) {
	for name, spoil := range withDamage() {
		t.Run(name, func(t *testing.T) {
			s := watching(t)
			spoil(t, s)
			for _, of := range []any{s.world, s.world.Judged} {
				eachRead(t, of, lost[name]...)
			}
			if l, err := s.world.Spending(t.Context()); err == nil {
				if mark, err := l.UsageMark(t.Context(), time.Now()); err == nil {
					t.Errorf("the ledger of usage cannot be read, and says %q", mark)
				}
			}
		})
	}
}

// lost are the reads that a damaged ledger answers with nothing: what agents there are is
// seen without it, amnesia is known, and a person can show to be no agent.
var lost = map[string][]string{
	"the read fails":                 {"Spending"}, // it is opened alone, and read by who asked for it
	"it is damaged":                  {"Registered", "Recorded", "Lost"},
	"it is damaged while it is open": {"Registered", "Recorded", "Lost"},
}

// eachRead calls every function in the structure that takes a context and may fail, but
// for those that are named, which must not.
func eachRead(t *testing.T, of any, answer ...string) {
	t.Helper()
	v := reflect.Indirect(reflect.ValueOf(of))
	called := 0
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.Kind() != reflect.Func || f.IsNil() || !v.Type().Field(i).IsExported() {
			continue
		}
		typ := f.Type()
		if typ.NumIn() == 0 || typ.In(0) != reflect.TypeFor[context.Context]() || typ.NumOut() == 0 || typ.Out(typ.NumOut()-1) != reflect.TypeFor[error]() {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for n := 1; n < typ.NumIn(); n++ {
			if typ.In(n) == reflect.TypeFor[[]string]() { // what an agent is told of; nothing takes no read
				args = append(args, reflect.ValueOf([]string{"findings"}))
				continue
			}
			args = append(args, reflect.Zero(typ.In(n)))
		}
		called++
		if out := f.Call(args); out[len(out)-1].IsNil() != slices.Contains(answer, name) {
			t.Errorf("%s reads the past, cannot, and answers %v, %v", name, out[0], out[len(out)-1])
		}
	}
	if called < 2 {
		t.Errorf("only %d reads were made", called)
	}
}

// TestSelfWithoutTheLedger: while the ledger cannot be read nothing that it alone
// knows is told, and the last patrol, which the daemon made itself, is not late.
func TestSelfWithoutTheLedger(t *testing.T) {
	for name, spoil := range ills {
		t.Run(name, func(t *testing.T) {
			s := watching(t)
			s.world.StartedAt = s.world.Now().Add(-time.Hour)
			s.pulse.passed(true, s.world.Now())
			spoil(t, s)
			v := selfSeen(t, s)
			if age, known := v.LastPatrolAge.Get(); !known || time.Duration(age) > time.Minute {
				t.Errorf("the last patrol, of just now, ended %v ago (%s)", time.Duration(age), v.LastPatrolAge.Why())
			}
			for what, leaf := range map[string]fleet.Leaf[bool]{"amnesia": v.Amnesia, "clock behind": v.ClockBehind} {
				if is, known := leaf.Get(); known {
					t.Errorf("%s: %t", what, is)
				} else if !strings.Contains(leaf.Why(), "cannot ") {
					t.Errorf("%s: %q", what, leaf.Why())
				}
			}
		})
	}
}

// A ledger that answers is believed.
func TestSelfWithTheLedger(t *testing.T) {
	s := watching(t)
	v := selfSeen(t, s)
	for what, leaf := range map[string]fleet.Leaf[bool]{"amnesia": v.Amnesia, "clock behind": v.ClockBehind} {
		if is, known := leaf.Get(); !known || is {
			t.Errorf("%s: %t (%s)", what, is, leaf.Why())
		}
	}
	if _, err := os.Stat(filepath.Join(s.cfg.StateDir, "custos.db")); err != nil {
		t.Error(err)
	}
}

// answersOf are the reads that the pages and commands of people stand on.
func answersOf(s *system) map[string]func(context.Context) error {
	desk, book := orderPort{s}, ledgerPort{s.ledger, s.world.Now}
	return map[string]func(context.Context) error{
		"alerts":   func(ctx context.Context) error { _, err := book.Alerts(ctx, true); return err },
		"events":   func(ctx context.Context) error { _, err := book.Events(ctx, control.EventFilter{}); return err },
		"orders":   func(ctx context.Context) error { _, err := desk.Open(ctx); return err },
		"agents":   func(ctx context.Context) error { _, err := s.registered(ctx); return err },
		"failures": func(ctx context.Context) error { _, err := desk.Failures(ctx, "", 10); return err },
		"hooks":    func(ctx context.Context) error { _, err := desk.HookEvents(ctx, control.HookFilter{}); return err },
		"mail":     func(ctx context.Context) error { _, err := desk.MessagesFor(ctx, "dev", 10); return err },
		"runs":     func(ctx context.Context) error { _, err := runPort{s}.Runs(ctx, fleet.RunFilter{}); return err },
		"costs":    func(ctx context.Context) error { _, err := s.costs(ctx, fleet.Instant{}, "day"); return err },
		"trust":    func(ctx context.Context) error { _, err := s.pins(ctx); return err },
		"records":  func(ctx context.Context) error { _, _, err := records{s}.Seen(ctx); return err },
		"pauses":   func(ctx context.Context) error { return pausePort{s}.Pause(ctx, "nowhere", true, "ann", "") },
		"plugins":  func(ctx context.Context) error { _, err := s.control(true).Plugins.Plugins(ctx); return err },
		"schedule": func(ctx context.Context) error { _, err := s.control(true).Schedules(ctx); return err },
	}
}

// TestNobodyIsToldOfAnEmptyLedgerThatCannotBeRead: whoever asks for a list is told why
// there is none.
func TestNobodyIsToldOfAnEmptyLedgerThatCannotBeRead(t *testing.T) {
	for name, spoil := range withDamage() {
		t.Run(name, func(t *testing.T) {
			s := watching(t)
			spoil(t, s)
			for what, ask := range answersOf(s) {
				if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot ") || strings.Contains(err.Error(), "is paused") {
					t.Errorf("%s: %v, want why it cannot be read", what, err)
				}
			}
		})
	}
}

// TestSelfWithASlowLedger: of a ledger that does not answer in time nothing is known, as
// of one that cannot be read; it is not an empty one.
func TestSelfWithASlowLedger(t *testing.T) {
	s := watching(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	m := s.memory(ctx)
	if m.Amnesia.IsKnown() || m.Lost.IsKnown() || m.ClockBehind.IsKnown() || m.MemoryDiffers.IsKnown() || m.RowsAside.IsKnown() {
		t.Errorf("of a ledger that is too slow it is told: %+v", m)
	}
	if why := m.Amnesia.Why(); !strings.Contains(why, "deadline") {
		t.Errorf("it is not said that it is slow: %q", why)
	}
}
