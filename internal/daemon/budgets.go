package daemon

import (
	"context"
	"slices"
	"time"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/ledger/allowance"
	"custos/internal/server"
	"custos/internal/store"
)

// budgetPort is the budgets as the server's port wants them.
type budgetPort struct{ s *system }

var _ control.Budgets = budgetPort{}

// Limits lists the budgets in force.
func (p budgetPort) Limits() []fleet.Budget { return p.s.budgets }

// Raise writes down what a person raised a budget by, or that this ended, and has a pass
// judge what that changes.
func (p budgetPort) Raise(ctx context.Context, list []fleet.Silence, event fleet.Event) error {
	if err := p.s.begin(ctx); err != nil {
		return err
	}
	st, err := p.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	if err := st.Raise(ctx, list, event); err != nil {
		return err
	}
	p.s.loop.Stir()
	p.s.loop.Wake("a budget was raised or lowered")
	return nil
}

// mayGoOn is what an agent is told when its budget has room again, and keepsWaiting for how long
// that order waits at most.
const (
	mayGoOn      = "The budget that ended your turn has room again. Go on with what you were doing."
	keepsWaiting = 31 * 24 * time.Hour
)

// spentOut says why the turn of an agent of ours ends at its hook, or does not begin: a budget that it spends of
// has come to its pause; "" where it goes on, and where that cannot be told. It is told to go on by an
// ordinary order, which waits until the budget has room. Only the agent's own hook is answered.
func (s *system) spentOut(ctx context.Context, event fleet.HookEvent, fresh bool) string {
	if len(s.budgets) == 0 || event.Agent == "" || s.world.Now().Since(event.At) > tellSoon || !s.isOwn(ctx, event) {
		return ""
	}
	past, err := s.recall(ctx)
	at := slices.IndexFunc(past.Registrations, func(r fleet.Registration) bool { return r.Name == event.Agent && r.Owner.MayTouch() })
	if err != nil || past.Blind != "" || at < 0 {
		return ""
	}
	who := fleet.SpenderOf(&past.Registrations[at], nil, past.Records.Working())
	s.catchUp(ctx, past, who, event)
	f := s.allowanceOf(past, who, paused)
	if f == nil {
		return ""
	}
	if fresh {
		s.tellToGoOn(ctx, past, event)
	}
	if event.Event == fleet.HookPrompt {
		return f.Holds() + ": the model is not asked until a person has raised it (" + f.HintRaise() + ")"
	}
	return f.Holds() + ": this turn ends here, and goes on when a person has raised it (" + f.HintRaise() + ")"
}

// paused says that turns end of what spends of an allowance, and filling that the next response may bring it there.
func paused(f *fleet.BudgetFacts) bool  { return f.Stage.Reaches(fleet.StagePause) }
func filling(f *fleet.BudgetFacts) bool { return f.Percent.Or(100) >= 50 }

// allowanceOf is an allowance of which a spender spends, whose budget has a pause, and of which something is so; nil for none.
func (s *system) allowanceOf(past fleet.Past, who fleet.Spender, is func(*fleet.BudgetFacts) bool) *fleet.BudgetFacts {
	facts := allowance.All(past, s.budgets, s.board.Snapshot())
	for i := range s.budgets {
		of, ok := s.budgets[i].Allowance(who)
		if !ok || s.budgets[i].Pause <= 0 {
			continue
		}
		for j := range facts {
			if f := &facts[j]; f.Budget == s.budgets[i].Name && f.Of == of && is(f) {
				return f
			}
		}
	}
	return nil
}

// catchUpWithin is how long the end of a tool waits at most for what its turn has used, and again
// until that is added up. Claude Code writes a response down some 100 ms after it called its tool.
const catchUpWithin = 400 * time.Millisecond

// catchUp has what the response used that called the tool counted now, where it may be the one that
// brings a budget to its pause: what is read a moment later is read after the next response.
func (s *system) catchUp(ctx context.Context, past fleet.Past, who fleet.Spender, event fleet.HookEvent) {
	if !s.daemon || s.allowanceOf(past, who, filling) == nil {
		return
	}
	server.HookWaits(ctx)
	counting, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	s.countNow(counting, event.Kind, event.Session, event.CallID)
	summing, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	s.board.Anew(summing, fleet.PartSpending)
}

// turnOf names the turn in which an event came: by the prompt that began it, else by itself.
func (s *system) turnOf(ctx context.Context, event fleet.HookEvent) string {
	prompts, err := recall(ctx, s.ledger, func(st *store.Store) ([]fleet.HookEvent, error) {
		return st.HooksSince(ctx, fleet.Instant{}, store.HookFilter{Key: event.Key(), Event: fleet.HookPrompt, Limit: 1})
	})
	if err != nil || len(prompts) == 0 {
		return event.ID
	}
	return prompts[0].ID
}

// tellToGoOn has an agent told once in a turn that it may go on, however many tools end now.
func (s *system) tellToGoOn(ctx context.Context, past fleet.Past, event fleet.HookEvent) {
	if slices.ContainsFunc(past.Orders, func(o fleet.Order) bool {
		return o.Agent == event.Agent && o.GoesOn() && !o.IsOver()
	}) {
		return
	}
	now := s.world.Now()
	o, _, err := ledger.Take(nil, fleet.Order{ID: fleet.GoOn + s.turnOf(ctx, event), Do: fleet.OrderNudge, Agent: event.Agent, By: fleet.ByCustos, Text: mayGoOn, Expires: now.Add(keepsWaiting)}, now)
	var st *store.Store
	if err == nil {
		st, err = s.ledger.writer(ctx)
	}
	if err == nil {
		_, _, err = st.TakeOrder(ctx, o)
	}
	if err != nil {
		s.o.Log.Warn("Cannot order that an agent goes on when its budget has room", "agent", event.Agent, "err", err)
	}
}
