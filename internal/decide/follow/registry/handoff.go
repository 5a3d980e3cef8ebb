package registry

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// HandOff carries the hand-offs on by one stage each, from what is remembered, what
// was seen, and what this very pass plans and changes already. A stage is entered when the one before is known to be over, and
// the order it gives has an ID made of the instance: however often a pass is thought
// out again, it is one order. What is not known changes nothing.
func HandOff(p fleet.Pass) fleet.Follows {
	past, settled := p.Past, p.Plan.Registrations
	r := &relief{past: past, snap: p.Snapshot, policy: p.Policy.Handoff, plan: p.Plan, out: fleet.Follows{Changes: fleet.Changes{Registrations: slices.Clone(settled)}}}
	if past.Blind != "" {
		return r.out
	}
	for _, was := range past.Registrations {
		i := slices.IndexFunc(settled, func(s fleet.Registration) bool { return s.Name == was.Name })
		is := was
		if i >= 0 {
			is = settled[i]
		}
		if !r.step(&is) {
			continue
		}
		if i >= 0 {
			r.out.Registrations[i] = is
		} else {
			r.out.Registrations = append(r.out.Registrations, is)
		}
	}
	slices.SortFunc(r.out.Registrations, func(a, b fleet.Registration) int { return strings.Compare(a.Name, b.Name) })
	r.out.Wake = len(r.out.Given) > 0
	return r.out
}

// relief is one pass over the hand-offs.
type relief struct {
	past   fleet.Past
	snap   fleet.Snapshot
	policy fleet.HandoffPolicy
	plan   fleet.Plan
	out    fleet.Follows
}

// step carries the hand-off of one agent on, and says whether anything changed.
func (x *relief) step(r *fleet.Registration) bool {
	h := r.Handoff
	switch {
	case h != nil && h.Instance != r.Instance && !isHandedOver(h):
		x.succeeded(r)
		return true
	case r.Desired == fleet.DesiredPaused && isHandingOver(*r):
		x.hold(r, next(h.Stage), fleet.HeldMove{Guard: fleet.GuardPaused, Held: "it is to be paused", Hint: "custos resume " + r.Name})
		return false
	case r.Desired != fleet.DesiredRunning || !x.policy.Covers(*r):
		return false
	case h == nil || h.Instance != r.Instance:
		return x.ask(r)
	}
	switch h.Stage {
	case fleet.HandoffAsked:
		return x.asked(r)
	case fleet.HandoffWritten:
		return x.written(r)
	case fleet.HandoffSaving:
		return x.saving(r)
	case fleet.HandoffStopping:
		return x.stopping(r)
	case fleet.HandoffStarting:
		return x.starting(r)
	}
	return false
}

func isHandedOver(h *fleet.Handoff) bool {
	return h.Stage == fleet.HandoffDone || h.Stage == fleet.HandoffFailed
}

// isHandingOver says whether a fresh agent is to take the place of the newest instance.
func isHandingOver(r fleet.Registration) bool {
	return r.Handoff != nil && r.Handoff.Instance == r.Instance && !isHandedOver(r.Handoff)
}

// isOfHandoff says whether an order is a stage of a hand-off. One that ends the agent
// is no wish that it be down: another one takes its place.
func isOfHandoff(o fleet.Order) bool {
	return o.By == fleet.ByCustos && strings.HasPrefix(o.ID, handoffOrder)
}

// handoffOrder is how the IDs of the orders of hand-offs begin.
const handoffOrder = "handoff-"

// succeeded notes who took over. One that was only asked, and was started again
// before it wrote anything down, has kept its conversation: there is nothing to
// hand over.
func (x *relief) succeeded(r *fleet.Registration) {
	if r.Handoff.Stage != fleet.HandoffStarting {
		r.Handoff = nil
		return
	}
	x.enter(r, fleet.HandoffDone, "tell", "")
	r.Handoff.Next, r.Handoff.Text = r.Instance, ""
	if r.PromptState == fleet.DeliveryPending { // its kind takes none on the command line
		x.give(r, fleet.OrderNudge, r.Prompt, handoffPatience)
	}
}

