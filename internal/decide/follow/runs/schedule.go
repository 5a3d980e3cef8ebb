package runs

import (
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Begin begins the runs of schedules. A run is on record before anything of it is
// begun: the next pass begins.
func Begin(p fleet.Pass) (f fleet.Follows) {
	d := newDues(p.Policy.Runs, p.Past, p.Snapshot, p.Assessment)
	d.idle = idleHost(p)
	d.all()
	f.Runs, f.Until, f.Held, f.Claims = d.runs, d.next, d.held, d.claims
	f.Wake = len(f.Runs) > 0
	return f
}

// Due returns the runs that schedules start now, as they are written down before
// anything of them is begun, and when the next schedule is due that is known
// beforehand (zero: none).
//
//   - What was missed is caught up once: a run stands for every slot up to its own.
//   - A run of the same formula and project that is not over is waited for; then
//     one run follows, for whatever came due meanwhile.
//   - Within a boot, time is that of the boot clock. A wall clock that was set back
//     runs no slot of a cron twice, and one that was ahead loses none.
//   - A condition (When, Check) starts one run each time it becomes true: it must
//     have been seen false after the run before (Run.Lapsed). With Rest it starts
//     another one that long after the end, while it holds.
//   - Of those that share a queue (Run.Queue) one runs at a time: see inTurn.
//   - What one of several hosts is to run (Hosts) is run by the one that has claimed its slot: see takeClaimed.
//   - What was first seen, or ran elsewhere, is written down as a run that is over
//     before anything is due: see first.
func Due(policy fleet.RunPolicy, past fleet.Past, snap fleet.Snapshot, found fleet.Assessment) (runs []fleet.Run, next fleet.Instant) {
	d := newDues(policy, past, snap, found)
	d.all()
	return d.runs, d.next
}

func newDues(policy fleet.RunPolicy, past fleet.Past, snap fleet.Snapshot, found fleet.Assessment) *dues {
	paused := fleet.PausedProjects(past.Silences)
	return &dues{past: past, at: snap.At, patrol: snap.Patrol, alerts: found.Alerts, hub: &snap.Hub, policy: policy,
		isPaused: func(project string) bool { _, is := paused[project]; return is }}
}

// all asks each schedule whether it is due.
func (d *dues) all() {
	if d.past.Blind != "" {
		return
	}
	var waiting []queued
	for i := range d.policy.Schedules {
		s := &d.policy.Schedules[i]
		if d.isBarred(s) || d.first(s) {
			continue // what a paused project misses is caught up once
		}
		slot, due := d.slot(s)
		switch {
		case !due:
			d.rests(s)
		case s.Run.Queue != "":
			waiting = append(waiting, queued{s: s, slot: slot})
		default:
			d.take(s, slot)
		}
	}
	d.inTurn(waiting)
}

// take writes the run of a slot down, and says whether its queue is taken by that. When
// its flight is taken it waits for the end of that run.
func (d *dues) take(s *fleet.Schedule, slot fleet.Instant) bool {
	run, err := ledger.TakeRun(d.past, d.policy, scheduled(s, slot), d.at)
	switch {
	case err != nil:
		d.isTaking(s, err)
		return false
	case d.isClaimed(s):
		return d.takeClaimed(s, run)
	}
	d.add(run)
	return true
}

func (d *dues) add(run fleet.Run) {
	d.runs = append(d.runs, run)
	d.past.Runs = append(slices.Clone(d.past.Runs), run)
}

// scheduled returns the run of a schedule for one slot. Its template's Dir is the
// folder that the folders of runs are in.
func scheduled(s *fleet.Schedule, slot fleet.Instant) fleet.Run {
	run := s.Run.Clone()
	run.ID = slotID(s.Name, slot)
	run.Dir = path.Join(run.Dir, run.ID)
	run.By, run.Schedule, run.Slot, run.Event = fleet.ByCustos, s.Name, slot, s.Event
	if run.Session != nil {
		run.Session.Agent = run.ID
	}
	return run
}

// slotID names the run of a slot: by the wall clock for people, and by the boot
// clock, since a wall clock may show the same time twice.
func slotID(name string, slot fleet.Instant) string {
	plain := strings.Map(func(c rune) rune {
		if c < 0x80 && (ledger.IsPlainID(string(c)) || c == '-' || c == '_') {
			return c
		}
		return '-'
	}, name)
	plain = strings.TrimLeft(plain, "-_")
	if len(plain) > 30 || plain != name {
		plain = plain[:min(len(plain), 24)] + "-" + strconv.FormatUint(hashed(name)&0xfffff, 36)
	}
	if plain == "" || plain[0] == '-' {
		plain = "s" + plain
	}
	up := strconv.FormatInt(int64(time.Duration(slot.Up)/time.Second), 36)
	return plain + "-" + slot.Wall.UTC().Format("20060102T150405Z") + "-" + strings.TrimLeft(up, "-")
}

func hashed(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p + "\x00"))
	}
	return h.Sum64()
}

