package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"custos/internal/fleet"
)

// usageBatch is how many responses are written in one transaction: a first reading of all
// files keeps no pass waiting for long. Of fewer, each page of the index of keys is written more often.
const usageBatch = 10_000

// AddUsage writes down what responses used, each once by its key, and with the last of
// them how far the files were read that told of them. What is read again after a crash
// between the two is known by its keys. Like hook events they are not synced: a power cut
// takes back both. What cannot be is not counted, and said by UsageFaults. Many are
// written soonest in the order of their keys: then what lies together on the disk is written together.
func (s *Store) AddUsage(ctx context.Context, list []fleet.Usage, cursors []fleet.UsageCursor) error {
	for len(list) > usageBatch {
		if err := s.addUsage(ctx, list[:usageBatch], nil); err != nil {
			return err
		}
		list = list[usageBatch:]
	}
	return s.addUsage(ctx, list, cursors)
}

func (s *Store) addUsage(ctx context.Context, list []fleet.Usage, cursors []fleet.UsageCursor) error {
	if len(list)+len(cursors) == 0 {
		return nil
	}
	return s.writeUnsynced(ctx, "write down what models used", func(t *tx) error {
		w, err := newUsageWriter(t, s.opts.Now())
		for i := 0; i < len(list) && err == nil; i++ {
			err = w.take(list[i])
		}
		if err == nil {
			err = w.flush()
		}
		for i := 0; i < len(cursors) && err == nil; i++ {
			err = t.putCursor(cursors[i], s.opts.Now())
		}
		return err
	})
}

// usageWriter writes the responses of one transaction, and at its end the sums of the days
// that they changed.
type usageWriter struct {
	t       *tx
	now     time.Time
	trimmed string // before when nothing is taken any more: its rows have gone
	whose   map[whose]int64
	days    map[usageDay]daySum

	insert, find, update, findWhose, addWhose, addDay *sql.Stmt
}

// whose is what many responses have in common.
type whose struct {
	kind, session, model, agent, instance, role, project, account, run, work, cwd string
	source                                                                        fleet.UsageSource
	side                                                                          bool
}

// usageDay names one sum.
type usageDay struct {
	day     string
	whose   int64
	pricing fleet.Pricing
}

// daySum is what is added to a sum.
type daySum struct {
	responses, microUSD int64
	tokens              fleet.Tokens
}

