package report

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/fleet"
)

// Scene is what is true at a moment, as far as it may be told.
type Scene struct {
	At     fleet.Instant
	Host   string
	Alerts []fleet.Alert   // those that are not over; what else is in it is passed over
	Blind  bool            // alerts could not be read: none counts as ended
	Aside  []int64         // numbers of alerts whose rows were lost: without another of its key, none counts as ended
	News   []fleet.Message // for people, and due
	Hurry  bool            // no pass comes again soon: do not wait for what may belong together
	Status string          // how the host does, in one line; "" when that is not known

	Asks map[fleet.AlertKey]fleet.Ask // what the receiver may approve or deny

	Windows []Window // of maintenance
}

// Verdict is what is to be done for one receiver.
type Verdict struct {
	Send *Delivery // nil: nothing now
	Told Delivered // as it is before sending; Open is Send
	Over []string  // messages of Scene.News that this receiver needs no more
}

// what is told of an alert.
type change int

const (
	hasBegun    change = iota + 1
	gotWorse           // than when it was told
	goesOn             // it is not acknowledged
	hasEnded           // and its beginning was told
	cameAndWent        // while it could not be told
	asksOther          // than when it was told
)

// entry is one thing to tell.
type entry struct {
	what    change
	alert   fleet.Alert
	loud    fleet.Priority
	route   *Route
	times   int
	ready   bool // it does not have to wait for others
	since   fleet.Instant
	details string
}

// Deliver says what one receiver is to be told now. It compares what is true with
// what the receiver was told, so that a message states only what still holds,
// nothing is told twice, and no end of what was told is forgotten, however long
// the receiver could not be reached. It is a pure function.
func Deliver(s Scene, t Delivered, routes []Route, to string) Verdict {
	if t.Open != nil && !elapsed(s.At, t.Open.Message.At, verbatim) {
		return Verdict{Send: t.Open, Told: t}
	}
	t = t.doubtful()
	d := delivery{s: s, t: tidied(t, s.At), routes: routes, to: to, edges: edgesOf(s.News)}
	d.firing()
	d.ending()
	d.passing()
	list, news := d.chosen()
	v := Verdict{Told: d.t, Over: d.over(news)}
	if len(list)+len(news) == 0 {
		return v
	}
	v.Send = d.delivery(list, news)
	v.Told.Open = v.Send
	return v
}

// delivery is where one delivery is thought out.
type delivery struct {
	s       Scene
	t       Delivered
	routes  []Route
	to      string
	edges   map[fleet.AlertKey]edge
	entries []entry
	dropped []string // messages that need not be sent
}

// edge is what messages say of one alert: when it began and ended, and what was
// done about it.
type edge struct{ began, ended *fleet.Message }

func edgesOf(news []fleet.Message) map[fleet.AlertKey]edge {
	out := map[fleet.AlertKey]edge{}
	for i, m := range news {
		e := out[m.Alert]
		switch {
		case m.Alert.Rule == "":
			continue
		case m.AllClear && (e.ended == nil || e.ended.At.Before(m.At)):
			e.ended = &news[i]
		case !m.AllClear && (e.began == nil || e.began.At.Before(m.At)):
			e.began = &news[i]
		}
		out[m.Alert] = e
	}
	return out
}

// tidied forgets what ended long ago.
func tidied(t Delivered, now fleet.Instant) Delivered {
	t = t.clone()
	for k, w := range t.Alerts {
		if !w.Over.IsZero() && elapsed(now, w.Over, calm) {
			delete(t.Alerts, k)
		}
	}
	return t
}

