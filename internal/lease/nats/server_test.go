package nats

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

const (
	// testTTL is short, and long enough for what is done within it on a machine that is busy.
	testTTL = 2 * time.Second
	// admin may all, and daemon what a daemon is to be allowed.
	admin, daemon, secret = "admin", "daemon", "test"
)

// allowed is what a daemon needs, and no more.
func allowed() *server.Permissions {
	const stream = "KV_" + Bucket
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$KV." + Bucket + ".*", "$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.MSG.GET." + stream,
			"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
}

// options are of a server in a folder.
func options(dir string) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: dir,
		Users: []*server.User{{Username: admin, Password: secret}, {Username: daemon, Password: secret, Permissions: allowed()}},
	}
}

// start starts a server, and waits until it serves.
func start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s
}

// dial is a user's connection to servers.
func dial(t testing.TB, urls, user string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(urls, nats.UserInfo(user, secret), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Log(err) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// bucket makes the bucket; a cluster that has no leader yet does not answer.
func bucket(t testing.TB, js jetstream.JetStream, replicas int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		if err := tryBucket(js, replicas); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func tryBucket(js jetstream.JetStream, replicas int) error {
	ctx, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	_, err := js.CreateOrUpdateKeyValue(ctx, Config(replicas))
	if err != nil {
		<-ctx.Done()
	}
	return err
}

// one is one server with the bucket, and how stores on it are opened.
func one(t testing.TB) (*server.Server, jetstream.JetStream) {
	s := start(t, options(t.TempDir()))
	js := dial(t, s.ClientURL(), admin)
	bucket(t, js, 1)
	return s, js
}

func opener(js jetstream.JetStream) leasetest.Open {
	return func(t testing.TB, h lease.Holder, clock func() fleet.Instant, ttl time.Duration) lease.Store {
		return New(js, Options{TTL: ttl, Me: h, Clock: clock})
	}
}

// corrupt writes what is no lease in the place of one, and keeps it there.
func corrupt(js jetstream.JetStream) func(testing.TB, string) {
	return func(t testing.TB, key string) {
		if _, err := js.Publish(t.Context(), "$KV."+Bucket+"."+name(key), []byte(`{"v":1,"key":"eA==","holder":{"host":"a","run":"1"}}`)); err != nil {
			t.Fatal(err)
		}
	}
}

// beside does tests at once: servers wait more than they work, and -parallel is no measure for them.
func beside(t *testing.T, tests map[string]func(*testing.T)) {
	var all sync.WaitGroup
	for name, test := range tests {
		all.Go(func() { t.Run(name, test) })
	}
	all.Wait()
}

// TestServers are those on few servers, and TestNodes those on six: beside each other, and no more at once.
func TestServers(t *testing.T) {
	t.Parallel()
	beside(t, map[string]func(*testing.T){
		"store": storeOfOneServer, "a watch is lost": aWatchIsLost, "what is given back ends by itself": whatIsGivenBackEndsByItself,
	})
	beside(t, map[string]func(*testing.T){"histories while servers fail": historiesWhileServersFail, "without a quorum": nothingIsGrantedWithoutAQuorum})
}

func storeOfOneServer(t *testing.T) {
	s, js := one(t)
	leasetest.Run(t, opener(dial(t, s.ClientURL(), daemon)), leasetest.Options{TTL: testTTL, OwnClocks: true, Corrupt: corrupt(js), For: 2 * time.Second})
}

// aWatchIsLost: the server is gone, and a watch says so.
func aWatchIsLost(t *testing.T) {
	s, _ := one(t)
	a := host(dial(t, s.ClientURL(), daemon), "a", testTTL, 0)
	told, ended := make(chan lease.Lease, 10), make(chan error, 1)
	if _, err := a.Acquire(t.Context(), "k", 0); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- a.Watch(t.Context(), nil, func(l lease.Lease) { told <- l }) }()
	<-told
	s.Shutdown()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a watch that is lost says nothing of it")
		}
	case <-time.After(silence + 5*time.Second):
		t.Error("a watch goes on though the server is gone")
	}
}

// whatIsGivenBackEndsByItself: the server puts nothing in its place when its time is over, which
// would take out what was written meanwhile.
func whatIsGivenBackEndsByItself(t *testing.T) {
	_, js := one(t)
	a := host(js, "a", testTTL, 0)
	_, err := a.put(t.Context(), message{subject: a.subject("k"), ttl: time.Second, free: true, value: value{V: version, Key: []byte("k"), Epoch: 1}})
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	for end := time.Now().Add(10 * time.Second); ; <-tick.C {
		m, err := a.get(t.Context(), a.subject("k"))
		if err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", m, err)
		}
		if m == nil {
			return
		}
		if len(m.Data) == 0 {
			t.Fatalf("in its place is %q", m.Header)
		}
	}
}
