package member

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/ask"
	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
	"custos/internal/hub/rows"
	"custos/internal/hub/wire"
	"custos/internal/lease/nats"
)

// link is what goes over the connection with a hub, beside leases.
type link struct {
	m     *Member
	nc    *natsclient.Conn
	js    jetstream.JetStream
	asker *ask.Asker
	board *rows.Board     // for whoever looks after all hosts
	pools *rows.Board     // for whoever starts workers for all hosts
	rows  *rows.Publisher // what this host tells
	seal  *seal
	shown *shown // what other hosts show

	mu    sync.Mutex
	hosts map[string]protocol.Host // who has joined, by name
}

// connect opens the connection with the hub.
func (m *Member) connect() (kept, func(context.Context) error, error) {
	nc, err := wire.Connect(m.joined, wire.Options{Name: "custos " + m.o.Version, OnChange: m.heard})
	if err != nil {
		return kept{}, nil, err
	}
	k, err := m.newLink(nc)
	if err != nil {
		nc.Close()
		return kept{}, nil, err
	}
	o := nats.Options{TTL: m.o.TTL, Me: m.me, Clock: m.o.Now, Warn: m.warn}
	return kept{nats.New(k.js, o), nats.NewClaims(k.js, o)}, k.run, nil
}

func (m *Member) newLink(nc *natsclient.Conn) (k *link, err error) {
	k = &link{m: m, nc: nc, hosts: map[string]protocol.Host{}}
	if k.js, err = jetstream.New(nc); err != nil {
		return nil, err
	}
	if k.seal, err = newSeal(m.joined, k.isRevoked); err != nil {
		return nil, err
	}
	if k.asker, err = ask.NewAsker(nc, m.me.Host, ask.AskerOptions{Sign: k.seal.sign}); err != nil {
		return nil, err
	}
	if k.board, err = k.newBoard("another host"); err != nil {
		return nil, err
	}
	k.pools, err = k.newBoard("what workers another host has")
	return k, err
}

// newBoard is of what hosts tell; that it has changed is told as what.
func (k *link) newBoard(what string) (*rows.Board, error) {
	return rows.NewBoard(k.js, rows.BoardOptions{Own: k.m.me.Host, Now: func() time.Duration { return time.Duration(k.m.o.Now().Up) },
		Changed: func() { k.m.o.Changed(what) }, Log: k.m.o.Log})
}

// heard is told of the connection.
func (m *Member) heard(c wire.Change) {
	switch {
	case c.Connected:
		m.reached("")
	case errors.Is(c.Err, natsclient.ErrAuthorization), errors.Is(c.Err, natsclient.ErrAuthRevoked):
		m.reached("the hub does not let this host in: its key was revoked there (custos join TOKEN --replace joins anew), or the hub has just begun")
	case c.Err != nil:
		m.reached("the hub is not reached: " + fleet.Line(fleet.Redact(c.Err.Error()), 200))
	default:
		m.reached("the hub is not reached")
	}
}

// run goes on until ctx ends, and closes the connection.
func (k *link) run(ctx context.Context) error {
	defer k.nc.Close()
	p, err := rows.NewPublisher(k.js, rows.PublisherOptions{Host: k.m.me.Host, Run: k.m.me.Run, Log: k.m.o.Log,
		Late: func() { wire.Check(k.nc) }, Moved: func() { k.m.o.Changed("the nodes of the hub") }})
	if err != nil {
		return err
	}
	if k.shown, err = newShown(ctx, k); err != nil {
		return err
	}
	k.rows = p
	k.m.mu.Lock()
	k.m.link = k
	k.m.mu.Unlock()
	var parts sync.WaitGroup
	parts.Go(func() { p.Run(ctx) })
	parts.Go(func() { k.follow(ctx) })
	parts.Go(func() { k.lookAfter(ctx) })
	if k.m.o.Tell != nil {
		parts.Go(func() { k.tell(ctx, p) })
	} else {
		p.Set(nil) // that it is there, and nothing else
	}
	if k.m.o.Answer != nil {
		parts.Go(func() { k.serve(ctx) })
	}
	parts.Wait()
	return k.asker.Close()
}

// ofOne is how many questions of one host are answered at once, of 64 in all.
const ofOne = 16

const (
	// again is after which something of the hub is tried again.
	again = 2 * time.Second
)

