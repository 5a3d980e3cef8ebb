package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/store/backups"
)

// Schema is the version of the schema that this program reads and writes.
func Schema() int {
	list, err := migrations()
	if err != nil {
		return 0 // they are embedded
	}
	return len(list)
}

// Backup copies a database whole while others may write to it, and says where the copy lies.
func Backup(ctx context.Context, path string, now time.Time) (string, error) {
	b, err := backups.Make(ctx, path, now)
	return b.Path, failed("back the database up", err)
}

// Restore puts the newest backup of a schema that is known in the place of a database of a newer
// one, and says where each lies now; "" where there is nothing to put back. The lock of the one
// writer must be held.
func Restore(ctx context.Context, path string, known int, now time.Time) (from, aside string, err error) {
	from, err = backups.Restore(ctx, path, known, func() (err error) {
		aside, err = setAsideFile(path, "newer", now)
		return err
	})
	if errors.Is(err, backups.ErrNone) {
		return "", "", fmt.Errorf("cannot restore the database: %w: %w", ErrNewer, err)
	}
	return from, aside, failed("restore the database", err)
}
