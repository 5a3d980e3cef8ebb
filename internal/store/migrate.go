package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"custos/internal/fleet"
	"custos/internal/store/backups"
)

//go:embed migrations/*.sql
var files embed.FS

// migrations returns the text of every migration; the first brings an empty
// database to version 1, and so on.
func migrations() ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

// migrate brings the schema from its user_version to len(list), each step in
// its own transaction. A newer schema is refused before anything is written.
func migrate(ctx context.Context, db *sql.DB, list []string) error {
	for {
		done, err := migrateOne(ctx, db, list)
		if err != nil || done {
			return err
		}
	}
}

func migrateOne(ctx context.Context, db *sql.DB, list []string) (done bool, err error) {
	if at, err := version(ctx, db); err != nil || at == len(list) {
		return true, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	at, err := version(ctx, tx) // again: another process may have migrated meanwhile
	if err != nil || at == len(list) {
		return true, err
	}
	if at > len(list) {
		return false, newer("", at, len(list))
	}
	if _, err := tx.ExecContext(ctx, list[at]); err != nil {
		return false, fmt.Errorf("migration %d: %w", at+1, err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", at+1)); err != nil {
		return false, fmt.Errorf("migration %d: %w", at+1, err)
	}
	return false, tx.Commit()
}

// checkVersion refuses a database whose schema is not this program's.
func checkVersion(ctx context.Context, path string, db rower) error {
	list, err := migrations()
	if err != nil {
		return err
	}
	switch at, err := version(ctx, db); {
	case err != nil:
		return err
	case at > len(list):
		return newer(path, at, len(list))
	case at < len(list):
		return fmt.Errorf("its schema is of version %d and this custos reads version %d: run `custos up` or `custos patrol` once", at, len(list))
	}
	return nil
}

// newer refuses a database of a newer program, and names the backup that this one reads.
func newer(path string, at, known int) error {
	back := "there is no backup of it that this one reads"
	if b, found := backups.Fitting(path, known); found {
		back = "the newest backup that this one reads is " + fleet.Path(b.Path)
	}
	return fmt.Errorf("%w: its schema is of version %d, this one knows up to %d; %s", ErrNewer, at, known, back)
}

func version(ctx context.Context, q rower) (v int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