// firing finds what began, got worse, or is to be told again.
func (d *delivery) firing() {
	windows := d.s.openWindows()
	for _, a := range d.s.Alerts {
		route, loud := loudest(d.routes, d.to, a, d.s.At)
		if a.Status != fleet.AlertFiring || route == nil || muted(a, d.s.At) || covered(windows, a.AlertKey) {
			continue
		}
		w, known := d.t.Alerts[a.String()]
		live := known && w.Over.IsZero() && w.Doubt == 0
		e := entry{alert: a, loud: loud, route: route, since: a.Since, details: cmp.Or(d.details(a.AlertKey), w.Details)}
		switch {
		case !live && a.AckedBy != "": // a person knows before it could be sent
			continue
		case !live:
			e.what, e.times = hasBegun, 1
			e.ready = d.waited(a.FiredAt, route) && d.spaced(route, loud, !known)
		case !a.Priority.AtLeast(w.Alert.Priority) || a.Priority == w.Alert.Priority:
			if d.asksAnew(a, w) {
				// A person waits for the answer: it does not wait longer for the noise of others.
				e.what, e.times, e.ready = asksOther, w.Times, d.spaced(route, fleet.P1, true)
			} else if !d.again(&e, w) {
				continue
			}
		default:
			e.what, e.times, e.ready = gotWorse, 1, d.spaced(route, loud, true)
		}
		d.put(e)
	}
}

// again says whether an alert that was told is to be told once more.
func (d *delivery) again(e *entry, w Word) bool {
	after, repeats := e.route.again(e.loud, w.Times)
	if !repeats || e.alert.AckedBy != "" || !elapsed(d.s.At, w.At, after) {
		return false
	}
	e.what, e.times, e.ready = goesOn, w.Times+1, d.spaced(e.route, e.loud, true)
	return true
}

// ending finds what was told as firing and is not any more. What flaps is not
// over yet, and what is explained by another alert has not ended.
func (d *delivery) ending() {
	if d.s.Blind {
		return
	}
	fires, known := map[string]fleet.Alert{}, map[string]bool{}
	for _, a := range d.s.Alerts {
		known[a.String()] = true
		if a.Status == fleet.AlertFiring {
			fires[a.String()] = a
		}
	}
	for k, w := range d.t.Alerts {
		if _, on := fires[k]; on || !w.Over.IsZero() || !known[k] && slices.Contains(d.s.Aside, w.Alert.Number) {
			continue
		}
		route := routeNamed(d.routes, w.Route)
		e := entry{what: hasEnded, alert: w.Alert, loud: w.Loud, route: route, since: w.Alert.Since, details: d.endDetails(w.Alert.AlertKey)}
		if w.Doubt == hasBegun {
			e.what = cameAndWent
		}
		e.ready = d.spaced(route, w.Loud, false)
		d.put(e)
	}
}

// passing finds what came and went untold, because the receiver could not be
// reached or it was night. What was there for a moment only is not sent.
func (d *delivery) passing() {
	taken := map[fleet.AlertKey]bool{}
	for _, e := range d.entries {
		taken[e.alert.AlertKey] = true
	}
	for k, e := range d.edges {
		if e.began == nil || e.ended == nil || e.ended.At.Before(e.began.At) || taken[k] {
			continue
		}
		route := routeOf(d.routes, d.to, k, e.began.Priority)
		w, known := d.t.Alerts[k.String()]
		if route == nil || d.knows(e.began.ID) || known && w.Over.IsZero() || e.ended.At.Since(e.began.At) < route.Wait {
			continue
		}
		if d.t.Tries == 0 && !route.Quiet.holds(e.began.At.Wall, e.began.Priority) || d.s.maintained(k, e.began.At.Wall) {
			continue
		}
		a := fleet.Alert{AlertKey: k, Priority: e.began.Priority, Summary: summary(*e.began), Since: e.began.At}
		d.put(entry{what: cameAndWent, alert: a, loud: a.Priority, route: route, since: e.began.At, ready: d.spaced(route, a.Priority, false)})
	}
}

func (d *delivery) knows(id string) bool { _, ok := d.t.News[id]; return ok }

// put keeps an entry, unless it is to wait for the morning.
func (d *delivery) put(e entry) {
	if e.route == nil {
		e.route = &Route{}
	}
	if !e.route.Quiet.holds(d.s.At.Wall, e.alert.Priority) {
		d.entries = append(d.entries, e)
	}
}

