package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// epochOf begins the names under which the largest epochs of leases are kept: a host that shares
// nothing has none.
const epochOf = "epoch/"

// fenced is an error of an action that is done by a lease of an epoch which has passed: another
// host holds it, or has held it since. Consumers know it by its method.
type fenced string

func (e fenced) Error() string { return string(e) }

// Fenced says that the action is not to be done by its lease.
func (e fenced) Fenced() bool { return true }

// Conflict says that what was thought out from is not so any more.
func (e fenced) Conflict() bool { return true }

// SawEpoch writes down that a lease has, or had, an epoch; of a smaller one than is known nothing
// is written.
func (s *Store) SawEpoch(ctx context.Context, key string, epoch uint64, at fleet.Instant) error {
	return s.write(ctx, "note the epoch of "+fleet.Line(key, 80), at, func(t *tx) error {
		known, err := t.epoch(key)
		if err != nil || epoch <= known {
			return err
		}
		return t.setMeta(epochOf+key, strconv.FormatUint(epoch, 10))
	})
}

// Epochs are the largest epochs that were seen, by the key of their lease.
func (s *Store) Epochs(ctx context.Context) (map[string]uint64, error) {
	rows, err := s.r.QueryContext(ctx, "SELECT key, value FROM meta WHERE key >= ? AND key < ?", epochOf, strings.TrimSuffix(epochOf, "/")+"0")
	if err != nil {
		return nil, failed("list epochs", err)
	}
	defer rows.Close()
	out := map[string]uint64{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, failed("list epochs", err)
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			out[strings.TrimPrefix(key, epochOf)] = n
		}
	}
	return out, failed("list epochs", rows.Err())
}

func (t *tx) epoch(key string) (uint64, error) {
	value, err := meta(t.ctx, t, epochOf+key)
	if err != nil || value == "" {
		return 0, err
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the epoch of %s is damaged: %w", fleet.Line(key, 80), err)
	}
	return n, nil
}

// fence refuses an action whose lease has had a larger epoch since.
func (t *tx) fence(a fleet.Action) error {
	if a.Fence == nil {
		return nil
	}
	newest, err := t.epoch(a.Fence.Key)
	if err != nil || a.Fence.Epoch >= newest {
		return err
	}
	return fenced(fmt.Sprintf("its lease was of epoch %d, and another host has had it by epoch %d since", a.Fence.Epoch, newest))
}
