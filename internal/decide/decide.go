package decide

import (
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Decide answers every order that is not over, judges what the runs of formulas
// ask for, and then every wish of every firing finding. An order is answered by an action, or it is queued, refused,
// done or expired (Orders holds those that change). Each firing finding ends up
// in Actions, in Skipped or, when its rule asks for nothing, in Idle. Rules that
// found.Rules does not name are treated as observe-only.
func Decide(policy fleet.Policy, snap fleet.Snapshot, found fleet.Assessment, past fleet.Past) fleet.Plan {
	p := newPass(&policy, &snap, &found, &past)
	p.answerOrders()
	p.carryRuns()
	p.carryMerges()
	for i := range found.Findings {
		p.consider(&found.Findings[i])
	}
	p.wantTold()
	return p.plan
}

// pass is the judgement of one snapshot while it is being made.
type pass struct {
	policy  *fleet.Policy
	snap    *fleet.Snapshot
	found   *fleet.Assessment
	past    *fleet.Past
	history history
	claims  claims
	guards  []guard
	paused  map[fleet.Subject]bool
	stopped map[fleet.Subject]bool
	numbers map[fleet.AlertKey]*fleet.Alert // filled when first asked for
	spent   map[allowance][]fleet.Instant   // moments of the actions that count against the fleet's budget
	// overspent are the answers of the budget guard once it has said no.
	overspent map[allowance]*refusal
	reached   map[fleet.Kind]map[fleet.Subject]bool
	known     knownAgents
	queue     queue
	storms    []storm // filled when first asked for
	stormy    bool    // storms is filled
	failed    map[string]bool
	over      map[string]worked // by agent; nil until it is asked for
	triages   triages
	plan      fleet.Plan
	projects  fleet.Projects           // of subjects; filled when one is paused
	held      map[string]fleet.Silence // the paused ones
}

// request is one wish on its way through the guards.
type request struct {
	finding *fleet.Finding
	wish    *fleet.Wish
	remedy  fleet.Remedy
	ability fleet.Ability
	able    bool // the ability exists
	tries   []*fleet.ActionRecord
	granted int // targets this finding was already granted for the same Do
	claim   claim
	order   *fleet.Order        // nil: a rule wishes for it
	reg     *fleet.Registration // of the agent it is about; nil when that has none
	unseen  string              // why its target is not known
	run     *fleet.Run          // that asks for it, or whose session it is about; nil: none
	merged  *fleet.MergeItem    // whose merge asks for it; nil: none
	queued  bool                // its queue asks for it, whoever added it
	fence   *fleet.Fence        // by which it is done
	// notBefore is when the next attempt at a step is due.
	notBefore fleet.Instant
}

// byPerson says whether a person ordered it.
func (r *request) byPerson() bool { return r.order != nil && fleet.IsPerson(r.order.By) }

// isConfigured says whether a run of a formula needs it, or a merge queue, which a person or
// the configuration asked for; the merge of what a person added; or work that the configuration has handed out.
func (r *request) isConfigured() bool {
	return r.order != nil && fleet.IsHandingOut(r.order.ID, r.order.By) || r.run != nil || r.wish.Target.Merge != nil || r.queued || r.merged != nil && fleet.IsPerson(r.merged.By)
}

// isAsked says whether it was asked for already: a person ordered it, or it is configured. To
// ask a judge is asked for by configuring one, with what may be spent on it.
func (r *request) isAsked() bool { return r.byPerson() || r.isConfigured() || r.wish.Do == doTriage }

// isKept says whether it starts an agent again that a person spawned, or tells it to go on
// whose turn Custos ended: to order an agent is to order that it runs. The fleet's mode is about what
// was not ordered.
func (r *request) isKept() bool {
	starts := r.order == nil && r.wish.Do == doRecover || r.order != nil && r.order.GoesOn()
	return starts && r.reg != nil && r.reg.Kept()
}

// isCharged says whether an action counts against the fleet's budget, which is for
// what Custos and agents want: neither what a person ordered nor what a run asks for, nor the agents that work is handed
// out to, of which there are never more than their roles may have.
// A backup changes nothing that anybody works with: fifty agents that end together
// are all saved.
func isCharged(a *fleet.Action) bool {
	return a.Do != doTriage && a.Do != doCheckpoint && !isOfRun(a) && a.Target.Merge == nil && a.Do != ledger.AskForge && a.Do != ledger.LeaveForge && !fleet.IsHandingOut(a.Order, a.By) && !fleet.IsPerson(a.By)
}

func newPass(policy *fleet.Policy, snap *fleet.Snapshot, found *fleet.Assessment, past *fleet.Past) *pass {
	p := &pass{
		policy: policy, snap: snap, found: found, past: past,
		history: remember(past.Actions, policy.Abilities),
		claims:  newClaims(),
		guards:  guards(),
		paused:  setOf(policy.Paused),
		stopped: map[fleet.Subject]bool{},
		spent:   map[allowance][]fleet.Instant{}, overspent: map[allowance]*refusal{},
		reached: map[fleet.Kind]map[fleet.Subject]bool{},
		known:   indexAgents(past, snap),
		queue:   newQueue(),
		failed:  map[string]bool{},
		triages: recallTriages(past, snap.At),
		plan:    fleet.Plan{At: snap.At, Actions: []fleet.Action{}, Skipped: []fleet.Skipped{}},
	}
	if p.held = fleet.PausedProjects(past.Silences); p.held != nil {
		p.projects = fleet.ProjectsOf(snap, past)
	}
	for i := range past.Actions {
		p.recall(&past.Actions[i])
	}
	return p
}

// recall takes what an action of the past still holds: its subject while it is
// under way, and its place in the fleet's budget while the window is open.
func (p *pass) recall(r *fleet.ActionRecord) {
	harmless := p.policy.Abilities[r.Do].Harmless
	moment := momentOf(r)
	if r.Open() {
		if r.Fence != nil {
			p.wantLease(r.Fence.Key) // until it has ended
		}
		p.claims.add(claimOf(r.Subject, r.Target, harmless), holder{r.Do, r.Subject, r.PlannedAt})
		p.known.begun(r.Action, r.PlannedAt, false)
		moment = p.snap.At // it may be doing its work just now
	} else if isReal(r) && (starts(r.Do) || r.Do == doNudge) {
		p.known.ended = append(p.known.ended, r)
	}
	if !harmless && isCharged(&r.Action) && isReal(r) && p.within(p.policy.Budget.In, moment) {
		p.spend(r.Do, moment)
	}
}

func (p *pass) consider(f *fleet.Finding) {
	if !f.Firing {
		return
	}
	if len(f.Wishes) == 0 {
		p.plan.Idle = append(p.plan.Idle, f.AlertKey)
		return
	}
	granted := map[string]int{}
	wishes := p.finishUp(p.withVerdict(f))
	for i := range wishes {
		r := p.request(f, &wishes[i])
		r.granted = granted[r.wish.Do]
		if p.judge(r) {
			granted[r.wish.Do]++
		}
	}
}

func (p *pass) request(f *fleet.Finding, w *fleet.Wish) *request {
	r := &request{finding: f, wish: w, remedy: p.found.Rules[f.Rule]}
	r.ability, r.able = p.policy.Abilities[w.Do]
	r.tries = p.tries(r)
	if w.Subject.Kind == fleet.KindAgent {
		r.reg = p.known.registered[w.Subject.Name]
	}
	r.claim = claimOf(w.Subject, r.target(), r.ability.Harmless)
	return r
}

// target is what the action is done to: one that starts an agent again is given where
// that is registered to work, too.
func (r *request) target() fleet.Target {
	t := r.wish.Target
	if r.wish.Do == doRecover {
		t.Registration = r.reg
	}
	return t
}

// judge asks every guard and writes the answer into the plan. It says whether
// the wish became an action.
func (p *pass) judge(r *request) bool {
	if g, no := p.ask(r); no != nil {
		p.skip(r, g, no)
		return false
	}
	p.grant(r)
	return true
}

// ask returns what holds the request for the longest that is known; nil when all guards
// let it pass. An agent has failed when what is said first is that its recoveries are used up.
func (p *pass) ask(r *request) (fleet.Guard, *refusal) {
	list := p.objections(r)
	if len(list) > 0 && list[0].fails {
		p.fail(r, list[0].refusal)
	}
	return longest(list)
}

func (p *pass) skip(r *request, g fleet.Guard, no *refusal) {
	p.plan.Skipped = append(p.plan.Skipped, fleet.Skipped{
		Action: p.action(r), Guard: g, Why: no.why, Until: no.until, Hint: no.hint, Also: no.also,
	})
}

func (p *pass) grant(r *request) fleet.Action {
	a := p.action(r)
	if !r.ability.Harmless {
		if p.mode(r) != fleet.ModeAuto && !r.isAsked() {
			a.Approved = p.policy.ApprovedBy
		}
		if isCharged(&a) {
			p.spend(a.Do, p.snap.At)
		}
		if !r.isAsked() {
			p.reach(r.wish.Subject)
		}
	}
	if a.Fence != nil {
		p.wantLease(a.Fence.Key)
	}
	p.triages.begun(a, p.snap.At)
	p.claims.add(r.claim, holder{do: a.Do, subject: a.Subject})
	p.known.begun(a, p.snap.At, true)
	p.plan.Actions = append(p.plan.Actions, a)
	return a
}

func (p *pass) spend(do string, at fleet.Instant) {
	p.spent[allowanceOf(do)] = append(p.spent[allowanceOf(do)], at)
}

func (p *pass) reach(s fleet.Subject) {
	if p.reached[s.Kind] == nil {
		p.reached[s.Kind] = map[fleet.Subject]bool{}
	}
	p.reached[s.Kind][s] = true
}

func (p *pass) action(r *request) fleet.Action {
	a := fleet.Action{
		Do:       r.wish.Do,
		Subject:  r.wish.Subject,
		Target:   r.target(),
		For:      r.finding.AlertKey,
		Priority: r.finding.Priority,
		Why:      r.finding.Summary,
		Attempt:  len(r.tries) + 1,
		Text:     p.handover(r),
		Fence:    r.fence,
	}
	if r.order != nil {
		a.Order, a.By, a.Dialog, a.Command = r.order.ID, r.order.By, r.order.Dialog, r.order.Command
	}
	if r.merged != nil {
		a.By = r.merged.By
	}
	if t := r.wish.Target.Step; t != nil && t.Attempt > 0 {
		a.Attempt = t.Attempt
	}
	a.ID = p.identity(r, a.Attempt)
	return a
}

func setOf(list []fleet.Subject) map[fleet.Subject]bool {
	set := make(map[fleet.Subject]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
