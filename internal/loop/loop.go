// Package loop turns the five stages into a cycle. Read it first.
//
//	facts → findings → plan → actions → news
//
// A pass copies what the probes last saw, judges it, plans, commits and starts
// the plan, and drafts the news. Actions run beside the loop; their results
// wake it. A patrol is a numbered pass on a schedule, and the only one that
// writes the journal.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/decide/follow"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/ledger/allowance"
	"custos/internal/ledger/pools"
	"custos/internal/report"
)

// turn is one pass through the cycle. A patrol is numbered; other passes are not.
func (l *Loop) turn(ctx context.Context, patrol bool, order fleet.PatrolOrder) (fleet.Pass, error) {
	l.turns.Lock()
	defer l.turns.Unlock()
	began := time.Now()
	p, err := l.commit(ctx, patrol, order)
	if overtaken(err) {
		p, err = l.commit(ctx, patrol, order)
	}
	l.pace.passed(patrol, began, err == nil && isIdle(p))
	if err == nil {
		l.trouble.Store(nil)
	} else if ctx.Err() == nil {
		why := err.Error()
		l.trouble.Store(&why)
	}
	return p, err
}

// overtaken says whether a turn was not committed because somebody changed what
// it was thought out from. That is no trouble: it is thought out again, once.
func overtaken(err error) bool {
	var c interface{ Conflict() bool }
	return errors.As(err, &c) && c.Conflict()
}

// commit thinks, commits the turn, starts its actions and drafts its news.
func (l *Loop) commit(ctx context.Context, patrol bool, order fleet.PatrolOrder) (fleet.Pass, error) {
	p, err := l.think(ctx, patrol, order)
	if err != nil {
		return p, err
	}
	done := l.results.since()
	turn := p.Plan.Turn()
	turn.Patrol, turn.Assessment, turn.Agents = p.Number, p.Assessment, remember(p.Snapshot, p.Past.Agents)
	turn.Quotas = allowance.QuotasTold(p.Past, p.Snapshot)
	turn.Outbox = append(report.Draft(p, done), turn.Outbox...)
	turn.Plan.Records.Mails = append(turn.Plan.Records.Mails, report.News(p, done)...)
	if err := l.o.Act.Start(ctx, turn); err != nil {
		return p, fmt.Errorf("cannot start the plan: %w", err)
	}
	if l.o.Want != nil {
		l.o.Want(p.Plan.Leases, p.Plan.Claims)
	}
	l.results.told(len(done))
	l.alarm.set(p.Snapshot.At, append(l.moments(p), p.Plan.Until), l.Wake)
	l.follow(p)
	if l.o.Seen != nil {
		l.o.Seen(p.Snapshot)
	}
	return p, nil
}

// think is the part of the cycle that changes nothing: look, judge, plan.
func (l *Loop) think(ctx context.Context, patrol bool, order fleet.PatrolOrder) (fleet.Pass, error) {
	seen := l.o.Board.Snapshot()
	past, err := l.o.History.Past(ctx, seen.At)
	if err != nil {
		return fleet.Pass{}, fmt.Errorf("cannot recall the past: %w", err)
	}
	if patrol {
		seen.Patrol = past.Patrol + 1
	}
	if l.o.Holds != nil {
		l.o.Holds(past, &seen)
	}
	if l.o.Hub != nil {
		l.o.Hub(&seen)
	}
	seen.Self.Value.Asked = askedOf(past.Asked, seen.At)
	seen.Agents.Value = ledger.Nudged(past, seen)
	seen.Agents.Value = ledger.Recovering(past, seen)
	seen.Coordination = ledger.Facts(past, seen)
	policy := l.o.Policy(order)
	seen.Hub.Value.Pools = pools.All(past, seen, policy.Pools)
	seen.Spending.Value.Budgets = allowance.All(past, policy.Budgets, seen)
	seen.Agents.Value = allowance.SpendsNow(seen)
	if l.o.Due != nil {
		policy.Runs = l.o.Due(&seen)
	}
	return Judge(l.o.Rules, fleet.Recording{Snapshot: seen, Past: past, Policy: policy}), nil
}

// askedOf are those of orders that wait so at a moment.
func askedOf(orders []fleet.Order, at fleet.Instant) (out []fleet.Asked) {
	for _, o := range orders {
		if o.State == fleet.OrderAsked {
			out = append(out, fleet.Asked{ID: o.ID, By: o.By, Do: o.Do, Agent: cmp.Or(o.Agent, "account "+o.Account), Waits: fleet.Duration(max(0, at.Since(o.At)))})
		}
	}
	return out
}

// Judge thinks about what was seen: the same bytes give the same pass, anywhere.
func Judge(set assess.Rules, r fleet.Recording) fleet.Pass {
	p := fleet.Pass{Number: r.Snapshot.Patrol, Snapshot: r.Snapshot, Past: r.Past, Policy: r.Policy}
	p.Assessment = assess.Assess(set, p.Snapshot, p.Past)
	p.Plan = decide.Decide(p.Policy, p.Snapshot, p.Assessment, p.Past)
	p.Plan = follow.Follow(p)
	return p
}
