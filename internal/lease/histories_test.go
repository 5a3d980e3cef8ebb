package lease

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// simTTL is the time of a lease in histories.
const simTTL = 15 * time.Second

// TestHistoriesOfLeases plays random histories of some hosts, with clocks of their own that are
// minutes apart and not equally fast, and one store that is cut off (one way, too), slow,
// restarted and put back from a copy: questions and answers are lost, late and doubled, hosts are stopped by a
// signal and go on, two have one name. No two ever rely on one lease, and epochs only grow.
func TestHistoriesOfLeases(t *testing.T) {
	n := fleettest.Histories(t)
	held := 0
	for seed := range n {
		w := newSim(uint64(seed))
		if err := w.play(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.said)
		}
		held += w.held
	}
	if held < n {
		t.Fatalf("in %d histories leases were relied on %d times: they tell nothing", n, held)
	}
}

type sim struct {
	rnd   *rand.Rand
	now   time.Duration // true time
	hosts []*simHost
	truth map[string]*simLease
	rev   uint64
	bag   []simLetter
	last  map[string]Lease // of each key: who was seen to rely on it last, and by which epoch
	held  int
	fair  bool // nothing was put back: epochs never go back
	said  string
}

type simLease struct {
	Lease
	ends time.Duration // true time, at the store
}

type simHost struct {
	me       Holder
	k        *Keeper
	offset   time.Duration
	rate     float64
	asleep   time.Duration // until then
	cut, mut time.Duration // until then: nothing of it reaches the store; nothing of the store reaches it
	high     map[string]uint64
}

// simLetter is a question on its way, or an answer.
type simLetter struct {
	host  *simHost
	me    Holder
	k     *Keeper
	at    time.Duration
	step  Step
	sent  fleet.Instant
	lease Lease
	err   error
	told  bool // of a watch
	back  bool // it is an answer
}

func newSim(seed uint64) *sim {
	w := &sim{rnd: rand.New(rand.NewPCG(seed, 7)), truth: map[string]*simLease{}, last: map[string]Lease{}, fair: true}
	for i := range 2 + w.rnd.IntN(3) {
		h := &simHost{me: Holder{fmt.Sprint("h", i), "r0"}, offset: time.Duration(w.rnd.IntN(600)) * time.Second, rate: 0.98 + 0.04*w.rnd.Float64(), high: map[string]uint64{}}
		if i == 1 && w.rnd.IntN(4) == 0 {
			h.me = Holder{"h0", "clone"}
		}
		h.k = NewKeeper(h.me, simTTL)
		w.hosts = append(w.hosts, h)
	}
	return w
}

// clock is a moment by the host's clocks; that of the wall is set at times.
func (h *simHost) clock(now time.Duration) fleet.Instant {
	up := time.Duration(float64(now)*h.rate) + h.offset
	return fleet.Instant{Wall: time.Unix(0, 0).Add(up - 2*h.offset), Up: fleet.Duration(up), Boot: h.me.Host + h.me.Run}
}

