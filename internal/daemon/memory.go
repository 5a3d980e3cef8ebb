package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// recall is the past for whoever makes facts of it: what cannot be read is an
// error, and never an empty past.
func (s *system) recall(ctx context.Context) (fleet.Past, error) {
	return s.ledger.remembered(ctx, s.world.Now())
}

// unlessLost has agents looked at though the ledger is damaged, at its opening or since:
// what it knew of them is lost then, not out of sight, and no action is begun. Else nobody
// could show that no agent is who pulls a brake.
func unlessLost[T any](ask func(context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		list, err := ask(ctx)
		if errors.Is(err, store.ErrCorrupt) {
			return nil, nil
		}
		return list, err
	}
}

// memory is what the ledger tells of itself.
func (s *system) memory(ctx context.Context) fleet.Remembered {
	ctx, cancel := context.WithTimeout(ctx, ledgerWait)
	defer cancel()
	now := s.world.Now()
	past, err := s.ledger.Past(ctx, now)
	if err != nil {
		return fleet.NotRemembered(fleet.Line(err.Error(), 200))
	}
	if past.Blind != "" {
		return fleet.NotRemembered(fleet.Line(past.Blind, 200))
	}
	m := s.kept(ctx, now, past)
	m.Amnesia, m.Lost = fleet.Known(past.Amnesia), fleet.Known(fleet.Line(past.Lost, 300))
	return m
}

// kept says whether the clock, what is in memory and what could be read agree with
// the ledger. One that does not exist yet is contradicted by nothing, one that is
// damaged tells nothing.
func (s *system) kept(ctx context.Context, now fleet.Instant, past fleet.Past) fleet.Remembered {
	st, err := s.ledger.reader(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fleet.NotRemembered(fleet.Line(err.Error(), 200))
	}
	m := fleet.Remembered{ClockBehind: fleet.Known(past.ClockBehind(now)), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")}
	if st == nil {
		return m
	}
	if audit := st.Audited(); audit != nil {
		m.MemoryDiffers = fleet.Known(fleet.Line(strings.Join(audit.Differences, "; "), 500))
	}
	n, err := st.SetAsideSince(ctx, now.Wall.Add(-day))
	if m.RowsAside = fleet.Known(n); err != nil {
		m.RowsAside = fleet.Unknown[int](fleet.Line(err.Error(), 200))
	}
	moved, err := st.Moved(ctx, now.Wall.Add(-day))
	if m.Moved = fleet.Known(fleet.Line(moved, 300)); err != nil {
		m.Moved = fleet.Unknown[string](fleet.Line(err.Error(), 200))
	}
	return m
}

// markAgent writes into the folder of an agent that was started which ledger knows
// of it: a ledger that does not is not the one that was here. Without the mark a
// ledger that went back together with its own is not noticed, and nothing else.
func (s *system) markAgent(r fleet.Registration) {
	if !shim.IsKey(r.Instance) {
		return
	}
	dir := shim.Dir(s.world.Own.Shims, r.Instance)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return
	}
	if err := files.Write(filepath.Join(dir, store.AgentMark), []byte(s.ledger.generation()), 0o600); err != nil {
		s.o.Log.Warn("Cannot note which ledger knows of an agent", "err", err)
	}
}

// auditMemory says of each comparison of what is in memory with the database, which
// is made as often as a patrol, whether they differed. Rule self-mirror tells people.
func (s *system) auditMemory() {
	st := s.ledger.opened()
	if st == nil {
		return
	}
	if audit := st.Audited(); audit != nil && s.audited.Swap(audit) != audit && len(audit.Differences) > 0 {
		s.o.Log.Error(MemoryDiffers, "rows", strings.Join(audit.Differences, "; "))
	}
}

// compareMemory says at a daemon's end whether what it judged by is what it wrote.
func (s *system) compareMemory() {
	if !s.daemon || !s.ledger.writing() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ledgerWait)
	defer cancel()
	st, err := s.ledger.reader(ctx)
	if err != nil {
		return
	}
	if found, err := st.Compare(ctx, s.world.Now()); err == nil && len(found) > 0 {
		s.o.Log.Error(MemoryDiffers, "rows", strings.Join(found, "; "))
	}
}

// MemoryDiffers is what a daemon logs of a fault of its own. Tests look for it.
const MemoryDiffers = "What was in memory was not what is written"

const day = 24 * time.Hour

// sincePatrol is how long ago the last whole patrol ended. A daemon makes them
// itself and needs not ask; before its first one its start counts, for nobody was
// to patrol while no daemon ran.
func (s *system) sincePatrol() fleet.Leaf[fleet.Duration] {
	now := s.world.Now()
	if s.daemon {
		_, last := s.pulse.last()
		if last.IsZero() {
			last = s.world.StartedAt
		}
		return fleet.Known(fleet.Duration(now.Since(last)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), ledgerWait)
	defer cancel()
	past, err := s.recall(ctx)
	switch {
	case err != nil:
		return fleet.Unknown[fleet.Duration](fleet.Line(err.Error(), 200))
	case past.PatrolAt.IsZero():
		return fleet.Unknown[fleet.Duration]("no patrol yet")
	}
	return fleet.Known(fleet.Duration(now.Since(past.PatrolAt)))
}

// ledgerWait is how long the ledger may take to tell a probe of itself.
const ledgerWait = 2 * time.Second
