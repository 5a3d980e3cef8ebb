package lease

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"custos/internal/fleet"
)

// Op is what is asked of a store.
type Op string

// What is asked of a store.
const (
	OpAcquire Op = "acquire"
	OpRenew   Op = "renew"
	OpRelease Op = "release"
)

// Step is one question to a store, which a Keeper wants to be asked now.
type Step struct {
	Op    Op
	Key   string
	Floor uint64 // of OpAcquire: the least epoch
	Lease Lease  // of the others
}

// Keeper decides which leases a host asks for, renews and gives back, from what it is told. It
// does nothing itself, knows no clock, and is not safe for concurrent use.
//
// A store that ends a lease early, as one whose clock was set forward does, gives it to another one while its
// holder still relies on it: who takes a lease relies on it only when the time of whoever was heard to hold it
// before is over. So a lease that is given back is had by the next one no sooner than one that ends.
//
// A lease is wanted for four of its times after something last wanted it, which is twice as long as a host that has
// nothing to do takes from one pass to the next, renewed five times in
// each of its times, and relied on until a fifteenth before its end: hosts' clocks may run at
// rates that differ by so much. What was lost, or is not known, is not held.
type Keeper struct {
	me   Holder
	ttl  time.Duration
	beat time.Duration // moments of renewal are so long after multiples of what is between two of them
	keys map[string]*standing
}

// standing is what is known of one key.
type standing struct {
	wanted fleet.Instant // when something last wanted it
	lease  Lease         // that we hold; without a holder: none
	other  Lease         // that another one holds, as was told last; without a holder: none
	heard  fleet.Instant // when it was told first that another holder had taken its lease, or renewed it, as
	last   Lease         // which is its holder, epoch and token
	from   fleet.Instant // ours is not relied on before
	high   uint64        // the largest epoch that was ever seen of another holder, or relied on here
	due    fleet.Instant // when the store is to be asked next; zero: at once
	busy   bool          // it is being asked
	asked  fleet.Instant // since then
	back   *Lease        // what is to be given back
	adopt  *Lease        // ours by the store's last answer, though no answer gave it to us
	why    string        // why the store did not answer; "" when it did
}

// NewKeeper is for a holder of leases that last for ttl.
func NewKeeper(me Holder, ttl time.Duration) *Keeper {
	k := &Keeper{me: me, ttl: ttl, keys: map[string]*standing{}}
	k.beat = k.pause("") * 2
	return k
}

// Want says that something here wants the leases of keys at a moment.
func (k *Keeper) Want(now fleet.Instant, keys ...string) {
	for _, key := range keys {
		k.of(key).wanted = now
	}
}

// Forgo says that nothing here wants any lease now.
func (k *Keeper) Forgo() {
	for _, s := range k.keys {
		s.wanted = fleet.Instant{}
	}
}

// Remember tells of the largest epoch that a key is known to have had, by the ledger of this
// host: a store that was put back from an old copy gives out no smaller one.
func (k *Keeper) Remember(key string, epoch uint64) {
	if epoch <= MostEpoch {
		s := k.of(key)
		s.high = max(s.high, epoch)
	}
}

// Knows says whether something here has ever wanted a key.
func (k *Keeper) Knows(key string) bool { return k.keys[key] != nil }

func (k *Keeper) of(key string) *standing {
	s := k.keys[key]
	if s == nil {
		s = &standing{}
		k.keys[key] = s
	}
	return s
}

// Steps are what the store is to be asked now; each is to be answered by Answer.
func (k *Keeper) Steps(now fleet.Instant) (out []Step) {
	for _, key := range slices.Sorted(maps.Keys(k.keys)) {
		s := k.keys[key]
		if s.busy {
			continue
		}
		if step, is := k.step(now, key, s); is {
			s.busy, s.asked = true, now
			out = append(out, step)
		}
	}
	return out
}

