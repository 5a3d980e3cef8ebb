package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// row is what is kept of a key; the zero row is of one that nobody holds.
type row struct {
	key          string
	holder       lease.Holder
	epoch, token int64
	boot         string
	until        int64 // CLOCK_BOOTTIME, in nanoseconds
}

const columns = "SELECT key, host, run, epoch, token, boot, until FROM leases"

// row reads that of a key.
func (t *tx) row(key string) (row, error) {
	r, err := scan(t.conn.QueryRowContext(t.ctx, columns+" WHERE key = ?", []byte(key)))
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, nil
	}
	return r, err
}

// scan reads one row. One that no Store has written is an error that names the key.
func scan(from interface{ Scan(...any) error }) (row, error) {
	var r row
	var key []byte
	if err := from.Scan(&key, &r.holder.Host, &r.holder.Run, &r.epoch, &r.token, &r.boot, &r.until); err != nil {
		return row{}, err
	}
	r.key = string(key)
	if r.key == "" || r.holder.Host == "" || r.epoch <= 0 || r.token < r.epoch {
		return r, unreadable{fmt.Errorf("cannot read what is kept of %q, which is left as it is: it is held by %q in the epoch %d, by the token %d", r.key, r.holder.Host, r.epoch, r.token)}
	}
	return r, nil
}

// unreadable is of one row alone.
type unreadable struct{ error }

// held says whether somebody holds it at a moment: what is of another boot is over.
func (r row) held(now fleet.Instant) bool {
	return r.key != "" && r.boot == now.Boot && int64(now.Up) < r.until
}

// is says whether it is a lease of a holder in just this state.
func (r row) is(l lease.Lease, me lease.Holder) bool {
	return r.key == l.Key && r.key != "" && r.holder == me && l.Holder == me && uint64(r.token) == l.Token
}

// lease is it as a lease, with its end by this machine's clock.
func (r row) lease(now fleet.Instant) lease.Lease {
	return lease.Lease{Key: r.key, Holder: r.holder, Epoch: uint64(r.epoch), Token: uint64(r.token), Until: now.Add(time.Duration(r.until) - time.Duration(now.Up))}
}

// rows reads all of them, in the order in which they were written; what cannot be read is told to warn.
func rows(ctx context.Context, conn *sql.Conn, warn func(error)) (out []row, err error) {
	all, err := conn.QueryContext(ctx, columns+" ORDER BY token")
	if err != nil {
		return nil, err
	}
	defer all.Close()
	for all.Next() {
		r, err := scan(all)
		switch {
		case errors.As(err, new(unreadable)):
			warn(err)
		case err != nil:
			return nil, err
		default:
			out = append(out, r)
		}
	}
	return out, all.Err()
}
