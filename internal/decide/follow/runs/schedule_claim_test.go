package runs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// claimant is one run of a host's daemon.
type claimant struct{ host, run string }

// claims is where hosts claim, without any fault of its own: a claim is made once, and forgotten after 30 days.
type claims struct {
	real  time.Duration
	of    map[string]claimant
	since map[string]time.Duration
}

func (c *claims) claim(key string, by claimant) claimant {
	if _, is := c.of[key]; !is || c.real-c.since[key] > 30*24*time.Hour {
		c.of[key], c.since[key] = by, c.real
	}
	return c.of[key]
}

// sharing is a host with schedules that one of several runs, and what it knows of claims.
type sharing struct {
	world
	me    claimant
	known map[string]fleet.Claim
	asks  []string // that are not answered yet
	cut   bool
	held  []fleet.HeldMove
}

func newSharing(host, run string, all ...fleet.Schedule) *sharing {
	h := &sharing{world: *newWorld(all...), me: claimant{host, run}}
	h.restart()
	return h
}

// restart ends the daemon at any moment: what it has written down is there, and nothing else.
func (h *sharing) restart() {
	h.me.run += "+"
	h.known, h.asks, h.past.StartedAt = map[string]fleet.Claim{}, nil, h.clock.now()
}

func (h *sharing) seen() fleet.Part[fleet.Hub] {
	p := fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: h.me.host}}
	for _, c := range h.known {
		p.Value.Claims = append(p.Value.Claims, c)
	}
	if h.cut {
		p.Blind("the hub is not reached")
	}
	return p
}

// pass is one of the host, which ends each run after a while; it returns the slots that it runs.
func (h *sharing) pass() (slots []string) {
	for i := range h.past.Runs {
		if r := &h.past.Runs[i]; !r.IsOver() && h.clock.now().Since(r.At) > 20*time.Minute {
			r.State, r.EndedAt = fleet.RunDone, h.clock.now()
		}
	}
	p := fleet.Pass{Past: h.past, Snapshot: fleet.Snapshot{At: h.clock.now(), Hub: h.seen()}}
	p.Policy.Runs = h.policy
	out := Begin(p)
	h.held = out.Held
	h.past.Runs = append(h.past.Runs, out.Runs...)
	for _, key := range out.Claims {
		if !slices.Contains(h.asks, key) {
			h.asks = append(h.asks, key)
		}
	}
	for _, r := range out.Runs {
		if !r.IsOver() {
			slots = append(slots, r.Schedule+" "+r.Slot.Wall.Format(time.RFC3339))
		}
	}
	return slots
}

// answer has one question be answered, or not: it may have been done all the same.
func (h *sharing) answer(at *claims, is, made bool) {
	if len(h.asks) == 0 {
		return
	}
	key := h.asks[0]
	h.asks = h.asks[1:]
	if made {
		at.claim(key, h.me)
	}
	if h.known[key].Holder != "" {
		return
	}
	if !is {
		h.known[key] = fleet.Claim{Key: key, Why: "no answer within 3s"}
		return
	}
	whose := at.claim(key, h.me)
	h.known[key] = fleet.Claim{Key: key, Mine: whose == h.me, Holder: whose.host}
}

func onOne(name, cron, queue string) fleet.Schedule {
	s := resting(name, 0, queue)
	s.Cron, s.Hosts = cron, fleet.HostsOne
	return s
}

