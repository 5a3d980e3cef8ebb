// Package hold keeps the leases of one host: it asks a store what a lease.Keeper wants asked, tells the
// keeper what comes of it, and writes down each epoch before anything rests on it.
package hold

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// Options are what leases of a host are kept by.
type Options struct {
	Store lease.Store
	Me    lease.Holder
	TTL   time.Duration // of a lease
	Now   func() fleet.Instant
	// Learn writes down that a key has had an epoch: a lease is not relied on before that.
	Learn func(ctx context.Context, key string, epoch uint64) error
	// Changed is told that this host stands otherwise with some key than before.
	Changed func()
	Log     *slog.Logger
}

// Leases are those of a host. They are safe for concurrent use.
type Leases struct {
	o    Options
	kick chan struct{} // something may be to be asked

	mu       sync.Mutex
	keeper   *lease.Keeper
	told     []lease.Standing // that Changed was told of
	silent   string           // why the store does not tell; "" while it does
	watching *watching        // the watch of now
	unfit    fleet.Instant    // until then nothing is taken: what was taken last could not be written down,
	sick     error            // for this reason
	barred   bool             // nothing is wanted, whatever asks for it
}

const (
	answersWithin = 5 * time.Second // a question to a store
	anew          = time.Second     // after which a store that does not tell is listened to again
	goodbye       = 2 * time.Second // for giving back what is held, at the end
)

// New keeps leases; known are the epochs that were written down.
func New(o Options, known map[string]uint64) *Leases {
	l := &Leases{o: o, kick: make(chan struct{}, 1), keeper: lease.NewKeeper(o.Me, o.TTL), silent: "not asked yet"}
	for key, epoch := range known {
		l.keeper.Remember(key, epoch)
	}
	return l
}

// Want says that something here wants the leases of keys now.
func (l *Leases) Want(keys ...string) {
	if len(keys) == 0 {
		return
	}
	l.mu.Lock()
	if !l.barred {
		l.keeper.Want(l.o.Now(), keys...)
	}
	l.mu.Unlock()
	l.hurry()
}

// Bar has all that is held be given back, and nothing be wanted, until it is called with false.
func (l *Leases) Bar(is bool) {
	l.mu.Lock()
	if l.barred = is; is {
		l.keeper.Forgo()
	}
	l.mu.Unlock()
	l.hurry()
}

// All is how the host stands with each key now, and why the store does not tell of them; "" when it does.
func (l *Leases) All() ([]lease.Standing, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keeper.All(l.o.Now()), l.silent
}

// At is how it stands with one key now.
func (l *Leases) At(key string) lease.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keeper.At(l.o.Now(), key)
}

// Run keeps them until ctx ends, and gives back those that are held then.
func (l *Leases) Run(ctx context.Context) {
	var asked sync.WaitGroup
	asked.Go(func() { l.listen(ctx) })
	for ctx.Err() == nil {
		steps, next := l.due() // and what has lapsed is seen
		for _, s := range steps {
			asked.Go(func() { l.ask(ctx, s) })
		}
		l.note()
		l.rest(ctx, min(next, l.watchAnew()))
	}
	asked.Wait()
	l.leave()
}

// due are the questions that are to be put now, and in what time to look again.
func (l *Leases) due() ([]lease.Step, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	steps := l.keeper.Steps(now)
	at, is := l.keeper.Due(now)
	if !is {
		return steps, time.Minute
	}
	return steps, max(0, at.Since(now))
}

func (l *Leases) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-l.kick:
	case <-t.C:
	}
}

func (l *Leases) hurry() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// ask puts one question, and tells the keeper what came of it. What cannot be written down
// is as if it had not been answered.
func (l *Leases) ask(ctx context.Context, s lease.Step) {
	defer l.hurry()
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	got, err := l.put(ctx, s)
	if err == nil && s.Op != lease.OpRelease || errors.Is(err, lease.ErrHeld) {
		if wrong := l.learn(ctx, s.Key, got.Epoch); wrong != nil {
			if err == nil && s.Op == lease.OpAcquire {
				l.giveBack(got, wrong)
			}
			got, err = lease.Lease{}, wrong
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeper.Answer(l.o.Now(), s, got, err)
}

// giveBack gives back what was taken and could not be written down, which nobody here relies on, and takes nothing for
// two times of a lease: a host whose disk is full would keep from others what it cannot do itself.
func (l *Leases) giveBack(got lease.Lease, why error) {
	l.mu.Lock()
	l.unfit, l.sick = l.o.Now().Add(2*l.o.TTL), why
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if err := l.o.Store.Release(ctx, got); err != nil {
		l.o.Log.Warn("cannot give a lease back: it ends by itself", "key", got.Key, "err", err)
	}
}

// isUnfit is why nothing is taken now; nil where it may be.
func (l *Leases) isUnfit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unfit.IsZero() || !l.o.Now().Before(l.unfit) {
		return nil
	}
	return l.sick
}

func (l *Leases) put(ctx context.Context, s lease.Step) (lease.Lease, error) {
	switch s.Op {
	case lease.OpAcquire:
		if err := l.isUnfit(); err != nil {
			return lease.Lease{}, err
		}
		return l.o.Store.Acquire(ctx, s.Key, s.Floor)
	case lease.OpRenew:
		return l.o.Store.Renew(ctx, s.Lease)
	}
	return lease.Lease{}, l.o.Store.Release(ctx, s.Lease)
}

// learn writes an epoch down that is larger than all before it.
func (l *Leases) learn(ctx context.Context, key string, epoch uint64) error {
	l.mu.Lock()
	known := l.keeper.Highest(key)
	l.mu.Unlock()
	if epoch <= known || epoch > lease.MostEpoch {
		return nil
	}
	return l.o.Learn(ctx, key, epoch)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (l *Leases) quiet(err error) {
	l.mu.Lock()
	l.silent = "it does not tell any more"
	if err != nil {
		l.silent = err.Error()
	}
	l.mu.Unlock()
	l.hurry()
}

// hear is told of one lease. An epoch that cannot be written down is known all the same.
func (l *Leases) hear(ctx context.Context, e *watching, one lease.Lease) {
	if one.Key == "" {
		l.heardAll(e)
		return
	}
	l.mu.Lock()
	known := l.keeper.Knows(one.Key)
	l.mu.Unlock()
	if !known { // nothing here acts by it, and there may be many
		return
	}
	e.told[one.Key] = true
	if err := l.learn(ctx, one.Key, one.Epoch); err != nil && ctx.Err() == nil {
		l.o.Log.Error("cannot write down the epoch of a lease", "key", one.Key, "err", err)
	}
	l.mu.Lock()
	l.silent = ""
	l.keeper.Saw(l.o.Now(), one)
	l.mu.Unlock()
	l.hurry()
}

// note tells of what has changed.
func (l *Leases) note() {
	l.mu.Lock()
	now := l.keeper.All(l.o.Now())
	for i := range now {
		now[i].Left = 0 // it always changes
	}
	is := slices.Equal(now, l.told)
	l.told = now
	l.mu.Unlock()
	if !is {
		l.o.Changed()
	}
}

// leave gives back what is held: nobody has to wait for its end.
func (l *Leases) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	l.mu.Lock()
	steps := l.keeper.Leave(l.o.Now())
	l.mu.Unlock()
	for _, s := range steps {
		if err := l.o.Store.Release(ctx, s.Lease); err != nil {
			l.o.Log.Warn("cannot give a lease back: it ends by itself", "key", s.Key, "err", err)
		}
	}
}
