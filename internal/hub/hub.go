// Package hub is a node of a hub: NATS JetStream embedded, the buckets in it, and the services by
// which hosts join and are revoked. Only custos-hub links it: what speaks with a hub does so by
// package wire.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/credential"
	"custos/internal/hub/folder"
	"custos/internal/hub/protocol"
)

// startWithin is how long the server may take to listen.
const startWithin = 30 * time.Second

// connectWithin is how long it may refuse its own users, and connectEvery how often they ask.
const (
	connectWithin = 5 * time.Second
	connectEvery  = 50 * time.Millisecond
)

// Options are what a node is given besides its folder.
type Options struct {
	Log io.Writer        // the audit, and what goes wrong: a JSON object a line; nil: nowhere
	Now func() time.Time // nil: the clock
}

// Hub is a node that runs.
type Hub struct {
	folder folder.Folder
	srv    *server.Server
	admin  *nats.Conn // in the account of the buckets
	system *nats.Conn // in the account of the server
	js     jetstream.JetStream
	only   *flock.Flock // of the folder
	log    *slog.Logger
	now    func() time.Time
	ready  chan struct{} // closed when the buckets are there
	broken chan struct{} // closed when the server has given up its store
	stop   context.CancelFunc
	work   sync.WaitGroup
	ended  sync.Once

	mu    sync.Mutex
	known map[string]protocol.Host // the newest that was seen of each host
}

// Start begins a node from its folder, and returns when it listens. Where its buckets are not there
// yet, as other nodes may be missing, it goes on making them: see Ready. It ends with ctx or Stop.
func Start(ctx context.Context, dir string, o Options) (*Hub, error) {
	f, err := folder.Read(dir)
	if err != nil {
		return nil, err
	}
	h := &Hub{folder: f, known: map[string]protocol.Host{}, ready: make(chan struct{}), broken: make(chan struct{}), now: o.Now, log: slog.New(slog.DiscardHandler)}
	if o.Log != nil {
		h.log = slog.New(slog.NewJSONHandler(o.Log, nil)).With("node", f.Node)
	}
	if h.now == nil {
		h.now = time.Now
	}
	if err := h.lock(); err != nil {
		return nil, fmt.Errorf("cannot start node %s: %w", f.Node, err)
	}
	if err := h.begin(); err != nil {
		h.Stop()
		return nil, fmt.Errorf("cannot start node %s: %w", f.Node, err)
	}
	ctx, h.stop = context.WithCancel(ctx)
	h.work.Go(func() { h.tend(ctx) })
	context.AfterFunc(ctx, h.Stop)
	return h, nil
}

// lock keeps a second node from the folder: two servers of one store damage it.
func (h *Hub) lock() error {
	h.only = flock.New(filepath.Join(h.folder.Dir, "lock"), flock.SetPermissions(0o600))
	is, err := h.only.TryLock()
	if err == nil && !is {
		err = fmt.Errorf("another custos-hub runs from %s", h.folder.Dir)
	}
	return err
}

// begin starts the server and connects with it.
func (h *Hub) begin() (err error) {
	o, err := serverOptions(h.folder)
	if err != nil {
		return err
	}
	if h.srv, err = server.NewServer(o); err != nil {
		return err
	}
	h.srv.SetLoggerV2(serverLog{h.log}, false, false, false)
	// Read before anybody comes, a host or another node: an account of which a node speaks first is
	// made without its claims (nats-server v2.15.2, route.go, LookupOrRegisterAccount), and one that is half
	// read has no services.
	for _, account := range []string{h.keys().SystemAccount(), h.keys().HubAccount(), h.keys().Account()} {
		if _, err := h.srv.LookupAccount(account); err != nil {
			return fmt.Errorf("cannot read its accounts: %w", err)
		}
	}
	h.srv.Start()
	if !h.srv.ReadyForConnections(startWithin) {
		return errors.New("it does not listen, or its store is of no use: see what it says")
	}
	if h.system, err = h.connect("system", h.folder.System); err != nil {
		return err
	}
	if h.admin, err = h.connect("hub", h.folder.Admin); err != nil {
		return err
	}
	if h.js, err = jetstream.New(h.admin); err != nil {
		return err
	}
	return h.serve()
}

// connect is a connection within the process. A server that has just started refuses its own users
// for the moment in which it has half read their account (nats-server v2.15.2, server.go,
// fetchAccount): it is asked again.
func (h *Hub) connect(name string, creds []byte) (*nats.Conn, error) {
	for end := time.Now().Add(connectWithin); ; time.Sleep(connectEvery) {
		nc, err := nats.Connect("", nats.InProcessServer(h.srv), nats.UserCredentialBytes(creds), nats.Name(name),
			nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.IgnoreAuthErrorAbort())
		if err == nil {
			return nc, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("cannot connect with it as %s: %w", name, err)
		}
	}
}

// Ready is closed when the buckets of the hub are there.
func (h *Hub) Ready() <-chan struct{} { return h.ready }

// Broken is closed when the server has given up its store, as when its disk was full: it does not take it up
// again (nats-server v2.15.2, jetstream.go, handleOutOfSpace), and the node is to be started anew.
func (h *Hub) Broken() <-chan struct{} { return h.broken }

// Address is where the node listens: HOST:PORT.
func (h *Hub) Address() string { return h.srv.Addr().String() }

// Folder is what it was started with.
func (h *Hub) Folder() folder.Folder { return h.folder }

// Leads says whether this node leads the stream of a bucket: of a hub of one node it does.
func (h *Hub) Leads(bucket string) bool {
	return h.folder.Nodes == 1 || h.srv.JetStreamIsStreamLeader(h.folder.Keys.HubAccount(), "KV_"+bucket)
}

// Stop ends the node in order, and returns when it has. It may be called again.
func (h *Hub) Stop() {
	h.ended.Do(func() {
		if h.stop != nil {
			h.stop()
			h.work.Wait()
		}
		for _, nc := range []*nats.Conn{h.admin, h.system} {
			if nc != nil {
				nc.Close()
			}
		}
		if h.srv != nil {
			h.srv.Shutdown()
			h.srv.WaitForShutdown()
		}
		_ = h.only.Unlock() // it ends with the process
	})
}

// keys are those of the hub.
func (h *Hub) keys() credential.Keys { return h.folder.Keys }
