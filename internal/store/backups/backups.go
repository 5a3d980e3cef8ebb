// Package backups keeps copies of a SQLite database, each in a file that says of which schema
// it is, in the folder "backups" beside the database. In go paths and moments, out come
// copies; of what is in a database it knows nothing but the version of its schema
// (user_version). The errors are those of SQLite and of the file system.
package backups

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	own "custos/internal/sys/files"
)

// Kept is how many backups of a database are kept: the newest.
const Kept = 5

// ErrNone says that there is no backup of a schema that is known.
var ErrNone = errors.New("there is no backup that can be read")

// name is that of a backup: which schema it is of, and when it was made. No name of a
// backup that is being made is one.
var name = regexp.MustCompile(`^custos-v([0-9]{1,9})-([0-9]{8}T[0-9]{6}\.[0-9]{3}Z)\.db$`)

// Backup is one of a database.
type Backup struct {
	Path   string
	Schema int // version of its schema
	When   string
}

// Dir is where the backups of a database lie.
func Dir(path string) string { return filepath.Join(filepath.Dir(path), "backups") }

// List lists the backups of a database, oldest first.
func List(path string) ([]Backup, error) {
	all, err := os.ReadDir(Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the backups of the database: %w", err)
	}
	var out []Backup
	for _, e := range all {
		if m := name.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			schema, _ := strconv.Atoi(m[1]) // it has nine digits at most
			out = append(out, Backup{filepath.Join(Dir(path), e.Name()), schema, m[2]})
		}
	}
	slices.SortFunc(out, func(a, b Backup) int { return strings.Compare(a.When, b.When) })
	return out, nil
}

// Fitting is the newest backup that a program reads which knows a schema; false where there is none.
func Fitting(path string, known int) (Backup, bool) {
	all, _ := List(path) // of those that cannot be listed none can be named
	all = slices.DeleteFunc(all, func(s Backup) bool { return s.Schema > known })
	if len(all) == 0 {
		return Backup{}, false
	}
	return all[len(all)-1], true
}

// Make copies a database whole, as it is between two transactions, while others may
// write to it; its backups that are older than the newest Kept go. It fails with
// fs.ErrNotExist when there is no database, and leaves nothing half done.
func Make(ctx context.Context, path string, now time.Time) (Backup, error) {
	if _, err := os.Stat(path); err != nil {
		return Backup{}, err
	}
	db, err := sql.Open("sqlite", dsn(path, "ro"))
	if err != nil {
		return Backup{}, err
	}
	defer db.Close()
	b := Backup{When: now.UTC().Format("20060102T150405.000Z")}
	if err = os.MkdirAll(Dir(path), 0o700); err == nil {
		b.Schema, err = version(ctx, db)
	}
	if err == nil && b.Schema == 0 {
		err = fmt.Errorf("%s is empty: %w", path, fs.ErrNotExist)
	}
	if err == nil {
		b.Path = filepath.Join(Dir(path), fmt.Sprintf("custos-v%d-%s.db", b.Schema, b.When))
		err = copyWhole(ctx, db, b.Path)
	}
	if err != nil {
		return Backup{}, err
	}
	return b, forget(path)
}

// copyWhole puts a copy of a database at a path when it is whole and on the disk.
func copyWhole(ctx context.Context, db *sql.DB, to string) (err error) {
	half := filepath.Join(filepath.Dir(to), ".new-"+filepath.Base(to))
	if err := own.Replace(half, nil, 0o600); err != nil { // so that nobody else may read it
		return err
	}
	defer func() { _ = os.Remove(half) }()
	if err := copyTo(ctx, db, half); err != nil {
		return err
	}
	if err := whole(ctx, half); err != nil {
		return err
	}
	return errors.Join(os.Rename(half, to), own.SyncDir(filepath.Dir(to)))
}

// copyTo has SQLite copy each page, under one lock of those who write.
func copyTo(ctx context.Context, db *sql.DB, to string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		b, err := driver.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		}).NewBackup(dsn(to, "rw"))
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
}

// whole checks that a copy can be read, and has it stand alone and on the disk.
func whole(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "rw", "journal_mode(DELETE)"))
	if err != nil {
		return err
	}
	err = errors.Join(quickCheck(ctx, db), db.Close())
	f, bad := own.OpenToWrite(path, os.O_RDWR, 0o600)
	if bad == nil {
		bad = errors.Join(f.Sync(), f.Close())
	}
	return cmp.Or(err, bad)
}

// forget removes all backups but the newest.
func forget(path string) error {
	all, err := List(path)
	for _, old := range all[:max(0, len(all)-Kept)] {
		err = errors.Join(err, os.Remove(old.Path))
	}
	return err
}

func quickCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil || verdict == "ok" {
		return err
	}
	return fmt.Errorf("the copy is not whole: %.200q", verdict)
}

func version(ctx context.Context, db *sql.DB) (v int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// dsn opens a database that is there: mode is ro or rw.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{"busy_timeout(5000)", "synchronous(FULL)"}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// SchemaOf is the version of a database's schema; 0 when there is none, or an empty file.
func SchemaOf(ctx context.Context, path string) (int, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	db, err := sql.Open("sqlite", dsn(path, "ro"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return version(ctx, db)
}

// Restore puts the newest backup of a schema that is known in the place of a database of a
// newer one, which setAside moves away, and says where the backup lies. Of a database that is
// not newer, and where there is neither one nor a backup, nothing is changed and "" said.
// Nobody else may write. What was cut off is gone on with by the next call.
func Restore(ctx context.Context, path string, known int, setAside func() error) (from string, err error) {
	at, err := SchemaOf(ctx, path)
	if err != nil || at > 0 && at <= known {
		return "", err
	}
	b, found := Fitting(path, known)
	switch {
	case !found && at == 0:
		return "", nil
	case !found:
		return "", ErrNone
	}
	half := path + ".restoring"
	if err = errors.Join(fold(ctx, path, at), copyOf(b.Path, half)); err == nil {
		err = setAside()
	}
	if err == nil {
		err = errors.Join(os.Rename(half, path), own.SyncDir(filepath.Dir(path)))
	}
	if err != nil {
		return "", err
	}
	return b.Path, nil
}

// fold writes the log of a database into its file, so that the one is set aside with the other.
func fold(ctx context.Context, path string, at int) error {
	if at == 0 {
		return nil
	}
	db, err := sql.Open("sqlite", dsn(path, "rw"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// copyOf puts a copy of a file at a path, on the disk.
func copyOf(path, to string) error {
	from, err := own.OpenPlain(path)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := own.OpenToWrite(to, os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}