// newestOf returns the newest run of a schedule; the zero Run when there is none.
func newestOf(runs []fleet.Run, schedule string, now fleet.Instant) (newest fleet.Run) {
	for _, r := range runs {
		if r.Schedule == schedule && (newest.ID == "" || !ledger.IsLater(newest.At, r.At, now)) {
			newest = r
		}
	}
	return newest
}

// dues is what it takes to tell whether schedules are due.
type dues struct {
	past     fleet.Past
	at       fleet.Instant
	patrol   int64
	alerts   []fleet.Alert
	hub      *fleet.Part[fleet.Hub]
	idle     fleet.HeldMove // why this host begins nothing of a run; the zero value: it may
	policy   fleet.RunPolicy
	isPaused func(project string) bool
	runs     []fleet.Run // that begin
	next     fleet.Instant
	held     []fleet.HeldMove
	claims   []string // of slots that are to be claimed
}

// slot returns the newest moment of a schedule that is due and had no run yet.
func (d *dues) slot(s *fleet.Schedule) (fleet.Instant, bool) {
	last := newestOf(d.past.Runs, s.Name, d.at)
	switch {
	case s.Every > 0:
		return d.every(s, last)
	case s.Cron != "":
		return d.cron(s, last)
	case s.On != "":
		return d.on(s, last)
	case s.Conditional():
		return d.at, s.Holds != nil && *s.Holds && (last.ID == "" || !last.Lapsed.IsZero() || d.rested(s))
	case s.Rest > 0:
		return d.rest(s)
	}
	return fleet.Instant{}, false
}

// every is due so long after the slot before. A schedule that never ran is due
// when Custos starts: nobody knows how long it has waited.
func (d *dues) every(s *fleet.Schedule, last fleet.Run) (fleet.Instant, bool) {
	if last.ID == "" {
		return d.jittered(s, d.past.StartedAt, s.Every, "first")
	}
	ref, every := last.Slot, time.Duration(s.Every)
	passed := d.at.Since(ref)
	if passed < 0 { // the wall clock went back between two boots: reckon from the start
		ref, passed = d.past.StartedAt, d.at.Since(d.past.StartedAt)
	}
	for n := passed / every; n >= 1 && n >= passed/every-1; n-- {
		slot := d.at.Add(-(passed - n*every))
		if slot, ok := d.jittered(s, slot, s.Every, last.ID+strconv.FormatInt(int64(n), 10)); ok {
			return slot, true
		}
	}
	d.wake(d.at.Add(every - passed%every))
	return fleet.Instant{}, false
}

// jittered says whether a slot has come, with its own delay; if not, when it does.
func (d *dues) jittered(s *fleet.Schedule, slot fleet.Instant, period fleet.Duration, key string) (fleet.Instant, bool) {
	at := slot.Add(jitter(s, period, key))
	if d.at.Before(at) {
		d.wake(at)
		return fleet.Instant{}, false
	}
	return slot, true
}

// jitter is the delay of one slot: the same whenever it is asked for, and less
// than the period.
func jitter(s *fleet.Schedule, period fleet.Duration, key string) time.Duration {
	most := s.Jitter
	if period > 0 {
		most = min(most, period-1)
	}
	if most <= 0 {
		return 0
	}
	return time.Duration(hashed(s.Name, key) % uint64(most))
}

func (d *dues) wake(at fleet.Instant) {
	if d.at.Before(at) && (d.next.IsZero() || at.Before(d.next)) {
		d.next = at
	}
}
