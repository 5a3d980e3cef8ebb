package ledger

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A response is of who held its conversation when it was made, with the run and the work of then: what a resumed
// conversation had before is nobody's, and what it has after its agent ended is not that one's.
func TestHolders(t *testing.T) {
	began := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return began.Add(d) }
	type at struct {
		name, instance, session, work string
		pid                           int
		age                           time.Duration
	}
	var h Holders
	look := func(when time.Duration, past fleet.Past, agents ...at) {
		seen := fleet.Snapshot{At: fleet.Instant{Wall: after(when)}}
		seen.Agents.Status = fleet.StatusOK
		for _, a := range agents {
			age := fleet.Known(fleet.Duration(a.age))
			if a.age < 0 {
				age = fleet.Unknown[fleet.Duration]("not told")
			}
			seen.Agents.Value = append(seen.Agents.Value, fleet.Agent{Name: a.name, Instance: a.instance, Kind: "claude", SessionID: a.session, Task: a.work, Age: age, Process: fleet.ProcessID{PID: a.pid, Start: uint64(a.pid)}})
		}
		h.Look(seen, past)
	}
	whose := func(session string, when time.Duration) string {
		u := h.Of(fleet.Usage{Kind: "claude", Session: session, At: after(when)})
		return u.Agent + "/" + u.Instance + "/" + u.Work
	}
	is := func(session string, when time.Duration, want string) {
		t.Helper()
		if got := whose(session, when); got != want {
			t.Errorf("%s after %v is of %q, want %q", session, when, got, want)
		}
	}
	const minute, hour = time.Minute, time.Hour
	exit := &fleet.Exit{At: fleet.Instant{Wall: after(-hour)}}
	past := fleet.Past{Registrations: []fleet.Registration{{Name: "old", Kind: "claude", SessionID: "s0", Instance: "i0", StartedAt: fleet.Instant{Wall: after(-2 * hour)}, Exit: exit}}}
	look(0, past, at{name: "ann", instance: "i1", session: "s1", pid: 1, age: minute}, at{name: "mute", pid: 9, age: hour}, at{name: "veiled", session: "s9", pid: 10, age: -1})
	is("s0", -3*hour, "//")
	is("s0", -90*minute, "old/i0/") // it ended before Custos was begun
	is("s0", -30*minute, "//")
	is("s1", -2*minute, "//") // it was resumed: what is before it is not ann's
	is("s1", -minute, "ann/i1/")
	is("s1", time.Second, "ann/i1/")
	is("s9", -time.Second, "//") // since when is not known: since it was seen
	is("s9", time.Second, "veiled//")
	is("", 0, "//")
	if got := h.Of(fleet.Usage{Kind: "codex", Session: "s1", At: began}); got.Agent != "" {
		t.Errorf("a conversation of another kind is of %q", got.Agent)
	}
	inFolder := fleet.Usage{Kind: "claude", Session: "s1", At: after(time.Second), Account: "of the folder"}
	if got := h.Of(inFolder); got.Agent != "ann" || got.Account != "of the folder" {
		t.Errorf("whose account it is, its folder tells: %+v", got)
	}

	// She takes up work, and leaves the conversation for an old one that bob had.
	look(10*minute, past, at{name: "ann", instance: "i1", session: "s1", pid: 1, age: 11 * minute, work: "w1"}, at{name: "bob", session: "s2", pid: 2, age: 10 * minute})
	is("s1", -minute, "ann/i1/")
	is("s1", minute, "ann/i1/w1") // since she was seen without it last
	look(20*minute, past, at{name: "ann", instance: "i1", session: "s2", pid: 1, age: 21 * minute, work: "w1"})
	is("s2", 9*minute, "bob//") // when ann's process ran already
	is("s2", 21*minute, "ann/i1/w1")
	is("s1", 19*minute, "ann/i1/w1") // she left it after she was seen in it last
	is("s1", 21*minute, "//")
	if list := h.Unfilled(); len(list) != 6 || list[0].Whose.Session != "s2" {
		t.Errorf("to be filled in: %+v", list)
	}
	h.Filled()

	// She dies, and is recovered in the same conversation: each instance has what is its own.
	past.Registrations = append(past.Registrations, fleet.Registration{Name: "ann", Kind: "claude", SessionID: "s2", Task: "w1", Instance: "i1", StartedAt: fleet.Instant{Wall: after(-minute)}, Exit: &fleet.Exit{At: fleet.Instant{Wall: after(25 * minute)}}})
	look(30*minute, past)
	is("s2", 24*minute, "ann/i1/w1")
	is("s2", 26*minute, "//")
	look(40*minute, past, at{name: "ann", instance: "i2", session: "s2", work: "w1", pid: 3, age: 5 * minute})
	is("s2", 24*minute, "ann/i1/w1")
	is("s2", 36*minute, "ann/i2/w1")
	if list := h.Unfilled(); len(list) != 1 || list[0].Whose.Instance != "i2" {
		t.Errorf("to be filled in: %+v", list)
	}
	look(50*hour, fleet.Past{})
	if len(h.holds)+len(h.last) > 0 {
		t.Errorf("remembered for good: %v", h.holds)
	}
}
