package remote

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"custos/internal/api"
)

const (
	// pause is the pause between two looks at a machine that answers.
	pause = 3 * time.Second
	// known is how long an answer of a machine may take that has answered before: with the pause
	// it is said within ten seconds that a machine has become silent.
	known = 6 * time.Second
	// still is how long after the last question somebody is taken to look still.
	still = 30 * time.Second
)

// Watch keeps what other machines answered last, while somebody looks; while nobody does, no
// machine is asked and no ssh runs. All who look share the same answers. It is safe for
// concurrent use.
type Watch struct {
	ctx     context.Context
	list    func() []Host
	who     WhoAsks
	changed func()

	hear func(ctx context.Context, since int64) (api.HubLooks, error) // nil: the daemon of this machine is asked

	every, looking time.Duration // pause and still

	mu      sync.Mutex
	hosts   []*watched
	hubRuns bool      // hosts of the hub are being followed
	since   int64     // the number of what they told last
	number  int64     // of the newest answer
	asked   time.Time // when somebody looked last
	alerts  time.Time // and when at alerts
	holders int
}

// watched is one machine; what is in it is guarded by Watch.mu.
type watched struct {
	host   Host
	client *api.Client
	look   api.HostLook
	runs   bool // it is being followed
	gone   bool // it is none of them any more
}

// NewWatch watches the hosts that list returns until ctx ends, asking nothing yet: whoever looks has list be asked, as
// hosts come to a hub and go. who is as for Host.Client. changed is called when what a machine says has become
// another, or whether it answers.
func NewWatch(ctx context.Context, list func() []Host, who WhoAsks, changed func()) *Watch {
	w := &Watch{ctx: ctx, list: list, who: who, changed: changed, every: pause, looking: still}
	w.renew()
	return w
}

// Hear is for the daemon, which hears hosts of a hub itself. It is called before anybody looks.
func (w *Watch) Hear(by func(ctx context.Context, since int64) (api.HubLooks, error)) { w.hear = by }

// renew takes over which hosts there are now. mu is held.
func (w *Watch) renew() {
	list := w.list()
	was := w.hosts
	if slices.EqualFunc(was, list, func(h *watched, is Host) bool { return h.host == is }) {
		return
	}
	w.hosts = nil
	for _, is := range list {
		i := slices.IndexFunc(was, func(h *watched) bool { return h.host == is })
		if i < 0 {
			w.hosts = append(w.hosts, &watched{host: is, client: is.Client(w.who), look: api.HostLook{HostSeen: api.HostSeen{Name: is.Name, Status: "pending"}}})
			w.since = 0 // all is to be told of it
			continue
		}
		w.hosts = append(w.hosts, was[i])
	}
	for _, h := range was {
		if h.gone = !slices.Contains(w.hosts, h); h.gone && !h.runs { // else it is closed by who follows it
			h.client.Close()
		}
	}
	w.number++
}

// Looks returns at once what each machine answered last, in the order of their names, and a
// number that is larger whenever there is something newer. Who asks looks for a while: the
// machines are asked from now on, and for their alerts too where these are wanted.
func (w *Watch) Looks(alerts bool) ([]api.HostLook, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Now()
	if alerts {
		w.alerts = w.asked
	}
	w.renew()
	out := make([]api.HostLook, len(w.hosts))
	for i, h := range w.hosts {
		w.begin(h)
		out[i] = h.look
	}
	return out, w.number
}

// Hold has the machines be asked until release is called.
func (w *Watch) Hold() (release func()) {
	w.hold(1)
	return sync.OnceFunc(func() { w.hold(-1) })
}

func (w *Watch) hold(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holders, w.asked = w.holders+n, time.Now()
	w.renew()
	for _, h := range w.hosts {
		w.begin(h)
	}
}

// Client asks one machine; false where there is none of that name.
func (w *Watch) Client(name string) (*api.Client, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renew()
	i := slices.IndexFunc(w.hosts, func(h *watched) bool { return h.host.Name == name })
	if i < 0 {
		return nil, false
	}
	return w.hosts[i].client, true
}

// begin follows a machine that is not followed yet.
func (w *Watch) begin(h *watched) {
	switch {
	case h.runs || w.ctx.Err() != nil:
	case h.host.Hub != "":
		w.beginHub()
	default:
		h.runs = true
		go w.follow(h)
	}
}

