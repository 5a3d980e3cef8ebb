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

const (
	// keepClaims is how long a claim is kept at least: as a hub keeps it.
	keepClaims = 30 * 24 * time.Hour
	// keepNewest is how many of the newest claims are kept, however old they are: a clock that was set far forward for
	// a moment takes none of them away.
	keepNewest = 10_000
)

// Claim claims a key, as lease.Claims says. Of a row that cannot be read it returns an error that names the key, and
// leaves it as it is.
func (s *Store) Claim(ctx context.Context, key string) (lease.Claim, error) {
	if err := lease.CheckKey(key); err != nil {
		return lease.Claim{}, err
	}
	var out lease.Claim
	err := s.change(ctx, func(t *tx) (err error) {
		out, err = t.claim(lease.Claim{Key: key, Holder: s.o.Me, At: s.o.Clock()})
		return err
	})
	if err != nil {
		return lease.Claim{}, fmt.Errorf("cannot claim %q: %w", key, err)
	}
	return out, nil
}

// claim writes a claim unless there is one, and returns the one that is there then.
func (t *tx) claim(c lease.Claim) (lease.Claim, error) {
	is, err := t.claimed(c.Key)
	if !errors.Is(err, sql.ErrNoRows) {
		return is, err
	}
	err = errors.Join(
		t.exec("INSERT INTO claims (key, host, run, at) VALUES (?, ?, ?, ?)", []byte(c.Key), c.Holder.Host, c.Holder.Run, c.At.Wall.Unix()),
		t.exec("DELETE FROM claims WHERE n <= (SELECT max(n) FROM claims) - ? AND at < ?", keepNewest, c.At.Wall.Add(-keepClaims).Unix()))
	return c, err
}

// claimed is the claim of a key; sql.ErrNoRows: nobody has claimed it.
func (t *tx) claimed(key string) (lease.Claim, error) {
	var c lease.Claim
	var at int64
	err := t.conn.QueryRowContext(t.ctx, "SELECT host, run, at FROM claims WHERE key = ?", []byte(key)).Scan(&c.Holder.Host, &c.Holder.Run, &at)
	if err != nil {
		return lease.Claim{}, err
	}
	if c.Holder.Host == "" || c.Holder.Run == "" {
		return lease.Claim{}, errors.New("cannot read what is kept of it, which is left as it is: it names nobody")
	}
	c.Key, c.At = key, fleet.Instant{Wall: time.Unix(at, 0).UTC()}
	return c, nil
}