// muted says whether an alert is not to be told now: silenced, explained by
// another one that is told, told by another host, or not for people until more patrols have found it.
func muted(a fleet.Alert, now fleet.Instant) bool {
	return !a.SilencedUntil.IsZero() && now.Before(a.SilencedUntil) || len(a.CausedBy) > 0 || a.ToldBy != "" || a.Patrols < a.TellAfter
}

func (d *delivery) waited(then fleet.Instant, r *Route) bool {
	return d.s.Hurry || elapsed(d.s.At, then, r.Wait)
}

// spaced says whether enough time lies between the last message of a route and
// this one. While a route is noisy the time doubles, up to an hour; for what is
// urgent and new it doubles once: seven messages in the worst hour.
func (d *delivery) spaced(r *Route, p fleet.Priority, fresh bool) bool {
	if r == nil {
		return true
	}
	g, known := d.t.Groups[r.Name]
	if !known {
		return true
	}
	doubled := min(g.Noise, 12)
	if fresh && p.AtLeast(fleet.P1) {
		doubled = min(doubled, 1)
	}
	return elapsed(d.s.At, g.Last, max(r.Interval, min(r.Interval<<doubled, calm)))
}

// chosen returns what goes out now: whatever belongs to a route of which one
// thing is ready; the most urgent first.
func (d *delivery) chosen() ([]entry, []fleet.Message) {
	ready := map[string]bool{}
	for _, e := range d.entries {
		ready[e.route.Name] = ready[e.route.Name] || e.ready
	}
	list := slices.DeleteFunc(d.entries, func(e entry) bool { return !ready[e.route.Name] })
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.loud, b.loud), cmp.Compare(a.alert.String(), b.alert.String()))
	})
	return list, d.plainNews()
}

// plainNews is what is due and tells of no alert: it goes out as it is.
func (d *delivery) plainNews() (out []fleet.Message) {
	for _, m := range d.s.News {
		route := routeOf(d.routes, d.to, m.Alert, m.Priority)
		if m.Alert.Rule == "" && !d.knows(m.ID) && route != nil && !route.Quiet.holds(d.s.At.Wall, m.Priority) {
			out = append(out, m)
		}
	}
	return out
}

// keepEdge is how long what a message says of an alert is of use.
const keepEdge = 24 * time.Hour

// over lists the messages this receiver needs no more: that it knows, that are
// not for it, or whose alert it knows to be as it is.
func (d *delivery) over(news []fleet.Message) (ids []string) {
	pending := map[fleet.AlertKey]bool{}
	for _, e := range d.entries {
		pending[e.alert.AlertKey] = true
	}
	for _, m := range d.s.News {
		if d.knows(m.ID) || !d.wants(m, pending[m.Alert]) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// wants says whether a message may still be of use to this receiver.
func (d *delivery) wants(m fleet.Message, pending bool) bool {
	route := routeOf(d.routes, d.to, m.Alert, m.Priority)
	switch {
	case route == nil:
		return false
	case m.Alert.Rule == "" || pending || d.t.Tries > 0 || d.s.Blind:
		return true
	}
	if route.Quiet.holds(d.s.At.Wall, m.Priority) || route.Quiet.holds(m.At.Wall, m.Priority) && !elapsed(d.s.At, m.At, keepEdge) {
		return true
	}
	return !elapsed(d.s.At, m.At, max(route.Wait, time.Minute))
}

// details is what a message says of an alert that began; endDetails of one that ended.
func (d *delivery) details(k fleet.AlertKey) string {
	if e := d.edges[k]; e.began != nil {
		return e.began.Body
	}
	return ""
}

func (d *delivery) endDetails(k fleet.AlertKey) string {
	if e := d.edges[k]; e.ended != nil {
		return e.ended.Body
	}
	return ""
}

func routeNamed(routes []Route, name string) *Route {
	return fleet.Find(routes, func(x *Route) bool { return x.Name == name })
}
