package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
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

// mostOdd is how many places are kept of one fault.
const mostOdd = 20

// putOdd notes what was told and cannot be, before where that was seen until now: a place is a line.
func (t *tx) putOdd(u fleet.Usage, why string, now time.Time) error {
	var old string
	err := t.QueryRowContext(t.ctx, "SELECT key FROM usage_odd WHERE kind = ? AND why = ?", fleet.Line(u.Kind, 100), why).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	key := fleet.Line(u.Key, 200)
	places := slices.DeleteFunc(strings.Split(old, "\n"), func(place string) bool { return place == key || place == "" })
	places = slices.Insert(places, 0, key)
	_, err = t.exec(`INSERT INTO usage_odd (kind, why, wall, key) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (kind, why) DO UPDATE SET wall = ?3, key = ?4`,
		fleet.Line(u.Kind, 100), why, wall(now), strings.Join(places[:min(len(places), mostOdd)], "\n"))
	return err
}

// UsageFaults lists what was told since a moment that cannot be, by kind of agent and fault, with each place.
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
		var at, places string
		err := rows.Scan(&f.Kind, &f.Why, &at, &places)
		if err == nil {
			list := strings.Split(places, "\n")
			f.Key, f.More, f.AtLeast = list[0], list[1:], len(list) >= mostOdd
			f.At, err = time.Parse(time.RFC3339Nano, at)
		}
		if err != nil {
			return nil, failed(what, err)
		}
		list = append(list, f)
	}
	return list, failed(what, rows.Err())
}

// NoteUsageRead writes down that all there is of what models used has been read.
func (s *Store) NoteUsageRead(ctx context.Context) error {
	return s.writeUnsynced(ctx, "write down that conversations were read", func(t *tx) error { return t.setMeta("usage_read", wall(s.opts.Now())) })
}

// UsageRead returns when it was last; zero when it never was.
func (s *Store) UsageRead(ctx context.Context) (at time.Time, err error) {
	text, err := meta(ctx, s.r, "usage_read")
	if err == nil && text != "" {
		at, err = time.Parse(time.RFC3339Nano, text)
	}
	return at, failed("read when conversations were read", err)
}
