package rows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// PublisherOptions say whose rows are told.
type PublisherOptions struct {
	Host string
	Run  string           // of this daemon, random
	Now  func() time.Time // the clock of the wall, for heads; nil: time.Now
	Log  *slog.Logger     // nil: nothing is logged
	// Beat is how often it is told that the host is there; 0: 5 s.
	Beat time.Duration
	// Late is called when the hub has not answered to a head within 2 s; nil: nothing is.
	Late func()
	// Moved is called when a node of the hub stands otherwise with the others than before; nil: nothing is.
	Moved func()
}

// Counts are what a publisher has done.
type Counts struct {
	Rows, Removed, Heads atomic.Int64
	Bytes                atomic.Int64 // of keys and values that were written
	Loads                atomic.Int64 // how often it was read what is in the bucket
	Failed               atomic.Int64 // how often something could not be read or written
}

// Publisher has the bucket say what a host tells. It is safe for concurrent use.
type Publisher struct {
	PublisherOptions
	Counts Counts
	js     jetstream.JetStream
	news   chan struct{} // has one when there is something to do

	mu    sync.Mutex
	want  map[string][]byte
	sets  int64             // how often it was set
	whole map[string][]byte // what may be told of want, once the bucket has all of it
	twice time.Time         // when another one was last seen to tell under this name

	stale    atomic.Bool            // it is not known what is in the bucket
	nodes    atomic.Pointer[[]Node] // that keep the bucket, as was told last
	created  atomic.Int64           // when it was made, as far as is known
	told     atomic.Int64           // how many rows there are
	missed   chan []string          // keys that are in the bucket, to be held against what was written
	apart    time.Duration
	believed shown  // of Run alone
	head     uint64 // the number that the bucket gave to the head before, of beats alone; 0: not known
}

// NewPublisher tells nothing yet.
func NewPublisher(js jetstream.JetStream, o PublisherOptions) (*Publisher, error) {
	if err := checkHost(o.Host); err != nil {
		return nil, err
	}
	if o.Run == "" || len(o.Run) > 64 {
		return nil, errors.New("cannot tell of a host without the name of a run, of 64 bytes at most")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Late == nil {
		o.Late = func() {}
	}
	if o.Moved == nil {
		o.Moved = func() {}
	}
	if o.Beat == 0 {
		o.Beat = beat
	}
	p := &Publisher{PublisherOptions: o, js: js, news: make(chan struct{}, 1), missed: make(chan []string, 1), apart: apart}
	p.stale.Store(true)
	return p, nil
}

// Set says what the host tells from now on, by the keys that Key makes. It waits for nothing, and what
// was set before and is not written yet is forgotten. What it is given may not be changed any more.
func (p *Publisher) Set(rows map[string][]byte) {
	p.mu.Lock()
	p.want, p.whole = rows, nil
	p.sets++
	p.mu.Unlock()
	p.wake()
}

// Told are the rows that the bucket has, where it has all that was set and may be told; nil: that is not so, or not known.
func (p *Publisher) Told() map[string][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale.Load() {
		return nil
	}
	return p.whole
}

// Doubled says whether another daemon has told under this name in the last 15 s.
func (p *Publisher) Doubled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.twice.IsZero() && time.Since(p.twice) < silent
}

// sawAnother notes that another one tells under this name, if so.
func (p *Publisher) sawAnother(is bool) {
	if !is {
		return
	}
	p.mu.Lock()
	p.twice = time.Now()
	p.mu.Unlock()
}

// hasAll notes that the bucket has all of rows, which may be told of what was set by then.
func (p *Publisher) hasAll(rows map[string][]byte, sets int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets == sets {
		p.whole = rows
	}
}

// isStale says whether it has to be read what is in the bucket; until that was done nothing is told.
func (p *Publisher) isStale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.stale.Swap(false)
	if is {
		p.whole = nil
	}
	return is
}

