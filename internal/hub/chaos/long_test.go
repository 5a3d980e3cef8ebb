//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"custos/internal/fleet"
)

// settled is after how long a process that a fault has hurt does its part again: nodes choose a leader
// within 9 s (nats-server v2.15.2, raft.go, maxElectionTimeoutDefault), and a host notices within
// 9 s that its node is silent, and goes to another one at once (internal/hub/rows, internal/hub/wire).
const settled = 12 * time.Second

// TestLong plays everything for as long as CUSTOS_CHAOS says, as root. CUSTOS_CHAOS_SEED is what the
// faults follow from, CUSTOS_CHAOS_WITHOUT names kinds of faults that are left out (a,b), and
// CUSTOS_CHAOS_DIR is a folder in which all that was written down stays.
func TestLong(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("CUSTOS_CHAOS"))
	if err != nil {
		t.Skip("CUSTOS_CHAOS says not for how long: CUSTOS_CHAOS=30m")
	}
	r := newRun(t, kinds())
	began := uptime()
	r.play(time.Now().Add(lasts))
	r.recover(began)
}

// newRun makes a world, and a row of faults of some kinds.
func newRun(t *testing.T, all []kind) *run {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("CUSTOS_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	dir := os.Getenv("CUSTOS_CHAOS_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	t.Logf("seed %d, in %s", seed, dir)
	w := newWorld(t, dir, seed)
	log, err := openLines(filepath.Join(dir, "faults.log"))
	if err != nil {
		t.Fatal(err)
	}
	w.eventually(time.Minute, "each key is acted on", func() error { return w.acted(0) })
	return &run{w: w, rand: rand.New(rand.NewPCG(seed, 5)), kinds: without(all, os.Getenv("CUSTOS_CHAOS_WITHOUT")), log: log}
}

// recover sees all be well again after the faults, and then judges.
func (r *run) recover(began time.Duration) {
	w, calm := r.w, uptime()
	w.eventually(time.Minute, "each key is acted on after the faults", func() error { return w.acted(calm) })
	w.eventually(time.Minute, "the leases are whole on all nodes", func() error { _, err := w.whole(); return err })
	after := uptime()
	w.leave(time.Minute)
	r.judge(span{began, after})
}

// acted says which key nobody has written by since a moment.
func (w *world) acted(since time.Duration) error {
	all := w.resource.all()
	for _, key := range keys {
		if !slices.ContainsFunc(all, func(one write) bool { return one.Key == key && one.Sent > since }) {
			return fmt.Errorf("nobody has acted on %s", key)
		}
	}
	return nil
}

// judge holds everything that was written down against what must be.
func (r *run) judge(whole span) {
	t := r.w.t
	journals, writes := readJournals(t, r.w.dir), r.w.resource.all()
	held := terms(journals)
	found := map[string][]violation{
		"writes":   checkWrites(writes),
		"messages": checkMessages(writes),
		"slots":    checkSlots(journals),
		"terms":    checkTerms(held),
		"ends":     checkEnds(journals, r.w.killedRuns(journals)),
		"gaps":     checkGaps(held, keys, r.well(whole), 2*time.Duration(fleet.LeaseTime)),
	}
	for what, list := range found {
		for _, v := range list {
			t.Errorf("%s: at %v: %s\n  around: %q", what, v.At, v.What, r.at(v.At))
		}
		t.Logf("%s: %d", what, len(list))
	}
	r.tell(journals, writes, held)
}

// well is when a quorum of nodes and some host were not hurt, within a stretch.
func (r *run) well(whole span) (out []span) {
	const step = 100 * time.Millisecond
	for at := whole.From; at < whole.To; at += step {
		switch n := len(out); {
		case !r.isWell(at):
		case n > 0 && at-out[n-1].To <= step:
			out[n-1].To = at
		default:
			out = append(out, span{at, at})
		}
	}
	return out
}

func (r *run) isWell(at time.Duration) bool {
	hurt := map[string]bool{}
	for _, f := range r.faults {
		if f.From <= at && at <= f.To+settled {
			for _, name := range f.Hurts {
				hurt[name] = true
			}
		}
	}
	count := func(all []*process) (n int) {
		for _, p := range all {
			if !hurt[p.name] {
				n++
			}
		}
		return n
	}
	return count(r.w.nodes) > nodes/2 && count(r.w.hosts) > 0
}

// tell says what there was: how much was done, what ended by itself, and how long successions took.
func (r *run) tell(journals []entry, writes []write, held []term) {
	t := r.w.t
	results, slots := map[string]int{}, 0
	for _, e := range journals {
		switch e.Kind {
		case kindEnded:
			results[e.Status]++
		case kindRan:
			slots++
		}
	}
	if slots == 0 {
		t.Error("no slot was run at all")
	}
	played := map[string]int{}
	for _, f := range r.faults {
		played[f.Kind]++
	}
	t.Logf("faults %v; %d writes, %d terms, %d slots, results %v", played, len(writes), len(held), slots, results)
	for _, e := range r.w.ended() {
		t.Logf("%s ended by itself at %v (%s): around %q", e.Name, e.At, e.How, r.at(e.At))
	}
	all, quiet := map[int]int{}, map[int]int{}
	for _, f := range r.faults {
		if !f.Stops {
			continue
		}
		for _, s := range successions(held, f.Target, f.From, f.To) {
			bin := int(s.Took / (3 * time.Second))
			if s.Took == 0 {
				bin = -1
			}
			if all[bin]++; r.isWellUntil(f.From, s.Took) {
				quiet[bin]++
			}
		}
	}
	t.Logf("from the fault of a holder to the next holder, by 3 s (-1: none): all %v, while a quorum and a host were well %v", all, quiet)
}

func (r *run) isWellUntil(from, took time.Duration) bool {
	for at := from; at <= from+took; at += 500 * time.Millisecond {
		if !r.isWell(at) {
			return false
		}
	}
	return true
}
