package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// home is a state folder, with the folders of agents beside it.
type home struct {
	*testing.T
	dir string
}

func (h home) options() Options {
	return Options{Path: filepath.Join(h.dir, "custos.db"), Mark: filepath.Join(h.dir, "generation"), Agents: filepath.Join(h.dir, "agents"),
		StartedAt: at(0), Now: func() time.Time { return epoch }}
}

func (h home) open() *Store {
	h.Helper()
	s, err := Open(h.Context(), h.options())
	ok(h.T, err)
	h.Cleanup(func() { _ = s.Close() })
	return s
}

// works writes n orders.
func (h home) works(s *Store, n int) {
	h.Helper()
	for i := range n {
		_, _, err := s.TakeOrder(h.Context(), fleet.Order{ID: fmt.Sprint("o", h.commits(s), i), Do: fleet.OrderStop, At: at(0)})
		ok(h.T, err)
	}
}

func (h home) commits(s *Store) int64 {
	h.Helper()
	n, err := number(h.Context(), s.r, "commits")
	ok(h.T, err)
	return n
}

// agent makes the folder of an agent that was started.
func (h home) agent(name string, mark string) {
	h.Helper()
	ok(h.T, os.MkdirAll(filepath.Join(h.dir, "agents", name), 0o700))
	if mark != "" {
		ok(h.T, os.WriteFile(filepath.Join(h.dir, "agents", name, AgentMark), []byte(mark), 0o600))
	}
}

func (h home) remove(names ...string) {
	h.Helper()
	for _, n := range names {
		if err := os.Remove(filepath.Join(h.dir, n)); err != nil && !os.IsNotExist(err) {
			h.Fatal(err)
		}
	}
}

// copyOf copies the database with its log, as of now.
func (h home) copyOf(names ...string) (put func()) {
	h.Helper()
	held := map[string][]byte{}
	for _, n := range names {
		held[n], _ = os.ReadFile(filepath.Join(h.dir, n))
	}
	return func() {
		for n, b := range held {
			ok(h.T, os.WriteFile(filepath.Join(h.dir, n), b, 0o600))
		}
	}
}

// killed leaves the files as a process that is killed does: its log is not folded in.
func (h home) killed(s *Store) (wal func()) {
	h.Helper()
	put := h.copyOf("custos.db", "custos.db-wal", "generation")
	ok(h.T, s.Close())
	return put
}

// losses are the ways to lose a past, each with a word of what is told.
var losses = map[string]struct {
	word string
	lose func(h home)
}{
	"deleted": {"is not there any more", func(h home) { h.remove("custos.db", "custos.db-wal", "custos.db-shm") }},
	"emptied": {"is not there any more", func(h home) { h.remove("custos.db-wal", "custos.db-shm"); h.empty("custos.db") }},
	"exchanged": {"another", func(h home) {
		h.remove("custos.db", "custos.db-wal", "custos.db-shm")
		other, err := Open(h.Context(), Options{Path: filepath.Join(h.dir, "custos.db"), StartedAt: at(0)})
		ok(h.T, err)
		ok(h.T, other.Close())
	}},
	"the mark of an agent is all that is left": {"is not there any more", func(h home) {
		b, err := os.ReadFile(filepath.Join(h.dir, "generation"))
		ok(h.T, err)
		h.agent("a-1", string(b))
		h.remove("custos.db", "custos.db-wal", "custos.db-shm", "generation")
	}},
	"the folder of an agent is all that is left": {"started agents", func(h home) {
		h.agent("a-1", "")
		h.remove("custos.db", "custos.db-wal", "custos.db-shm", "generation")
	}},
}

func (h home) empty(name string) {
	h.Helper()
	ok(h.T, os.Truncate(filepath.Join(h.dir, name), 0))
}

// TestALostPastIsAmnesia: however it was lost, until a person confirms, and not
// again after that.
func TestALostPastIsAmnesia(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			h := home{t, t.TempDir()}
			s := h.open()
			h.works(s, 3)
			ok(t, s.Close())
			loss.lose(h)
			h.lostUntilConfirmed(loss.word)
		})
	}
}

