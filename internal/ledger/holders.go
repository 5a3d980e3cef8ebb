package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"custos/internal/fleet"
)

// beganSlack is how exactly it is known by the wall clock when a process began; holdsKept how long it is
// remembered who held a conversation that nobody holds.
const (
	beganSlack = 2 * time.Second
	holdsKept  = 24 * time.Hour
)

// Holders remember who held which conversation of an agent CLI, from when until when, as far as it was seen. The
// zero value has seen nothing. They are for one goroutine.
type Holders struct {
	holds map[[2]string][]*hold // by kind and session
	last  map[string]*hold      // by holder
}

type hold struct {
	fleet.Holding
	seen   time.Time // last
	filled bool
}

// Look takes what is seen now. An agent holds its conversation since its process began; one that was seen at
// another one, since it was seen there last: what is older in it is not its own. One that has ended holds none.
func (h *Holders) Look(seen fleet.Snapshot, past fleet.Past) {
	if h.holds == nil {
		h.holds, h.last = map[[2]string][]*hold{}, map[string]*hold{}
	}
	at, registered, working, live := cmp.Or(seen.Agents.At, seen.At).Wall, ByName(past.Registrations), past.Records.Working(), map[string]bool{}
	for i := range seen.Agents.Value {
		a := &seen.Agents.Value[i]
		if a.Process.PID == 0 {
			continue
		}
		began := at
		if age, known := a.Age.Get(); known {
			began = at.Add(-time.Duration(age) - beganSlack)
		}
		by := cmp.Or(a.Instance, fmt.Sprint(a.Process))
		live[by] = true
		h.take(by, fleet.Holding{Whose: held(fleet.SpenderOf(registered[a.Name], a, working), a.SessionID, a.Instance, began)}, at)
	}
	for i := range past.Registrations {
		r := &past.Registrations[i]
		if r.Instance == "" || live[r.Instance] || r.StartedAt.IsZero() {
			continue
		}
		one := fleet.Holding{Whose: held(fleet.SpenderOf(r, nil, working), r.SessionID, r.Instance, r.StartedAt.Wall.Add(-beganSlack))}
		if x := r.Exit; x != nil && !x.At.IsZero() {
			one.Until = x.At.Wall.Add(beganSlack)
		}
		h.take(r.Instance, one, at)
	}
	if seen.Agents.Usable() {
		h.letGo(at)
	}
}

func held(s fleet.Spender, session, instance string, since time.Time) fleet.Usage {
	return fleet.Usage{Kind: s.Kind, Session: session, At: since, Agent: s.Agent, Instance: instance, Role: s.Role, Project: s.Project, Account: s.Account, Run: s.Run, Work: s.Work}
}

// take notes that a holder holds a conversation. Of other work, and in another run, it holds it anew.
func (h *Holders) take(by string, one fleet.Holding, at time.Time) {
	if one.Whose.Session == "" || one.Whose.Agent == "" {
		return
	}
	if old := h.last[by]; old != nil {
		is, was := one.Whose, old.Whose
		if is.Kind == was.Kind && is.Session == was.Session && is.Run == was.Run && is.Work == was.Work {
			one.Whose.At, old.seen, old.Holding = was.At, at, one
			return
		}
		old.Until, one.Whose.At = at, old.seen
	}
	of := [2]string{one.Whose.Kind, one.Whose.Session}
	h.last[by] = &hold{Holding: one, seen: at}
	h.holds[of] = append(h.holds[of], h.last[by])
}

// letGo ends what was not seen any more, and forgets what ended long ago.
func (h *Holders) letGo(at time.Time) {
	for of, list := range h.holds {
		for _, one := range list {
			if one.seen.Before(at) && one.Until.IsZero() {
				one.Until = at
			}
		}
		if h.holds[of] = slices.DeleteFunc(list, func(o *hold) bool { return at.Sub(o.seen) > holdsKept }); len(h.holds[of]) == 0 {
			delete(h.holds, of)
		}
	}
	maps.DeleteFunc(h.last, func(_ string, o *hold) bool { return at.Sub(o.seen) > holdsKept })
}

// Of fills in whose a response is: of who held its conversation when it was made, and of several of who took it last.
// Whose account it is, the folder of its conversation tells first.
func (h *Holders) Of(u fleet.Usage) fleet.Usage {
	var whose *hold
	for _, one := range h.holds[[2]string{u.Kind, u.Session}] {
		if u.At.Before(one.Whose.At) || !one.Until.IsZero() && !u.At.Before(one.Until) || whose != nil && one.Whose.At.Before(whose.Whose.At) {
			continue
		}
		whose = one
	}
	if whose != nil {
		w := whose.Whose
		u.Agent, u.Instance, u.Role, u.Project, u.Account, u.Run, u.Work = w.Agent, w.Instance, w.Role, w.Project, cmp.Or(u.Account, w.Account), w.Run, w.Work
	}
	return u
}

// Unfilled are those of which Filled was not said yet, who took a conversation last first: responses that were
// written down before it was known who held their conversation are filled in by them.
func (h *Holders) Unfilled() (list []fleet.Holding) {
	for _, holds := range h.holds {
		for _, one := range holds {
			if !one.filled {
				list = append(list, one.Holding)
			}
		}
	}
	slices.SortFunc(list, func(a, b fleet.Holding) int { return b.Whose.At.Compare(a.Whose.At) })
	return list
}

// Filled says that all that Unfilled lists are filled in.
func (h *Holders) Filled() {
	for _, holds := range h.holds {
		for _, one := range holds {
			one.filled = true
		}
	}
}

func ByName(list []fleet.Registration) map[string]*fleet.Registration {
	out := map[string]*fleet.Registration{}
	for i := range list {
		out[list[i].Name] = &list[i]
	}
	return out
}
