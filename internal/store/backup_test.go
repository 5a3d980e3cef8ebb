package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/store/backups"
)

// old makes a database of an earlier schema, in which something is remembered.
func old(t *testing.T, path string, schema int) {
	t.Helper()
	ok(t, makeFile(path))
	db, err := sql.Open("sqlite", dsn(withDefaults(Options{Path: path}), "_txlock", "immediate"))
	ok(t, err)
	list, err := migrations()
	ok(t, err)
	_, err = db.Exec("PRAGMA journal_mode=WAL")
	ok(t, err)
	ok(t, migrate(t.Context(), db, list[:schema]))
	_, err = db.Exec("INSERT INTO meta (key, value) VALUES ('patrol', '7')")
	ok(t, err)
	ok(t, db.Close())
}

// holds says of which schema a database is, and what it remembers.
func holds(t *testing.T, path string) (schema int, patrol string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(withDefaults(Options{Path: path}), "mode", "ro"))
	ok(t, err)
	defer db.Close()
	ok(t, db.QueryRow("PRAGMA user_version").Scan(&schema))
	ok(t, db.QueryRow("SELECT value FROM meta WHERE key = 'patrol'").Scan(&patrol))
	return schema, patrol
}

// Whoever opens a database of an older schema has it backed up before the schema is touched;
// one of today's, and an empty one, are not.
func TestAMigrationBacksUpFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a #1?%.db")
	was := Schema() - 2
	old(t, path, was)
	for range 2 {
		s, err := Open(t.Context(), Options{Path: path})
		ok(t, err)
		ok(t, s.Close())
	}
	all, err := backups.List(path)
	if err != nil || len(all) != 1 || all[0].Schema != was {
		t.Fatalf("backups are %+v, %v, want one of schema %d", all, err, was)
	}
	if schema, patrol := holds(t, all[0].Path); schema != was || patrol != "7" {
		t.Errorf("the backup is of schema %d, and its patrol is %s", schema, patrol)
	}
	if info, err := os.Stat(all[0].Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(backups.Dir(path), "*")); len(left) != 1 {
		t.Errorf("beside it lie %v", left)
	}
	if schema, _ := holds(t, path); schema != Schema() {
		t.Errorf("the database is of schema %d", schema)
	}
	begun := filepath.Join(t.TempDir(), "new.db")
	s, err := Open(t.Context(), Options{Path: begun})
	ok(t, err)
	ok(t, s.Close())
	if all, err := backups.List(begun); err != nil || len(all) != 0 {
		t.Errorf("an empty database was backed up: %v, %v", all, err)
	}
}

// Without a backup the schema is not touched.
func TestNoBackupNoMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	old(t, path, Schema()-1)
	ok(t, os.WriteFile(backups.Dir(path), nil, 0o600)) // a file, where the folder is to be
	_, err := Open(t.Context(), Options{Path: path})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("its schema is of version %d, and is brought up to date only behind a backup", Schema()-1)) {
		t.Errorf("opened: %v", err)
	}
	if schema, patrol := holds(t, path); schema != Schema()-1 || patrol != "7" {
		t.Errorf("it is of schema %d now", schema)
	}
}

// A backup is made beside somebody who writes, and holds what was committed; the newest are kept.
func TestABackupIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	for i := range backups.Kept + 3 {
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Patrol: int64(i + 1)}))
		saved, err := Backup(t.Context(), path, epoch.Add(time.Duration(i)*time.Second))
		ok(t, err)
		if schema, patrol := holds(t, saved); schema != Schema() || patrol != fmt.Sprint(i+1) {
			t.Errorf("backup %d is of schema %d and patrol %s", i, schema, patrol)
		}
	}
	all, err := backups.List(path)
	if err != nil || len(all) != backups.Kept || all[0].When != "20261120T090003.000Z" {
		t.Errorf("kept are %+v, %v", all, err)
	}
	if _, err := Backup(t.Context(), filepath.Join(t.TempDir(), "none.db"), epoch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no database: %v", err)
	}
}

// A database of a newer program is refused with the backup that can be read, and Restore puts
// that in its place; what was there is kept. It may be called again wherever it was cut off.
func TestABackupIsPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	old(t, path, Schema())
	saved, err := Backup(t.Context(), path, epoch)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(backups.Dir(path), fmt.Sprintf("custos-v%d-20271120T090003.000Z.db", Schema()+1)), []byte("newer"), 0o600))
	raise := func() {
		db, err := sql.Open("sqlite", "file:"+path)
		ok(t, err)
		_, err = db.Exec(fmt.Sprintf("PRAGMA user_version=%d; UPDATE meta SET value = '8' WHERE key = 'patrol'", Schema()+1))
		ok(t, errors.Join(err, db.Close()))
	}
	if from, aside, err := Restore(t.Context(), path, Schema(), epoch); from+aside != "" || err != nil {
		t.Errorf("of a database that is not newer: %q, %q, %v", from, aside, err)
	}
	raise()
	_, err = Open(t.Context(), Options{Path: path})
	if wantErr(t, err, ErrNewer); !strings.Contains(err.Error(), saved) {
		t.Errorf("the refusal does not name the backup: %v", err)
	}
	from, aside, err := Restore(t.Context(), path, Schema(), epoch)
	if err != nil || from != saved || aside != path+".newer-20261120T090000Z" {
		t.Fatalf("restored from %q, and set aside as %q: %v", from, aside, err)
	}
	if schema, patrol := holds(t, path); schema != Schema() || patrol != "7" {
		t.Errorf("it is of schema %d and patrol %s", schema, patrol)
	}
	if schema, patrol := holds(t, aside); schema != Schema()+1 || patrol != "8" {
		t.Errorf("what was set aside is of schema %d and patrol %s", schema, patrol)
	}
	ok(t, os.Remove(path)) // as if it had been cut off between the two
	if from, aside, err := Restore(t.Context(), path, Schema(), epoch); from != saved || aside == "" || err != nil {
		t.Errorf("gone on with: %q, %q, %v", from, aside, err)
	}
	if schema, patrol := holds(t, path); schema != Schema() || patrol != "7" {
		t.Errorf("it is of schema %d and patrol %s", schema, patrol)
	}
	raise()
	ok(t, os.Remove(saved))
	if _, _, err := Restore(t.Context(), path, Schema(), epoch); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "there is no backup") {
		t.Errorf("without a backup that fits: %v", err)
	}
	if schema, _ := holds(t, path); schema != Schema()+1 {
		t.Error("it was changed all the same")
	}
}
