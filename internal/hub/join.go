package hub

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// join lets in who holds an invitation, once. Who asks again with the same key, as an answer may be
// lost, is answered again.
func (h *Hub) join(ctx context.Context, m *nats.Msg) any {
	var q protocol.Join
	err := read(m, &q)
	if err == nil && !credential.IsUserKey(q.Key) {
		err = refused(protocol.BadInput, "this is no public key of a user")
	}
	if err != nil {
		return protocol.Joined{Refused: refusal(err)}
	}
	inv, err := h.spend(ctx, strings.TrimPrefix(m.Subject, protocol.JoinSubject("")), q.Key)
	if err == nil {
		err = h.admit(ctx, inv)
	}
	if err != nil {
		return protocol.Joined{Refused: refusal(err)}
	}
	text, err := h.keys().HostUser(inv.Host, inv.Key)
	if err != nil {
		return protocol.Joined{Refused: refusal(err)}
	}
	h.log.Info("join", "host", inv.Host, "key", inv.Key, "invite", inv.ID)
	return protocol.Joined{JWT: text, URLs: h.folder.URLs}
}

// spend gives an invitation to one key, for good.
func (h *Hub) spend(ctx context.Context, id, key string) (protocol.Invitation, error) {
	kv, err := h.bucket(ctx, protocol.Invites)
	if err != nil {
		return protocol.Invitation{}, err
	}
	return change(ctx, kv, id, func(inv *protocol.Invitation, was bool) error {
		switch {
		case !was:
			return refused(protocol.Unknown, "the hub knows no such invitation")
		case inv.Key == key:
			return nil
		case inv.Key != "":
			return refused(protocol.Spent, "this token was used before")
		case !h.now().Before(inv.Expires):
			return refused(protocol.Expired, "this token was good until %s", inv.Expires.Format(time.RFC3339))
		}
		inv.Key, inv.Spent = key, h.now().UTC()
		return nil
	})
}

// admit writes down that a host has joined, and revokes the one that had its name.
func (h *Hub) admit(ctx context.Context, inv protocol.Invitation) error {
	kv, err := h.bucket(ctx, protocol.Hosts)
	if err != nil {
		return err
	}
	_, err = change(ctx, kv, inv.Host, func(row *protocol.Host, was bool) error {
		switch {
		case was && row.Key == inv.Key && row.Revoked.IsZero():
			return nil
		case was && (row.Key == inv.Key || slices.Contains(row.Former, inv.Key)):
			return refused(protocol.Spent, "the host that joined with this token is revoked")
		case was && row.Revoked.IsZero() && !inv.Replace:
			return refused(protocol.Taken, "there is a host %s already", inv.Host)
		case was:
			row.Former = append(row.Former, row.Key)
		}
		row.Name, row.Key, row.Joined, row.Revoked = inv.Host, inv.Key, h.now().UTC(), time.Time{}
		return nil
	})
	if err == nil {
		_, err = h.enforce(ctx)
	}
	return err
}
