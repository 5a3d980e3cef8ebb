package registry

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Settle returns what a pass changes in the registrations: what people ordered
// (their stops at once, even while the action waits), what was seen of instances
// that ended, which agents are given up or tried again, and the agents whose
// spawn is planned. Only those that change are returned, sorted by name, each
// with the revision it had. An order whose record is not lawful after all is
// returned as refused in the plan's orders.
func Settle(past fleet.Past, snap fleet.Snapshot, plan fleet.Plan) ([]fleet.Registration, []fleet.Order) {
	s := settlement{past: past, snap: snap, at: snap.At, all: map[string]fleet.Registration{}, orders: slices.Clone(plan.Orders)}
	for _, r := range past.Registrations {
		s.all[r.Name] = r
	}
	s.sawEnds()
	s.stops()
	for i := range s.orders {
		s.settle(&s.orders[i])
	}
	for _, a := range plan.Actions {
		s.planned(a)
	}
	for _, f := range plan.Failed {
		s.change(f.Agent, func(r fleet.Registration) (fleet.Registration, error) {
			return ledger.MarkFailed(r, f.Why+opens(f.Until))
		})
	}
	return s.changed(), s.orders
}

// opens says when an agent that was given up is tried again: people are notified of
// it once, and status shows it, long after the plan is forgotten.
func opens(until fleet.Instant) string {
	if until.IsZero() {
		return ""
	}
	return "; it is tried again from " + until.Wall.UTC().Format("2006-01-02 15:04:05Z") + " on"
}

type settlement struct {
	past   fleet.Past
	snap   fleet.Snapshot
	at     fleet.Instant
	all    map[string]fleet.Registration
	orders []fleet.Order
}

// change applies one change to a registration; what is not lawful is left out.
func (s *settlement) change(name string, do func(fleet.Registration) (fleet.Registration, error)) error {
	r, ok := s.all[name]
	if !ok {
		return nil
	}
	r, err := do(r)
	if err == nil {
		s.all[name] = r
	}
	return err
}

// sawEnds notes what the snapshot shows of instances: how they ended, their
// session, whether their prompt arrived. Stale facts show nothing new.
func (s *settlement) sawEnds() {
	if !s.snap.Agents.Fresh() {
		return
	}
	for i := range s.snap.Agents.Value {
		a := s.snap.Agents.Value[i]
		_ = s.change(a.Name, func(r fleet.Registration) (fleet.Registration, error) {
			if a.Exit != nil && ledger.EndsIt(r, *a.Exit) && a.Exit.Asked == "" {
				asked := *a.Exit
				asked.Asked = s.askedBy(r, asked)
				a.Exit = &asked
			}
			return stoppedUnordered(Observed(s.launched(r, a), a), r), nil
		})
	}
}

// stoppedUnordered returns now with what a person did by stopping the agent where no order
// could be written down: it is not to run, until a person starts it again.
func stoppedUnordered(now, before fleet.Registration) fleet.Registration {
	e := now.Exit
	if e == nil || before.Exit != nil || !fleet.IsPerson(e.Asked) || now.Desired != fleet.DesiredRunning || e.At.Before(now.DesiredAt) {
		return now
	}
	stopped, err := ledger.SetDesired(now, fleet.DesiredStopped, e.Asked, e.At)
	if err != nil {
		return now
	}
	return stopped
}

// askedBy returns who asked Custos for the end of an instance: who ordered the stop
// that is under way, or wanted it stopped before it ended. "" where no one did. The
// result of a stop comes after the end that it brings about.
func (s *settlement) askedBy(r fleet.Registration, e fleet.Exit) string {
	for _, a := range s.past.Actions {
		if a.Open() && a.Stage == fleet.StageStarted && a.Do == fleet.OrderStop.Action() && a.Subject.Kind == fleet.KindAgent && a.Subject.Name == r.Name {
			return cmp.Or(a.By, fleet.ByCustos)
		}
	}
	unwanted := r.Desired == fleet.DesiredStopped || r.Desired == fleet.DesiredRetired
	if unwanted && !r.DesiredAt.IsZero() && r.DesiredAt.Before(e.At) {
		return r.DesiredBy
	}
	return ""
}

// Observed returns r with what was seen of its agent.
func Observed(r fleet.Registration, a fleet.Agent) fleet.Registration {
	if a.Exit != nil && !a.Unsettled() {
		if ended, err := ledger.Ended(r, *a.Exit); err == nil {
			r = ended
		}
	}
	if session, err := ledger.Sessioned(r, a.Process, a.SessionID); err == nil {
		r = session
	}
	if a.PromptState == fleet.DeliveryAcknowledged && (a.Instance == "" || a.Instance == r.Instance) {
		if now, err := ledger.Prompted(r, a.PromptState); err == nil {
			r = now
		}
	}
	return r
}

