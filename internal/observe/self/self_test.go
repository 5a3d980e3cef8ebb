package self_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/observe/self"
)

func look(t *testing.T, o self.Options) fleet.Self {
	t.Helper()
	p, err := self.New(o)
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Self.Value
}

func TestSuite(t *testing.T) {
	dir := t.TempDir()
	observetest.Test(t, func() observe.Probe {
		p, err := self.New(self.Options{JournalDir: dir, StoreFile: filepath.Join(dir, "db")})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func is(t *testing.T, what string, l fleet.Leaf[bool], want bool) {
	t.Helper()
	if got, ok := l.Get(); !ok || got != want {
		t.Errorf("%s is %v (%s), want %v", what, got, l.Why(), want)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "db")
	s := look(t, self.Options{JournalDir: filepath.Join(dir, "not", "yet"), StoreFile: file})
	is(t, "journal", s.JournalWritable, true)
	is(t, "store", s.StoreWritable, true)
	if n, ok := s.StoreBytes.Get(); !ok || n != 0 {
		t.Errorf("a store that is not there has %d bytes", n)
	}
	if s.LastPatrolAge.IsKnown() || s.Amnesia.IsKnown() || s.ClockBehind.IsKnown() || s.RowsAside.IsKnown() {
		t.Errorf("self is %+v", s)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the look left %v behind", left)
	}
	for name, size := range map[string]int{"db": 100, "db-wal": 20} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := look(t, self.Options{JournalDir: dir, StoreFile: file}).StoreBytes.Get(); n != 120 {
		t.Errorf("the store has %d bytes, want 120", n)
	}
}

func TestNotWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := look(t, self.Options{JournalDir: filepath.Join(file, "below"), StoreFile: "/proc/custos/db"})
	is(t, "a journal below a file", s.JournalWritable, false)
	is(t, "a store in /proc", s.StoreWritable, false)
	s = look(t, self.Options{JournalDir: dir, StoreFile: file, Reserve: 1 << 60})
	if ok, known := s.JournalWritable.Get(); known && ok {
		t.Error("there is room for an exbibyte")
	}
}

func TestWhatTheDaemonTells(t *testing.T) {
	dir := t.TempDir()
	began := fleet.Instant{Up: 5, Boot: "b"}
	s := look(t, self.Options{JournalDir: dir, StoreFile: filepath.Join(dir, "db"), StartedAt: began, PatrolEvery: func() time.Duration { return time.Minute },
		LastPatrolAge: func() fleet.Leaf[fleet.Duration] { return fleet.Known(fleet.Duration(time.Second)) },
		Remembered: func(context.Context) fleet.Remembered {
			return fleet.Remembered{Amnesia: fleet.Known(true), Lost: fleet.Known("set aside"), ClockBehind: fleet.Known(true),
				MemoryDiffers: fleet.Known("orders o1"), RowsAside: fleet.Known(2)}
		}})
	if age, _ := s.LastPatrolAge.Get(); time.Duration(age) != time.Second || !s.Amnesia.Or(false) || !s.ClockBehind.Or(false) ||
		s.Lost.Or("") != "set aside" || s.MemoryDiffers.Or("") != "orders o1" || s.RowsAside.Or(0) != 2 ||
		s.StartedAt != began || time.Duration(s.PatrolEvery) != time.Minute {
		t.Errorf("self is %+v", s)
	}
	if _, err := self.New(self.Options{}); err == nil {
		t.Error("a probe without paths was made")
	}
}