// ask has an agent whose context is nearly full write down what the next one must
// know, once, when its turn is over.
func (x *relief) ask(r *fleet.Registration) bool {
	a := x.seen(r)
	if a == nil {
		return false
	}
	used, known := a.ContextPercent.Get()
	if !known || used < x.policy.Percent {
		return false
	}
	if !a.TurnOver() {
		x.hold(r, fleet.HandoffAsked, atWork())
		return false
	}
	if r.PromptState == fleet.DeliveryPending || r.PromptState == fleet.DeliverySent {
		x.hold(r, fleet.HandoffAsked, fleet.HeldMove{Guard: fleet.GuardInFlight, Held: "it was not seen to have its first prompt yet"})
		return false
	}
	r.Handoff = &fleet.Handoff{Instance: r.Instance}
	x.enter(r, fleet.HandoffAsked, "ask", fmt.Sprintf("%.0f %% of its context are used", used))
	x.give(r, fleet.OrderNudge, askText(used), x.policy.Deadline)
	x.out.Due(x.snap.At, r.Handoff.Since.Add(time.Duration(x.policy.Deadline)))
	return true
}

// asked waits for the hand-off, as long as it is given; then its work is backed up,
// and the rest is a person's.
func (x *relief) asked(r *fleet.Registration) bool {
	if x.snap.At.Since(r.Handoff.Since) < time.Duration(x.policy.Deadline) {
		until := r.Handoff.Since.Add(time.Duration(x.policy.Deadline))
		x.out.Due(x.snap.At, until)
		x.hold(r, fleet.HandoffWritten, fleet.HeldMove{Guard: fleet.GuardState, Held: "it was asked at " + moment(r.Handoff.Since) + ", and has written nothing yet", Until: until})
		return false
	}
	x.enter(r, fleet.HandoffLate, "late", "it was asked for a hand-off at "+moment(r.Handoff.Since)+", and wrote none within "+x.policy.Deadline.String())
	x.give(r, fleet.OrderBackup, "", handoffPatience)
	return true
}

// handoffPatience is how long a stage waits for its order: a stop waits for the end
// of the turn, everything for a fleet that is frozen.
const handoffPatience = fleet.Duration(24 * time.Hour)

func (x *relief) written(r *fleet.Registration) bool {
	if r.Exit != nil {
		x.start(r)
		return true
	}
	x.enter(r, fleet.HandoffSaving, "save", "")
	x.give(r, fleet.OrderBackup, "", handoffPatience)
	return true
}

// saving waits for the checkpoint, and then for the end of the turn.
func (x *relief) saving(r *fleet.Registration) bool {
	if r.Exit != nil {
		x.start(r)
		return true
	}
	switch done, why := x.answer(r.Handoff.Order); {
	case why != "":
		x.enter(r, fleet.HandoffFailed, "", "its work could not be backed up: "+why)
		return true
	case !done:
		x.hold(r, fleet.HandoffStopping, x.awaited(r, "its checkpoint is not made yet"))
		return false
	}
	switch a := x.seen(r); {
	case a == nil:
		x.hold(r, fleet.HandoffStopping, fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "it is not seen now"})
		return false
	case !a.TurnOver():
		x.hold(r, fleet.HandoffStopping, atWork())
		return false
	}
	x.enter(r, fleet.HandoffStopping, "stop", "")
	x.give(r, fleet.OrderStop, "it has handed over, and a fresh one takes its place", handoffPatience)
	return true
}

func (x *relief) stopping(r *fleet.Registration) bool {
	if r.Exit != nil {
		x.start(r)
		return true
	}
	if _, why := x.answer(r.Handoff.Order); why != "" {
		x.enter(r, fleet.HandoffFailed, "", "it could not be ended: "+why)
		return true
	}
	x.hold(r, fleet.HandoffStarting, x.awaited(r, "it is being ended"))
	return false
}

// start has the agent started again. Whatever does that, by this order or for a rule,
// finds the stage in the record, and begins afresh with FreshPrompt.
func (x *relief) start(r *fleet.Registration) {
	x.enter(r, fleet.HandoffStarting, "start", "")
	x.give(r, fleet.OrderRecover, "", handoffPatience)
}

func (x *relief) starting(r *fleet.Registration) bool {
	if _, why := x.answer(r.Handoff.Order); why != "" && !x.isRecovering(r) {
		x.enter(r, fleet.HandoffFailed, "", "the fresh one could not be started: "+why)
		return true
	}
	x.hold(r, fleet.HandoffDone, x.awaited(r, "the fresh one is being started"))
	return false
}

// isRecovering says whether a rule is at it: the order then found that it was done,
// or is being done.
func (x *relief) isRecovering(r *fleet.Registration) bool {
	is := func(a fleet.Action) bool { return a.Do == fleet.OrderRecover.Action() && a.Subject.Name == r.Name }
	return slices.ContainsFunc(x.plan.Actions, is) || slices.ContainsFunc(x.past.Actions, func(a fleet.ActionRecord) bool { return a.Open() && is(a.Action) })
}

