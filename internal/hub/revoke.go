package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// updateSubject is where servers are told of an account (nats-server v2.15.2, events.go).
const updateSubject = "$SYS.REQ.CLAIMS.UPDATE"

// revoke keeps a host from connecting again, and ends its connections.
func (h *Hub) revoke(ctx context.Context, m *nats.Msg) any {
	var q protocol.Revoke
	err := read(m, &q)
	if err == nil {
		err = h.checkRevoke(ctx, q)
	}
	if err != nil {
		return protocol.Revoked{Refused: refusal(err)}
	}
	row, nodes, err := h.revokeHost(ctx, q)
	if err != nil {
		return protocol.Revoked{Refused: refusal(err)}
	}
	h.log.Info("revoke", "host", row.Name, "key", cmp.Or(q.Key, row.Key), "nodes", nodes)
	return protocol.Revoked{Host: row, Nodes: nodes}
}

// checkRevoke refuses what is no name, and a key that is none or that of another host.
func (h *Hub) checkRevoke(ctx context.Context, q protocol.Revoke) error {
	if err := protocol.CheckHost(q.Host); err != nil {
		return refused(protocol.BadInput, "%v", err)
	}
	if q.Key == "" {
		return nil
	}
	if !credential.IsUserKey(q.Key) {
		return refused(protocol.BadInput, "this is no public key of a host")
	}
	rows, _, err := h.allHosts(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Name != q.Host && (row.Key == q.Key || slices.Contains(row.Former, q.Key)) {
			return refused(protocol.BadInput, "this is a key of host %s", row.Name)
		}
	}
	return nil
}

// revokeHost writes it down first: what is written down is put in force by any node that runs.
func (h *Hub) revokeHost(ctx context.Context, q protocol.Revoke) (row protocol.Host, nodes []string, err error) {
	kv, err := h.bucket(ctx, protocol.Hosts)
	if err != nil {
		return row, nil, err
	}
	also, wrong := h.connectedAs(q)
	if wrong != nil { // what is known is revoked all the same
		h.log.Error("cannot see who else is connected by the name of a host that is revoked", "host", q.Host, "err", wrong)
	}
	row, err = change(ctx, kv, q.Host, func(row *protocol.Host, was bool) error { return h.revokeIn(row, was, q, also) })
	if err == nil {
		nodes, err = h.enforce(ctx)
	}
	if err == nil && !row.Revoked.IsZero() {
		err = h.forget(ctx, q.Host)
	}
	return row, nodes, err
}

// revokeIn writes into the row of a host what is revoked of it, and the other keys that are connected under its name. A
// key that the row does not have is one of before the hub lost its store: the host that has the name by now goes on.
func (h *Hub) revokeIn(row *protocol.Host, was bool, q protocol.Revoke, also []string) error {
	switch {
	case !was && q.Key == "":
		return refused(protocol.Unknown, "there is no host %s", q.Host)
	case !was:
		row.Name, row.Key = q.Host, q.Key
	case q.Key != "" && q.Key != row.Key:
		if !slices.Contains(row.Former, q.Key) {
			row.Former = append(row.Former, q.Key)
		}
		return nil
	}
	if row.Revoked.IsZero() {
		row.Revoked = h.now().UTC()
	}
	for _, key := range also {
		if key != row.Key && !slices.Contains(row.Former, key) {
			row.Former = append(row.Former, key)
		}
	}
	return nil
}

// forget removes what a host told, and the leases that it holds: nobody has to wait for their end.
func (h *Hub) forget(ctx context.Context, name string) error {
	stream, err := h.js.Stream(ctx, protocol.Stream(protocol.Fleet))
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+protocol.Fleet+"."+name+".>"))
	}
	if err == nil {
		err = h.endLeases(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("the host is revoked, but what it told stays: %w", err)
	}
	return nil
}

// endLeases ends those of a host, and takes out what can be read as nobody's.
func (h *Hub) endLeases(ctx context.Context, name string) error {
	kv, err := h.bucket(ctx, protocol.Leases)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	for e := range w.Updates() {
		if e == nil {
			return nil
		}
		if isLeaseOf(e.Value(), name) {
			err = errors.Join(err, kv.Purge(ctx, e.Key(), jetstream.LastRevision(e.Revision()), jetstream.PurgeTTL(markerFor)))
		}
	}
	return err
}

// isLeaseOf says whether a value of the bucket of leases is a lease of a host, or none at all. What epochs
// begin with has no holder, and stays.
func isLeaseOf(value []byte, name string) bool {
	var v struct {
		Holder struct {
			Host string `json:"host"`
		} `json:"holder"`
	}
	return json.Unmarshal(value, &v) != nil || v.Holder.Host == name
}

// forever is when what a revoked user was issued counts as revoked: whenever that was, by
// whichever clock (a server compares it with the JWT: accounts.go, isRevoked).
func forever() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }

// enforce has all nodes refuse the users that custos_hosts says are revoked, if they do not yet,
// and returns the names of those that have said so now. It may be asked again at any time.
func (h *Hub) enforce(ctx context.Context) (nodes []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	read, _, err := h.allHosts(ctx)
	if err != nil {
		return nil, err
	}
	return h.refuse(h.remember(read))
}

// keepHosts puts in force what is revoked, and then writes back what the bucket has lost: that waits for a quorum.
func (h *Hub) keepHosts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	read, damaged, err := h.allHosts(ctx)
	if err != nil {
		return err
	}
	for _, key := range damaged {
		h.log.Error("a row is damaged", "bucket", protocol.Hosts, "key", key)
	}
	known := h.remember(read)
	_, err = h.refuse(known)
	return errors.Join(err, h.restore(ctx, read, known, damaged))
}

// refuse has all nodes refuse the users that rows say are revoked, if they do not yet.
func (h *Hub) refuse(rows []protocol.Host) (nodes []string, err error) {
	text, err := h.srv.AccountResolver().Fetch(h.keys().Account())
	if err != nil {
		return nil, fmt.Errorf("cannot read the account of hosts: %w", err)
	}
	in, err := credential.RevokedIn(text)
	if err != nil {
		return nil, err
	}
	was := len(in)
	for _, key := range revokedKeys(rows) {
		in[key] = forever()
	}
	if len(in) == was {
		return nil, nil
	}
	if text, err = h.keys().HostsAccount(in); err != nil {
		return nil, err
	}
	return h.tell(text)
}

func revokedKeys(rows []protocol.Host) (out []string) {
	for _, row := range rows {
		out = append(out, row.Former...)
		if !row.Revoked.IsZero() {
			out = append(out, row.Key)
		}
	}
	return out
}

// tell gives the JWT of an account to all nodes that are there, and waits for each. Those that are down do it when they are back.
func (h *Hub) tell(account string) (nodes []string, err error) {
	answers, err := h.askNodes(updateSubject, []byte(account))
	return slices.Sorted(maps.Keys(answers)), err
}

// hosts lists who has joined.
func (h *Hub) hosts(ctx context.Context, _ *nats.Msg) any {
	rows, damaged, err := h.allHosts(ctx)
	if err != nil {
		return protocol.HostList{Refused: refusal(err)}
	}
	slices.SortFunc(rows, func(a, b protocol.Host) int { return strings.Compare(a.Name, b.Name) })
	return protocol.HostList{Hosts: rows, Damaged: damaged}
}
