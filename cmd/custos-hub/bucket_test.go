package main

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func bucket(ctx context.Context, nc *nats.Conn, name string) (jetstream.KeyValue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, name)
}

func put(ctx context.Context, nc *nats.Conn, name, key, value string) error {
	kv, err := bucket(ctx, nc, name)
	if err == nil {
		_, err = kv.Put(ctx, key, []byte(value))
	}
	return err
}

func get(ctx context.Context, nc *nats.Conn, name, key string) (string, error) {
	kv, err := bucket(ctx, nc, name)
	if err != nil {
		return "", err
	}
	e, err := kv.Get(ctx, key)
	if err != nil {
		return "", err
	}
	return string(e.Value()), nil
}
