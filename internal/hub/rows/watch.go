package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// tellEvery is how often it is told at most that something has changed.
	tellEvery = time.Second
	// checkEvery is how often it is looked whether what is watched is still the bucket.
	checkEvery = 15 * time.Second
	// mostUnmoved is how long nothing of the bucket may come while it is read first.
	mostUnmoved = 10 * time.Second
)

// Watch has the board hold what hosts tell of what filters name (Everything, Heads, Of), until ctx ends. When the
// connection is lost, or the bucket is another one, everything is read anew, and what was known is
// shown meanwhile; after the end nothing is known. One watch at a time.
func (b *Board) Watch(ctx context.Context, filters ...string) {
	var all sync.WaitGroup
	defer b.drop(Unwatched)
	defer all.Wait()
	all.Go(func() { b.tell(ctx) })
	for ctx.Err() == nil {
		err := b.follow(ctx, filters)
		if ctx.Err() != nil {
			return
		}
		b.Log.Debug("what hosts tell is not heard", "err", err)
		b.miss(err.Error())
		pause(ctx, nil, again)
	}
}

// tell tells that something has changed, one time after the other.
func (b *Board) tell(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-b.news:
			if b.hasChanged() {
				b.Changed()
				pause(ctx, nil, tellEvery)
			}
		}
	}
}

var (
	errLost = errors.New("the connection with the hub is lost")
	errAnew = errors.New("the bucket was made anew")
	// errBehind is of a node that lacks what this host has told, and may lack anything; or this host has told nothing yet.
	errBehind = errors.New("what this host has told itself is not told")
)

// follow reads the bucket, and then what changes in it, until that is not told any more.
func (b *Board) follow(ctx context.Context, filters []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reconnects := b.js.Conn().Stats().Reconnects
	clock, err := b.clock(ctx)
	if err != nil {
		return err
	}
	kv, err := b.js.KeyValue(ctx, Bucket)
	if err != nil {
		return fmt.Errorf("cannot find the bucket %s: %w", Bucket, err)
	}
	w, err := kv.WatchFiltered(ctx, slices.Clone(filters)) // it writes to them
	if err != nil {
		return fmt.Errorf("cannot watch the bucket %s: %w", Bucket, err)
	}
	if err = b.begin(ctx, w, clock); err == nil {
		err = b.goOn(ctx, w, clock, reconnects)
	}
	if b.js.Conn().IsConnected() {
		stop(w)
	} else {
		go stop(w) // it waits for seconds for a hub that is not there
	}
	return err
}

// serverClock is the server's clock as this board's clock has it: what a server says of a moment
// is only used against what it says of another one.
type serverClock struct {
	made   time.Time // when the bucket was made
	server time.Time
	here   time.Duration
}

// clock asks what time it is there.
func (b *Board) clock(ctx context.Context) (serverClock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return serverClock{}, fmt.Errorf("cannot find the bucket %s: %w", Bucket, err)
	}
	info := s.CachedInfo()
	return serverClock{info.Created, info.TimeStamp, b.Now()}, nil
}

// at is a moment of the server's, and none that is still to come.
func (c serverClock) at(t time.Time, now time.Duration) time.Duration {
	return min(now, c.here-c.server.Sub(t))
}

// begin takes all that is in the bucket.
func (b *Board) begin(ctx context.Context, w jetstream.KeyWatcher, clock serverClock) error {
	hosts := map[string]*hostState{}
	late := time.NewTimer(mostUnmoved)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("cannot read the bucket %s: nothing came for %s", Bucket, mostUnmoved)
		case e, is := <-w.Updates():
			switch {
			case !is:
				return errLost
			case e == nil && b.Own != "" && (hosts[b.Own] == nil || !hosts[b.Own].hasRun):
				return errBehind
			case e == nil:
				b.replace(hosts)
				return nil
			}
			apply(hosts, e, clock.at(e.Created(), b.Now()))
			late.Reset(mostUnmoved)
		}
	}
}

// goOn takes what changes, until it is not told any more.
func (b *Board) goOn(ctx context.Context, w jetstream.KeyWatcher, clock serverClock, reconnects uint64) error {
	second, check := time.NewTicker(b.every/5), time.NewTicker(b.every)
	defer second.Stop()
	defer check.Stop()
	anew := make(chan error, 1)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-anew:
			return err
		case <-second.C:
			if nc := b.js.Conn(); !nc.IsConnected() || nc.Stats().Reconnects != reconnects {
				return errLost
			}
			b.wake() // a host may be silent by now
		case <-check.C:
			go b.check(ctx, clock, anew)
		case e, is := <-w.Updates():
			if !is {
				return errLost
			}
			b.update(e)
		}
	}
}

// check says when the bucket is another one than was watched, or is not told of.
func (b *Board) check(ctx context.Context, was serverClock, anew chan<- error) {
	is, err := b.clock(ctx)
	if err == nil && !is.made.Equal(was.made) {
		err = errAnew
	}
	if err == nil {
		return
	}
	select {
	case anew <- err:
	default:
	}
}
