//go:build linux

package chaos

import (
	"strings"
	"testing"
	"time"
)

const s = time.Second

// want holds what was found against the beginning of what is wanted, one by one.
func want(t *testing.T, found []violation, texts ...string) {
	t.Helper()
	if len(found) != len(texts) {
		t.Fatalf("found %v, want %q", found, texts)
	}
	for i, v := range found {
		if !strings.Contains(v.What, texts[i]) {
			t.Errorf("found %q, want %q", v.What, texts[i])
		}
	}
}

func wrote(n int, key, run string, epoch uint64) write {
	return write{N: n, At: time.Duration(n) * s, Key: key, Host: "h" + run, Run: run, Epoch: epoch}
}

func TestWritesAreSeen(t *testing.T) {
	want(t, checkWrites([]write{wrote(1, "k", "a", 1), wrote(2, "l", "b", 1), wrote(3, "k", "a", 1), wrote(4, "k", "b", 3), wrote(5, "k", "a", 7)}))
	want(t, checkWrites([]write{wrote(1, "k", "a", 1), wrote(2, "k", "b", 2), wrote(3, "k", "a", 1)}), "write 3 of k by ha/a")
	want(t, checkWrites([]write{wrote(1, "k", "a", 5), wrote(2, "k", "b", 2), wrote(3, "k", "b", 2)}), "write 2 of k", "write 3 of k")
	want(t, checkWrites([]write{wrote(1, "k", "a", 1), wrote(2, "k", "b", 1)}), "writes 1 and 2 of k")
}

func TestMessagesAreSeen(t *testing.T) {
	one, other := wrote(1, "k", "a", 1), wrote(2, "k", "b", 2)
	one.Message, other.Message = "k/1", "k/2"
	want(t, checkMessages([]write{one, other, wrote(3, "k", "b", 2), wrote(4, "k", "b", 2)}))
	other.Message = "k/1"
	want(t, checkMessages([]write{one, other}), "k/1 is said twice, by ha/a")
}

func TestSlotsAreSeen(t *testing.T) {
	ran := func(key, run string) entry { return entry{Kind: kindRan, Host: "h" + run, Run: run, Key: key} }
	want(t, checkSlots([]entry{ran("slot/1", "a"), ran("slot/2", "b"), {Kind: kindBegan, Key: "slot/1"}}))
	want(t, checkSlots([]entry{ran("slot/1", "a"), ran("slot/2", "b"), ran("slot/1", "b")}), "slot/1 is run by hb/b, and was by ha/a")
	want(t, checkSlots([]entry{ran("slot/1", "a"), ran("slot/1", "a")}), "slot/1 is run by ha/a")
}

func holds(from, to time.Duration, run string, epoch uint64) entry {
	return entry{At: from, After: to, Host: "h" + run, Run: run, Kind: kindHolds, Held: map[string]uint64{"k": epoch}}
}

func TestTermsAreSeen(t *testing.T) {
	inOrder := []entry{holds(1*s, 2*s, "a", 1), holds(5*s, 7*s, "a", 1), holds(4*s, 6*s, "b", 2), holds(8*s, 9*s, "b", 2), holds(10*s, 11*s, "a", 3)}
	got := terms(inOrder)
	if len(got) != 3 || got[0] != (term{"k", "ha", "a", 1, 2 * s, 5 * s}) || got[1] != (term{"k", "hb", "b", 2, 6 * s, 8 * s}) {
		t.Fatalf("terms %v", got)
	}
	want(t, checkTerms(got))
	want(t, checkTerms(terms(append(inOrder, holds(7*s, 7*s, "a", 1)))), "hb/b (epoch 2, 6s to 8s) relies on k while ha/a (epoch 1, 2s to 7s) does, for 1s")
	// One that lies within another, and one behind that.
	want(t, checkTerms([]term{{"k", "ha", "a", 1, 0, 9 * s}, {"k", "hb", "b", 2, 2 * s, 3 * s}, {"k", "hc", "c", 3, 5 * s, 6 * s}}), "hb/b", "hc/c")
	// Another key, and the same run by its next epoch.
	want(t, checkTerms([]term{{"k", "ha", "a", 1, 0, 9 * s}, {"k", "ha", "a", 2, 8 * s, 12 * s}, {"l", "hb", "b", 2, 2 * s, 3 * s}}))
}

func TestEndsAreSeen(t *testing.T) {
	planned := entry{Kind: kindPlanned, Action: "a1", Host: "ha", Run: "a"}
	ended := entry{Kind: kindEnded, Action: "a1", Host: "ha", Run: "b", Status: "in-doubt"}
	want(t, checkEnds([]entry{planned, ended}, nil))
	want(t, checkEnds([]entry{planned}, map[string]bool{"a": true}))
	want(t, checkEnds([]entry{planned}, map[string]bool{"b": true}), "a1, planned by ha/a, has no end")
	want(t, checkEnds([]entry{{Kind: kindLeft, Host: "ha", Run: "a", Why: "2 actions"}}, nil), "ha/a has ended in order, and left 2 actions")
}

func TestGapsAreSeen(t *testing.T) {
	all := []term{{"k", "ha", "a", 1, 0, 10 * s}, {"k", "hb", "b", 2, 45 * s, 60 * s}}
	want(t, checkGaps(all, []string{"k"}, []span{{0, 60 * s}}, 35*s))
	want(t, checkGaps(all, []string{"k"}, []span{{0, 60 * s}}, 34*s), "nobody holds k for 35s, from 10s on")
	want(t, checkGaps(all, []string{"k"}, []span{{0, 20 * s}, {30 * s, 60 * s}}, 20*s))
	want(t, checkGaps(all, []string{"k"}, []span{{50 * s, 100 * s}}, 30*s), "nobody holds k for 40s")
	want(t, checkGaps(all, []string{"l"}, []span{{0, 60 * s}}, 30*s), "nobody holds l for 1m0s, from 0s on")
}

func TestSuccessionsAreSeen(t *testing.T) {
	all := []term{{"k", "ha", "a", 1, 0, 10 * s}, {"k", "hb", "b", 2, 25 * s, 60 * s}, {"l", "ha", "a", 1, 0, 5 * s}, {"l", "ha", "a", 3, 6 * s, 10 * s}}
	if got := successions(all, "ha", 2*s, 4*s); len(got) != 0 {
		t.Errorf("what was outlived: %v", got)
	}
	got := successions(all, "ha", 10*s, 12*s)
	if len(got) != 2 || got[0] != (succession{"k", 10 * s, 15 * s}) || got[1] != (succession{"l", 10 * s, 0}) {
		t.Errorf("%v", got)
	}
}