// enter writes down that a stage begins. The record is another one: what is
// remembered stays as it is.
func (x *relief) enter(r *fleet.Registration, stage fleet.HandoffStage, order, why string) {
	h := *r.Handoff
	h.Stage, h.Since, h.Why, h.Order = stage, x.snap.At, fleet.Line(why, 300), ""
	if order != "" {
		h.Order = handoffOrder + h.Instance + "-" + order
	}
	r.Handoff = &h
}

func (x *relief) give(r *fleet.Registration, do fleet.OrderDo, text string, patience fleet.Duration) {
	x.out.Given = append(x.out.Given, fleet.Order{ID: r.Handoff.Order, Do: do, Agent: r.Name, By: fleet.ByCustos, Text: text,
		At: x.snap.At, Expires: x.snap.At.Add(time.Duration(patience)), State: fleet.OrderOpen})
}

// hold says that the next stage of a hand-off is not entered, and what holds it back.
func (x *relief) hold(r *fleet.Registration, to fleet.HandoffStage, held fleet.HeldMove) {
	held.Record, held.To = fleet.Subject{Kind: fleet.KindAgent, Name: r.Name}, "hand-off "+string(to)
	if isHandingOver(*r) {
		held.From = "hand-off " + string(r.Handoff.Stage)
	}
	x.out.Hold(held)
}

func atWork() fleet.HeldMove {
	return fleet.HeldMove{Guard: fleet.GuardState, Held: "its turn is not over"}
}

// awaited is what holds a stage back that waits for its order: what holds that.
func (x *relief) awaited(r *fleet.Registration, what string) fleet.HeldMove {
	for _, o := range slices.Concat(x.plan.Orders, x.past.Orders) {
		if o.ID == r.Handoff.Order && o.State == fleet.OrderQueued {
			return fleet.HeldMove{Guard: o.Guard, Held: o.Why, Until: o.Until, Hint: o.Hint}
		} else if o.ID == r.Handoff.Order {
			break
		}
	}
	return fleet.HeldMove{Guard: fleet.GuardInFlight, Held: what}
}

// next is the stage after one, when all goes well.
func next(s fleet.HandoffStage) fleet.HandoffStage {
	switch s {
	case fleet.HandoffAsked, fleet.HandoffLate:
		return fleet.HandoffWritten
	case fleet.HandoffWritten:
		return fleet.HandoffSaving
	case fleet.HandoffSaving:
		return fleet.HandoffStopping
	case fleet.HandoffStopping:
		return fleet.HandoffStarting
	}
	return fleet.HandoffDone
}

// answer says whether an order is done, or why it came to nothing. An order of
// which neither order nor action is remembered came to nothing that can be relied on.
func (x *relief) answer(id string) (done bool, why string) {
	for _, o := range slices.Concat(x.plan.Orders, x.past.Orders) {
		if o.ID != id {
			continue
		}
		if o.State != fleet.OrderDone && o.IsOver() {
			return false, string(o.State) + ": " + o.Why
		}
		return o.State == fleet.OrderDone, ""
	}
	switch a := ledger.Answers(x.past.Actions)[id]; {
	case a == nil:
		return false, "it is not known what became of order " + id
	case a.Result == nil:
		return false, ""
	case ledger.IsCarriedOut(a.Result.Status):
		return true, ""
	default:
		return false, string(a.Result.Status) + ": " + a.Result.Why
	}
}

// seen returns the agent's newest instance as it was just seen; nil when it was not.
func (x *relief) seen(r *fleet.Registration) *fleet.Agent {
	if !x.snap.Agents.Fresh() {
		return nil
	}
	for i := range x.snap.Agents.Value {
		if a := &x.snap.Agents.Value[i]; a.Name == r.Name && a.Instance == r.Instance {
			return a
		}
	}
	return nil
}

func moment(t fleet.Instant) string { return t.Wall.UTC().Format("2006-01-02 15:04:05Z") }

// askText asks an agent for its hand-off.
func askText(used float64) string {
	return fmt.Sprintf("%.0f %% of your context are used, so Custos will replace you by a fresh agent in this very folder. "+
		"Do not begin anything new. Write down what that agent must know: the task, what is done, what is not, what you found out, what to do next. "+
		"Hand it over with `custos handoff --file -` (the text on standard input, at most 64 KiB), and then end your turn. Nothing else of this conversation is passed on.", used)
}
