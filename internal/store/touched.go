package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"sync"

	"modernc.org/sqlite"
)

// touched collects the rows that the writing connection changes, as SQLite
// itself tells of them: no statement, of today or of later, can forget to.
type touched struct {
	mu   sync.Mutex
	rows map[string]map[int64]bool // by table
}

func (c *touched) note(table string, ids ...int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[string]map[int64]bool{}
	}
	if c.rows[table] == nil {
		c.rows[table] = map[int64]bool{}
	}
	for _, id := range ids {
		c.rows[table][id] = true
	}
}

func (c *touched) has(table string, id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows[table][id]
}

// peek returns a copy of what was touched in one table.
func (c *touched) peek(table string) map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.rows[table])
}

// take returns what was touched, and forgets it.
func (c *touched) take() map[string]map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := c.rows
	c.rows = nil
	return rows
}

// overheard opens connections that tell a mirror of every row they change.
type overheard struct {
	dsn    string
	mirror *mirror
}

// Driver is part of driver.Connector.
func (o overheard) Driver() driver.Driver { return new(sqlite.Driver) }

// Connect opens a connection. What was overheard on the one before it may be
// incomplete, so the mirror begins anew.
func (o overheard) Connect(context.Context) (driver.Conn, error) {
	c, err := o.Driver().Open(o.dsn)
	if err != nil {
		return nil, err
	}
	hooks, ok := c.(sqlite.HookRegisterer)
	if !ok {
		return nil, fmt.Errorf("cannot hear what %T changes", c)
	}
	o.mirror.stale.Store(true)
	hooks.RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
		if o.mirror.tables[d.TableName] {
			o.mirror.touched.note(d.TableName, d.OldRowID, d.NewRowID)
		}
	})
	return c, nil
}