// follow asks a machine again and again, as long as somebody looks.
func (w *Watch) follow(h *watched) {
	defer h.client.Close()
	for {
		w.ask(h)
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(w.every):
		}
		if w.isLeft(h) {
			return
		}
	}
}

// isLeft says whether nobody looks any more. What was known is old when somebody comes again: it
// is kept as what was, and read as unknown until there is an answer.
func (w *Watch) isLeft(h *watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isWanted() && !h.gone {
		return false
	}
	h.leave()
	return true
}

func (w *Watch) isWanted() bool { return w.holders > 0 || time.Since(w.asked) < w.looking }

// leave notes that a machine is not followed any more.
func (h *watched) leave() {
	h.runs = false
	h.look.HostSeen, h.look.Silent = api.HostSeen{Name: h.host.Name, Status: "pending"}, time.Time{}
}

// ask asks a machine once, and keeps what it says.
func (w *Watch) ask(h *watched) {
	within, alerts := answersWithin+time.Second, false
	w.mu.Lock()
	if h.look.Status == "ok" {
		within = known
	}
	alerts = time.Since(w.alerts) < w.looking
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, within)
	defer cancel()
	asked := time.Now()
	look, err := lookAt(ctx, h.client, alerts)
	if w.ctx.Err() != nil {
		return
	}
	if w.keep(h, look, silence(err, within), asked) {
		w.changed()
	}
}

// lookAt asks for what is shown. What a machine of another version does not have it lacks: that
// is no silence.
func lookAt(ctx context.Context, c *api.Client, alerts bool) (out api.HostLook, err error) {
	if out.Look, err = c.FirstLook(ctx); err != nil {
		return out, err
	}
	if alerts {
		var list api.Alerts
		if list, err = c.Alerts(ctx, false); isLack(err) {
			out.Lacks, err = append(out.Lacks, "alerts"), nil
		}
		out.Alerts = list.Alerts
	}
	return out, err
}

// isLack says whether there is no such thing to be asked for.
func isLack(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Kind == api.NotFound
}

// silence is why a machine did not answer; "" when it did.
func silence(err error, within time.Duration) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", within)
	case err != nil:
		return api.ErrorOf(err).Message
	}
	return ""
}

// keep keeps an answer, or that there is none since it was asked, and says whether that is another
// than before.
func (w *Watch) keep(h *watched, look api.HostLook, silent string, asked time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, now := h.look, time.Now()
	if silent != "" {
		look = silentLook(before, h.host.Name, silent, asked)
	} else {
		look.HostSeen, look.Got = api.HostSeen{Name: h.host.Name, Status: "ok"}, now
	}
	return w.put(h, look)
}

// put keeps a look, and says whether it is another than before.
func (w *Watch) put(h *watched, look api.HostLook) bool {
	before := h.look
	h.look = look
	w.number++
	return !reflect.DeepEqual(timeless(before), timeless(look))
}

// timeless is what a look says but for what changes with each: ages and moments.
func timeless(h api.HostLook) api.HostLook {
	out := api.HostLook{HostSeen: h.HostSeen, Silent: h.Silent, Lacks: h.Lacks}
	out.Look.Mode, out.Look.Frozen, out.Look.Housekeeping = h.Look.Mode, h.Look.Frozen, h.Look.Housekeeping
	for _, g := range h.Look.Agents {
		out.Look.Agents = append(out.Look.Agents, api.AgentRow{Name: g.Name, State: g.State, Source: g.Source, Failed: g.Failed, Conflict: g.Conflict})
	}
	for _, n := range h.Look.NeedsYou {
		out.Look.NeedsYou = append(out.Look.NeedsYou, api.Need{Number: n.Number, Priority: n.Priority, Rule: n.Rule, Subject: n.Subject})
	}
	for _, a := range h.Alerts {
		out.Alerts = append(out.Alerts, api.Alert{Number: a.Number, Rule: a.Rule, Subject: a.Subject, Status: a.Status, Priority: a.Priority, AckedBy: a.AckedBy, SilencedUntil: a.SilencedUntil})
	}
	return out
}
