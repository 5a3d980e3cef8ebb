package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"custos/internal/hub/protocol"
)

// restoredAtOnce is how many rows are written back at a time: each is a question to the leader, and more follow at
// the next look.
const restoredAtOnce = 16

// isNewer says whether a row was written after another one of its host. A row is changed when a host joins in its
// place, which makes a key a former one, and when a key is revoked; it is never removed. Moments are of the clocks
// of several nodes: they count where nothing else does.
func isNewer(row, than protocol.Host) bool {
	switch {
	case len(row.Former) != len(than.Former):
		return len(row.Former) > len(than.Former)
	case row.Revoked.IsZero() != than.Revoked.IsZero():
		return than.Revoked.IsZero()
	}
	return row.Joined.After(than.Joined)
}

// remember keeps the newest that this node has seen of each host since it began, and returns all of them.
func (h *Hub) remember(rows []protocol.Host) []protocol.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		if was, is := h.known[row.Name]; !is || isNewer(row, was) {
			h.known[row.Name] = row
		}
	}
	return slices.Collect(maps.Values(h.known))
}

var errCurrent = errors.New("it is as new")

// restore writes back the rows that the bucket has lost, or has as they were before: a node whose disk was cut
// off may become the leader of what the others knew better (jepsen.io/analyses/nats-2.12.1). What was only read from
// a node that is behind is as new at the leader, and stays.
func (h *Hub) restore(ctx context.Context, read, known []protocol.Host, damaged []string) error {
	there := map[string]protocol.Host{}
	for _, row := range read {
		there[row.Name] = row
	}
	lost := slices.DeleteFunc(known, func(row protocol.Host) bool {
		is, found := there[row.Name]
		return slices.Contains(damaged, row.Name) || found && !isNewer(row, is)
	})
	if len(lost) == 0 {
		return nil
	}
	kv, err := h.bucket(ctx, protocol.Hosts)
	if err != nil {
		return err
	}
	for _, row := range lost[:min(len(lost), restoredAtOnce)] {
		_, err := change(ctx, kv, row.Name, func(is *protocol.Host, was bool) error {
			if was && !isNewer(row, *is) {
				return errCurrent
			}
			*is = row
			return nil
		})
		switch {
		case err == nil:
			h.log.Warn("restored: the bucket had lost it", "bucket", protocol.Hosts, "host", row.Name)
		case !errors.Is(err, errCurrent):
			return fmt.Errorf("cannot restore host %s: %w", row.Name, err)
		}
	}
	return nil
}
