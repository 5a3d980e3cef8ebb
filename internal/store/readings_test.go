package store

import (
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Readings outlive the process, in the order of time, with what was not known then; old ones go.
func TestReadingsAreKeptForTwoDays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, hour := range []time.Duration{0, 1, 47, 49} {
		if err := s.KeepReading(t.Context(), fleet.Reading{At: at(hour * time.Hour), CPUs: 2, Load: fleet.Known(float64(hour)), Swap: fleet.Unknown[int64]("no /proc")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Trim(t.Context(), at(49*time.Hour)); err != nil {
		t.Fatal(err)
	}
	hours := func(since time.Duration) (out []float64) {
		found, err := s.Readings(t.Context(), at(since).Wall)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			out = append(out, r.Load.Or(-1))
			if r.Swap.IsKnown() || r.CPUs != 2 {
				t.Errorf("kept as %+v", r)
			}
		}
		return out
	}
	if got := hours(0); len(got) != 2 || got[0] != 47 || got[1] != 49 {
		t.Errorf("kept are %v", got)
	}
	if got := hours(48 * time.Hour); len(got) != 1 || got[0] != 49 {
		t.Errorf("since an hour: %v", got)
	}
}
