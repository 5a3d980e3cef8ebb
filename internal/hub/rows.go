package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/protocol"
)

// tries is how often a row that another node has just written is read again.
const tries = 8

// change reads the row of a key, has a function change it, and writes it if it is still as it was
// read (compare-and-swap): a read may come from a node that is behind, and is repeated then. was
// says whether there is one. What the function returns as an error ends it, and nothing is written.
func change[T any](ctx context.Context, kv jetstream.KeyValue, key string, f func(row *T, was bool) error) (row T, err error) {
	for range tries {
		var revision uint64
		if row, revision, err = fetch[T](ctx, kv, key); err != nil {
			return row, err
		}
		if err = f(&row, revision != 0); err != nil {
			return row, err
		}
		err = store(ctx, kv, key, row, revision)
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) && !errors.Is(err, jetstream.ErrKeyExists) {
			return row, err
		}
	}
	return row, fmt.Errorf("cannot write %s to %s: others keep writing it: %w", key, kv.Bucket(), err)
}

// fetch reads a row; where there is none its revision is 0. A damaged one is an error.
func fetch[T any](ctx context.Context, kv jetstream.KeyValue, key string) (row T, revision uint64, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return row, 0, nil
	}
	if err != nil {
		return row, 0, fmt.Errorf("cannot read %s of %s: %w", key, kv.Bucket(), err)
	}
	if err := json.Unmarshal(e.Value(), &row); err != nil {
		return row, 0, fmt.Errorf("the row %s of %s is damaged: %w", key, kv.Bucket(), err)
	}
	return row, e.Revision(), nil
}

func store(ctx context.Context, kv jetstream.KeyValue, key string, row any, revision uint64) error {
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = kv.Create(ctx, key, text)
	} else {
		_, err = kv.Update(ctx, key, text, revision)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s to %s: %w", key, kv.Bucket(), err)
	}
	return nil
}

// allHosts reads the bucket custos_hosts; damaged are the keys of rows that cannot be read.
func (h *Hub) allHosts(ctx context.Context) (rows []protocol.Host, damaged []string, err error) {
	kv, err := h.bucket(ctx, protocol.Hosts)
	if err != nil {
		return nil, nil, err
	}
	w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the bucket %s: %w", protocol.Hosts, err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("cannot read the bucket %s: %w", protocol.Hosts, ctx.Err())
		case e, open := <-w.Updates():
			switch {
			case !open:
				return nil, nil, fmt.Errorf("cannot read the bucket %s: it was closed", protocol.Hosts)
			case e == nil:
				return rows, damaged, nil
			}
			var row protocol.Host
			if json.Unmarshal(e.Value(), &row) != nil || row.Name != e.Key() {
				damaged = append(damaged, e.Key())
				continue
			}
			rows = append(rows, row)
		}
	}
}
