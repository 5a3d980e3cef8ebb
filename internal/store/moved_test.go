package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"custos/internal/fleet"
)

// moves are the ways in which the file of an open database leaves its place, with what
// is told of it.
var moves = map[string]struct {
	what string
	do   func(h home)
}{
	"deleted":     {"custos.db was deleted", func(h home) { h.remove("custos.db", "custos.db-wal", "custos.db-shm") }},
	"its log":     {"custos.db-wal was deleted", func(h home) { h.remove("custos.db-wal") }},
	"its index":   {"custos.db-shm was deleted", func(h home) { h.remove("custos.db-shm") }},
	"all of it":   {"custos.db was deleted", func(h home) { ok(h.T, os.RemoveAll(h.dir)) }},
	"renamed":     {"custos.db was deleted", func(h home) { ok(h.T, os.Rename(filepath.Join(h.dir, "custos.db"), filepath.Join(h.dir, "old"))) }},
	"is a folder": {"custos.db was replaced", func(h home) { h.remove("custos.db"); ok(h.T, os.Mkdir(filepath.Join(h.dir, "custos.db"), 0o700)) }},
	"replaced": {"custos.db was replaced", func(h home) {
		h.remove("custos.db", "custos.db-wal", "custos.db-shm")
		other, err := Open(h.Context(), Options{Path: filepath.Join(h.dir, "custos.db")})
		ok(h.T, err)
		_, _, err = other.TakeOrder(h.Context(), fleet.Order{ID: "other", Do: fleet.OrderStop, At: at(0)})
		ok(h.T, err)
		ok(h.T, other.Close())
	}},
}

func (h home) orders(s *Store) (ids []string) {
	h.Helper()
	list, err := s.Orders(h.Context(), OrderFilter{})
	ok(h.T, err)
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}

// TestAFileThatLeftItsPlaceIsWrittenAnew: nothing that was written before it, and
// nothing after it, is lost, whoever meets it first; it is told, and what was put in its
// place lies aside.
func TestAFileThatLeftItsPlaceIsWrittenAnew(t *testing.T) {
	for name, move := range moves {
		for first, meet := range map[string]func(h home, s *Store){
			"a write":          func(h home, s *Store) { h.works(s, 1) },
			"hooks":            func(h home, s *Store) { _, err := s.takeHooks(h.Context(), nil); ok(h.T, err) },
			"the past":         func(h home, s *Store) { _ = past(h.T, s, at(0)) },
			"a list":           func(h home, s *Store) { _ = h.orders(s) },
			"giving room back": func(h home, s *Store) { ok(h.T, s.Trim(h.Context(), at(0))) },
		} {
			t.Run(name+", met by "+first, func(t *testing.T) {
				h := home{t, filepath.Join(t.TempDir(), "state")}
				s := h.worked(5)
				_ = past(t, s, at(0))
				move.do(h)
				meet(h, s)
				h.works(s, 2)
				want := h.orders(s)
				if moved, err := s.Moved(t.Context(), epoch.Add(-1)); err != nil || !strings.Contains(moved, move.what) {
					t.Errorf("it tells %q, %v", moved, err)
				}
				if p := past(t, s, at(0)); len(p.Orders) != len(want) || p.Amnesia {
					t.Errorf("the past: %d orders, amnesia %t", len(p.Orders), p.Amnesia)
				}
				if found, err := s.Compare(t.Context(), at(0)); err != nil || len(found) > 0 {
					t.Errorf("memory differs: %v, %v", found, err)
				}
				if !strings.Contains(kinds(t, s, EventFilter{}), "database.moved") {
					t.Error("no event tells of it")
				}
				h.killed(s)()
				s = h.open()
				if got := h.orders(s); fmt.Sprint(got) != fmt.Sprint(want) || past(t, s, at(0)).Amnesia {
					t.Errorf("after it there are %v, want %v; amnesia %t", got, want, past(t, s, at(0)).Amnesia)
				}
				if info, err := os.Stat(filepath.Join(h.dir, "custos.db")); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("its mode is %v, %v", info.Mode(), err)
				}
			})
		}
	}
}

// TestAFileThatCannotBeWrittenAnewIsNotWrittenTo: nobody is told that something is
// written which would be gone with the daemon; what was can be read, and is there again
// when there is a place for it.
func TestAFileThatCannotBeWrittenAnewIsNotWrittenTo(t *testing.T) {
	h := home{t, filepath.Join(t.TempDir(), "state")}
	s := h.worked(5)
	ok(t, os.Rename(h.dir, h.dir+"-old"))
	ok(t, os.WriteFile(h.dir, nil, 0o600))
	_, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "x", Do: fleet.OrderStop, At: at(0)})
	if err == nil || !strings.Contains(err.Error(), "cannot be written to a new file") {
		t.Errorf("it is told to be written: %v", err)
	}
	if n := len(h.orders(s)); n != 5 {
		t.Errorf("%d orders are read", n)
	}
	ok(t, os.Remove(h.dir))
	h.works(s, 1)
	ok(t, s.Close())
	if n := len(h.orders(h.open())); n != 6 {
		t.Errorf("%d orders are there afterwards", n)
	}
}

