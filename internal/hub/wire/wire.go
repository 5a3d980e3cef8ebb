// Package wire connects a host with its hub, and one that has a token with the hub that it is for.
package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

const (
	// pingEvery and pingsOut notice a hub that is dead within (pingsOut+1)×pingEvery = 40 s: nats.go v1.55.0
	// closes the connection at the ping that finds pingsOut unanswered (nats.go, processPingTimer). Each ping wakes a
	// host twice, so whoever waits for an answer that does not come calls Check.
	pingEvery = 20 * time.Second
	pingsOut  = 1
	// commandPings is how often a command pings.
	commandPings = 3 * time.Second
	// checkFor is how long a node may take to answer that it is there.
	checkFor = 2 * time.Second
	dialFor  = 3 * time.Second
	// waitLeast and waitMost bound how long is waited between attempts, at random, so that a fleet
	// does not come back all at once.
	waitLeast = 250 * time.Millisecond
	waitMost  = 5 * time.Second
	// pending is how many bytes of what is published are kept while there is no connection: none.
	// What was not handed over is an error at once, and not sent when it is stale.
	pending = -1
)

// Change is what became of a connection.
type Change struct {
	Connected bool
	Server    string // name of the node; "" while there is none
	Err       error  // why there is none, or what the hub refused; nil: nothing is known to be wrong
}

// Options of a connection.
type Options struct {
	Name string // of the connection, as the hub shows it
	// OnChange hears of each change, one after the other; nil: nobody does. It must not block.
	OnChange func(Change)
	pings    time.Duration // between two
}

// Connect connects a host. It returns at once, connected or not, and goes on trying for as long as
// it is not closed: a revoked host too, who is told of it by OnChange. The error is one of what was
// joined. The connection is closed by its Close.
func Connect(j credential.Joined, o Options) (*nats.Conn, error) {
	if err := j.Check(); err != nil {
		return nil, fmt.Errorf("cannot connect with the hub: %w", err)
	}
	secure, err := trust(j.CA)
	if err != nil {
		return nil, err
	}
	o.pings = pingEvery
	opts := append(common(o), secure, nats.UserCredentialBytes(j.Creds), nats.CustomInboxPrefix(protocol.InboxPrefix(j.Host)),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.CustomReconnectDelay(wait), nats.ReconnectBufSize(pending))
	nc, err := nats.Connect(strings.Join(j.URLs, ","), opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot connect with the hub: %w", err)
	}
	return nc, nil
}

// Check asks the node of a connection whether it is there, and leaves it for another one where it does not say so
// within 2 s: a node that hangs keeps its connections open.
func Check(nc *nats.Conn) {
	if nc.IsConnected() && errors.Is(nc.FlushTimeout(checkFor), nats.ErrTimeout) {
		_ = nc.ForceReconnect() // it may be closed by now
	}
}

// onceTries is how often a hub is asked again that does not let in who comes: one that has just
// started refuses, for a moment, whom it knows (nats-server v2.15.2, server.go, fetchAccount).
const onceTries = 3

// Once connects with credentials, or says why it could not: for a command. Credentials that are
// not good are nats.ErrAuthorization. The connection does not come back by itself.
func Once(urls []string, ca, creds []byte, inbox string) (*nats.Conn, error) {
	secure, err := trust(ca)
	if err != nil {
		return nil, err
	}
	opts := append(common(Options{Name: "custos", pings: commandPings}), secure, nats.UserCredentialBytes(creds), nats.NoReconnect())
	if inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(inbox))
	}
	for try := 1; ; try++ {
		nc, err := nats.Connect(strings.Join(urls, ","), opts...)
		if try == onceTries || !errors.Is(err, nats.ErrAuthorization) {
			return nc, err
		}
		time.Sleep(waitLeast)
	}
}

func common(o Options) []nats.Option {
	say := func(c Change) {
		if o.OnChange != nil {
			o.OnChange(c)
		}
	}
	return []nats.Option{
		nats.Name(o.Name), nats.Timeout(dialFor), nats.PingInterval(o.pings), nats.MaxPingsOutstanding(pingsOut), nats.FlusherTimeout(dialFor),
		nats.IgnoreDiscoveredServers(),
		nats.ConnectHandler(func(nc *nats.Conn) { say(Change{Connected: true, Server: nc.ConnectedServerName()}) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { say(Change{Connected: true, Server: nc.ConnectedServerName()}) }),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) { say(Change{Err: err}) }),
		nats.ReconnectErrHandler(func(nc *nats.Conn, err error) { say(Change{Err: err}) }),
		nats.ClosedHandler(func(nc *nats.Conn) { say(Change{Err: errors.Join(nats.ErrConnectionClosed, nc.LastError())}) }),
		nats.ErrorHandler(func(nc *nats.Conn, _ *nats.Subscription, err error) {
			say(Change{Connected: nc.IsConnected(), Server: nc.ConnectedServerName(), Err: err})
		}),
	}
}

// trust knows nodes by the certificate of the hub, and by no other.
func trust(ca []byte) (nats.Option, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("cannot connect with the hub: there is no certificate by which it is known")
	}
	return nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}), nil
}

// wait is how long is waited before an attempt, of which there were some.
func wait(attempts int) time.Duration {
	most := min(waitMost, waitLeast<<min(attempts, 10))
	return waitLeast + rand.N(most)
}
