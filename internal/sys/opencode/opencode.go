// Package opencode reads the database in which opencode keeps its conversations: records
// as JSON, one for each row that tells something, in the order in which they were written.
// It only ever reads. What it needs of a row is taken out by SQL, so that the output of a
// tool, which may be large, is not read; a read is bounded in rows and in time.
package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"

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

// Read returns what was written after a place, and that of the newest rows which was
// changed since the last Read; the first Read of a Reader tells the newest rows again.
// Next is the place after it. More says that there is more to read now.
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
	parts, err := r.query(ctx, tx, partRows, from, mostRows)
	if err != nil {
		return nil, after, false, err
	}
	next, more = newest.Int64, false
	if len(parts) == mostRows {
		next, more = parts[len(parts)-1].row, true
	}
	var failed []record
	if !more {
		if failed, err = r.query(ctx, tx, failedRows, tailRows); err != nil {
			return nil, after, false, err
		}
	}
	lines, err = r.news(append(parts, failed...), after)
	return lines, next, more, err
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

// news are the records that were not told yet, in the order in which they came about.
func (r *Reader) news(all []record, after int64) (lines [][]byte, err error) {
	slices.SortStableFunc(all, func(a, b record) int { return int(a.Updated - b.Updated) })
	seen := make(map[string]int64, len(all))
	for _, one := range all {
		seen[one.key] = one.Updated
		if at, ok := r.seen[one.key]; ok && at == one.Updated {
			continue
		}
		line, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("cannot read a row of %s: %w", r.path, err)
		}
		lines = append(lines, line)
	}
	r.seen = seen
	return lines, nil
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
WHERE p.rowid > @from AND json_valid(p.data) AND json_valid(m.data) AND (p.data->>'$.type' IN ('tool', 'step-finish', 'compaction')
  OR p.data->>'$.type' = 'text' AND m.data->>'$.role' = 'user')
ORDER BY p.rowid LIMIT @limit`

// failedRows are the newest messages, those of them that failed.
const failedRows = `
SELECT m.rowid, '', m.session_id, ifnull(s.parent_id, ''), s.directory, s.version, s.time_created, m.time_created, m.time_updated,
  'assistant', ifnull(m.data->>'$.modelID', ''), 0, json_object('name', m.data->>'$.error.name', 'data', json_object(
    'message', substr(m.data->>'$.error.data.message', 1, 4096), 'statusCode', m.data->>'$.error.data.statusCode',
    'responseHeaders', json_object('retry-after', m.data->>'$.error.data.responseHeaders.retry-after'))),
  ifnull(m.data->>'$.time.completed', 0), NULL
FROM (SELECT rowid, * FROM message ORDER BY rowid DESC LIMIT @limit) m JOIN session s ON s.id = m.session_id
WHERE json_valid(m.data) AND m.data->'$.error' IS NOT NULL
ORDER BY m.rowid`

func (r *Reader) query(ctx context.Context, tx *sql.Tx, query string, numbers ...int64) (all []record, err error) {
	args := []any{sql.Named("limit", numbers[len(numbers)-1])}
	if len(numbers) > 1 {
		args = append(args, sql.Named("from", numbers[0]), sql.Named("text", mostText))
	}
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