func (p *Publisher) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *Publisher) wanted() (rows map[string][]byte, sets int64, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.want, p.sets, p.sets > 0
}

const (
	// rest is between two looks at what has changed.
	rest = 100 * time.Millisecond
	// again is how long after a failure it is tried again.
	again = time.Second
	// patience is how long the bucket may take to answer.
	patience = 10 * time.Second
)

// Run writes what is set until ctx ends, and a head every beat. Before it has been set once, nothing but
// heads is written, and nothing is removed.
func (p *Publisher) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { p.beats(ctx) })
	defer all.Wait()
	for ctx.Err() == nil {
		next, err := p.step(ctx)
		if err != nil && ctx.Err() == nil {
			p.Counts.Failed.Add(1)
			p.Log.Debug("rows are not told", "err", err)
			p.stale.Store(true)
			next = again + rand.N(again) // not all hosts at once, when the hub has begun again
		}
		p.wait(ctx, next)
	}
}

// wait rests, and then waits for something to do, for a time at most; 0: for good.
func (p *Publisher) wait(ctx context.Context, most time.Duration) {
	if pause(ctx, nil, rest); most > 0 {
		pause(ctx, p.news, most-rest)
		return
	}
	select {
	case <-ctx.Done():
	case <-p.news:
	}
}

// pause waits until ctx ends, something comes, or so long.
func pause(ctx context.Context, come <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-come:
	case <-timer.C:
	}
}

// step writes what may be written now, and says after how long more may be.
func (p *Publisher) step(ctx context.Context) (next time.Duration, _ error) {
	want, sets, is := p.wanted()
	if !is {
		return 0, nil
	}
	want = limit(want)
	p.told.Store(int64(len(want)))
	p.compare()
	if p.isStale() {
		if err := p.load(ctx, want); err != nil {
			return 0, err
		}
	}
	put, gone, next := p.believed.plan(want, time.Now())
	if err := p.send(ctx, put, gone); err != nil {
		return 0, err
	}
	p.believed.note(put, gone, time.Now())
	if next == 0 {
		p.hasAll(want, sets)
	}
	return next, nil
}

// load reads what of this host is in the bucket, of whichever run: what is as it is wanted stays, and all
// else is written or removed.
func (p *Publisher) load(ctx context.Context, want map[string][]byte) error {
	p.Counts.Loads.Add(1)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	made, err := p.made(ctx)
	if err != nil {
		return err
	}
	p.created.Store(made)
	p.believed = shown{map[string][]byte{}, map[string]time.Time{}, p.apart}
	return each(ctx, p.js, p.Host+".>", func(key string, value []byte) {
		key = key[len(p.Host)+1:]
		if key == headKey {
			return
		}
		if v, is := want[key]; !is || string(v) == string(value) {
			p.believed.rows[key] = v
		}
	})
}

// each reads the rows of a filter.
func each(ctx context.Context, js jetstream.JetStream, filter string, see func(key string, value []byte)) error {
	kv, err := js.KeyValue(ctx, Bucket)
	if err != nil {
		return fmt.Errorf("cannot find the bucket %s: %w", Bucket, err)
	}
	w, err := kv.Watch(ctx, filter, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("cannot read the bucket %s: %w", Bucket, err)
	}
	defer stop(w)
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot read the bucket %s: %w", Bucket, ctx.Err())
		case e, is := <-w.Updates():
			if !is {
				return fmt.Errorf("cannot read the bucket %s to its end", Bucket)
			}
			if e == nil {
				return nil
			}
			see(e.Key(), e.Value())
		}
	}
}

// stop ends a watch. What it has in hand is taken, for it would wait for that for good (nats.go
// v1.55.0, jetstream/kv.go, WatchFiltered).
func stop(w jetstream.KeyWatcher) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case _, is := <-w.Updates():
				if !is {
					return
				}
			case <-time.After(time.Second):
				return
			}
		}
	}()
	_ = w.Stop() // its connection may have ended
	<-ended
}
