package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"custos/internal/fleet"
)

// How many hook events are kept, unless TrimHooks is told otherwise. 200 agents
// with 20 events a minute each make 5.8 million a day, which nobody reads: half a
// million is their last two hours, or a week of 20 agents, in some 150 MB.
const (
	keepHooks = 7 * 24 * time.Hour
	maxHooks  = 500_000
)

// takeHook writes down a hook event, unless one of its ID is there already:
// fresh says which. It is committed when takeHook returns, so a killed Custos
// loses nothing; but it is not synced, so a power cut may lose the last seconds
// of events (never anything else: a later Commit syncs what came before it).
// The next event of the agent says more than the lost one, and a sync for each
// would wear the disk.
func (s *Store) takeHook(ctx context.Context, e fleet.HookEvent) (fresh bool, err error) {
	list, err := s.takeHooks(ctx, []fleet.HookEvent{e})
	return len(list) == 1 && list[0], err
}

// takeHooks is takeHook for many events, in one transaction.
func (s *Store) takeHooks(ctx context.Context, list []fleet.HookEvent) (fresh []bool, err error) {
	fresh = make([]bool, len(list))
	err = s.writeUnsynced(ctx, "write down hook events", func(t *tx) error {
		w, err := newHookWriter(t)
		for i := 0; i < len(list) && err == nil; i++ {
			fresh[i], err = w.take(list[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// writeUnsynced is write, without waiting for the disk. The setting belongs to
// the one connection that writes; a connection on which it cannot be set back is
// thrown away.
func (s *Store) writeUnsynced(ctx context.Context, what string, do func(*tx) error) (err error) {
	defer func() { s.wrote(err) }()
	if s.w == nil {
		return failed(what, errReadOnly)
	}
	release, err := s.takeTurn(ctx)
	if err != nil {
		return failed(what, err)
	}
	defer release()
	conn, err := s.w.Conn(ctx)
	if err != nil {
		return failed(what, err)
	}
	defer conn.Close()
	defer func() { // of a call that is not waited for, too: it may have been done all the same
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous="+s.opts.synchronous); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous=NORMAL"); err != nil {
		return failed(what, err)
	}
	inner, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return failed(what, err)
	}
	if err = do(&tx{Tx: inner, ctx: ctx, mirror: s.mirror}); err == nil {
		err = inner.Commit()
	}
	if err != nil {
		_ = inner.Rollback()
	}
	return failed(what, err)
}

// hookWriter writes events with statements that are prepared once a transaction,
// which halves the time of each.
type hookWriter struct {
	ctx                                 context.Context
	findSource, addSource, insert, last *sql.Stmt
}

func newHookWriter(t *tx) (*hookWriter, error) {
	w := &hookWriter{ctx: t.ctx}
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&w.findSource, `SELECT id FROM hook_sources WHERE who = ? AND boot = ? AND agent = ? AND instance = ?
			AND pid = ? AND start = ? AND pid_boot = ? AND kind = ? AND session = ?`},
		{&w.addSource, `INSERT INTO hook_sources (who, boot, agent, instance, pid, start, pid_boot, kind, session)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`},
		{&w.insert, `INSERT INTO hooks (id, source, wall, up, event, tool, call_id, args, text, context, until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING seq`},
		{&w.last, `INSERT INTO hook_last (who, event, seq, wall, boot, up) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (who, event) DO UPDATE SET seq = ?3, wall = ?4, boot = ?5, up = ?6
			WHERE CASE WHEN boot = ?5 AND boot <> '' THEN up <= ?6 ELSE wall <= ?4 END`},
	} {
		var err error
		if *p.to, err = t.PrepareContext(t.ctx, p.query); err != nil { // closed with the transaction
			return nil, err
		}
	}
	return w, nil
}

func (w *hookWriter) take(e fleet.HookEvent) (fresh bool, err error) {
	until, err := untilText(e.Until)
	if err != nil {
		return false, err
	}
	source, err := w.source(e)
	if err != nil {
		return false, err
	}
	var used any
	if c, known := e.Context.Get(); known {
		used = c
	}
	at := wallNanos(e.At)
	var seq int64
	err = w.insert.QueryRowContext(w.ctx, e.ID, source, at, int64(e.At.Up), string(e.Event),
		e.Tool, e.CallID, e.Args, e.Text, used, until).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = w.last.ExecContext(w.ctx, e.Key(), string(e.Event), seq, at, e.At.Boot, int64(e.At.Up))
	return true, err
}

func (w *hookWriter) source(e fleet.HookEvent) (id int64, err error) {
	args := []any{e.Key(), e.At.Boot, e.Agent, e.Instance, e.Process.PID, signed(e.Process.Start), e.Process.Boot, e.Kind, e.Session}
	err = w.findSource.QueryRowContext(w.ctx, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = w.addSource.QueryRowContext(w.ctx, args...).Scan(&id)
	}
	return id, err
}

// signed keeps the bits of a number that SQLite has no type for.
func signed(n uint64) int64 { return int64(n) }

// wallNanos is a moment between 1970 and 2262; others are pulled there.
func wallNanos(at fleet.Instant) int64 {
	switch w := at.Wall; {
	case w.Before(time.Unix(0, 0)):
		return 0
	case w.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	default:
		return w.UnixNano()
	}
}

func untilText(at fleet.Instant) (string, error) {
	if at.IsZero() {
		return "", nil
	}
	return encode(at)
}

// HookFilter keeps hook events that match every field that is set.
type HookFilter struct {
	Key   string // fleet.HookEvent.Key
	Agent string
	Event fleet.HookName
	Limit int // at most so many, the newest; default 1000
}

// HooksSince lists hook events at or after a moment of the wall clock, oldest
// first: of those that match, the newest Limit.
func (s *Store) HooksSince(ctx context.Context, at fleet.Instant, f HookFilter) ([]fleet.HookEvent, error) {
	where, args := []string{"h.wall >= ?"}, []any{wallNanos(at)}
	for _, c := range []struct{ column, value string }{{"s.who", f.Key}, {"s.agent", f.Agent}, {"h.event", string(f.Event)}} {
		if c.value != "" {
			where, args = append(where, c.column+" = ?"), append(args, c.value)
		}
	}
	query := hookColumns + "WHERE " + strings.Join(where, " AND ") + " ORDER BY h.wall DESC, h.seq DESC LIMIT ?"
	return s.hooks(ctx, "SELECT * FROM ("+query+") ORDER BY wall, seq", append(args, atMost(f.Limit))...)
}

// NewestHook is the number of the newest hook event that is kept; 0 where there is none. Numbers rise, and
// none is given twice.
func (s *Store) NewestHook(ctx context.Context) (seq int64, err error) {
	err = s.r.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM hooks").Scan(&seq)
	return seq, failed("look for hook events", err)
}

// LastHooks lists, by fleet.HookEvent.Key, the newest event of each name that is
// kept, oldest first.
func (s *Store) LastHooks(ctx context.Context) (map[string][]fleet.HookEvent, error) {
	// CROSS JOIN keeps SQLite from walking all events in the order of their time.
	all, err := s.hooks(ctx, strings.Replace(hookColumns, "FROM hooks h", "FROM hook_last l CROSS JOIN hooks h ON h.seq = l.seq", 1)+"ORDER BY +h.wall, h.seq")
	if err != nil {
		return nil, err
	}
	last := map[string][]fleet.HookEvent{}
	for _, e := range all {
		last[e.Key()] = append(last[e.Key()], e)
	}
	return last, nil
}

const hookColumns = `SELECT h.seq AS seq, h.id, h.wall AS wall, h.up, s.boot, s.agent, s.instance, s.pid, s.start, s.pid_boot, s.kind, s.session,
	h.event, h.tool, h.call_id, h.args, h.text, h.context, h.until FROM hooks h JOIN hook_sources s ON s.id = h.source `

func (s *Store) hooks(ctx context.Context, query string, args ...any) ([]fleet.HookEvent, error) {
	const what = "list hook events"
	rows, err := s.r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var list []fleet.HookEvent
	for rows.Next() {
		e, err := scanHook(rows)
		if err != nil {
			return nil, failed(what, err)
		}
		list = append(list, e)
	}
	return list, failed(what, rows.Err())
}

func scanHook(rows *sql.Rows) (e fleet.HookEvent, err error) {
	var seq, wall, up, start int64
	var context sql.NullFloat64
	var until string
	err = rows.Scan(&seq, &e.ID, &wall, &up, &e.At.Boot, &e.Agent, &e.Instance, &e.Process.PID, &start, &e.Process.Boot, &e.Kind, &e.Session,
		&e.Event, &e.Tool, &e.CallID, &e.Args, &e.Text, &context, &until)
	if err != nil {
		return e, err
	}
	e.At.Wall, e.At.Up, e.Process.Start = time.Unix(0, wall).UTC(), fleet.Duration(up), uint64(start)
	e.Context = fleet.Unknown[float64]("not told")
	if context.Valid {
		e.Context = fleet.Known(context.Float64)
	}
	if until != "" && json.Unmarshal([]byte(until), &e.Until) != nil {
		e.Until = fleet.Instant{} // a damaged row tells the rest of what it holds
	}
	return e, nil
}
