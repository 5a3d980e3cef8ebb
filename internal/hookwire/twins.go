package hookwire

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// Twins pairs what an agent of ours tells twice: by the hooks that it was started with and by
// those that are installed in its user's settings, for CLIs call both. Either may be the only
// one that is called, so what came by one way is dropped only for one that came by the other.
type Twins struct {
	mu    sync.Mutex
	alone []single
}

// single is an event that has come by one way so far.
type single struct {
	of        string // instance, and the hook
	payload   [sha256.Size]byte
	installed bool
	at        int64 // nanoseconds since 1970
}

// TwinWithin is how far apart the two may be, and mostSingle how many are remembered.
const (
	TwinWithin = 10 * time.Second
	mostSingle = 1000
)

// Has says whether the other one of an event was here; else it is remembered.
func (t *Twins) Has(p Post) bool {
	if p.Instance == "" {
		return false // nothing was given to it by a launch
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	is := single{p.Instance + "\x00" + p.Kind + "\x00" + p.Event, sha256.Sum256(p.Payload), p.Installed, p.Wall}
	at := slices.IndexFunc(t.alone, func(o single) bool {
		return o.of == is.of && o.payload == is.payload && o.installed != is.installed && time.Duration(max(o.at, is.at)-min(o.at, is.at)) < TwinWithin
	})
	if at >= 0 {
		t.alone = slices.Delete(t.alone, at, at+1)
		return true
	}
	if len(t.alone) >= mostSingle {
		t.alone = slices.Delete(t.alone, 0, mostSingle/2)
	}
	t.alone = append(t.alone, is)
	return false
}