// serve answers what other hosts ask.
func (k *link) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := ask.Serve(ctx, k.nc, k.m.me.Host, k.m.o.Answer, ask.Options{Authenticate: k.seal.who, OfOne: ofOne, Log: k.m.o.Log})
		if ctx.Err() != nil {
			return
		}
		k.m.o.Log.Warn("Cannot answer other hosts", "err", err)
		rest(ctx, again)
	}
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// peers are the other hosts, as they were heard. Of one that has joined and was never heard it is not known
// whether it is silent: its daemon may never have run.
func (k *link) peers() (out []fleet.Peer) {
	seen := k.board.Snapshot()
	for _, name := range k.names() {
		p := peer(rows.Host{Name: name})
		if i := slices.IndexFunc(seen.Hosts, func(h rows.Host) bool { return h.Name == name }); i >= 0 {
			p = peer(seen.Hosts[i])
		}
		if seen.Blind != "" || !seen.Whole {
			p.Silent = fleet.Unknown[fleet.Duration]("hosts are not heard now: " + fleet.Line(seen.Blind, 200))
		}
		out = append(out, p)
	}
	// Of this host the only news is that another daemon tells under its name, too.
	if i := slices.IndexFunc(seen.Hosts, func(h rows.Host) bool { return h.Name == k.m.me.Host && h.Doubled }); i >= 0 {
		out = append(out, peer(seen.Hosts[i]))
	}
	return out
}

func peer(h rows.Host) fleet.Peer {
	tells := fleet.Known(fleet.Duration(0))
	p := fleet.Peer{Name: h.Name, Doubled: h.Doubled, Silent: tells, Last: fleet.Known(fleet.Duration(h.Age.Truncate(time.Second)))}
	switch {
	case h.Run == "":
		p.Silent = fleet.Unknown[fleet.Duration]("it was never heard")
		p.Last = p.Silent
	case h.Silent:
		p.Silent = fleet.Known(fleet.Duration(h.Missed.Truncate(time.Second)))
	case !h.Heard:
		p.Silent = fleet.Unknown[fleet.Duration]("it was not heard yet, since it is listened to")
	default:
		p.Last = tells // it is for people, and changes with each head
	}
	return p
}

// nodesOf are the servers of the hub.
func nodesOf(told []rows.Node) (out []fleet.HubNode) {
	for _, n := range told {
		out = append(out, fleet.HubNode{Name: n.Name, State: n.State})
	}
	return out
}

// names are those of the other hosts that are not revoked.
func (k *link) names() (out []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, h := range k.hosts {
		if name != k.m.me.Host && h.Revoked.IsZero() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// isRevoked says whether the key of a host may not be used any more, by what the hub says of hosts.
func (k *link) isRevoked(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.hosts {
		if h.Key == key {
			return h.IsRevoked(key)
		}
		if slices.Contains(h.Former, key) {
			return true
		}
	}
	return false
}

// follow hears which hosts there are.
func (k *link) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := k.followOnce(ctx); err != nil && ctx.Err() == nil {
			k.m.o.Log.Debug("the hosts of the hub are not told", "err", err)
		}
		rest(ctx, again)
	}
}

// followOnce hears them over one connection: of a bucket that was made anew meanwhile the watch would tell nothing.
func (k *link) followOnce(ctx context.Context) error {
	anew := k.nc.StatusChanged(natsclient.CONNECTED, natsclient.CLOSED)
	defer k.nc.RemoveStatusListener(anew)
	bucket, err := k.js.KeyValue(ctx, protocol.Hosts)
	if err != nil {
		return err
	}
	w, err := bucket.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	all := false
	found := map[string]protocol.Host{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-anew:
			return errors.New("the connection was lost")
		case e, open := <-w.Updates():
			if !open {
				return errors.New("it has ended")
			}
			if e == nil {
				all = true
			} else {
				k.host(found, e)
			}
			if !all {
				continue
			}
			if err := k.hear(ctx, found); err != nil {
				return err
			}
		}
	}
}

// hear takes over which hosts there are. It is told by any node, which may be behind: where it does not know this
// host, and the hub does, that is an error, and it is to be told anew.
func (k *link) hear(ctx context.Context, found map[string]protocol.Host) error {
	_, is := found[k.m.me.Host]
	if !is {
		listed, err := k.isListed(ctx)
		if err == nil && listed {
			err = errors.New("a node told of them that is behind")
		}
		if err != nil {
			return err
		}
	}
	k.know(found)
	if is { // else the hub has lost its store, and they are unknown, and not gone
		k.keep(k.names())
	}
	k.m.listed(is)
	return nil
}