// TestManyMeetAFileThatLeftItsPlace: whoever reads and writes meanwhile knows nothing of
// it, time after time, and the file that is gone is held open by nobody.
func TestManyMeetAFileThatLeftItsPlace(t *testing.T) {
	h := home{t, filepath.Join(t.TempDir(), "state")}
	s := h.open()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Past(t.Context(), at(0)); err != nil {
					t.Error(err)
				}
				if _, err := s.Orders(t.Context(), OrderFilter{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 8 {
		h.remove("custos.db", "custos.db-wal", "custos.db-shm")
		h.works(s, 3)
		if got := len(h.orders(s)); got != 3*(n+1) {
			t.Errorf("%d orders after %d", got, n)
		}
	}
	stop()
	all.Wait()
	_ = past(t, s, at(0))
	fds, err := os.ReadDir("/proc/self/fd")
	ok(t, err)
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, h.dir) && strings.HasSuffix(to, "(deleted)") {
			t.Errorf("%s is open still", to)
		}
	}
}

// TestAFileThatIsEmptiedIsDamagedAtOnce: whatever SQLite has of it in memory, nothing is
// written to it any more, nor copied from it when its log goes too, and who asked to be
// told is told, by whoever meets it first.
func TestAFileThatIsEmptiedIsDamagedAtOnce(t *testing.T) {
	for name, empty := range map[string]func(h home){
		"alone":        func(h home) { h.empty("custos.db") },
		"with its log": func(h home) { h.empty("custos.db"); h.remove("custos.db-wal") },
	} {
		for first, meet := range map[string]func(s *Store) error{
			"a write":  func(s *Store) error { return s.Record(t.Context(), fleet.Event{Kind: "x", At: at(0)}) },
			"the past": func(s *Store) error { _, err := s.Past(t.Context(), at(0)); return err },
		} {
			h := home{t, t.TempDir()}
			var told error
			o := h.options()
			o.Damaged = func(err error) { told = err }
			s, err := Open(t.Context(), o)
			ok(t, err)
			h.works(s, 3)
			ok(t, s.Trim(t.Context(), at(0))) // what its log holds is in the file then
			_ = past(t, s, at(0))
			empty(h)
			_ = meet(s)
			if !errors.Is(told, ErrCorrupt) {
				t.Errorf("%s, met by %s: it is told %v", name, first, told)
			}
			wantErr(t, s.Record(t.Context(), fleet.Event{Kind: "x", At: at(0)}), ErrCorrupt)
			_ = s.Close()
			if p := past(t, h.open(), at(0)); !p.Amnesia {
				t.Errorf("%s: nothing is lost", name)
			}
		}
	}
}

// TestAFileThatLeftItsPlaceBeforeTheEnd: who closes the database is the last who has it.
func TestAFileThatLeftItsPlaceBeforeTheEnd(t *testing.T) {
	for name, move := range moves {
		h := home{t, filepath.Join(t.TempDir(), "state")}
		s := h.worked(5)
		move.do(h)
		ok(t, s.Close())
		if name == "all of it" { // as uninstall has it
			if exists(h.dir) {
				t.Error("what was uninstalled is there again")
			}
			continue
		}
		s = h.open()
		if n := len(h.orders(s)); n != 5 || past(t, s, at(0)).Amnesia {
			t.Errorf("%s: %d orders are left", name, n)
		}
		ok(t, s.Close())
	}
}

// TestWhatIsNotOursAnyMoreIsNotReplaced: of two that write, the one that has lost its
// place puts nothing in that of the other, at its end neither.
func TestWhatIsNotOursAnyMoreIsNotReplaced(t *testing.T) {
	h := home{t, t.TempDir()}
	ousted := errors.New("another writes")
	s, err := Open(t.Context(), Options{Path: filepath.Join(h.dir, "custos.db"), Ours: func(context.Context) error { return ousted }})
	ok(t, err)
	moves["replaced"].do(h)
	is, err := os.Stat(filepath.Join(h.dir, "custos.db"))
	ok(t, err)
	if _, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "late", Do: fleet.OrderStop, At: at(0)}); !errors.Is(err, ousted) {
		t.Errorf("it wrote, and said %v", err)
	}
	_ = s.Close()
	now, err := os.Stat(filepath.Join(h.dir, "custos.db"))
	ok(t, err)
	if !os.SameFile(is, now) {
		t.Error("the database of the other one was replaced")
	}
}
