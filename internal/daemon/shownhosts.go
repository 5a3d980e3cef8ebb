package daemon

import (
	"context"
	"slices"
	"sync"

	"custos/internal/api"
	"custos/internal/remote"
)

// shownHosts are the other machines that a page shows. Which there are is asked whenever somebody looks, so that a
// host that joins the hub, or leaves it, changes nothing for the others. It is safe for concurrent use.
type shownHosts struct {
	ctx     context.Context
	list    func() []remote.Host // in the order of their names
	changed func()

	mu    sync.Mutex
	shown []*shownHost
	holds int   // of who has all of them be asked
	past  int64 // the numbers of those that are gone
}

// shownHost is one of them, which is asked by itself.
type shownHost struct {
	host remote.Host
	*remote.Watch
	end     func()
	release func() // nil: nobody holds it
}

// Looks returns what each answered last, and a number that is larger whenever there is something newer.
func (s *shownHosts) Looks(alerts bool) (all []api.HostLook, number int64) {
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
func (s *shownHosts) Hold() (release func()) {
	s.hold(1)
	return sync.OnceFunc(func() { s.hold(-1) })
}

func (s *shownHosts) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds += n
	s.follow()
	for _, h := range s.shown {
		h.held(s.holds > 0)
	}
}

// held has a machine be asked, or not any more.
func (h *shownHost) held(is bool) {
	switch {
	case is && h.release == nil:
		h.release = h.Hold()
	case !is && h.release != nil:
		h.release()
		h.release = nil
	}
}

// Client asks one of them; false where there is none of that name.
func (s *shownHosts) Client(name string) (*api.Client, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	for _, h := range s.shown {
		if h.host.Name == name {
			return h.Client(name)
		}
	}
	return nil, false
}

// follow shows those that there are now, and ends those that are gone.
func (s *shownHosts) follow() {
	list := s.list()
	s.shown = slices.DeleteFunc(s.shown, func(h *shownHost) bool {
		if slices.Contains(list, h.host) {
			return false
		}
		h.end()
		_, n := h.Looks(false)
		s.past += n + 1
		return true
	})
	for i, host := range list {
		if i < len(s.shown) && s.shown[i].host == host {
			continue
		}
		s.shown = slices.Insert(s.shown, i, s.begin(host))
		s.past++
	}
}

func (s *shownHosts) begin(host remote.Host) *shownHost {
	ctx, end := context.WithCancel(s.ctx)
	h := &shownHost{host: host, Watch: remote.NewWatch(ctx, []remote.Host{host}, nil, s.changed), end: end}
	h.held(s.holds > 0)
	return h
}
