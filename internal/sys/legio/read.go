package legio

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Bounds of what is read: a fleet has 25 agents by default, and a store that was
// made to hurt is not to fill the memory.
const (
	mostSessions = 10_000
	longestText  = 4096
	patience     = 250 * time.Millisecond // for a lock
)

// read reads a store whose files are as s says.
func read(ctx context.Context, path string, s stamp) ([]Session, error) {
	source, err := dsn(path, s)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, because(errDamaged, path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	columns, err := columnsOf(ctx, db)
	if err == nil {
		var sessions []Session
		if sessions, err = rows(ctx, db, columns); err == nil {
			return sessions, nil
		}
	}
	return nil, failed(path, err)
}

// dsn says how to open a store so that nothing beside it is made or changed. A
// store with a write-ahead log that no process has open is read as a file: to open it
// as a database would make the log and its index anew.
func dsn(path string, s stamp) (string, error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "query_only(1)", "trusted_schema(0)", "cache_size(-1024)"}}
	switch {
	case s.journal:
		return "", because(errLocked, path, errors.New("a change to it is under way, or was torn"))
	case s.wal && s.log.size > 0 && !s.index:
		return "", because(errLocked, path, errors.New("its newest changes lie in a log that only its own supervisor may take up"))
	case s.wal && s.log.size == 0:
		q.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String(), nil
}

// columnsOf lists the columns of the table sessions. A view of that name is not
// believed.
func columnsOf(ctx context.Context, db *sql.DB) (map[string]bool, error) {
	var kind string
	err := db.QueryRowContext(ctx, "SELECT type FROM sqlite_master WHERE name = 'sessions'").Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) || err == nil && kind != "table" {
		return nil, fmt.Errorf("%w: it has no table sessions", errSchema)
	}
	if err != nil {
		return nil, err
	}
	list, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info('sessions')")
	if err != nil {
		return nil, err
	}
	defer list.Close()
	columns := map[string]bool{}
	for list.Next() {
		var name string
		if err := list.Scan(&name); err != nil {
			return nil, err
		}
		columns[name] = true
	}
	return columns, list.Err()
}

// column is one that is read: its names over the versions, the newest first.
type column struct {
	names  []string
	needed bool
	into   func(*Session, string) error
}

func columns() []column {
	text := func(to func(*Session) *string) func(*Session, string) error {
		return func(s *Session, v string) error { *to(s) = v; return nil }
	}
	return []column{
		{[]string{"agent_name"}, true, text(func(s *Session) *string { return &s.Agent })},
		{[]string{"state"}, true, text(func(s *Session) *string { return &s.State })},
		{[]string{"tmux_session"}, true, text(func(s *Session) *string { return &s.Tmux })},
		{[]string{"pid"}, true, func(s *Session, v string) (err error) { s.PID, err = pid(v); return err }},
		{[]string{"started_at"}, true, func(s *Session, v string) (err error) { s.Started, err = moment(v); return err }},
		{[]string{"last_activity"}, true, func(s *Session, v string) (err error) { s.LastActivity, err = moment(v); return err }},
		{[]string{"worktree_path"}, true, text(func(s *Session) *string { return &s.Worktree })},
		{[]string{"branch_name"}, false, text(func(s *Session) *string { return &s.Branch })},
		{[]string{"capability"}, false, text(func(s *Session) *string { return &s.Capability })},
		{[]string{"task_id", "bead_id"}, false, text(func(s *Session) *string { return &s.Task })},
		{[]string{"parent_agent"}, false, text(func(s *Session) *string { return &s.Parent })},
		{[]string{"run_id"}, false, text(func(s *Session) *string { return &s.Run })},
	}
}

// rows reads every session. All names in the query are of the list above.
func rows(ctx context.Context, db *sql.DB, there map[string]bool) ([]Session, error) {
	var terms []string
	var into []column
	for _, c := range columns() {
		name := c.in(there)
		if name == "" && c.needed {
			return nil, fmt.Errorf("%w: sessions has no column %s", errSchema, c.names[0])
		}
		if name != "" {
			terms, into = append(terms, fmt.Sprintf("COALESCE(substr(CAST(%s AS TEXT), 1, %d), '')", name, longestText)), append(into, c)
		}
	}
	list, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM sessions ORDER BY agent_name LIMIT %d", strings.Join(terms, ", "), mostSessions+1))
	if err != nil {
		return nil, err
	}
	defer list.Close()
	var out []Session
	for list.Next() {
		s, err := one(list, into)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) > mostSessions {
		return nil, fmt.Errorf("%w: it has more than %d sessions", errSchema, mostSessions)
	}
	return out, list.Err()
}

func (c column) in(there map[string]bool) string {
	for _, name := range c.names {
		if there[name] {
			return name
		}
	}
	return ""
}

func one(list *sql.Rows, columns []column) (s Session, err error) {
	texts := make([]string, len(columns))
	into := make([]any, len(columns))
	for i := range texts {
		into[i] = &texts[i]
	}
	if err := list.Scan(into...); err != nil {
		return s, err
	}
	for i, c := range columns {
		if err := c.into(&s, texts[i]); err != nil {
			return s, fmt.Errorf("%w: column %s: %w", errSchema, c.names[0], err)
		}
	}
	return s, nil
}

// failed says which of this package's errors err is.
func failed(path string, err error) error {
	var e *sqlite.Error
	switch {
	case errors.Is(err, errSchema):
		return fmt.Errorf("cannot read %s: %w", path, err)
	case !errors.As(err, &e):
		return because(errLocked, path, err) // it took too long
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
		return because(errLocked, path, err)
	case sqlite3.SQLITE_ERROR:
		return because(errSchema, path, err)
	}
	return because(errDamaged, path, err)
}
