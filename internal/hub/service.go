package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/protocol"
)

// queue is the group of nodes, one of which answers.
const queue = "custos-hub"

// serve begins to answer.
func (h *Hub) serve() error {
	for subject, answer := range map[string]nats.MsgHandler{
		protocol.JoinSubject("*"):    h.answer(h.join),
		protocol.InviteSubject:       h.answer(h.invite),
		protocol.RevokeSubject:       h.answer(h.revoke),
		protocol.HostsSubject:        h.answer(h.hosts),
		protocol.WatchSubject + ".>": h.watches(),
	} {
		if _, err := h.admin.QueueSubscribe(subject, queue, answer); err != nil {
			return fmt.Errorf("cannot answer to %s: %w", subject, err)
		}
	}
	return h.admin.Flush()
}

// answer has a function answer requests, with a value that becomes JSON.
func (h *Hub) answer(f func(ctx context.Context, m *nats.Msg) any) nats.MsgHandler {
	return func(m *nats.Msg) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*answersWithin)
		defer cancel()
		text, err := json.Marshal(f(ctx, m))
		if err == nil {
			err = m.Respond(text)
		}
		if err != nil {
			h.log.Warn("cannot answer", "subject", m.Subject, "why", err.Error())
		}
	}
}

// refuse says why something is not done.
func refuse(kind, format string, a ...any) protocol.Refused {
	return protocol.Refused{Kind: kind, Why: fmt.Sprintf(format, a...)}
}

// refusal is what an error means for who asked. Only what a Refusal says is told as it is.
func refusal(err error) protocol.Refused {
	if r, ok := errors.AsType[refusedError](err); ok {
		return protocol.Refused(r)
	}
	return refuse(protocol.Unavailable, "the hub cannot do it now: %v", err)
}

// refusedError is a refusal on its way.
type refusedError protocol.Refused

func (r refusedError) Error() string { return r.Why }

func refused(kind, format string, a ...any) error {
	return refusedError(refuse(kind, format, a...))
}

// read reads what is asked.
func read(m *nats.Msg, into any) error {
	if err := json.Unmarshal(m.Data, into); err != nil {
		return refused(protocol.BadInput, "this is no request: %v", err)
	}
	return nil
}

// bucket opens one of the hub's own.
func (h *Hub) bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	kv, err := h.js.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the bucket %s: %w", name, err)
	}
	return kv, nil
}