func newUsageWriter(t *tx, now time.Time) (*usageWriter, error) {
	trimmed, err := meta(t.ctx, t, usageTrimmed)
	if err != nil {
		return nil, err
	}
	w := &usageWriter{t: t, now: now, trimmed: trimmed, whose: map[whose]int64{}, days: map[usageDay]daySum{}}
	return w, t.prepare(map[**sql.Stmt]string{
		&w.insert: `INSERT INTO usage_rows (key, whose, wall, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, pricing, micro_usd, price_table)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
		&w.find: `SELECT ` + usageColumns + `, whose FROM usage_rows r JOIN usage_whose w ON w.id = r.whose WHERE key = ?`,
		&w.update: `UPDATE usage_rows SET whose = ?2, wall = ?3, input = ?4, cache_read = ?5, cache_write_5m = ?6, cache_write_1h = ?7, output = ?8, reasoning = ?9,
			pricing = ?10, micro_usd = ?11, price_table = ?12 WHERE key = ?1`,
		&w.findWhose: `SELECT id FROM usage_whose WHERE session = ?2 AND kind = ?1 AND model = ?3 AND agent = ?4 AND instance = ?5 AND role = ?6 AND project = ?7
			AND account = ?8 AND run = ?9 AND work = ?10 AND cwd = ?11 AND source = ?12 AND side = ?13`,
		&w.addWhose: `INSERT INTO usage_whose (kind, session, model, agent, instance, role, project, account, run, work, cwd, source, side, formula)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, coalesce((SELECT formula FROM runs WHERE id = ?9), '')) RETURNING id`,
		&w.addDay: `INSERT INTO usage_days (day, whose, pricing, responses, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, micro_usd)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (day, whose, pricing) DO UPDATE SET responses = responses + ?4, input = input + ?5,
			cache_read = cache_read + ?6, cache_write_5m = cache_write_5m + ?7, cache_write_1h = cache_write_1h + ?8, output = output + ?9,
			reasoning = reasoning + ?10, micro_usd = micro_usd + ?11`,
	})
}

// prepare makes statements that are closed with the transaction.
func (t *tx) prepare(list map[**sql.Stmt]string) (err error) {
	for to, query := range list {
		if *to, err = t.PrepareContext(t.ctx, query); err != nil {
			return err
		}
	}
	return nil
}

const usageColumns = `r.key, r.wall, w.kind, w.session, w.model, w.agent, w.instance, w.role, w.project, w.account, w.run, w.work, w.cwd, w.source, w.side,
	r.input, r.cache_read, r.cache_write_5m, r.cache_write_1h, r.output, r.reasoning, r.pricing, r.micro_usd, r.price_table`

// take writes one response down, or what it tells more of one that is there.
func (w *usageWriter) take(told fleet.Usage) error {
	u, odd, counts := sane(told, w.now)
	if odd != "" {
		if err := w.t.putOdd(u, odd, w.now); err != nil || !counts {
			return err
		}
	}
	if wall(u.At) < w.trimmed {
		return nil
	}
	id, err := w.id(u)
	if err != nil {
		return err
	}
	res, err := w.insert.ExecContext(w.t.ctx, usageValues(u, id)...)
	if err != nil {
		return err
	}
	switch n, err := res.RowsAffected(); {
	case err != nil:
		return err
	case n == 0:
		return w.again(u)
	}
	w.count(u, id, 1)
	return nil
}

// again takes what a response that was seen before tells more.
func (w *usageWriter) again(u fleet.Usage) error {
	var before int64
	old, err := scanUsage(w.find.QueryRowContext(w.t.ctx, u.Key), &before)
	if err != nil {
		return err
	}
	now := old.Merged(u)
	if now == old {
		return nil
	}
	after, err := w.id(now)
	if err != nil {
		return err
	}
	if _, err := w.update.ExecContext(w.t.ctx, usageValues(now, after)...); err != nil {
		return err
	}
	w.count(old, before, -1)
	w.count(now, after, 1)
	return nil
}

// id is that of the row that says whose a response is.
func (w *usageWriter) id(u fleet.Usage) (id int64, err error) {
	is := whose{u.Kind, u.Session, u.Model, u.Agent, u.Instance, u.Role, u.Project, u.Account, u.Run, u.Work, u.CWD, u.Source, u.Side}
	if id, known := w.whose[is]; known {
		return id, nil
	}
	args := []any{is.kind, is.session, is.model, is.agent, is.instance, is.role, is.project, is.account, is.run, is.work, is.cwd, string(is.source), is.side}
	err = w.findWhose.QueryRowContext(w.t.ctx, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = w.addWhose.QueryRowContext(w.t.ctx, args...).Scan(&id)
	}
	if err == nil {
		w.whose[is] = id
	}
	return id, err
}

// count adds a response to the sum of its day, or takes it away.
func (w *usageWriter) count(u fleet.Usage, id, times int64) {
	at := usageDay{wall(u.At)[:len(time.DateOnly)], id, u.Pricing}
	sum, t := w.days[at], u.Tokens
	sum.responses += times
	sum.microUSD += times * u.MicroUSD
	sum.tokens = sum.tokens.Add(fleet.Tokens{Input: times * t.Input, CacheRead: times * t.CacheRead, CacheWrite5m: times * t.CacheWrite5m,
		CacheWrite1h: times * t.CacheWrite1h, Output: times * t.Output, Reasoning: times * t.Reasoning})
	w.days[at] = sum
}

// flush writes the sums.
func (w *usageWriter) flush() error {
	for at, sum := range w.days {
		if sum == (daySum{}) {
			continue
		}
		t := sum.tokens
		if _, err := w.addDay.ExecContext(w.t.ctx, at.day, at.whose, string(at.pricing), sum.responses, t.Input, t.CacheRead, t.CacheWrite5m,
			t.CacheWrite1h, t.Output, t.Reasoning, sum.microUSD); err != nil {
			return err
		}
		if sum.responses > 0 {
			continue
		}
		if _, err := w.t.exec("DELETE FROM usage_days WHERE day = ? AND whose = ? AND pricing = ? AND responses = 0", at.day, at.whose, string(at.pricing)); err != nil {
			return err
		}
	}
	return nil
}

func usageValues(u fleet.Usage, id int64) []any {
	t := u.Tokens
	return []any{u.Key, id, wall(u.At), t.Input, t.CacheRead, t.CacheWrite5m, t.CacheWrite1h, t.Output, t.Reasoning, string(u.Pricing), u.MicroUSD, u.Table}
}

// scanner is a row.
type scanner interface{ Scan(...any) error }

// scanUsage reads usageColumns, and more that follow them.
func scanUsage(row scanner, more ...any) (u fleet.Usage, err error) {
	var at string
	t := &u.Tokens
	err = row.Scan(append([]any{&u.Key, &at, &u.Kind, &u.Session, &u.Model, &u.Agent, &u.Instance, &u.Role, &u.Project, &u.Account, &u.Run, &u.Work, &u.CWD, &u.Source, &u.Side,
		&t.Input, &t.CacheRead, &t.CacheWrite5m, &t.CacheWrite1h, &t.Output, &t.Reasoning, &u.Pricing, &u.MicroUSD, &u.Table}, more...)...)
	if err == nil {
		u.At, err = time.Parse(time.RFC3339Nano, at)
	}
	return u, err
}
