package forge_test

import (
	"testing"
	"time"

	"custos/internal/observe/forge"
	"custos/internal/sys/forgetest"
)

// What leaves the list of open ones is told as merged or closed with the next look,
// for a week; a forge that cannot be asked tells of none.
func TestEnded(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		w.hands = []forge.Hand{{Name: "builder", Project: "shop", Branch: "topic", Registered: true}}
		repos["shop"].Propose(1, 30*24*time.Hour, forgetest.Pull{Branch: "old"})
		repos["shop"].Merge(1, 9*24*time.Hour)
		repos["shop"].Propose(2, time.Hour, forgetest.Pull{Branch: "topic", Base: "main", Head: "c2"})
		repos["shop"].Propose(3, time.Hour, forgetest.Pull{Branch: "other", Base: "main", Head: "c3"})
		if f := w.must(t); len(f.Ended) != 0 || len(f.Pulls) != 2 {
			t.Errorf("at first: %+v", f.Ended)
		}
		repos["shop"].Merge(2, 0)
		repos["shop"].Close(3, 0)
		w.pass(time.Minute)
		f := w.must(t)
		if len(f.Ended) != 2 || len(f.Pulls) != 0 {
			t.Fatalf("ended: %+v, open: %+v", f.Ended, f.Pulls)
		}
		for _, e := range f.Ended {
			mine := e.Number == 2
			if ago, known := e.Ended.Get(); !known || time.Duration(ago) > 3*time.Minute || e.Merged != mine || (e.Agent == "builder") != mine {
				t.Errorf("%+v", e)
			}
		}
		w.Break(forgetest.Fault{Status: 500})
		w.pass(time.Minute)
		if f, err := w.look(t); err == nil || len(f.Ended) != 0 {
			t.Errorf("a forge that is down: %v, %+v", err, f.Ended)
		}
	})
}