func (w *sim) play() error {
	for range 400 {
		w.now += time.Duration(w.rnd.IntN(1500)) * time.Millisecond
		w.weather()
		w.deliver()
		for _, h := range w.hosts {
			if h.asleep > w.now {
				continue
			}
			if err := w.act(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// weather is what befalls hosts and the store.
func (w *sim) weather() {
	h := w.hosts[w.rnd.IntN(len(w.hosts))]
	for_ := w.now + time.Duration(w.rnd.IntN(60))*time.Second
	switch w.rnd.IntN(40) {
	case 0:
		h.asleep = max(h.asleep, for_)
	case 1:
		h.cut = for_
	case 2:
		h.mut = for_
	case 3:
		for _, h := range w.hosts {
			h.cut = for_
		}
	case 4: // started again: what it knew is what its ledger knows
		h.me.Run = fmt.Sprint("r", w.now)
		h.k = NewKeeper(h.me, simTTL)
		for key, e := range h.high {
			h.k.Remember(key, e)
		}
	case 5:
		if w.rnd.IntN(10) == 0 { // put back, when all that was held had ended
			w.rev /= 2
			clear(w.truth)
			w.fair = false
			for i, l := range w.bag { // what was on its way has lost its connection
				if !l.back {
					w.bag[i].back, w.bag[i].err = true, fmt.Errorf("no answer")
				}
			}
			for _, h := range w.hosts {
				h.asleep = w.now + 2*simTTL
			}
		}
	}
}

func (w *sim) act(h *simHost) error {
	now := h.clock(w.now)
	for _, key := range []string{"a", "b"} {
		if w.rnd.IntN(8) == 0 {
			h.k.Want(now, key)
		}
	}
	for _, s := range h.k.Steps(now) {
		if h.cut > w.now || w.rnd.IntN(20) == 0 { // lost: the host gives up waiting
			w.post(simLetter{host: h, me: h.me, k: h.k, step: s, back: true, err: fmt.Errorf("no answer")}, 5000)
			continue
		}
		w.post(simLetter{host: h, me: h.me, k: h.k, step: s, sent: now}, 4000)
	}
	return w.check(h, now)
}

// check holds what a host relies on against the truth and against what was relied on before.
func (w *sim) check(h *simHost, now fleet.Instant) error {
	for _, s := range h.k.All(now) {
		if !s.Mine {
			continue
		}
		w.held++
		if s.Epoch < h.high[s.Key] {
			return fmt.Errorf("%v relies on epoch %d of %s, and has known %d", h.me, s.Epoch, s.Key, h.high[s.Key])
		}
		h.high[s.Key] = s.Epoch
		for _, o := range w.hosts {
			if o != h && o.k.At(o.clock(w.now), s.Key).Mine {
				return fmt.Errorf("%v and %v both rely on %s", h.me, o.me, s.Key)
			}
		}
		was := w.last[s.Key]
		if w.fair && was.Holder != h.me && s.Epoch <= was.Epoch {
			return fmt.Errorf("%v relies on %s by epoch %d, after %v by %d", h.me, s.Key, s.Epoch, was.Holder, was.Epoch)
		}
		w.last[s.Key] = Lease{Holder: h.me, Epoch: s.Epoch}
	}
	return nil
}

func (w *sim) post(l simLetter, most int) {
	l.at = w.now + time.Duration(w.rnd.IntN(most))*time.Millisecond
	w.bag = append(w.bag, l)
}

func (w *sim) deliver() {
	slices.SortStableFunc(w.bag, func(a, b simLetter) int { return int(a.at - b.at) })
	for len(w.bag) > 0 && w.bag[0].at <= w.now {
		l := w.bag[0]
		w.bag = w.bag[1:]
		switch {
		case !l.back:
			w.serve(l)
		case l.host.asleep > w.now:
			w.post(l, 3000)
		case l.k != l.host.k: // of the run before
		case l.told:
			l.k.Saw(l.host.clock(w.now), l.lease)
		default:
			l.k.Answer(l.host.clock(w.now), l.step, l.lease, l.err)
		}
	}
}

// serve is the store: what it does is done, whatever becomes of its answer.
func (w *sim) serve(l simLetter) {
	for key, s := range w.truth {
		if s.ends <= w.now {
			delete(w.truth, key)
			w.tell(Lease{Key: key})
		}
	}
	l.lease, l.err = w.change(l)
	l.back = true
	if l.host.mut > w.now || w.rnd.IntN(20) == 0 {
		l.lease, l.err = Lease{}, fmt.Errorf("no answer")
		w.post(l, 5000)
		return
	}
	w.post(l, 2000)
}

func (w *sim) change(l simLetter) (Lease, error) {
	cur, is := w.truth[l.step.Key]
	w.rev++
	switch {
	case l.step.Op == OpAcquire && is:
		return cur.Lease, ErrHeld
	case l.step.Op == OpAcquire:
		cur = &simLease{Lease: Lease{Key: l.step.Key, Holder: l.me, Epoch: max(w.rev, l.step.Floor)}}
		w.truth[l.step.Key] = cur
	case !is || cur.Token != l.step.Lease.Token:
		return Lease{}, ErrLost
	case l.step.Op == OpRelease:
		delete(w.truth, l.step.Key)
		w.tell(Lease{Key: l.step.Key})
		return Lease{}, nil
	}
	cur.Token, cur.ends = w.rev, w.now+simTTL
	out := cur.Lease
	out.Until = l.sent.Add(simTTL)
	w.tell(cur.Lease)
	return out, nil
}

func (w *sim) tell(l Lease) {
	for _, h := range w.hosts {
		if h.mut <= w.now && w.rnd.IntN(10) > 0 {
			w.post(simLetter{host: h, k: h.k, lease: l, told: true, back: true}, 3000)
		}
	}
}