// TestTwoHostsNeverRunOneSlot: whatever is late, lost, cut off, begun anew, cloned or a clock that is off by days, a slot
// is run by one host at most; and with nothing of that, by one.
func TestTwoHostsNeverRunOneSlot(t *testing.T) {
	fleettest.FewRaced(t)
	rapid.Check(t, func(t *rapid.T) {
		all := []fleet.Schedule{onOne("hourly", "0 * * * *", "q"), onOne("monthly", "30 4 1 * *", "q"), onOne("daily", "30 4 * * *", "")}
		all[2].Jitter = fleet.Duration(20 * time.Minute)
		at := &claims{of: map[string]claimant{}, since: map[string]time.Duration{}}
		hosts, ran := []*sharing{newSharing("box1", "1", all...), newSharing("box2", "1", all...), newSharing("box1", "clone", all...)}, map[string]string{}
		pass := func(h *sharing) {
			for _, slot := range h.pass() {
				if by := ran[slot]; by != "" {
					t.Fatalf("%s is run by %s, and by %v", slot, by, h.me)
				}
				ran[slot] = fmt.Sprint(h.me)
			}
		}
		on := func(d time.Duration) {
			at.real += d
			for _, h := range hosts {
				h.clock.real = at.real
			}
		}
		for range rapid.IntRange(5, 120).Draw(t, "steps") {
			h := hosts[rapid.IntRange(0, len(hosts)-1).Draw(t, "host")]
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0:
				h.cut = !h.cut
			case 1:
				h.restart()
			case 2:
				h.clock.skew = time.Duration(rapid.IntRange(-11*24, 11*24).Draw(t, "hours")) * time.Hour
			case 3:
				h.reboot()
				h.restart()
			case 4:
				on(time.Duration(rapid.IntRange(1, 40).Draw(t, "days")) * 24 * time.Hour)
			case 5, 6:
				on(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			case 7, 8, 9:
				h.answer(at, rapid.Bool().Draw(t, "answered"), rapid.Bool().Draw(t, "made"))
			default:
				pass(h)
			}
		}
		for _, h := range hosts {
			h.cut, h.clock.skew = false, 0
			h.reboot()
			h.restart()
		}
		before := len(ran)
		for range 30 {
			on(30 * time.Minute)
			for range 3 {
				for _, h := range hosts {
					pass(h)
					h.answer(at, true, true)
				}
			}
		}
		if n := len(ran) - before; n < 12 {
			t.Fatalf("in 15 quiet hours %d slots are run", n)
		}
	})
}

// TestOneHostOfSeveral: what becomes of a slot, by what is known of its claim.
func TestOneHostOfSeveral(t *testing.T) {
	const key = "schedule/a/2026-07-01T10:00:00Z"
	hub := func(list ...fleet.Claim) fleet.Part[fleet.Hub] {
		return fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Claims: list}}
	}
	blind := hub()
	blind.Blind("the hub is not reached")
	began := fleet.Past{StartedAt: at(-time.Hour)}
	open := template("a", "")
	open.ID, open.State, open.Queue = "by-hand", fleet.RunOpen, "q"
	other := template("b", "")
	other.ID, other.State, other.Queue = "b-1", fleet.RunOpen, "q"
	for name, c := range map[string]struct {
		hub    fleet.Part[fleet.Hub]
		past   fleet.Past
		frozen string
		later  time.Duration
		also   []fleet.Schedule
		want   string // runs, what is held, and what is claimed
	}{
		"no hub":               {past: began, want: "run a"},
		"not known yet":        {hub: hub(), past: began, want: "lease: one of several hosts runs it, and this time is being claimed; claims " + key},
		"ours":                 {hub: hub(fleet.Claim{Key: key, Mine: true, Holder: "box1"}), past: began, want: "run a"},
		"another's":            {hub: hub(fleet.Claim{Key: key, Holder: "box2"}), past: began, want: "skipped a: host box2 runs it"},
		"of an earlier daemon": {hub: hub(fleet.Claim{Key: key, Holder: "box1"}), past: began, want: "skipped a: it was claimed here before Custos began anew, and may have been run: it is not run twice"},
		"no answer": {hub: hub(fleet.Claim{Key: key, Why: "no answer within 3s"}), past: began,
			want: "lease: one of several hosts runs it, and this time could not be claimed: no answer within 3s; claims " + key},
		"of another slot": {hub: hub(fleet.Claim{Key: "schedule/a/2026-07-01T09:00:00Z", Mine: true, Holder: "box1"}), past: began,
			want: "lease: one of several hosts runs it, and this time is being claimed; claims " + key},
		"no hub is reached": {hub: blind, past: began, want: "lease: one of several hosts runs it, and it is not known which may: the hub is not reached"},
		"frozen":            {hub: hub(), past: began, frozen: "ann: wait", want: "frozen: ann: wait"},
		"frozen, no hub":    {past: began, frozen: "ann: wait", want: "run a"},
		"amnesia":           {hub: hub(), past: fleet.Past{StartedAt: at(-time.Hour), Amnesia: true}, want: "evidence: what was run before is forgotten until a person confirms"},
		"it runs":           {hub: hub(), past: fleet.Past{StartedAt: at(-time.Hour), Runs: []fleet.Run{open}}, want: "limit: run by-hand is running, and one of queue q runs at a time"},
		"its queue is busy": {hub: hub(), past: fleet.Past{StartedAt: at(-time.Hour), Runs: []fleet.Run{other}}, want: "limit: run b-1 is running, and one of queue q runs at a time"},
		"a week later": {hub: hub(), past: fleet.Past{StartedAt: at(-time.Hour)}, later: 7*24*time.Hour + time.Minute, also: []fleet.Schedule{},
			want: "lease: one of several hosts runs it, and this time is being claimed; claims schedule/a/2026-07-08T10:00:00Z"},
		"not due": {hub: hub(), past: fleet.Past{StartedAt: at(0)}, later: time.Minute},
		"another waits while it is claimed": {hub: hub(), past: began, also: []fleet.Schedule{resting("b", time.Hour, "q")},
			want: "lease: one of several hosts runs it, and this time is being claimed; limit: schedule/a goes first, and one of queue q runs at a time; claims " + key},
		"another goes on while no answer comes": {hub: hub(fleet.Claim{Key: key, Why: "no"}), past: began, also: []fleet.Schedule{resting("b", time.Hour, "q")},
			want: "run b; lease: one of several hosts runs it, and this time could not be claimed: no; claims " + key},
		"another goes on where a host runs it": {hub: hub(fleet.Claim{Key: key, Holder: "box2"}), past: began, also: []fleet.Schedule{resting("b", time.Hour, "q")},
			want: "skipped a: host box2 runs it; run b"},
	} {
		p := fleet.Pass{Past: c.past, Snapshot: fleet.Snapshot{At: at(c.later), Hub: c.hub}}
		p.Policy.Frozen, p.Policy.Runs.Schedules = c.frozen, append([]fleet.Schedule{onOne("a", "0 10 * * *", "q")}, c.also...)
		if got := told(Begin(p)); got != c.want {
			t.Errorf("%s:\n %s\nwant\n %s", name, got, c.want)
		}
		if c.frozen != "" || c.past.Amnesia {
			continue
		}
		_, want, _ := strings.Cut(c.want, "lease: ")
		want, _, _ = strings.Cut(want, ";")
		if got := Waits(p.Policy.Runs.Schedules[0], p.Past, p.Snapshot); got != want {
			t.Errorf("%s: it waits for %q, want %q", name, got, want)
		}
	}
}

