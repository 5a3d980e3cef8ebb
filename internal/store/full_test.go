package store

import (
	"errors"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// Whoever asked is told of every write what became of it, so that a disk that is full
// is known by the first write that meets it.
func TestEveryWriteIsTold(t *testing.T) {
	var told []error
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "x.db"), Wrote: func(err error) { told = append(told, err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	before := len(told)
	if _, err := s.w.Exec("PRAGMA max_page_count = 1"); err != nil { // as if the disk had no room
		t.Fatal(err)
	}
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = 'x'
	}
	at := fleet.Instant{Wall: epoch}
	if err := s.Keep(t.Context(), "phone", text, at); !errors.Is(err, ErrFull) {
		t.Fatalf("a write without room: %v", err)
	}
	if _, err := s.w.Exec("PRAGMA max_page_count = 1073741823"); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context(), "phone", text, at); err != nil {
		t.Fatal(err)
	}
	if got := told[before:]; len(got) != 2 || !errors.Is(got[0], ErrFull) || got[1] != nil {
		t.Errorf("told %v", got)
	}
}
