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
// silences in force, stopped subjects, agents seen so lately, agents that are
// registered (retired ones so lately). Each list is sorted; orders that are not
// over come in the order they were given.
func (s *Store) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	q, err := s.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fleet.Past{}, failed("read the past", err)
	}
	defer func() { _ = q.Rollback() }()
	r := pastReader{ctx: ctx, q: q, at: at}
	p := fleet.Past{StartedAt: s.opts.StartedAt}
	for _, read := range []func(*fleet.Past) error{r.counters, r.silences, r.alerts, r.actions, r.stopped, r.agents, r.registrations, r.orders} {
		if err := read(&p); err != nil {
			return fleet.Past{}, failed("read the past", err)
		}
	}
	_ = q.Rollback()
	s.moveAside(ctx, r.bad)
	return p, nil
}

type pastReader struct {
	ctx context.Context
	q   *sql.Tx
	at  fleet.Instant
	bad []badRow
}

func (r *pastReader) counters(p *fleet.Past) (err error) {
	if p.Newest, err = newest(r.ctx, r.q); err != nil {
		return err
	}
	if p.Patrol, err = number(r.ctx, r.q, "patrol"); err != nil {
		return err
	}
	if p.PatrolAt, err = instant(r.ctx, r.q, "patrol_at"); err != nil {
		return err
	}
	if p.NextAlert, err = nextAlert(r.ctx, r.q); err != nil {
		return err
	}
	amnesia, err := meta(r.ctx, r.q, "amnesia")
	p.Amnesia = amnesia != ""
	return err
}

// alerts keeps one alert for each key: the open one, else the latest. They are
// silenced by the silences in force, which are read before.
func (r *pastReader) alerts(p *fleet.Past) error {
	young, args := younger(r.at, remembered)
	all, err := readAlerts(r.ctx, r.q, &r.bad, p.Silences, "WHERE open = 1 OR "+young+" ORDER BY rule, subject, open, number", args...)
	for i, a := range all {
		if i+1 == len(all) || all[i+1].AlertKey != a.AlertKey {
			p.Alerts = append(p.Alerts, a)
		}
	}
	return err
}

func (r *pastReader) actions(p *fleet.Past) (err error) {
	young, args := younger(r.at, remembered)
	p.Actions, err = collect[fleet.ActionRecord](r.ctx, r.q, &r.bad, source{
		table: "actions", key: "id", where: "WHERE stage <> 'ended' OR " + young + " ORDER BY id", args: args,
	})
	return err
}

func (r *pastReader) silences(p *fleet.Past) error {
	all, err := readSilences(r.ctx, r.q, &r.bad)
	for _, s := range all {
		if r.at.Before(s.Until) {
			p.Silences = append(p.Silences, s)
		}
	}
	return err
}

func (r *pastReader) stopped(p *fleet.Past) (err error) {
	p.Stopped, err = collect[fleet.Subject](r.ctx, r.q, &r.bad, source{
		table: "stopped", key: "subject", where: "ORDER BY subject",
	})
	return err
}

func (r *pastReader) agents(p *fleet.Past) (err error) {
	young, args := younger(r.at, remembered)
	p.Agents, err = collect[fleet.AgentRecord](r.ctx, r.q, &r.bad, source{
		table: "agents", key: "name", where: "WHERE " + young + " ORDER BY name", args: args,
	})
	return err
}
