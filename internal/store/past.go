package store

import (
	"context"
	"database/sql"
	"time"

	"custos/internal/fleet"
)

// remembered is how long what is over still counts: the longest window of a
// rule, the time in which flapping is noticed, how long an agent is missed.
const remembered = 24 * time.Hour

// Past reads what is remembered, as one consistent view: alerts that are open
// or ended less than 24 h before at, actions that are open or ended so lately,
// silences in force, agents seen so lately, agents that are
// registered (retired ones so lately), runs that are not over (ended ones so
// lately, and the newest of each schedule), verdicts of that time. Each list is
// sorted; orders that are not over, runs and verdicts come in the order they were
// given.
//
// What it returns is shared with whoever else asks: it is not to be changed.
func (s *Store) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	p := fleet.Past{StartedAt: s.opts.StartedAt}
	err := s.reflect(ctx, "read the past", at, func(q *sql.Tx, m *mirror) error {
		if err := counters(ctx, q, &p); err != nil {
			return err
		}
		if s.lost != "" {
			p.Amnesia, p.Lost = true, s.lost
		}
		m.fill(&p, at)
		return nil
	})
	if err != nil {
		return fleet.Past{}, err
	}
	if p.Aside, err = s.alertsAside(ctx, at.Wall.Add(-remembered)); err != nil {
		return fleet.Past{}, failed("read the past", err)
	}
	return p, nil
}

// OpenRuns returns the runs of Past.
func (s *Store) OpenRuns(ctx context.Context, at fleet.Instant) (runs []fleet.Run, err error) {
	err = s.reflect(ctx, "list the runs that are not over", at, func(_ *sql.Tx, m *mirror) error {
		runs = on[fleet.Run](m).values(at)
		return nil
	})
	return runs, err
}

// reflect shows the mirror, as of one moment of the database. A store that only
// reads is told of no change, and begins a mirror each time.
func (s *Store) reflect(ctx context.Context, what string, at fleet.Instant, show func(*sql.Tx, *mirror) error) error {
	m := s.mirror
	if s.w == nil {
		m = newMirror()
	}
	var bad []badRow
	s.look(ctx)
	err := m.show(ctx, s.r, &bad, at, show)
	if isNotThere(err) {
		s.look(ctx)
		err = m.show(ctx, s.r, &bad, at, show)
	}
	if err = failed(what, err); err != nil {
		s.met(err)
		return err
	}
	s.moveAside(ctx, bad)
	return nil
}

func (m *mirror) show(ctx context.Context, db *readers, bad *[]badRow, at fleet.Instant, show func(*sql.Tx, *mirror) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = q.Rollback() }()
	if err := m.update(ctx, q, bad, at); err != nil {
		return err
	}
	return show(q, m)
}

func counters(ctx context.Context, q *sql.Tx, p *fleet.Past) (err error) {
	if p.Newest, err = newest(ctx, q); err != nil {
		return err
	}
	if p.Patrol, err = number(ctx, q, "patrol"); err != nil {
		return err
	}
	if p.PatrolAt, err = instant(ctx, q, "patrol_at"); err != nil {
		return err
	}
	if p.NextAlert, err = nextAlert(ctx, q); err != nil {
		return err
	}
	amnesia, err := meta(ctx, q, "amnesia")
	p.Amnesia, p.Lost = amnesia != "", amnesia
	return err
}

// fill puts everything that is in the mirror, and counts at at, into the past.
func (m *mirror) fill(p *fleet.Past, at fleet.Instant) {
	for _, s := range on[fleet.Silence](m).values(at) {
		if s.From.Before(s.Until) && at.Before(s.Until) { // neither lifted nor over
			p.Silences = append(p.Silences, s)
		}
	}
	rows := on[alertRow](m).values(at)
	for i, r := range rows { // of one key the open one, else the latest
		if i+1 == len(rows) || rows[i+1].AlertKey != r.AlertKey {
			p.Alerts = append(p.Alerts, m.current(r).alert(p.Silences))
		}
	}
	p.Actions, p.Agents = on[fleet.ActionRecord](m).values(at), on[fleet.AgentRecord](m).values(at)
	p.Quotas = on[fleet.AccountQuota](m).values(at)
	p.Registrations = on[fleet.Registration](m).values(at)
	m.orders(p, at)
	p.Runs, p.Verdicts = on[fleet.Run](m).values(at), on[fleet.Verdict](m).values(at)
	p.Records = m.records(at)
}

// tried is how long the orders of pools, and those that relieve an agent, are remembered that are over: what
// came to nothing is ordered again in the next ten minutes of the clock.
const tried = 20 * time.Minute

// orders puts those that are not over into the past, and what pools tried lately.
func (m *mirror) orders(p *fleet.Past, at fleet.Instant) {
	for _, o := range on[fleet.Order](m).values(at) {
		switch {
		case o.State == fleet.OrderAsked:
			p.Asked = append(p.Asked, o)
		case !o.IsOver():
			p.Orders = append(p.Orders, o)
		case at.Since(o.At) < tried:
			p.Tried = append(p.Tried, o)
		}
	}
}