// isListed asks the leader of the bucket whether the hub lists this host. (KeyValue.Get asks any node.)
func (k *link) isListed(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*again)
	defer cancel()
	ask, _ := json.Marshal(map[string]string{"last_by_subj": "$KV." + protocol.Hosts + "." + k.m.me.Host}) // a string
	m, err := k.nc.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+protocol.Stream(protocol.Hosts), ask)
	if err != nil {
		return false, fmt.Errorf("cannot ask the hub whether it knows this host: %w", err)
	}
	var a struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Header []byte `json:"hdrs"`
		} `json:"message"`
	}
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil:
		return false, fmt.Errorf("cannot read whether the hub knows this host: %w", err)
	case a.Error != nil && a.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return false, nil
	case a.Error != nil:
		return false, a.Error
	}
	return a.Message != nil && !bytes.Contains(a.Message.Header, []byte("KV-Operation")), nil // that marks one that was removed
}

// know takes over which hosts there are.
func (k *link) know(found map[string]protocol.Host) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hosts = maps.Clone(found)
}

// keep writes down which the other hosts are, where they are others than before, and has who looks look again.
func (k *link) keep(names []string) {
	text, _ := json.Marshal(protocol.Names{Hosts: names}) // strings
	if was, err := os.ReadFile(k.m.o.Place.Hosts); err == nil && bytes.Equal(was, text) {
		return
	}
	if err := credential.WriteSecret(k.m.o.Place.Hosts, text); err != nil {
		k.m.o.Log.Warn("Cannot keep the names of the hosts of the hub", "err", err)
		return
	}
	k.m.o.Changed("the hosts of the hub")
}

// host takes one row of the hosts of the hub; one that cannot be read is set aside.
func (k *link) host(found map[string]protocol.Host, e jetstream.KeyValueEntry) {
	var h protocol.Host
	switch err := json.Unmarshal(e.Value(), &h); {
	case e.Operation() != jetstream.KeyValuePut:
		delete(found, e.Key())
	case err != nil || h.Name != e.Key() || protocol.CheckHost(h.Name) != nil:
		k.m.o.Log.Error("A host of the hub is set aside: what is kept of it cannot be read", "host", fleet.Line(e.Key(), 80))
	default:
		found[h.Name] = h
	}
}

// Names are those of the other hosts of the hub, as far as they are known.
func (m *Member) Names() []string {
	if _, k, _ := m.now(); k != nil && k.isTold() {
		return k.names()
	}
	return m.kept()
}

// Key is the public key by which the hub knows another host now; "": it knows none of that name. told is false where
// it is not known what the hub says.
func (m *Member) Key(host string) (key string, told bool) {
	_, k, _ := m.now()
	if k == nil || !k.isTold() {
		return "", false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.hosts[host]; h.Revoked.IsZero() {
		key = h.Key
	}
	return key, true
}

// isTold says whether the hub has told which hosts there are.
func (k *link) isTold() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.hosts) > 0
}

// kept are their names as they were kept, for a time without a daemon that hears of them.
func (m *Member) kept() []string {
	var kept protocol.Names
	if text, err := os.ReadFile(m.o.Place.Hosts); err != nil || json.Unmarshal(text, &kept) != nil {
		return nil
	}
	return slices.Sorted(slices.Values(kept.Hosts))
}

// To is the way to another host of the hub.
func (m *Member) To(host string) (http.RoundTripper, error) {
	_, k, cut := m.now()
	switch {
	case k == nil:
		return nil, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot reach host %s: this host is at no hub now", host), Hint: "custos hub status"}
	case !slices.Contains(k.names(), host) && cut == "":
		return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find host %q: it has not joined the hub; these have: %s", fleet.Line(host, 80), strings.Join(k.names(), ", ")), Hint: "custos hub status"}
	}
	t, err := k.asker.To(host)
	if err != nil {
		return nil, err
	}
	return doubting{t}, nil
}

// doubting says in the words of the API that what was asked may have been done.
type doubting struct{ http.RoundTripper }

func (d doubting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(req)
	if errors.Is(err, ask.ErrInDoubt) {
		err = &api.Error{Kind: api.Lost, Message: err.Error()}
	}
	return resp, err
}
