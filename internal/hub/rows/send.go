package rows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// atOnce is how many messages are on their way to the bucket before it is waited for.
const atOnce = 256

// send writes and removes rows, and waits until the bucket has them.
func (p *Publisher) send(ctx context.Context, put map[string][]byte, gone []string) error {
	var list []*nats.Msg
	for _, key := range slices.Sorted(maps.Keys(put)) {
		list = append(list, &nats.Msg{Subject: p.subject(key), Data: put[key]})
	}
	for _, key := range gone {
		list = append(list, p.removal(key))
	}
	for some := range slices.Chunk(list, atOnce) {
		if err := p.sendSome(ctx, some); err != nil {
			return err
		}
	}
	p.Counts.Rows.Add(int64(len(put)))
	p.Counts.Removed.Add(int64(len(gone)))
	return nil
}

func (p *Publisher) subject(key string) string { return prefix + p.Host + "." + key }

// removal removes a row, with a marker that goes by itself. It is what Purge with PurgeTTL sends (nats.go
// v1.55.0, jetstream/kv.go), which waits for each.
func (p *Publisher) removal(key string) *nats.Msg {
	m := nats.NewMsg(p.subject(key))
	m.Header.Set("KV-Operation", "PURGE")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.Header.Set(jetstream.MsgTTLHeader, markers.String())
	return m
}

func (p *Publisher) sendSome(ctx context.Context, list []*nats.Msg) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	var acks []jetstream.PubAckFuture
	for _, m := range list {
		ack, err := p.js.PublishMsgAsync(m)
		if err != nil {
			return fmt.Errorf("cannot write to the bucket %s: %w", Bucket, err)
		}
		p.Counts.Bytes.Add(int64(len(m.Subject) + len(m.Data)))
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("cannot write to the bucket %s: %w", Bucket, err)
		case <-late.C:
			return fmt.Errorf("cannot write to the bucket %s: it gave no answer within %s", Bucket, patience)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
