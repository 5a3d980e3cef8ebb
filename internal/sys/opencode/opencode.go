// Package opencode reads the database in which opencode keeps its conversations: records
// as JSON, one for each row that tells something, in the order in which they were written.
// It only ever reads. What it needs of a row is taken out by SQL, so that the output of a
// tool, which may be large, is not read; a read is bounded in rows and in time.
package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver

	"custos/internal/sys/files"
)

// ErrAtRest says that no program has the database open, nor left it so: to read it now would
// make files beside it. What is in it is read when opencode runs again.
var ErrAtRest = errors.New("opencode does not run, and nothing is written beside its database to read it")

const (
	// mostRows is how many rows one Read takes. A step of an agent makes about six.
	mostRows = 2000
	// tailRows are the newest rows, which are looked at again each time: a call of a tool
	// is a row that is changed when it ends, and a message when it fails.
	tailRows = 256
	// mostText is how long a text may be that is read whole, in bytes.
	mostText = 256 << 10
)

// Reader reads one database. It is not for several goroutines.
type Reader struct {
	path string
	db   *sql.DB
	seen map[string]int64 // of the newest rows: when each was changed as it was read last
}

// Open opens a database, which has to be a file. Nothing is read yet.
func Open(path string) (*Reader, error) {
	if err := files.Plain(path); err != nil {
		return nil, fmt.Errorf("cannot read the conversations of opencode: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(200)&_pragma=cache_size(-1024)")
	if err != nil {
		return nil, fmt.Errorf("cannot read the conversations of opencode in %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(0) // who ends last writes the log into the database: that is to be opencode
	return &Reader{path: path, db: db, seen: map[string]int64{}}, nil
}

// Close ends the reading.
func (r *Reader) Close() error { return r.db.Close() }

// record is what is told of a row. Times are milliseconds since 1970.
type record struct {
	ID        string          `json:"id,omitempty"`
	Session   string          `json:"session"`
	Parent    string          `json:"parent,omitempty"`
	Directory string          `json:"directory,omitempty"`
	Version   string          `json:"version,omitempty"`
	Began     int64           `json:"began"`
	Created   int64           `json:"created"`
	Updated   int64           `json:"updated"`
	Role      string          `json:"role,omitempty"`
	Model     string          `json:"model,omitempty"`
	Summary   bool            `json:"summary,omitempty"`
	Part      json.RawMessage `json:"part,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
	Completed int64           `json:"completed,omitempty"`

	row int64
	key string
}

// Read returns what was written after a place, and that of the newest rows before it which was
// changed since the last Read; the first Read of a Reader tells the newest rows again.
// Next is the place after it. From one place the same is told again. More says that there is more to read now.
func (r *Reader) Read(ctx context.Context, after int64) (lines [][]byte, next int64, more bool, err error) {
	if err := r.open(); err != nil {
		return nil, after, false, r.failed(err)
	}
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, after, false, r.failed(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
	var newest sql.NullInt64
	if err := tx.QueryRowContext(ctx, `SELECT max(rowid) FROM part`).Scan(&newest); err != nil {
		return nil, after, false, r.failed(err)
	}
	from := min(after, max(0, newest.Int64-tailRows)) // where rows were deleted, their numbers are given again
	parts, err := r.query(ctx, tx, newParts, sql.Named("from", from), sql.Named("limit", mostRows))
	if err != nil {
		return nil, after, false, err
	}
	next, more = newest.Int64, false
	if len(parts) == mostRows {
		next, more = parts[len(parts)-1].row, true
	}
	var failed []record
	if !more {
		if failed, err = r.query(ctx, tx, newFailed, sql.Named("limit", tailRows)); err != nil {
			return nil, after, false, err
		}
	}
	lines, seen, err := r.told(append(parts, failed...), after, r.seen)
	if err != nil {
		return nil, after, false, err
	}
	r.seen = seen
	return lines, next, more, nil
}

// Session finds the conversation of a folder that was changed last since a time, of no
// sub-agent; "" where there is none.
func (r *Reader) Session(ctx context.Context, directory string, since time.Time) (session string, err error) {
	if err := r.open(); err != nil {
		return "", r.failed(err)
	}
	err = r.db.QueryRowContext(ctx, `SELECT id FROM session WHERE directory = ? AND parent_id IS NULL AND time_updated >= ? ORDER BY time_updated DESC LIMIT 1`,
		directory, since.UnixMilli()).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return session, r.failed(err)
}

// Conversation returns the newest records of a session; whole says that these are all.
func (r *Reader) Conversation(ctx context.Context, session string) (lines [][]byte, whole bool, err error) {
	if err := r.open(); err != nil {
		return nil, false, r.failed(err)
	}
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, false, r.failed(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
	of := sql.Named("session", session)
	parts, err := r.query(ctx, tx, lastParts, of, sql.Named("limit", tailRows))
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(parts)
	failed, err := r.query(ctx, tx, lastFailed, of, sql.Named("limit", tailRows))
	if err != nil {
		return nil, false, err
	}
	lines, _, err = r.told(append(parts, failed...), 0, nil)
	return lines, len(parts) < tailRows, err
}

// open says whether the log and its index are there: without them, SQLite would make them.
func (r *Reader) open() error {
	for _, end := range []string{"-wal", "-shm"} {
		switch info, err := os.Lstat(r.path + end); {
		case errors.Is(err, fs.ErrNotExist):
			return ErrAtRest
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no file", r.path+end)
		}
	}
	return nil
}

// told are the records behind a place, and of those before it what was not told before, in the order in which they came about, and
// when each was changed.
func (r *Reader) told(all []record, after int64, before map[string]int64) (lines [][]byte, seen map[string]int64, err error) {
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(a.Updated, b.Updated) })
	seen = make(map[string]int64, len(all))
	for _, one := range all {
		seen[one.key] = one.Updated
		if at, ok := before[one.key]; ok && at == one.Updated && (one.ID == "" || one.row <= after) {
			continue
		}
		line, err := json.Marshal(one)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read a row of %s: %w", r.path, err)
		}
		lines = append(lines, line)
	}
	return lines, seen, nil
}

// partRows are the parts of messages that tell something. Of a text that is too long, or of a
// tool with much output, only what is small is taken.
const partRows = `
SELECT p.rowid, p.id, p.session_id, ifnull(s.parent_id, ''), s.directory, s.version, s.time_created, m.time_created, p.time_updated,
  ifnull(m.data->>'$.role', ''), ifnull(m.data->>'$.modelID', ''), ifnull(m.data->>'$.summary', 0) = 1, NULL, 0,
  CASE p.data->>'$.type'
    WHEN 'text' THEN json_object('type', 'text', 'synthetic', json(iif(p.data->>'$.synthetic', 'true', 'false')), 'text', substr(p.data->>'$.text', 1, @text))
    WHEN 'tool' THEN json_object('type', 'tool', 'tool', p.data->>'$.tool', 'callID', p.data->>'$.callID', 'state', json_object(
      'status', p.data->>'$.state.status', 'time', json(ifnull(p.data->'$.state.time', '{}')),
      'input', json(iif(length(p.data->'$.state.input') <= 8192, p.data->'$.state.input', 'null'))))
    ELSE p.data END
FROM part p JOIN message m ON m.id = p.message_id JOIN session s ON s.id = p.session_id
WHERE json_valid(p.data) AND json_valid(m.data) AND (p.data->>'$.type' IN ('tool', 'step-finish', 'compaction')
  OR p.data->>'$.type' = 'text' AND m.data->>'$.role' = 'user')`

const (
	newParts = partRows + ` AND p.rowid > @from ORDER BY p.rowid LIMIT @limit`
	// lastParts are the newest of one session, the last one first.
	lastParts = partRows + ` AND p.session_id = @session ORDER BY p.rowid DESC LIMIT @limit`
)

// The newest messages, of one session or of all, those of them that failed.
const (
	newFailed  = failedHead + `FROM (SELECT rowid, * FROM message ORDER BY rowid DESC LIMIT @limit) m ` + failedTail
	lastFailed = failedHead + `FROM (SELECT rowid, * FROM message WHERE session_id = @session ORDER BY time_created DESC LIMIT @limit) m ` + failedTail

	failedHead = `
SELECT m.rowid, '', m.session_id, ifnull(s.parent_id, ''), s.directory, s.version, s.time_created, m.time_created, m.time_updated,
  'assistant', ifnull(m.data->>'$.modelID', ''), 0, json_object('name', m.data->>'$.error.name', 'data', json_object(
    'message', substr(m.data->>'$.error.data.message', 1, 4096), 'statusCode', m.data->>'$.error.data.statusCode',
    'responseHeaders', json_object('retry-after', m.data->>'$.error.data.responseHeaders.retry-after'))),
  ifnull(m.data->>'$.time.completed', 0), NULL
`
	failedTail = `JOIN session s ON s.id = m.session_id
WHERE json_valid(m.data) AND m.data->'$.error' IS NOT NULL
ORDER BY m.rowid`
)

func (r *Reader) query(ctx context.Context, tx *sql.Tx, query string, args ...any) (all []record, err error) {
	args = append(args, sql.Named("text", mostText))
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, r.failed(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one record
		var fault, part sql.NullString
		if err := rows.Scan(&one.row, &one.ID, &one.Session, &one.Parent, &one.Directory, &one.Version, &one.Began, &one.Created, &one.Updated,
			&one.Role, &one.Model, &one.Summary, &fault, &one.Completed, &part); err != nil {
			return nil, r.failed(err)
		}
		if one.key = one.ID; fault.Valid {
			one.Error, one.key = json.RawMessage(fault.String), fmt.Sprint("message ", one.row)
		}
		if part.Valid {
			one.Part = json.RawMessage(part.String)
		}
		all = append(all, one)
	}
	return all, r.failed(rows.Err())
}

func (r *Reader) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot read the conversations of opencode in %s: %w", r.path, err)
}
