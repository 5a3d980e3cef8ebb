package store

import (
	"context"
	"time"

	"custos/internal/fleet"
)

// putCursor writes down how far a file was read. Another file under the same path takes
// the place of the one that stood there.
func (t *tx) putCursor(c fleet.UsageCursor, now time.Time) error {
	if _, err := t.exec("DELETE FROM usage_cursors WHERE path = ? AND NOT (device = ? AND inode = ?)", c.Path, signed(c.Device), signed(c.Inode)); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO usage_cursors (device, inode, path, offset, wall) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (device, inode) DO UPDATE SET path = ?3, offset = ?4, wall = ?5`, signed(c.Device), signed(c.Inode), c.Path, c.Offset, wall(now))
	return err
}

// UsageCursors lists how far each file was read, by path.
func (s *Store) UsageCursors(ctx context.Context) ([]fleet.UsageCursor, error) {
	const what = "list how far files were read"
	rows, err := s.r.QueryContext(ctx, "SELECT path, device, inode, offset FROM usage_cursors ORDER BY path, device, inode")
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var list []fleet.UsageCursor
	for rows.Next() {
		var c fleet.UsageCursor
		var device, inode int64
		if err := rows.Scan(&c.Path, &device, &inode, &c.Offset); err != nil {
			return nil, failed(what, err)
		}
		c.Device, c.Inode = uint64(device), uint64(inode)
		list = append(list, c)
	}
	return list, failed(what, rows.Err())
}

// NoteUsageFaults writes down what could not be read of what responses used.
func (s *Store) NoteUsageFaults(ctx context.Context, list []fleet.UsageFault) error {
	return s.writeUnsynced(ctx, "write down what could not be read of what models used", func(t *tx) error {
		for _, f := range list {
			if err := t.putOdd(fleet.Usage{Kind: f.Kind, Key: f.Key}, f.Why, s.opts.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// putOdd notes what was told and cannot be.
func (t *tx) putOdd(u fleet.Usage, why string, now time.Time) error {
	_, err := t.exec(`INSERT INTO usage_odd (kind, why, wall, key) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (kind, why) DO UPDATE SET wall = ?3, key = ?4`,
		fleet.Line(u.Kind, 100), why, wall(now), fleet.Line(u.Key, 200))
	return err
}

// UsageFaults lists what was told since a moment that cannot be: the newest of each kind
// of agent and fault.
func (s *Store) UsageFaults(ctx context.Context, since time.Time) ([]fleet.UsageFault, error) {
	const what = "list what was told of responses and cannot be"
	rows, err := s.r.QueryContext(ctx, "SELECT kind, why, wall, key FROM usage_odd WHERE wall >= ? ORDER BY kind, why", wall(since))
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var list []fleet.UsageFault
	for rows.Next() {
		var f fleet.UsageFault
		var at string
		err := rows.Scan(&f.Kind, &f.Why, &at, &f.Key)
		if err == nil {
			f.At, err = time.Parse(time.RFC3339Nano, at)
		}
		if err != nil {
			return nil, failed(what, err)
		}
		list = append(list, f)
	}
	return list, failed(what, rows.Err())
}