// step is what is to be asked for one key now.
func (k *Keeper) step(now fleet.Instant, key string, s *standing) (Step, bool) {
	if s.lease.Key != "" && !now.Before(s.lease.Until) {
		s.lease, s.due = Lease{}, fleet.Instant{}
	}
	if s.back != nil && !now.Before(s.back.Until) {
		s.back = nil // it has ended by itself; a store that was put back may know its token as another's
	}
	if s.back == nil && s.lease.Key != "" && !k.isWanted(now, s) {
		given := s.lease
		s.back, s.lease = &given, Lease{} // it is not relied on from here on
	}
	switch {
	case s.back != nil:
		return Step{Op: OpRelease, Key: key, Lease: *s.back}, true
	case now.Before(s.due):
		return Step{}, false
	case s.lease.Key != "":
		return Step{Op: OpRenew, Key: key, Lease: s.lease}, true
	case !k.isWanted(now, s):
		return Step{}, false
	case s.adopt != nil:
		return Step{Op: OpRenew, Key: key, Lease: *s.adopt}, true
	}
	return Step{Op: OpAcquire, Key: key, Floor: s.high + 1}, true
}

// watchFor is for how many times of a lease a key is watched after something last wanted it.
const watchFor = 20

// Watched are the keys whose leases a store is to tell of: they were wanted lately, or are held.
func (k *Keeper) Watched(now fleet.Instant) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(k.keys)) {
		s := k.keys[key]
		if s.lease.Key != "" || s.back != nil || !s.wanted.IsZero() && now.Since(s.wanted) < watchFor*k.ttl {
			out = append(out, key)
		}
	}
	return out
}

func (k *Keeper) isWanted(now fleet.Instant, s *standing) bool {
	return !s.wanted.IsZero() && now.Since(s.wanted) < 4*k.ttl
}

// Answer tells what a store answered to a step: a lease, and an error as the Store says.
func (k *Keeper) Answer(now fleet.Instant, step Step, l Lease, err error) {
	s := k.of(step.Key)
	adopted := s.adopt
	s.busy, s.why, s.adopt = false, "", nil
	switch {
	case step.Op == OpRelease:
		s.back = nil
		if next := now.Add(k.pause(step.Key)); s.due.Before(next) {
			s.due = next // whoever waits for it is first
		}
		k.heard(s, Lease{})
	case err == nil:
		k.took(now, s, l, adopted)
	case errors.Is(err, ErrHeld):
		k.noteOther(now, s, l)
		s.lease, s.due = Lease{}, now.Add(k.ttl/3+k.pause(step.Key))
		if l.Holder == k.me && now.Since(s.asked) < k.ttl/2 { // an answer was lost; an old one says nothing of tokens
			s.adopt, s.due = &l, fleet.Instant{}
		}
		k.heard(s, l)
	case errors.Is(err, ErrLost):
		s.lease, s.due = Lease{}, fleet.Instant{}
		k.heard(s, Lease{})
	default:
		s.why, s.due = err.Error(), now.Add(k.ttl/10) // what is held is held until its time is up
	}
}

// took relies on a lease that was got, unless its epoch is not larger than one that was seen of
// another holder: a store that says so was put back, and is asked for a larger one.
func (k *Keeper) took(now fleet.Instant, s *standing, l Lease, adopted *Lease) {
	renewed := s.lease.Key != "" && s.lease.Epoch == l.Epoch || adopted != nil && adopted.Epoch == l.Epoch
	if !renewed && l.Epoch <= s.high {
		s.back, s.lease, s.other, s.due = &l, Lease{}, Lease{}, now.Add(k.ttl/3)
		return
	}
	if !renewed && !s.heard.IsZero() {
		s.from = s.heard.Add(k.ttl) // whoever was heard then relies on it no longer, whatever clock ended theirs
	}
	s.high = max(s.high, l.Epoch)
	s.lease, s.other, s.due = l, Lease{}, k.together(now)
	s.lease.Until = l.Until.Add(-k.ttl / 15)
}

// together is when a lease is to be renewed next: after a fifth of its time, and at the same moments as all others of
// this host, which is woken once for all of them, as are those that hear of it. The first time is up to half of that
// sooner or later.
func (k *Keeper) together(now fleet.Instant) fleet.Instant {
	apart := k.ttl / 5
	soonest := now.Add(apart / 2)
	return soonest.Add((k.beat - time.Duration(soonest.Up)%apart + apart) % apart)
}

