package credential

import (
	"errors"
	"sync"
	"time"
)

// Why an envelope is not heeded though it is good.
var (
	ErrReplayed = errors.New("this envelope was heeded before")
	ErrFull     = errors.New("too many envelopes of this host are remembered: none of it is heeded until one has expired")
)

// Seen remembers which envelopes were heeded until they have expired, so that none is twice. It is
// of one process: what must not be done again after a restart is to be written down elsewhere.
// It may be used from several goroutines.
type Seen struct {
	mu    sync.Mutex
	most  int
	hosts map[string]map[string]time.Time // host → id → until when it counts
}

// NewSeen makes one that remembers up to most envelopes of each host: a host that sends more
// is not heeded, and keeps no other from being so.
func NewSeen(most int) *Seen {
	return &Seen{most: most, hosts: map[string]map[string]time.Time{}}
}

// First says by nil that an envelope of a host, which Verify has let through, was not here before,
// and remembers it for as long as it could pass: until it has expired on the slowest clock.
func (s *Seen) First(host string, e Envelope, now time.Time, maxSkew time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.hosts[host]
	if ids == nil {
		ids = map[string]time.Time{}
		s.hosts[host] = ids
	}
	id := string(e.ID)
	if _, is := ids[id]; is {
		return ErrReplayed
	}
	if len(ids) >= s.most {
		forget(ids, now)
	}
	if len(ids) >= s.most {
		return ErrFull
	}
	// A clock that is put back makes what has expired count again: it is remembered that much longer.
	ids[id] = e.Expires.Add(2 * maxSkew)
	return nil
}

// forget removes what has expired.
func forget(ids map[string]time.Time, now time.Time) {
	for id, until := range ids {
		if !now.Before(until) {
			delete(ids, id)
		}
	}
}
