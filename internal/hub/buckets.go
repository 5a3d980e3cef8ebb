package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/protocol"
	"custos/internal/hub/rows"
)

const (
	// keepClaims is how long claims are kept: far longer than the week after which no host claims what was due
	// (decide/follow/runs, mostLate), by clocks that differ.
	keepClaims = 30 * 24 * time.Hour
	// markerFor is how long it can be seen of a lease that it has run out. It has to be set for
	// keys to have a TTL at all (nats.go v1.55.0, jetstream/kv.go, LimitMarkerTTL).
	markerFor = 10 * time.Minute
	// keepLeases is how long whatever was written as a lease stays: what honest hosts write is renewed, and ends, in
	// seconds, and what another writes without an end is gone after an hour.
	keepLeases = time.Hour
	// makeWithin is how long one bucket may take to be made, and makeEvery how soon after it is tried
	// again: while no node leads nobody answers, and what was asked then is lost.
	makeWithin = 1500 * time.Millisecond
	makeEvery  = 200 * time.Millisecond
	// tendEvery is how often a node looks whether its buckets are there, and its revocations in force.
	tendEvery = 2 * time.Second
	// answersWithin is how long what is asked of JetStream may take.
	answersWithin = 5 * time.Second
)

// buckets are those of a hub, before their limits.
func buckets() []jetstream.KeyValueConfig {
	return []jetstream.KeyValueConfig{
		{Bucket: protocol.Leases, Description: "who may do a thing now", TTL: keepLeases, LimitMarkerTTL: markerFor},
		rows.Config(1),
		{Bucket: protocol.Hosts, Description: "who has joined"},
		{Bucket: protocol.Invites, Description: "who may join"},
	}
}

// makeBuckets makes those that are missing. Limits that were changed since are taken over.
func (h *Hub) makeBuckets(ctx context.Context) error {
	for _, c := range buckets() {
		c.History, c.Replicas, c.MaxBytes = 1, h.folder.Replicas(), h.folder.Limits.Of(c.Bucket)
		if err := h.makeBucket(ctx, c); err != nil {
			return fmt.Errorf("cannot make the bucket %s: %w", c.Bucket, err)
		}
	}
	if err := h.makeClaims(ctx); err != nil {
		return fmt.Errorf("cannot make the bucket %s: %w", protocol.Claims, err)
	}
	return nil
}

// claims is the stream of the bucket of claims: as one that jetstream/kv.go (nats.go v1.55.0) makes, but that the
// server itself refuses a second message of a key (DiscardNewPerSubject), whoever writes it, and all that could take
// the first one away: a purge, a roll-up, a TTL.
func claims(replicas int, most int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: protocol.Stream(protocol.Claims), Subjects: []string{"$KV." + protocol.Claims + ".>"}, Description: "who does what is done once",
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, DenyDelete: true, DenyPurge: true,
		MaxAge: keepClaims, MaxBytes: most, Replicas: replicas, Storage: jetstream.FileStorage, AllowDirect: true,
	}
}

func (h *Hub) makeClaims(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, makeWithin)
	defer cancel()
	c := claims(h.folder.Replicas(), h.folder.Limits.Claims)
	if is, err := h.isMade(ctx, c.Name, c.Replicas, c.MaxBytes, 0); is || err != nil {
		return err
	}
	_, err := h.js.CreateOrUpdateStream(ctx, c)
	return err
}

// isMade says whether a stream is there, as it is to be. What is there already is only read: a change waits for
// nodes that come back.
func (h *Hub) isMade(ctx context.Context, stream string, replicas int, most int64, marker time.Duration) (bool, error) {
	s, err := h.js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c := s.CachedInfo().Config
	return c.Replicas == replicas && c.MaxBytes == most && c.SubjectDeleteMarkerTTL == marker, nil
}

func (h *Hub) makeBucket(ctx context.Context, c jetstream.KeyValueConfig) error {
	ctx, cancel := context.WithTimeout(ctx, makeWithin)
	defer cancel()
	if is, err := h.isMade(ctx, protocol.Stream(c.Bucket), c.Replicas, c.MaxBytes, c.LimitMarkerTTL); is || err != nil {
		return err
	}
	_, err := h.js.CreateOrUpdateKeyValue(ctx, c)
	return err
}

// tend makes the buckets, until they are there, and keeps revocations in force, until ctx ends.
func (h *Hub) tend(ctx context.Context) {
	h.until(ctx, makeEvery, h.makeBuckets)
	if ctx.Err() != nil {
		return
	}
	h.log.Info("ready")
	close(h.ready)
	for ctx.Err() == nil && h.srv.JetStreamEnabled() {
		h.until(ctx, tendEvery, func(ctx context.Context) error { return h.unlessBroken(h.keepHosts(ctx)) })
		pause(ctx, tendEvery)
	}
	if ctx.Err() == nil {
		h.log.Error("the store was given up: its disk is full, or fails; the node ends, to be started anew")
		close(h.broken)
	}
}

// unlessBroken is no error where the store was given up: nothing is tried again then.
func (h *Hub) unlessBroken(err error) error {
	if !h.srv.JetStreamEnabled() {
		return nil
	}
	return err
}

// until tries something until it is done, or ctx ends. Why it is not is told when that changes.
func (h *Hub) until(ctx context.Context, every time.Duration, try func(context.Context) error) {
	var said string
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if why := err.Error(); why != said {
			h.log.Warn("not yet", "why", why)
			said = why
		}
		pause(ctx, every)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