// Saw tells what a store's Watch told.
func (k *Keeper) Saw(now fleet.Instant, l Lease) {
	s := k.of(l.Key)
	k.noteOther(now, s, l)
	isFree := l.Holder.IsNobody() && !s.other.Holder.IsNobody()
	if s.lease.Key != "" && !l.Holder.IsNobody() && l.Holder != k.me && l.Token > s.lease.Token {
		s.lease, s.due = Lease{}, fleet.Instant{} // ours was taken from us, whoever did that
	}
	k.heard(s, l)
	s.why = "" // it is there, and is not asked while another one renews its lease
	if s.lease.Key != "" {
		return
	}
	switch next := now.Add(k.pause(l.Key)); {
	case isFree && next.Before(s.due):
		s.due = next
	case !l.Holder.IsNobody() && l.Holder != k.me && !s.due.IsZero(): // while it is renewed there is nothing to ask for
		s.due = next.Add(k.ttl / 3)
	}
}

// noteOther notes that another holder was told of: it may have renewed its lease just before. What is told again is
// nothing that it has renewed since.
func (k *Keeper) noteOther(now fleet.Instant, s *standing, l Lease) {
	state := Lease{Holder: l.Holder, Epoch: l.Epoch, Token: l.Token}
	if !l.Holder.IsNobody() && l.Holder != k.me && state != s.last {
		s.heard, s.last = now, state
	}
}

// heard keeps who holds a key, as was told. That we do is not believed: it is asked, and the answer may come after
// this, with the same epoch.
func (k *Keeper) heard(s *standing, l Lease) {
	s.other = l
	if l.Holder != k.me && l.Epoch <= MostEpoch {
		s.high = max(s.high, l.Epoch)
	}
}

// pause spreads those who ask for one key, by who they are.
func (k *Keeper) pause(key string) time.Duration {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %q %q", k.me.Host, k.me.Run, key)
	return k.ttl / 10 * time.Duration(h.Sum32()%100) / 100
}

// Due is when Steps are to be asked for again: it returns false where nothing waits.
func (k *Keeper) Due(now fleet.Instant) (at fleet.Instant, is bool) {
	for _, s := range k.keys {
		next := s.due
		switch {
		case s.busy, s.lease.Key == "" && s.back == nil && !k.isWanted(now, s):
			continue
		case s.back != nil:
			next = now
		case s.lease.Key != "" && s.lease.Until.Before(next):
			next = s.lease.Until
		}
		if !is || next.Before(at) {
			at, is = next, true
		}
	}
	return at, is
}

// Standing is how a host stands with a key at a moment.
type Standing struct {
	Key    string
	Mine   bool          // we hold it, and may rely on it
	Epoch  uint64        // of ours, or of the other's
	Left   time.Duration // for which we may still rely on it
	Holder string        // the host that holds it otherwise; "" nobody, or not known
	Why    string        // why the store did not answer last; "" when it did
}

// At is how the host stands with a key at a moment.
func (k *Keeper) At(now fleet.Instant, key string) Standing {
	s := k.keys[key]
	if s == nil {
		return Standing{Key: key}
	}
	if s.lease.Key != "" && now.Before(s.lease.Until) && !now.Before(s.from) {
		return Standing{Key: key, Mine: true, Epoch: s.lease.Epoch, Left: s.lease.Until.Since(now), Holder: k.me.Host, Why: s.why}
	}
	out := Standing{Key: key, Epoch: s.other.Epoch, Holder: s.other.Holder.Host, Why: s.why}
	if s.other.Holder == k.me {
		out.Holder = "" // an answer was lost
	}
	return out
}

// All is how the host stands with each key, in their order.
func (k *Keeper) All(now fleet.Instant) (out []Standing) {
	for _, key := range slices.Sorted(maps.Keys(k.keys)) {
		out = append(out, k.At(now, key))
	}
	return out
}

// Highest is the largest epoch that a key was seen to have, by another holder or by an answer to us; 0: none.
func (k *Keeper) Highest(key string) uint64 {
	if s := k.keys[key]; s != nil {
		return s.high
	}
	return 0
}

// Leave gives up all that is held, and returns what is to be given back.
func (k *Keeper) Leave(now fleet.Instant) (out []Step) {
	for _, key := range slices.Sorted(maps.Keys(k.keys)) {
		s := k.keys[key]
		if s.lease.Key != "" && now.Before(s.lease.Until) {
			out = append(out, Step{Op: OpRelease, Key: key, Lease: s.lease})
		}
		s.lease, s.back, s.wanted = Lease{}, nil, fleet.Instant{}
	}
	return out
}
