package store

import (
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// What was said last of a folder counts, also to who opens the database anew; one
// that is damaged pins nothing.
func TestPins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "custos.db")
	s, at := opened(t, path), at(0)
	one := fleet.Pins{Dir: "/p/.custos", Commit: "c1", Files: []fleet.CodeFile{{Path: "a", Digest: "1", Exec: true}}, By: "anna", At: at}
	two := one
	two.Commit, two.Files = "c2", nil
	for _, p := range []fleet.Pins{one, {Dir: "/q", Commit: "c1", By: "anna", At: at}, two} {
		if err := s.Pin(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.w.Exec("UPDATE meta SET value = 'x' WHERE key = 'pins:/q'"); err != nil {
		t.Fatal(err)
	}
	again, err := OpenReadOnly(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err := again.Pins(t.Context())
	if err != nil || len(got) != 1 || got[0].Commit != "c2" || len(got[0].Files) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
