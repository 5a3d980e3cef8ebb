package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"custos/internal/hub/folder"
	"custos/internal/hub/protocol"
)

const (
	// syncEvery is how often a node compares its accounts with those of another: a node that was
	// down lets a revoked host in for no longer than this, once it has reached the others.
	syncEvery = 2 * time.Second
	// mostJWTs are the accounts that are kept: there are three.
	mostJWTs = 16
	// slack is what the server may keep beyond the limits of buckets, in bytes.
	slack = 64 << 20
)

// serverOptions are those of nats-server v2.15.2 (opts.go) for a node: no monitoring, no profiling,
// no other protocol; TLS for all who connect, and a JWT of the operator's accounts.
func serverOptions(f folder.Folder) (*server.Options, error) {
	host, port, err := folder.HostPort(f.Listen)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: f.Node, Host: host, Port: port, NoSigs: true, DisableJetStreamBanner: true,
		MaxPayload: protocol.MaxPayload, MaxControlLine: 4096, PingInterval: 10 * time.Second, MaxPingsOut: 2,
		TLSTimeout: 5, AuthTimeout: 6,
		JetStream: true, StoreDir: f.StoreDir(), SyncAlways: true,
		JetStreamMaxMemory: f.Limits.Fleet + slack,
		JetStreamMaxStore:  f.Limits.Leases + f.Limits.Claims + f.Limits.Hosts + f.Limits.Invites + slack,
	}
	if err := secure(o, f); err != nil {
		return nil, err
	}
	if f.Cluster != nil {
		err = cluster(o, f)
	}
	return o, err
}

// secure has the server ask for TLS and for a JWT.
func secure(o *server.Options, f folder.Folder) error {
	pair, err := tls.X509KeyPair(f.Cert, f.CertKey)
	if err != nil {
		return fmt.Errorf("cannot use the certificate of the node: %w", err)
	}
	o.TLS = true
	o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	text, err := f.Keys.Operator()
	if err != nil {
		return err
	}
	operator, err := jwt.DecodeOperatorClaims(text)
	if err != nil {
		return err
	}
	o.TrustedOperators = []*jwt.OperatorClaims{operator}
	o.SystemAccount = f.Keys.SystemAccount()
	o.AccountResolver, err = server.NewDirAccResolver(f.Accounts(), mostJWTs, syncEvery, server.NoDelete)
	return err
}

// cluster has the server speak with the other nodes, each known by its certificate.
func cluster(o *server.Options, f folder.Folder) error {
	host, port, err := folder.HostPort(f.Cluster.Listen)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(f.CA) {
		return errors.New("cannot use the certificate of the hub: there is none in it")
	}
	o.Cluster = server.ClusterOpts{Name: "custos", Host: host, Port: port, TLSTimeout: 5, NoAdvertise: true, PoolSize: -1,
		TLSConfig: &tls.Config{Certificates: o.TLSConfig.Certificates, MinVersion: tls.VersionTLS13, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}}
	for _, route := range f.Cluster.Routes {
		u, err := url.Parse(route)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: u.Host})
	}
	return nil
}
