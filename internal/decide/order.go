package decide

import (
	"time"

	"custos/internal/fleet"
)

// ruleOrder stands for a rule in the key of what an order asks for.
const ruleOrder = "order"

// queue keeps the orders of one agent in line.
type queue struct {
	ahead  map[place]string               // the order that comes first
	stops  map[string]int                 // agent: index of the last order of a person to stop it
	coming map[string]bool                // agent: a spawn of it waits, of those that were answered so far
	taken  map[string]int                 // agent: starts that a stop takes back in this pass
	open   map[string]*fleet.ActionRecord // actions by ID, filled when first asked for
	listed map[string]*fleet.Registration // spawned in this very plan
}

// place is where orders wait for each other: those of one agent that do the same
// kind of thing. An answer does not wait for a nudge that waits for the end of
// the dialog, and nothing waits in front of a stop; only a start waits for one.
type place struct{ agent, lane string }

func newQueue() queue {
	return queue{ahead: map[place]string{}, stops: map[string]int{}, coming: map[string]bool{}, taken: map[string]int{}, listed: map[string]*fleet.Registration{}}
}

func laneOf(do fleet.OrderDo) string {
	if do == fleet.OrderSpawn || do == fleet.OrderRecover {
		return "start"
	}
	return string(do)
}

// answerOrders answers each order that is not over, in the order given.
func (p *pass) answerOrders() {
	orders := p.past.Orders
	for i := range orders {
		if o := &orders[i]; !o.IsOver() && o.Do == fleet.OrderStop && fleet.IsPerson(o.By) && p.isMeant(o) {
			p.queue.stops[o.Agent] = i
			p.stopped[agentSubject(o.Agent)] = true
		}
	}
	for i := range orders {
		if !orders[i].IsOver() {
			p.answer(i, &orders[i])
		}
	}
	p.forgetAsked()
}

// forgetAsked ends the orders of people at other hosts that nobody here has approved of in their time.
func (p *pass) forgetAsked() {
	for _, o := range p.past.Asked {
		if !p.snap.At.Before(o.AskedUntil()) {
			o.State, o.Guard, o.Why = fleet.OrderExpired, fleet.GuardApproval, "nobody here has approved of it"
			p.plan.Orders = append(p.plan.Orders, o)
		}
	}
}

func agentSubject(name string) fleet.Subject {
	return fleet.Subject{Kind: fleet.KindAgent, Name: name}
}

// answer judges one order and notes what changes.
func (p *pass) answer(i int, was *fleet.Order) {
	o, waits := p.afterItsAction(*was)
	if !waits && !o.IsOver() {
		o = p.decideOrder(i, o)
	}
	if !o.IsOver() {
		if !p.yields(&o) {
			p.queue.ahead[place{o.Agent, laneOf(o.Do)}] = o.ID
		}
		p.queue.coming[o.Agent] = p.queue.coming[o.Agent] || o.Do == fleet.OrderSpawn
	}
	if changed(was, &o) {
		p.plan.Orders = append(p.plan.Orders, o)
	}
}

// afterItsAction says whether the order waits for the action that answers it, or for
// what a look tells of it. An action that ended, and whose order was not told, is made
// up for.
func (p *pass) afterItsAction(o fleet.Order) (_ fleet.Order, waits bool) {
	if o.Action == "" {
		return o, false
	}
	r := p.record(o.Action)
	switch {
	case r == nil:
		o.State, o.Guard, o.Why = fleet.OrderRefused, fleet.GuardEvidence, "in doubt: the record of the action that answered it is lost"
	case r.Open():
		return o, true
	case r.Result != nil:
		if o = o.After(*r.Result); r.Result.Status == fleet.ResultInDoubt && !o.IsOver() {
			return p.settleDoubt(o, r), true
		}
	default:
		o.Action = ""
	}
	return o, false
}

// settleDoubt returns an order of which it was in doubt whether it was carried out: when
// another instance is on record since, it was. That none is proves nothing, so the order
// waits for as long as orders do.
func (p *pass) settleDoubt(o fleet.Order, r *fleet.ActionRecord) fleet.Order {
	reg, was := p.known.registered[o.Agent], r.Target.Registration
	switch {
	case reg != nil && was != nil && reg.Instance != was.Instance:
		o.State, o.Guard, o.Why = fleet.OrderDone, "", "it was in doubt, and instance "+reg.Instance+" was started"
	case !p.snap.At.Before(p.expiry(&o)):
		o.State, o.Guard, o.Why = fleet.OrderRefused, "", o.Why+"; it was not seen to run since"
	default:
		o.Hint = "custos why agent/" + word(o.Agent)
	}
	return o
}

func (p *pass) record(id string) *fleet.ActionRecord {
	if p.queue.open == nil {
		p.queue.open = make(map[string]*fleet.ActionRecord, len(p.past.Actions))
		for i := range p.past.Actions {
			p.queue.open[p.past.Actions[i].ID] = &p.past.Actions[i]
		}
	}
	return p.queue.open[id]
}