func told(f fleet.Follows) string {
	var out []string
	for _, r := range f.Runs {
		if r.IsOver() {
			out = append(out, string(r.State)+" "+r.Schedule+": "+r.Why)
		} else {
			out = append(out, "run "+r.Schedule)
		}
	}
	for _, h := range f.Held {
		out = append(out, string(h.Guard)+": "+h.Held)
	}
	if len(f.Claims) > 0 {
		out = append(out, "claims "+strings.Join(f.Claims, " "))
	}
	return strings.Join(out, "; ")
}

// TestASlotOfLongAgo: whose it is may be forgotten, so that nobody runs it.
func TestASlotOfLongAgo(t *testing.T) {
	p := fleet.Pass{Past: fleet.Past{StartedAt: at(-time.Hour)}}
	p.Snapshot.Hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1"}}
	p.Policy.Runs.Schedules = []fleet.Schedule{onOne("a", "0 10 1 7 *", "")}
	for late, want := range map[time.Duration]string{
		mostLate:               "lease: one of several hosts runs it, and this time is being claimed; claims schedule/a/2026-07-01T10:00:00Z",
		mostLate + time.Second: "skipped a: it was due more than a week ago: whether another host ran it is not known any more",
	} {
		if p.Snapshot.At = at(late); told(Begin(p)) != want {
			t.Errorf("%v late: %s, want %s", late, told(Begin(p)), want)
		}
	}
}

// TestAClaimThatIsForgotten: a host that was off while another one ran a slot does not run it when the claim is gone.
func TestAClaimThatIsForgotten(t *testing.T) {
	monthly := onOne("monthly", "30 4 1 * *", "")
	at := &claims{of: map[string]claimant{}, since: map[string]time.Duration{}}
	a, b := newSharing("box1", "1", monthly), newSharing("box2", "1", monthly)
	pass := func(h *sharing, when time.Duration) (slots []string) {
		at.real, h.clock.real = when, when
		for range 2 {
			slots = append(slots, h.pass()...)
			h.answer(at, true, true)
		}
		return slots
	}
	if got := pass(a, 5*time.Hour); len(got) != 1 {
		t.Fatalf("box1 runs %v", got)
	}
	if got := pass(b, 31*24*time.Hour); len(got) != 0 || b.past.Runs[0].State != fleet.RunSkipped {
		t.Errorf("box2, after a month, runs %v: %+v", got, b.past.Runs)
	}
}
