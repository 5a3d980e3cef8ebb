package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Whatever was wrong with it: what was set aside is listed, in the order of that.
func TestWhatWasSetAsideIsListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "custos.db")
	var want []string
	for i, as := range []string{"replaced", "corrupt", "corrupt", "replaced"} {
		for _, end := range besides {
			ok(t, os.WriteFile(path+end, nil, 0o600))
		}
		ok(t, os.WriteFile(path+"."+as, nil, 0o600))                   // of somebody else
		aside, err := setAsideFile(path, as, time.Unix(int64(i/2), 0)) // two at once
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, aside)
	}
	got, err := AsideFiles(path)
	slices.Sort(want[:2])
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