// decideOrder returns the order as it is after this pass.
func (p *pass) decideOrder(i int, o fleet.Order) fleet.Order {
	p.takeBack(i, &o)
	if g, no := p.askQueue(i, &o); no != nil {
		return refused(o, g, no)
	}
	if expires := p.expiry(&o); !p.snap.At.Before(expires) {
		o.State, o.Until = fleet.OrderExpired, fleet.Instant{}
		last := ""
		if o.Why != "" {
			last = "; at last: " + o.Why
		}
		o.Why = "it was not carried out by " + clock(expires) + last
		return o
	}
	if o.Do.Action() == "" {
		g, no := p.askRecord(&o)
		return p.inTime(refused(o, g, no))
	}
	r := p.orderRequest(&o)
	if r.wish.Target == (fleet.Target{}) {
		g, no := p.noSuchAgent(&o)
		return p.inTime(refused(o, g, no))
	}
	if g, no := p.askOrder(r); no != nil {
		return p.inTime(refused(o, g, no))
	}
	a := p.grant(r)
	if r.wish.Do == doSpawn {
		p.queue.listed[o.Agent] = r.wish.Target.Registration
	}
	o.State, o.Guard, o.Why, o.Until, o.Hint, o.Action = fleet.OrderOpen, "", "", fleet.Instant{}, "", a.ID
	return o
}

// askOrder is what holds an order for the longest that is known.
func (p *pass) askOrder(r *request) (fleet.Guard, *refusal) {
	if g, no := p.askStopped(r); no != nil {
		return g, no
	}
	g, no := p.ask(r)
	if no != nil && no.until.IsZero() {
		return g, no
	}
	list := make([]objection, 0, 2)
	if no != nil {
		list = append(list, objection{g, no})
	}
	if g, no := p.askAgain(r); no != nil {
		list = append(list, objection{g, no})
	}
	return longest(list)
}

// refused returns the order as a guard left it.
func refused(o fleet.Order, g fleet.Guard, no *refusal) fleet.Order {
	o.State, o.Guard, o.Why, o.Until, o.Hint = fleet.OrderQueued, g, no.why, no.until, no.hint
	switch {
	case no.done:
		o.State, o.Guard, o.Why = fleet.OrderDone, "", o.WithTakenBack(no.why)
	case no.final:
		o.State = fleet.OrderRefused
	}
	return o
}

// inTime says of an order that waits when it is over before it may be carried out: who gave it
// for too short a time hears it at once.
func (p *pass) inTime(o fleet.Order) fleet.Order {
	expires := p.expiry(&o)
	if o.State == fleet.OrderQueued && p.snap.At.Add(time.Nanosecond).Before(expires) && expires.Before(o.Until) {
		o.Why += "; it expires before that, at " + clock(expires)
	}
	return o
}

// expiry returns when the order is no longer worth carrying out.
func (p *pass) expiry(o *fleet.Order) fleet.Instant {
	if !o.Expires.IsZero() {
		return o.Expires
	}
	ttl := p.policy.Agents.OrderTTL
	if o.Do == fleet.OrderNudge || o.Do == fleet.OrderAnswer {
		ttl = p.policy.Agents.NudgeTTL
	}
	if ttl <= 0 {
		return p.snap.At.Add(time.Nanosecond) // never
	}
	return o.At.Add(time.Duration(ttl))
}

// takeBack counts the starts that a person's stop takes back; it stands behind them
// in the line. Those of an earlier pass are noted in it.
func (p *pass) takeBack(i int, o *fleet.Order) {
	stop, ordered := p.queue.stops[o.Agent]
	switch {
	case ordered && i < stop && laneOf(o.Do) == laneOf(fleet.OrderSpawn) && mayOrder(o):
		p.queue.taken[o.Agent]++
	case ordered && o.Do == fleet.OrderStop && fleet.IsPerson(o.By):
		o.TakenBack += p.queue.taken[o.Agent]
	}
}

// askQueue is what only orders are asked: whether their author may give them,
// whether a stop has overtaken them, and whether it is their turn.
func (p *pass) askQueue(i int, o *fleet.Order) (fleet.Guard, *refusal) {
	if !mayOrder(o) {
		return fleet.GuardApproval, &refusal{why: string(o.Do) + " takes a person, not " + author(o.By), final: true}
	}
	if !p.isMeant(o) {
		return fleet.GuardState, &refusal{why: "another instance of " + word(o.Agent) + " has begun than the one that it was for", final: true}
	}
	if why := p.whyFenced(o); why != "" {
		return fleet.GuardLease, &refusal{why: why, hint: hintHub, final: true}
	}
	if stop, ok := p.queue.stops[o.Agent]; ok && (i < stop && overtaken(o.Do) || o.Do == fleet.OrderStop && !fleet.IsPerson(o.By)) {
		by := &p.past.Orders[stop]
		return fleet.GuardPerson, &refusal{why: by.By + " ordered at " + clock(by.At) + ", after this, that it be stopped", final: true}
	}
	lanes := []string{laneOf(o.Do)}
	if lanes[0] == laneOf(fleet.OrderSpawn) {
		lanes = append(lanes, laneOf(fleet.OrderStop))
	}
	for _, lane := range lanes {
		if first, ok := p.queue.ahead[place{o.Agent, lane}]; ok {
			return fleet.GuardInFlight, &refusal{why: "order " + first + " comes first"}
		}
	}
	return "", nil
}