// TestADatabaseThatWentBackIsAmnesia: a zeroed log, or a backup that was put back.
func TestADatabaseThatWentBackIsAmnesia(t *testing.T) {
	for name, back := range map[string]func(h home){
		"zeroed log": func(h home) {
			put := h.killed(h.worked(5))
			put()
			h.remove("custos.db-shm")
			h.empty("custos.db-wal")
		},
		"older backup": func(h home) {
			s := h.worked(2)
			ok(h.T, s.Close())
			put := h.copyOf("custos.db")
			s = h.open()
			h.works(s, 1)
			ok(h.T, s.Close())
			put()
			h.remove("custos.db-wal", "custos.db-shm")
		},
		"older backup of the mark too": func(h home) {
			s := h.worked(2)
			ok(h.T, s.Close())
			put := h.copyOf("custos.db", "generation")
			s = h.open()
			h.works(s, 1)
			h.agent("a-1", s.Generation())
			ok(h.T, s.Close())
			put()
			h.remove("custos.db-wal", "custos.db-shm")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := home{t, t.TempDir()}
			ok(t, h.open().Close()) // its tables are in the file itself
			back(h)
			h.lostUntilConfirmed("went back")
		})
	}
}

// worked is a store with n orders.
func (h home) worked(n int) *Store {
	h.Helper()
	s := h.open()
	h.works(s, n)
	return s
}

func (h home) lostUntilConfirmed(word string) {
	h.Helper()
	if r, err := OpenReadOnly(h.Context(), h.options()); err == nil {
		if p := past(h.T, r, at(0)); !p.Amnesia || !strings.Contains(p.Lost, word) {
			h.Errorf("who only reads is told: amnesia %t, %q", p.Amnesia, p.Lost)
		}
		ok(h.T, r.Close())
	}
	s := h.open()
	if p := past(h.T, s, at(0)); !p.Amnesia || !strings.Contains(p.Lost, word) {
		h.Fatalf("amnesia %t, lost %q, want %q", p.Amnesia, p.Lost, word)
	}
	ok(h.T, s.Close())
	s = h.open()
	if p := past(h.T, s, at(0)); !p.Amnesia {
		h.Error("a restart ends the amnesia")
	}
	ok(h.T, s.ConfirmAmnesia(h.Context(), "ann", at(0)))
	ok(h.T, s.Close())
	if p := past(h.T, h.open(), at(0)); p.Amnesia {
		h.Errorf("it was confirmed, and again: %q", p.Lost)
	}
}

// TestWhatIsNoLoss: a first start, a restart, a kill, a mark that is gone or
// damaged, an uninstall, and a database of before there were marks.
func TestWhatIsNoLoss(t *testing.T) {
	for name, do := range map[string]func(h home){
		"first start": func(home) {},
		"restart":     func(h home) { ok(h.T, h.worked(3).Close()) },
		"kill":        func(h home) { h.killed(h.worked(3))(); h.remove("custos.db-shm") },
		"mark gone":   func(h home) { ok(h.T, h.worked(3).Close()); h.remove("generation") },
		"mark damaged": func(h home) {
			ok(h.T, h.worked(3).Close())
			h.empty("generation")
		},
		"older mark": func(h home) { // the machine stopped before it reached the disk
			s := h.open()
			put := h.copyOf("generation")
			h.works(s, 3)
			ok(h.T, s.Close())
			put()
		},
		"an agent started since": func(h home) {
			s := h.worked(3)
			h.agent("a-1", s.Generation())
			h.works(s, 1)
			ok(h.T, s.Close())
		},
		"a start that was cut short": func(h home) {
			ok(h.T, h.worked(3).Close())
			h.agent("a-1", "")
			ok(h.T, os.WriteFile(filepath.Join(h.dir, "agents", ".a-1.spawn"), []byte(`{"branch":"a"}`), 0o600))
		},
		"before there were marks": func(h home) {
			s, err := Open(h.Context(), Options{Path: filepath.Join(h.dir, "custos.db")})
			ok(h.T, err)
			_, err = s.w.Exec("DELETE FROM meta")
			ok(h.T, err)
			ok(h.T, s.Close())
			h.agent("a-1", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := home{t, t.TempDir()}
			do(h)
			s := h.open()
			if p := past(t, s, at(0)); p.Amnesia {
				t.Errorf("amnesia: %q", p.Lost)
			}
			h.works(s, 1)
			ok(t, s.Close())
			if p := past(t, h.open(), at(0)); p.Amnesia {
				t.Errorf("later: %q", p.Lost)
			}
		})
	}
}