// stops notes every stop that is ordered, at once: nothing may start the agent
// while the action that stops it waits.
func (s *settlement) stops() {
	after := map[string]fleet.Order{}
	for _, o := range s.orders {
		after[o.ID] = o
	}
	for _, o := range s.past.Orders {
		is := after[o.ID]
		unlawful := is.State == fleet.OrderRefused && (is.Guard == fleet.GuardApproval || is.Guard == fleet.GuardForeign)
		if o.Do == fleet.OrderStop && !o.IsOver() && !unlawful && !isOfHandoff(o) {
			_ = s.change(o.Agent, func(r fleet.Registration) (fleet.Registration, error) {
				return ledger.SetDesired(r, fleet.DesiredStopped, o.By, o.At)
			})
		}
	}
}

// settle carries out an order that is nothing but a record.
func (s *settlement) settle(o *fleet.Order) {
	if o.State != fleet.OrderDone {
		return
	}
	var err error
	switch {
	case o.Do == fleet.OrderAdopt:
		err = s.adopt(*o)
	case o.Do == fleet.OrderPause && o.Account != "":
		s.account(o.Account, func(r fleet.Registration) fleet.Registration { return ledger.PauseAccount(r, o.By, s.at) })
	case o.Do == fleet.OrderResume && o.Account != "":
		s.account(o.Account, func(r fleet.Registration) fleet.Registration {
			return ledger.LiftLimit(ledger.ResumeAccount(r, o.By, s.at), o.By, s.at)
		})
	case o.Do == fleet.OrderPause:
		err = s.desire(*o, fleet.DesiredPaused)
	case o.Do == fleet.OrderResume && s.all[o.Agent].Desired != fleet.DesiredStopped:
		err = s.resume(*o)
	}
	if err != nil {
		o.State, o.Guard, o.Why = fleet.OrderRefused, fleet.GuardState, fleet.Line(err.Error(), 400)
	}
}

func (s *settlement) desire(o fleet.Order, to fleet.Desired) error {
	return s.change(o.Agent, func(r fleet.Registration) (fleet.Registration, error) { return ledger.SetDesired(r, to, o.By, s.at) })
}

// resume wants an agent to run, and lifts the limit that is its own.
func (s *settlement) resume(o fleet.Order) error {
	return s.change(o.Agent, func(r fleet.Registration) (fleet.Registration, error) {
		r, err := ledger.SetDesired(r, fleet.DesiredRunning, o.By, s.at)
		if err == nil && r.Account == "" {
			r = ledger.LiftLimit(r, o.By, s.at)
		}
		return r, err
	})
}

func (s *settlement) account(name string, do func(fleet.Registration) fleet.Registration) {
	for _, key := range slices.Sorted(maps.Keys(s.all)) {
		if s.all[key].Account == name {
			s.all[key] = do(s.all[key])
		}
	}
}

func (s *settlement) adopt(o fleet.Order) error {
	for _, a := range s.snap.Agents.Value {
		if a.Name != o.Agent {
			continue
		}
		r, err := ledger.Adopt(s.list(), a, o.By, s.at)
		if err == nil {
			s.all[r.Name] = r
		}
		return err
	}
	return nil
}

// planned notes what an action that starts an agent means for its record: it is
// wanted, and no longer given up.
func (s *settlement) planned(a fleet.Action) {
	if a.Do != fleet.OrderSpawn.Action() && a.Do != fleet.OrderRecover.Action() {
		return
	}
	if r := a.Target.Registration; r != nil && a.Do == fleet.OrderSpawn.Action() {
		if _, known := s.all[a.Subject.Name]; !known {
			// Its bounds were checked by decide, in this very pass.
			if made, err := ledger.Register(s.list(), *r, ledger.Bounds{MaxDepth: int(^uint(0) >> 1)}, a.By, s.at); err == nil {
				s.all[made.Name] = made
			}
			return
		}
	}
	_ = s.change(a.Subject.Name, func(r fleet.Registration) (fleet.Registration, error) {
		r = ledger.ClearFailed(r)
		if fleet.IsPerson(a.By) {
			if started, err := ledger.SetDesired(r, fleet.DesiredRunning, a.By, s.at); err == nil {
				r = started
			}
		}
		return r, nil
	})
}

func (s *settlement) list() []fleet.Registration {
	var out []fleet.Registration
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		out = append(out, s.all[name])
	}
	return out
}

// changed lists what is not as it was, by name.
func (s *settlement) changed() (out []fleet.Registration) {
	before := make(map[string]*fleet.Registration, len(s.past.Registrations))
	for i, r := range s.past.Registrations {
		before[r.Name] = &s.past.Registrations[i]
	}
	for name, r := range s.all {
		if was, known := before[name]; !known || !reflect.DeepEqual(*was, r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b fleet.Registration) int { return strings.Compare(a.Name, b.Name) })
	return out
}
