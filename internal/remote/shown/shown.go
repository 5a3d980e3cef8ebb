// Package shown is the other machines that a page shows, of which some may come and go while it is served.
package shown

import (
	"context"
	"slices"
	"sync"

	"custos/internal/api"
	"custos/internal/remote"
)

// Hosts are the other machines that a page shows. Which there are is asked whenever somebody looks, so that a
// host that joins the hub, or leaves it, changes nothing for the others. It is safe for concurrent use.
type Hosts struct {
	ctx     context.Context
	list    func() []remote.Host
	changed func()

	mu    sync.Mutex
	shown []*host
	holds int   // of who has all of them be asked
	past  int64 // the numbers of those that are gone
}

// New shows what list returns, in its order, until ctx ends, asking no machine yet. changed is as for
// remote.NewWatch.
func New(ctx context.Context, list func() []remote.Host, changed func()) *Hosts {
	return &Hosts{ctx: ctx, list: list, changed: changed}
}

// host is one of them, which is asked by itself.
type host struct {
	is remote.Host
	*remote.Watch
	end     func()
	release func() // nil: nobody holds it
}

// Looks returns what each answered last, and a number that is larger whenever there is something newer.
func (s *Hosts) Looks(alerts bool) (all []api.HostLook, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	number = s.past
	for _, h := range s.shown {
		look, n := h.Looks(alerts)
		all, number = append(all, look...), number+n
	}
	return all, number
}

// Hold has all of them be asked until release is called, those too that come meanwhile.
func (s *Hosts) Hold() (release func()) {
	s.hold(1)
	return sync.OnceFunc(func() { s.hold(-1) })
}

func (s *Hosts) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds += n
	s.follow()
	for _, h := range s.shown {
		h.held(s.holds > 0)
	}
}

// held has a machine be asked, or not any more.
func (h *host) held(by bool) {
	switch {
	case by && h.release == nil:
		h.release = h.Hold()
	case !by && h.release != nil:
		h.release()
		h.release = nil
	}
}

// Client asks one of them; false where there is none of that name.
func (s *Hosts) Client(name string) (*api.Client, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	for _, h := range s.shown {
		if h.is.Name == name {
			return h.Client(name)
		}
	}
	return nil, false
}

// follow shows those that there are now, and ends those that are gone.
func (s *Hosts) follow() {
	list := s.list()
	s.shown = slices.DeleteFunc(s.shown, func(h *host) bool {
		if slices.Contains(list, h.is) {
			return false
		}
		h.end()
		_, n := h.Looks(false)
		s.past += n + 1
		return true
	})
	for i, at := range list {
		if i < len(s.shown) && s.shown[i].is == at {
			continue
		}
		s.shown = slices.Insert(s.shown, i, s.begin(at))
		s.past++
	}
}

func (s *Hosts) begin(at remote.Host) *host {
	ctx, end := context.WithCancel(s.ctx)
	h := &host{is: at, Watch: remote.NewWatch(ctx, []remote.Host{at}, nil, s.changed), end: end}
	h.held(s.holds > 0)
	return h
}
