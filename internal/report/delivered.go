package report

import (
	"time"

	"custos/internal/fleet"
)

// Delivered is what one receiver was told: the memory that outlives Custos, so that
// nothing is sent twice, and the end to all that got the beginning.
type Delivered struct {
	Alerts map[string]Word          `json:"alerts,omitempty"` // by fleet.AlertKey.String()
	Groups map[string]Group         `json:"groups,omitempty"` // by name of the route
	News   map[string]fleet.Instant `json:"news,omitempty"`   // by ID of the message
	Open   *Delivery                `json:"open,omitempty"`   // was to be sent; what became of it is not known
	Tries  int                      `json:"tries,omitempty"`  // in a row that failed
	Next   fleet.Instant            `json:"next,omitzero"`    // not tried before
	Why    string                   `json:"why,omitempty"`    // the last try failed
	Proof  fleet.Instant            `json:"proof,omitzero"`   // when something got there last
	Since  fleet.Instant            `json:"since,omitzero"`   // what is not delivered has waited since; zero for nothing
}

// Word is what a receiver was told of one alert.
type Word struct {
	Alert fleet.Alert    `json:"alert"`           // as it was told, without its evidence
	Route string         `json:"route"`           // by which route
	Loud  fleet.Priority `json:"loud"`            // at which priority
	At    fleet.Instant  `json:"at"`              // when last
	Times int            `json:"times"`           // how often since it began
	Doubt change         `json:"doubt,omitempty"` // a message that told this, hasBegun or hasEnded, may never have arrived
	Over  fleet.Instant  `json:"over,omitzero"`   // when the end was told
	Ask   string         `json:"ask,omitempty"`   // hash of what was asked with it
	// Details is what was told of what is done about it, and what a person can do.
	Details string `json:"details,omitempty"`
}

// Group is how often a route has led to messages of late.
type Group struct {
	Last  fleet.Instant `json:"last"`
	Noise int           `json:"noise,omitempty"` // messages since it was last quiet for an hour
}

// Delivery is one message for one receiver, and what it will know when it got it.
type Delivery struct {
	Message fleet.Message   `json:"message"`
	Words   map[string]Word `json:"words,omitempty"`
	Routes  []string        `json:"routes,omitempty"`
	News    []string        `json:"news,omitempty"`
}

const (
	calm     = time.Hour       // without a message a route is quiet again, and what ended is forgotten
	verbatim = 5 * time.Minute // a message is tried as it is for so long, then thought out anew
	firstTry = 5 * time.Second // after a failure; each further one doubles it
	lastTry  = 5 * time.Minute
	longest  = time.Hour // that a receiver may ask to be left alone
)

// clone copies what the next state changes.
func (t Delivered) clone() Delivered {
	t.Alerts, t.Groups, t.News = copied(t.Alerts), copied(t.Groups), copied(t.News)
	return t
}

func copied[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Arrived is the state once a delivery has got there.
func (t Delivered) Arrived(d Delivery, at fleet.Instant) Delivered {
	t = t.clone()
	for k, w := range d.Words {
		t.Alerts[k] = w
	}
	for _, name := range d.Routes {
		g := t.Groups[name]
		g.Noise++
		if g.Last.IsZero() || elapsed(at, g.Last, calm) {
			g.Noise = 0
		}
		g.Last = at
		t.Groups[name] = g
	}
	for _, id := range d.News {
		t.News[id] = at
	}
	t.Open, t.Tries, t.Next, t.Why = nil, 0, fleet.Instant{}, ""
	t.Proof, t.Since = at, fleet.Instant{}
	return t
}

// failed is the state once a try has failed. asked is how long the receiver wants
// to be left alone, 0 when it does not say.
func (t Delivered) failed(why string, asked time.Duration, at fleet.Instant) Delivered {
	wait := lastTry
	if t.Tries < 10 {
		wait = min(firstTry<<t.Tries, lastTry)
	}
	if t.Since.IsZero() {
		t.Since = at
	}
	t.Tries++
	t.Next, t.Why = at.Add(min(max(wait, asked), max(longest, wait))), fleet.Redact(fleet.Line(why, 200))
	return t
}

// doubtful gives a delivery up that was tried for long: it may have arrived, so
// what it told is told again where it still holds, and is not passed over where
// it has ended.
func (t Delivered) doubtful() Delivered {
	if t.Open == nil {
		return t
	}
	t = t.clone()
	for k, w := range t.Open.Words {
		old, known := t.Alerts[k]
		known = known && old.Over.IsZero()
		switch over := !w.Over.IsZero(); {
		case over && known && old.Doubt == 0:
			old.Doubt = hasEnded
			t.Alerts[k] = old
		case !over && !known:
			w.Doubt = hasBegun
			t.Alerts[k] = w
		}
	}
	t.Open = nil
	return t
}

// elapsed says whether d has gone by since then. A moment that lies ahead, by a
// clock that was set back, holds nothing up.
func elapsed(now, then fleet.Instant, d time.Duration) bool {
	passed := now.Since(then)
	return passed >= d || passed < 0
}
