package loop_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestWeek lets a busy town live for a week of fake time: the real loop, rules,
// judgement, plan, ledger, actor and database. Agents crash and come back, work is
// closed and reopened in three trackers, gates of every type wait for what
// happens, convoys fill up, plugins run, mail is read or not, and Custos is killed
// before and after its commits. Whatever was to happen has happened exactly once,
// and in the first pass that could see it. CUSTOS_DAYS sets how many days all of it takes (`make
// histories` takes 1, `make week` 7), CUSTOS_SEED the town.
func TestWeek(t *testing.T) {
	days, seed := number(t, "CUSTOS_DAYS", 0), number(t, "CUSTOS_SEED", 7)
	if days == 0 {
		t.Skip("it takes most of a minute: CUSTOS_DAYS=1 lets a day pass")
	}
	dir, err := os.MkdirTemp("", "custos-week")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	set := weekRules(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWeek(t, set, dir, uint64(seed), time.Duration(days)*24*time.Hour)
		w.live()
		w.check()
		w.replay()
		t.Log(w.summary())
	})
}

func (w *week) summary() string {
	return fmt.Sprintf("seed %d: %d events, %d passes (%d as shown before), %d lives of Custos; %s", w.seed, w.events, w.passes, w.asShown, w.lives, w.counts())
}
