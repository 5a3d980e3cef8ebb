package daemon

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"custos/internal/hookwire"
)

// twins pairs what an agent of ours tells twice: by the hooks that it was started with and by
// those that are installed in its user's settings, for CLIs call both. Either may be the only
// one that is called, so what came by one way is dropped only for one that came by the other.
type twins struct {
	mu     sync.Mutex
	single []told
}

// told is an event that has come by one way so far.
type told struct {
	of        string // instance, and the hook
	payload   [sha256.Size]byte
	installed bool
	at        int64 // nanoseconds since 1970
}

// twinWithin is how far apart the two may be, and mostSingle how many are remembered.
const (
	twinWithin = 10 * time.Second
	mostSingle = 1000
)

// has says whether the other one of an event was here; else it is remembered.
func (t *twins) has(p hookwire.Post) bool {
	if p.Instance == "" {
		return false // nothing was given to it by a launch
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	is := told{p.Instance + "\x00" + p.Kind + "\x00" + p.Event, sha256.Sum256(p.Payload), p.Installed, p.Wall}
	at := slices.IndexFunc(t.single, func(o told) bool {
		return o.of == is.of && o.payload == is.payload && o.installed != is.installed && time.Duration(max(o.at, is.at)-min(o.at, is.at)) < twinWithin
	})
	if at >= 0 {
		t.single = slices.Delete(t.single, at, at+1)
		return true
	}
	if len(t.single) >= mostSingle {
		t.single = slices.Delete(t.single, 0, mostSingle/2)
	}
	t.single = append(t.single, is)
	return false
}
