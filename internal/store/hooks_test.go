package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custos/internal/fleet"
)

var leaves = cmp.Comparer(func(a, b fleet.Leaf[float64]) bool {
	x, xk := a.Get()
	y, yk := b.Get()
	return x == y && xk == yk
})

func hook(id, instance string, name fleet.HookName, when fleet.Instant) fleet.HookEvent {
	return fleet.HookEvent{ID: id, At: when, Agent: "bob", Instance: instance, Kind: "claude", Event: name, Session: "s",
		Tool: "Bash", CallID: "c" + id, Args: "command=make test #01234567", Text: "t", Context: fleet.Unknown[float64]("not told")}
}

func take(t *testing.T, s *Store, list ...fleet.HookEvent) []bool {
	t.Helper()
	fresh, err := s.takeHooks(context.Background(), list)
	ok(t, err)
	return fresh
}

func since(t *testing.T, s *Store, when fleet.Instant, f HookFilter) []fleet.HookEvent {
	t.Helper()
	list, err := s.HooksSince(context.Background(), when, f)
	ok(t, err)
	return list
}

func ids(list []fleet.HookEvent) (out []string) {
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func TestHooksComeBackAsTheyWent(t *testing.T) {
	s := fresh(t)
	full := hook("1", "i1", fleet.HookStatus, at(0))
	full.Process = fleet.ProcessID{PID: 7, Start: 1 << 63, Boot: "b"}
	full.Context, full.Until = fleet.Known(81.5), fleet.Instant{Wall: epoch.Add(time.Hour)}
	foreign := fleet.HookEvent{ID: "2", At: at(time.Second), Kind: "codex", Event: fleet.HookStop, Process: fleet.ProcessID{PID: 8, Start: 9, Boot: "b"}}
	ended := fleet.Instant{Wall: epoch.Add(2 * time.Second)} // of a CLI without a clock of ours
	bare := fleet.HookEvent{ID: "3", At: ended, Kind: "gemini", Event: fleet.HookNotice}
	take(t, s, full, foreign, bare)
	if diff := cmp.Diff([]fleet.HookEvent{full, foreign, bare}, since(t, s, at(0), HookFilter{}), leaves); diff != "" {
		t.Error(diff)
	}
}

func TestHooksAreTakenOnce(t *testing.T) {
	s := fresh(t)
	e := hook("1", "i1", fleet.HookPrompt, at(0))
	if got := take(t, s, e, e, hook("2", "i1", fleet.HookStop, at(1))); !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("fresh: %v", got)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		wg.Go(func() {
			f, err := s.takeHook(context.Background(), hook("3", "i1", fleet.HookStop, at(2)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if f {
				won++
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("one event was fresh %d times", won)
	}
}

func TestHooksSince(t *testing.T) {
	s := fresh(t)
	take(t, s, hook("1", "i1", fleet.HookPrompt, at(0)), hook("2", "i2", fleet.HookToolBegin, at(time.Second)),
		hook("4", "i1", fleet.HookStop, at(3*time.Second)), hook("3", "i1", fleet.HookToolBegin, at(2*time.Second)))
	for _, c := range []struct {
		at   fleet.Instant
		f    HookFilter
		want []string
	}{
		{at(0), HookFilter{}, []string{"1", "2", "3", "4"}},
		{at(time.Second), HookFilter{}, []string{"2", "3", "4"}},
		{at(0), HookFilter{Key: "i1"}, []string{"1", "3", "4"}},
		{at(0), HookFilter{Event: fleet.HookToolBegin, Agent: "bob"}, []string{"2", "3"}},
		{at(0), HookFilter{Agent: "alice"}, nil},
		{at(0), HookFilter{Limit: 2}, []string{"3", "4"}},
	} {
		if got := ids(since(t, s, c.at, c.f)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.f, got, c.want)
		}
	}
}

// TestLastHooksAgainstModel: whatever comes in whatever order, twice, and is
// trimmed, the last of each name is the last.
func TestLastHooksAgainstModel(t *testing.T) {
	s := fresh(t)
	rapid.Check(t, func(t *rapid.T) {
		if _, err := s.w.Exec("DELETE FROM hooks; DELETE FROM hook_last; DELETE FROM hook_sources"); err != nil {
			t.Fatal(err)
		}
		type slot struct {
			who  string
			name fleet.HookName
		}
		want, seen := map[slot]fleet.HookEvent{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			id := strconv.Itoa(rapid.IntRange(0, 15).Draw(t, "id"))
			e := hook(id, draw(t, "instance", "i1", "i2", ""), fleet.HookName(draw(t, "event", "stop", "prompt")), at(time.Duration(rapid.IntRange(0, 20).Draw(t, "at"))*time.Second))
			f, err := s.takeHook(context.Background(), e)
			if err != nil || f == seen[id] {
				t.Fatalf("event %s: fresh %v, seen %v, %v", id, f, seen[id], err)
			}
			if w, have := want[slot{e.Key(), e.Event}]; f && (!have || !e.At.Before(w.At)) {
				want[slot{e.Key(), e.Event}] = e
			}
			seen[id] = true
			if rapid.IntRange(0, 9).Draw(t, "trim") == 0 {
				if err := s.TrimHooks(context.Background(), at(time.Minute), 0, 1); err != nil {
					t.Fatal(err)
				}
				seen = map[string]bool{} // what was trimmed may come again
				for _, e := range mustHooks(t, s) {
					seen[e.ID] = true
				}
			}
		}
		last, err := s.LastHooks(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for who, list := range last {
			for _, e := range list {
				got++
				if w := want[slot{who, e.Event}]; w.ID != e.ID || w.At.Wall != e.At.Wall {
					t.Fatalf("%s %s: got %s, want %s", who, e.Event, e.ID, w.ID)
				}
			}
		}
		if got != len(want) {
			t.Fatalf("%d of %d", got, len(want))
		}
	})
}

func mustHooks(t *rapid.T, s *Store) []fleet.HookEvent {
	list, err := s.HooksSince(context.Background(), fleet.Instant{}, HookFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTrimHooks(t *testing.T) {
	s := fresh(t)
	day := 24 * time.Hour
	take(t, s, hook("old", "i1", fleet.HookPrompt, at(-8*day)), hook("old-last", "i0", fleet.HookStop, at(-8*day)),
		hook("a", "i1", fleet.HookPrompt, at(-time.Hour)), hook("b", "i1", fleet.HookStop, at(-time.Minute)))
	// The wall clock jumps a year ahead: nothing of this boot is old.
	jumped := at(0)
	jumped.Wall = jumped.Wall.Add(365 * day)
	ok(t, s.TrimHooks(context.Background(), jumped, 0, 0))
	if got := ids(since(t, s, fleet.Instant{}, HookFilter{})); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after a clock jump: %v", got)
	}
	for i := range 100 {
		take(t, s, hook(strconv.Itoa(i), "i1", fleet.HookToolBegin, at(time.Duration(i)*time.Second)))
	}
	ok(t, s.TrimHooks(context.Background(), at(time.Hour), 0, 10))
	got := ids(since(t, s, fleet.Instant{}, HookFilter{}))
	if len(got) != 12 || got[0] != "a" || got[1] != "b" || got[11] != "99" {
		t.Errorf("by number: %v", got) // the newest of each name stays: a, b
	}
	ok(t, s.TrimHooks(context.Background(), at(30*day), 0, 0))
	if got := since(t, s, fleet.Instant{}, HookFilter{}); len(got) != 0 {
		t.Errorf("after a month: %v", ids(got))
	}
	var sources int
	ok(t, s.r.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM hook_sources").Scan(&sources))
	if sources != 0 {
		t.Errorf("%d sources of nothing are left", sources)
	}
}

// TestHooksLeaveOthersSynced: what a turn promises holds after a hook event.
func TestHooksLeaveOthersSynced(t *testing.T) {
	s := fresh(t)
	take(t, s, hook("1", "i1", fleet.HookPrompt, at(0)))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.takeHook(cancelled, hook("2", "i1", fleet.HookPrompt, at(0))); err == nil {
		t.Error("taken after it was called off")
	}
	for i := range 300 { // called off at any moment of it
		ctx, end := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
		_, _ = s.takeHook(ctx, hook(fmt.Sprint("n", i), "i1", fleet.HookPrompt, at(0)))
		end()
		var level int
		if ok(t, s.w.QueryRow("PRAGMA synchronous").Scan(&level)); level != 2 {
			t.Fatalf("synchronous is %d after %d, want 2 (FULL)", level, i)
		}
	}
}

func TestHooksReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s := opened(t, path)
	take(t, s, hook("1", "i1", fleet.HookPrompt, at(0)))
	r, err := OpenReadOnly(context.Background(), Options{Path: path})
	ok(t, err)
	defer r.Close()
	if got := since(t, r, fleet.Instant{}, HookFilter{}); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	_, err = r.takeHook(context.Background(), hook("2", "i1", fleet.HookStop, at(0)))
	wantErr(t, err, errReadOnly)
}

// flood is n events of 200 agents, 20 a minute each, in batches; from is how many
// came before.
func flood(b testing.TB, s *Store, from, n, batch int) {
	names := []fleet.HookName{fleet.HookPrompt, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookStop}
	list := make([]fleet.HookEvent, 0, batch)
	for i := from; i < from+n; i++ {
		agent := i % 200
		e := hook(fmt.Sprintf("%012x-%x-0123abcd", i*15_000_000, agent), fmt.Sprintf("%016x", agent), names[(i/200)%len(names)], at(time.Duration(i)*15*time.Millisecond))
		e.Agent, e.CallID = fmt.Sprintf("worker-%d", agent), "toolu_01ABCDEFGHIJKLMNOPQRSTUV"
		e.Args = fmt.Sprintf("command=go test -race ./internal/package%d/... -run TestSomething -count 1 #%08x", i%50, i)
		if list = append(list, e); len(list) == batch || i == from+n-1 {
			if _, err := s.takeHooks(context.Background(), list); err != nil {
				b.Fatal(err)
			}
			list = list[:0]
		}
	}
}

func size(t testing.TB, s *Store) (bytes int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.opts.Path + suffix); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// TestHookFloodStaysWithinItsRetention is a day of 200 agents in small; set
// CUSTOS_HOOK_EVENTS to 5760000 for the whole of it.
func TestHookFloodStaysWithinItsRetention(t *testing.T) {
	n, keep := 3_000, 1_000
	if v, err := strconv.Atoi(os.Getenv("CUSTOS_HOOK_EVENTS")); err == nil {
		n, keep = v, maxHooks
	}
	s := fresh(t)
	began := time.Now()
	worst := int64(0)
	for from := 0; from < n; from += keep / 2 {
		flood(t, s, from, min(n-from, keep/2), 500)
		ok(t, s.TrimHooks(context.Background(), at(time.Hour), 0, keep))
		worst = max(worst, size(t, s))
	}
	var rows int
	ok(t, s.r.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM hooks").Scan(&rows))
	if rows > keep+200*6 {
		t.Errorf("%d events are kept, want at most %d", rows, keep+1200)
	}
	if per := worst / int64(keep); per > 1500 {
		t.Errorf("the store grew to %d bytes, %d for each event that is kept", worst, per)
	}
	t.Logf("%d events in %s; at most %d bytes for %d kept", n, time.Since(began).Round(time.Millisecond), worst, keep)
}

func BenchmarkTakeHook(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s, err := Open(context.Background(), Options{Path: filepath.Join(b.TempDir(), "x.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.ResetTimer()
			flood(b, s, 0, b.N, batch)
			b.StopTimer()
			b.ReportMetric(float64(size(b, s))/float64(b.N), "bytes/event")
		})
	}
}

func BenchmarkLastHooks(b *testing.B) {
	s, err := Open(context.Background(), Options{Path: filepath.Join(b.TempDir(), "x.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	flood(b, s, 0, 100_000, 1000)
	for b.Loop() {
		if _, err := s.LastHooks(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHookBatch: from many callers at once, each event once, and each caller
// learns of its own.
func TestHookBatch(t *testing.T) {
	s := fresh(t)
	b := NewHookBatch(s)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[string]int{}
	for w := range 20 {
		wg.Go(func() {
			for i := range 30 {
				id := strconv.Itoa((i + w) % 100)
				f, err := b.TakeHook(context.Background(), hook(id, "i1", fleet.HookStop, at(time.Duration(i)*time.Second)))
				mu.Lock()
				if f {
					won[id]++
				}
				if err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	list := since(t, s, fleet.Instant{}, HookFilter{})
	for _, e := range list {
		if won[e.ID] != 1 {
			t.Errorf("event %s was fresh %d times", e.ID, won[e.ID])
		}
	}
	if len(list) != 49 || len(won) != 49 {
		t.Errorf("%d events, %d of them fresh, want 49", len(list), len(won))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.TakeHook(ended, hook("x", "i1", fleet.HookStop, at(0))); err == nil {
		t.Error("taken after it was called off")
	}
	ok(t, s.Close())
	if _, err := b.TakeHook(context.Background(), hook("y", "i1", fleet.HookStop, at(0))); err == nil {
		t.Error("taken by a closed store")
	}
}
