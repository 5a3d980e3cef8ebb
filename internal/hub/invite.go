package hub

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// invite makes a token for one host.
func (h *Hub) invite(ctx context.Context, m *nats.Msg) any {
	var q protocol.Invite
	err := read(m, &q)
	if err == nil {
		err = checkInvite(q)
	}
	if err == nil && !q.Replace {
		err = h.mustBeFree(ctx, q.Host)
	}
	if err != nil {
		return protocol.Invited{Refused: refusal(err)}
	}
	text, expires, err := h.newToken(ctx, q)
	if err != nil {
		return protocol.Invited{Refused: refusal(err)}
	}
	return protocol.Invited{Token: text, Expires: expires}
}

func checkInvite(q protocol.Invite) error {
	if err := protocol.CheckHost(q.Host); err != nil {
		return refused(protocol.BadInput, "%v", err)
	}
	if q.For < time.Second || q.For > protocol.MaxInviteFor {
		return refused(protocol.BadInput, "an invitation is good for a second to %s", protocol.MaxInviteFor)
	}
	return nil
}

// mustBeFree refuses a name that a host has.
func (h *Hub) mustBeFree(ctx context.Context, name string) error {
	kv, err := h.bucket(ctx, protocol.Hosts)
	if err != nil {
		return err
	}
	row, _, err := fetch[protocol.Host](ctx, kv, name)
	if err == nil && row.Key != "" && row.Revoked.IsZero() {
		return refused(protocol.Taken, "there is a host %s already", name)
	}
	return err
}

func (h *Hub) newToken(ctx context.Context, q protocol.Invite) (text string, expires time.Time, err error) {
	kv, err := h.bucket(ctx, protocol.Invites)
	if err != nil {
		return "", expires, err
	}
	inv := protocol.Invitation{ID: credential.NewInvite(), Host: q.Host, Replace: q.Replace, Expires: h.now().Add(q.For).UTC().Truncate(time.Second)}
	token, err := h.keys().NewToken(credential.Offer{URLs: h.folder.URLs, CA: h.folder.CA, Invite: inv.ID, Host: inv.Host, Expires: inv.Expires})
	if err != nil {
		return "", expires, err
	}
	if text, err = token.Encode(); err != nil {
		return "", expires, err
	}
	if err := store(ctx, kv, inv.ID, inv, 0); err != nil {
		return "", expires, err
	}
	h.log.Info("invite", "host", inv.Host, "invite", inv.ID, "expires", inv.Expires, "replace", inv.Replace)
	return text, inv.Expires, nil
}