// isMeant says whether an order is for what runs by that name, and not for what ran before:
// what was shown is what is seen, or the newest on record.
func (p *pass) isMeant(o *fleet.Order) bool {
	var known []string
	if seen := p.known.seen[o.Agent]; seen != nil {
		known = append(known, seen.Identity())
	}
	if reg := p.known.registered[o.Agent]; reg != nil {
		known = append(known, reg.Identity())
	}
	return o.IsFor(known...)
}

// noSuchAgent answers an order about a name that nothing is known by.
func (p *pass) noSuchAgent(o *fleet.Order) (fleet.Guard, *refusal) {
	if o.Do != fleet.OrderSpawn && !p.snap.Agents.Fresh() {
		return fleet.GuardEvidence, &refusal{why: "agents is " + status(p.snap.Agents.Status), hint: hintLook}
	}
	return fleet.GuardState, &refusal{why: "there is no agent " + word(o.Agent), final: true, done: o.TakenBack > 0}
}

// mayOrder: an agent may spawn and ask for a checkpoint, and the nudge that is its own is the
// first prompt of what it spawned: server takes no other of it. Custos may order
// what its rules may wish for. Answers, and what people want, are for people.
func mayOrder(o *fleet.Order) bool {
	if fleet.IsPerson(o.By) {
		return true
	}
	switch o.Do {
	case fleet.OrderSpawn, fleet.OrderNudge, fleet.OrderBackup:
		return o.By != ""
	case fleet.OrderStop, fleet.OrderRecover, fleet.OrderInterrupt:
		return o.By == fleet.ByCustos
	}
	return false
}

func author(by string) string {
	if by == "" {
		return "nobody"
	}
	return by
}

// overtaken says whether an order is moot once a person ordered a stop after it.
func overtaken(do fleet.OrderDo) bool {
	switch do {
	case fleet.OrderSpawn, fleet.OrderRecover, fleet.OrderNudge, fleet.OrderAnswer, fleet.OrderInterrupt:
		return true
	}
	return false
}

// orderRequest turns an order into what the guards are asked about.
func (p *pass) orderRequest(o *fleet.Order) *request {
	s := agentSubject(o.Agent)
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleOrder, Subject: s}, Priority: fleet.P2, Since: o.At,
		Firing: true, Fresh: true, Summary: o.By + " ordered it", Parts: []fleet.PartName{fleet.PartAgents}}
	w := &fleet.Wish{Do: o.Do.Action(), Subject: s, Text: o.Text}
	r := &request{finding: f, wish: w, remedy: p.policy.Agents.Orders, order: o, reg: p.known.registered[o.Agent], run: p.runOf(o)}
	r.remedy.Mode = fleet.ModeAuto
	r.ability, r.able = p.policy.Abilities[w.Do]
	r.tries = p.tries(r)
	p.aim(r)
	r.claim = claimOf(s, r.target(), r.ability.Harmless)
	return r
}

// aim finds the target of an order.
func (p *pass) aim(r *request) {
	o, seen := r.order, p.known.seen[r.order.Agent]
	switch {
	case r.wish.Do == doSpawn && o.Spawn != nil:
		spawn := *o.Spawn
		spawn.Name, spawn.Owner = o.Agent, fleet.OwnerCustos
		if parent := p.known.registered[spawn.Parent]; parent != nil {
			spawn.Depth = parent.Depth + 1
		}
		r.wish.Target.Registration = &spawn
	case r.wish.Do == doSpawn:
		r.wish.Target.Registration = r.reg
	case seen != nil:
		r.wish.Target.Agent = seen
	case r.reg != nil:
		r.wish.Target.Agent = &fleet.Agent{Name: r.reg.Name, Kind: r.reg.Kind, Owner: r.reg.Owner, Registered: true}
		r.unseen = "it was not seen yet"
	case p.queue.coming[o.Agent]:
		r.wish.Target.Agent = &fleet.Agent{Name: o.Agent, Owner: fleet.OwnerCustos}
		r.unseen = "it is not started yet"
	}
}

// changed says whether there is something new to write down. A moment that only
// trembles with the wall clock is not new.
func changed(was, is *fleet.Order) bool {
	if d := is.Until.Since(was.Until); !was.Until.IsZero() && !is.Until.IsZero() && -time.Second < d && d < time.Second {
		is.Until = was.Until
	}
	return was.State != is.State || was.Guard != is.Guard || was.Why != is.Why || was.Hint != is.Hint ||
		was.Until != is.Until || was.Action != is.Action || was.TakenBack != is.TakenBack
}
