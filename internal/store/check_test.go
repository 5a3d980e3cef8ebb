package store

import (
	"os"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// What is whole has no faults; an index whose page was overwritten has, though the
// database still opens.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "custos.db")
	s, err := Open(t.Context(), Options{Path: path, StartedAt: fleet.Instant{Boot: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := s.Check(t.Context()); err != nil || len(faults) != 0 {
		t.Fatalf("a new database: %v, %v", faults, err)
	}
	var root, size int64
	for query, to := range map[string]*int64{
		"SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events' LIMIT 1": &root, "PRAGMA page_size": &size} {
		if err := s.w.QueryRowContext(t.Context(), query).Scan(to); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := s.w.ExecContext(t.Context(), "INSERT INTO events (wall, boot, up, kind, rule, alert, subject, action, json) VALUES ('x', 'b', 1, 'k', '', '', '', '', '{}')"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blank(t, path, (root-1)*size)
	r, err := OpenReadOnly(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if faults, err := r.Check(t.Context()); err != nil || len(faults) == 0 {
		t.Errorf("an index that was overwritten: %v, %v", faults, err)
	}
}

// blank makes the page of an index an empty one.
func blank(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0x0a, 0, 0, 0, 0, 0x10, 0, 0}, at); err != nil { // an empty leaf of an index
		t.Fatal(err)
	}
}
