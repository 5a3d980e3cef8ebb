package remote

import (
	"context"
	"time"

	"custos/internal/api"
)

// Told is what the hosts of the hub tell of themselves, of which h is one: the daemon of this machine hears
// it, and is asked for all of them at once. since is as for api.Client.HubLooks.
func Told(ctx context.Context, h Host, since int64) (api.HubLooks, error) {
	c := h.here()
	defer c.Close()
	return c.HubLooks(ctx, since)
}

// beginHub follows what hosts of the hub tell, where it is not followed yet. Watch.mu is held.
func (w *Watch) beginHub() {
	if !w.hubRuns {
		w.hubRuns = true
		go w.followHub()
	}
}

// followHub asks again and again, as long as somebody looks.
func (w *Watch) followHub() {
	for {
		began := time.Now()
		w.askHub()
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(hubPause(w.every, time.Since(began))):
		}
		if w.isHubLeft() {
			return
		}
	}
}

func (w *Watch) isHubLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.ofHub()
	if w.isWanted() && len(list) > 0 {
		return false
	}
	w.hubRuns = false
	for _, h := range list {
		h.leave()
	}
	return true
}

// ofHub are the hosts of the hub. mu is held.
func (w *Watch) ofHub() (out []*watched) {
	for _, h := range w.hosts {
		if h.host.Hub != "" {
			out = append(out, h)
		}
	}
	return out
}

// hubPause is the pause before the next question for all hosts, of which the last one took so long: a fifth of the
// time at most is spent on asking, however many there are, and it is asked twice a minute at least.
func hubPause(every, took time.Duration) time.Duration {
	return max(every, min(4*took, 30*time.Second))
}

// hubWithin is how long all that hosts of the hub tell may take to come: the daemon waits some seconds for
// the first of it.
const hubWithin = 9 * time.Second

// askHub asks once, and keeps what is said of each host.
func (w *Watch) askHub() {
	w.mu.Lock()
	list, since := w.ofHub(), w.since
	w.mu.Unlock()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, hubWithin)
	defer cancel()
	asked := time.Now()
	hear := w.hear
	if hear == nil {
		hear = func(ctx context.Context, since int64) (api.HubLooks, error) { return Told(ctx, list[0].host, since) }
	}
	told, err := hear(ctx, since)
	if w.ctx.Err() != nil {
		return
	}
	if w.keepTold(list, told, silence(err, hubWithin), asked) {
		w.changed()
	}
}

// keepTold keeps what is said of hosts; one of which nothing is said is not known to be at the hub any more.
func (w *Watch) keepTold(list []*watched, told api.HubLooks, silent string, asked time.Time) (changed bool) {
	by := map[string]api.HostLook{}
	for _, look := range told.Hosts {
		by[look.Name] = look
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if silent == "" && len(list) == len(w.ofHub()) { // else all is to be told of who has come meanwhile
		w.since = told.Number
	}
	for _, h := range list {
		look, is := by[h.host.Name]
		switch {
		case !is:
			look = silentLook(h.look, h.host.Name, silent, asked)
		case look.Same:
			changed = w.heard(h, look) || changed
			continue
		}
		changed = w.put(h, look) || changed
	}
	return changed
}

// heard keeps how a host was heard that tells nothing newer, and says whether that is another than before.
func (w *Watch) heard(h *watched, heard api.HostLook) bool {
	changed := h.look.HostSeen != heard.HostSeen || !h.look.Silent.Equal(heard.Silent)
	h.look.HostSeen, h.look.Got, h.look.Silent = heard.HostSeen, heard.Got, heard.Silent
	w.number++
	return changed
}

// silentLook is what was known of a machine that does not answer since it was asked.
func silentLook(was api.HostLook, name, why string, asked time.Time) api.HostLook {
	out := was
	if why == "" {
		why = "it is not at the hub any more"
	}
	out.HostSeen = api.HostSeen{Name: name, Status: "unknown", Why: why}
	if !was.IsSilent() {
		out.Silent = asked
	}
	return out
}
