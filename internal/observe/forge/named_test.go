package forge_test

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

// An issue that was closed long ago is shown when somebody depends on it, from the
// first look on.
func TestNamed(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		for _, n := range []int{1, 2} {
			repos["shop"].Open(n, 900*time.Hour, forgetest.Issue{})
			repos["shop"].Close(n, 800*time.Hour)
		}
		w.named = []fleet.Ref{"shop#1", "other#1", "shop!1", "bd:x", "w1", "shop#99999999999999999999"}
		f := w.must(t)
		if len(f.Issues) != 1 || f.Issues[0].Name != "shop#1" || f.Issues[0].Open.Or(true) {
			t.Errorf("shown: %+v", f.Issues)
		}
	})
}
