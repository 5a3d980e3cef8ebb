package report

import (
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// Route says which alerts a receiver gets, and when. An alert reaches a
// receiver through the first route, in the order they are given, that matches it
// and names the receiver; so no one gets it twice.
type Route struct {
	Name     string
	To       []string       // names of notifiers
	Priority fleet.Priority // at least so bad
	Rules    []string       // globs of rule names; none: any
	Projects []string       // globs of a word of the subject's name; none: any
	Kinds    []string       // kinds of subject; none: any

	Wait     time.Duration   // after an alert began, for what belongs to it
	Interval time.Duration   // between two messages, at least
	Repeat   []time.Duration // waits between messages about what is not acknowledged; the last goes on; none: never
	Louder   time.Duration   // after so long without acknowledgement it counts as one priority worse; 0: never
	Quiet    Quiet
}

// Quiet are hours of the day in which only the worst is sent. The zero Quiet is none.
type Quiet struct {
	From, Until time.Duration  // since midnight, by the clock on the wall
	Zone        *time.Location // nil: UTC
	Breaks      fleet.Priority // at least so bad is sent all the same; "": nothing is
}

// What holds where a route says nothing. The waits are those of Alertmanager but
// for the repeats, which come sooner.
const (
	DefaultPriority = fleet.P2
	DefaultWait     = 30 * time.Second
	DefaultInterval = 5 * time.Minute
	DefaultLouder   = 4 * time.Hour
	DefaultBreaks   = fleet.P1
)

// repeats is how long it takes, by priority, until what is not acknowledged is
// told again: the worse, the more often, and what presses comes ever sooner.
func repeats(p fleet.Priority) []time.Duration {
	switch p {
	case fleet.P0:
		return []time.Duration{15 * time.Minute, 10 * time.Minute}
	case fleet.P1:
		return []time.Duration{time.Hour, 30 * time.Minute}
	case fleet.P2:
		return []time.Duration{4 * time.Hour, 12 * time.Hour, 24 * time.Hour}
	}
	return []time.Duration{24 * time.Hour}
}

// routeOf returns the first route that leads an alert of that priority to a
// receiver; nil when none does.
func routeOf(routes []Route, to string, key fleet.AlertKey, p fleet.Priority) *Route {
	return fleet.Find(routes, func(x *Route) bool { return x.matches(to, key, p) })
}

// muteRule is the rule about a receiver that cannot be reached. All that get anything
// get that: the one it is about cannot.
const muteRule = "self-mute"

func (r *Route) matches(to string, key fleet.AlertKey, p fleet.Priority) bool {
	if key.Rule == muteRule {
		return slices.Contains(r.To, to)
	}
	return slices.Contains(r.To, to) && p.AtLeast(r.Priority) && anyOf(r.Rules, key.Rule) &&
		anyOf(r.Kinds, string(key.Subject.Kind)) && anyOf(r.Projects, words(key.Subject.Name)...)
}

// words are the name and its words: of "custos#12" and of "/srv/custos" the
// project is custos.
func words(name string) []string {
	return append(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/#!:@ ", r) }), name)
}

func anyOf(globs []string, names ...string) bool {
	if len(globs) == 0 {
		return true
	}
	for _, g := range globs {
		for _, n := range names {
			if ok, err := path.Match(g, n); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// loud is the priority an alert is told at: one worse when it was not taken up
// for long. What is only degraded never gets urgent by age, but where its rule says
// that people are told after so many patrols they are, as of what stopped.
func (r *Route) loud(a fleet.Alert, now fleet.Instant) fleet.Priority {
	if a.TellAfter > 0 && !a.Priority.AtLeast(told) {
		return told
	}
	if r.Louder <= 0 || a.AckedBy != "" || now.Since(a.FiredAt) < r.Louder {
		return a.Priority
	}
	switch a.Priority {
	case fleet.P1:
		return fleet.P0
	case fleet.P2:
		return fleet.P1
	}
	return a.Priority
}

// Reaches names the notifiers that a message reaches, sooner or later.
func (r *Reporter) Reaches(m fleet.Message) (names []string) {
	for _, p := range r.posts {
		if routeOf(r.o.Routes, p.to, m.Alert, m.Priority) != nil {
			names = append(names, p.to)
		}
	}
	return names
}

// loudest is the route of an alert, and how loud it is there: an old alert may
// reach those that did not get it at first.
func loudest(routes []Route, to string, a fleet.Alert, now fleet.Instant) (*Route, fleet.Priority) {
	for i := range routes {
		if p := routes[i].loud(a, now); routes[i].matches(to, a.AlertKey, p) {
			return &routes[i], p
		}
	}
	return nil, ""
}

// again is how long after its message number times an alert is sent once more.
func (r *Route) again(p fleet.Priority, times int) (time.Duration, bool) {
	list := r.Repeat
	if list == nil {
		list = repeats(p)
	}
	if len(list) == 0 || times < 1 {
		return 0, false
	}
	return list[min(times, len(list))-1], true
}

// holds says whether what is of that priority has to wait at that moment.
func (q Quiet) holds(at time.Time, p fleet.Priority) bool {
	if q.From == q.Until || q.Breaks != "" && p.AtLeast(q.Breaks) {
		return false
	}
	zone := q.Zone
	if zone == nil {
		zone = time.UTC
	}
	local := at.In(zone)
	clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	if q.From < q.Until {
		return q.From <= clock && clock < q.Until
	}
	return clock >= q.From || clock < q.Until
}
