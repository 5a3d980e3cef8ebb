package store

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestQuotasAreKept: what was told last of each window of each account outlives the process that wrote it
// down, for a week that nobody tells anything in, too.
func TestQuotasAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	quota := func(account, window string, percent float64) fleet.AccountQuota {
		return fleet.AccountQuota{Account: account, Quota: fleet.Quota{Window: window, Percent: percent, At: at(0).Wall, Resets: at(0).Wall.Add(7 * 24 * time.Hour)}}
	}
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]fleet.AccountQuota{{quota("own", "5h", 90), quota("own", "7d", 20)}, {quota("own", "5h", 97), quota("other", "5h", 3)}, nil} {
		if err := s.Commit(t.Context(), fleet.Turn{At: at(0), Quotas: list}); err != nil {
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
	if err := s.Trim(t.Context(), at(6*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	past, err := s.Past(t.Context(), at(6*24*time.Hour))
	if want := []fleet.AccountQuota{quota("own", "5h", 97), quota("own", "7d", 20), quota("other", "5h", 3)}; err != nil || !slices.Equal(past.Quotas, want) {
		t.Errorf("%+v, %v\nwant %+v", past.Quotas, err, want)
	}
}
