package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// lines is what a hub writes, to be read while it does.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// refusedKind is why the hub did not do something; "" where it did.
func refusedKind(t *testing.T, err error) string {
	t.Helper()
	var r *wire.RefusedError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &r):
		t.Errorf("it was not refused, but %v", err)
		return "lost"
	}
	return r.Kind
}

// TestJoining are the tests of who may join.
func TestJoining(t *testing.T) {
	t.Parallel()
	var log lines
	c := hubtest.StartLogged(t, 1, &log)
	t.Run("two with one token", func(t *testing.T) { twoWithOneToken(t, c) })
	t.Run("an answer that is lost", func(t *testing.T) { answerLost(t, c) })
	t.Run("expired", func(t *testing.T) { expired(t, c) })
	t.Run("a name that is taken", func(t *testing.T) { taken(t, c) })
	t.Run("what is no request", func(t *testing.T) { badRequests(t, c) })
	t.Run("a token does nothing else", func(t *testing.T) { tokenMay(t, c) })
	t.Run("a row that is damaged", func(t *testing.T) { damaged(t, c) })
	t.Run("rows that are lost", func(t *testing.T) { lostRows(t, c) })
	t.Run("a full bucket", func(t *testing.T) { full(t, c) })
	t.Run("the audit", func(t *testing.T) { audit(t, c, &log) })
}

// Of many who come with one token at once exactly one joins, and its credentials are good.
func twoWithOneToken(t *testing.T, c *hubtest.Cluster) {
	token := c.Invite(t, protocol.Invite{Host: "one", For: time.Hour})
	var won atomic.Int32
	var winner atomic.Pointer[credential.Joined]
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			j, err := wire.Join(t.Context(), token)
			if kind := refusedKind(t, err); kind == "" {
				won.Add(1)
				winner.Store(&j)
			} else if kind != protocol.Spent {
				t.Errorf("it was refused as %s: %v", kind, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d have joined", won.Load())
	}
	hubtest.Connect(t, *winner.Load(), wire.Options{})
}

// Who asks again with the same key is answered as before, and once it is revoked no more.
func answerLost(t *testing.T, c *hubtest.Cluster) {
	token := c.Invite(t, protocol.Invite{Host: "again", For: time.Hour})
	pair, err := credential.NewPair()
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (a protocol.Joined) {
		nc, err := wire.Once(token.URLs, []byte(token.CA), token.Creds, token.Inbox())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if err := wire.Ask(t.Context(), nc, protocol.JoinSubject(token.Invite), protocol.Join{Key: pair.Public()}, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for range 2 {
		if a := ask(); a.Kind != "" || a.JWT == "" {
			t.Errorf("%+v", a)
		}
	}
	c.Revoke(t, "again")
	if a := ask(); a.Kind != protocol.Spent {
		t.Errorf("after it was revoked: %+v", a)
	}
}

// A token that has run out lets nobody in: neither the server nor the service does.
func expired(t *testing.T, c *hubtest.Cluster) {
	token := c.Invite(t, protocol.Invite{Host: "late", For: 2 * time.Second})
	nc, err := wire.Once(token.URLs, []byte(token.CA), token.Creds, token.Inbox())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	hubtest.Eventually(t, 5*time.Second, "who holds it is thrown out", func() bool { return !nc.IsConnected() })
	if _, err := wire.Join(t.Context(), token); refusedKind(t, err) != protocol.Expired {
		t.Errorf("it may join: %v", err)
	}
	kv := hubtest.Bucket(t, c.Admin(t), protocol.Invites)
	good := c.Invite(t, protocol.Invite{Host: "late", For: time.Hour})
	e, err := kv.Get(t.Context(), good.Invite)
	if err != nil {
		t.Fatal(err)
	}
	var row protocol.Invitation
	if err := json.Unmarshal(e.Value(), &row); err != nil {
		t.Fatal(err)
	}
	row.Expires = time.Now().Add(-time.Second)
	text, _ := json.Marshal(row)
	if _, err := kv.Update(t.Context(), good.Invite, text, e.Revision()); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Join(t.Context(), good); refusedKind(t, err) != protocol.Expired {
		t.Errorf("the service lets it join: %v", err)
	}
}

// A name is free once its host is revoked; who comes to replace a host throws it out.
func taken(t *testing.T, c *hubtest.Cluster) {
	early := c.Invite(t, protocol.Invite{Host: "name", For: time.Hour})
	first := c.Join(t, "name")
	was := hubtest.Connect(t, first, wire.Options{})
	if a := invite(t, c, protocol.Invite{Host: "name", For: time.Hour}); a.Kind != protocol.Taken {
		t.Errorf("a token for a name that is taken: %+v", a)
	}
	if _, err := wire.Join(t.Context(), early); refusedKind(t, err) != protocol.Taken {
		t.Errorf("a token from before it was taken: %v", err)
	}
	second := c.Join(t, "name")
	hubtest.Eventually(t, 2*time.Second, "the one before is thrown out", func() bool { return !was.IsConnected() })
	is := hubtest.Connect(t, second, wire.Options{})
	c.Revoke(t, "name")
	hubtest.Eventually(t, 2*time.Second, "it is thrown out", func() bool { return !is.IsConnected() })
	c.Revoke(t, "name") // twice is once
	if a := invite(t, c, protocol.Invite{Host: "name", For: time.Hour}); a.Kind != "" {
		t.Errorf("the name is not free: %+v", a)
	}
}

func invite(t *testing.T, c *hubtest.Cluster, q protocol.Invite) (a protocol.Invited) {
	t.Helper()
	if err := wire.Ask(t.Context(), c.Admin(t), protocol.InviteSubject, q, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func badRequests(t *testing.T, c *hubtest.Cluster) {
	for _, q := range []protocol.Invite{{Host: "a.b", For: time.Hour}, {Host: "", For: time.Hour}, {Host: "x"}, {Host: "x", For: protocol.MaxInviteFor + 1}} {
		if a := invite(t, c, q); a.Kind != protocol.BadInput || a.Token != "" {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	token := c.Invite(t, protocol.Invite{Host: "x", For: time.Hour})
	joining, err := wire.Once(token.URLs, []byte(token.CA), token.Creds, token.Inbox())
	if err != nil {
		t.Fatal(err)
	}
	defer joining.Close()
	admin := c.Admin(t)
	account := c.Hub(0).Folder().Keys.Account()
	for subject, c := range map[string]struct {
		nc   *nats.Conn
		body string
		kind string
	}{
		protocol.JoinSubject(token.Invite): {joining, `{"key":"no"}`, protocol.BadInput},
		protocol.JoinSubject("none"):       {admin, `{"key":"` + account + `"}`, protocol.BadInput},
		protocol.RevokeSubject:             {admin, `{"host":"none"}`, protocol.Unknown},
		protocol.InviteSubject:             {admin, `[`, protocol.BadInput},
	} {
		m, err := c.nc.Request(subject, []byte(c.body), 5*time.Second)
		var a protocol.Refused
		if err != nil || json.Unmarshal(m.Data, &a) != nil || a.Kind != c.kind {
			t.Errorf("%s %s: %v %+v", subject, c.body, err, a)
		}
	}
}

// Who has a token may ask to join with it, and nothing else.
func tokenMay(t *testing.T, c *hubtest.Cluster) {
	token := c.Invite(t, protocol.Invite{Host: "x", For: time.Hour})
	nc, err := wire.Once(token.URLs, []byte(token.CA), token.Creds, token.Inbox())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{protocol.JoinSubject(credential.NewInvite()), "$KV.custos_leases.x", "$JS.API.STREAM.INFO.KV_custos_hosts", "custos.ask.a.x", protocol.InviteSubject} {
		if _, err := nc.Request(subject, nil, 50*time.Millisecond); err == nil {
			t.Errorf("it may ask %s", subject)
		}
		hubtest.Eventually(t, 2*time.Second, subject+" is refused", func() bool { return strings.Contains(errorText(nc.LastError()), subject) })
	}
	if _, err := credential.ReadIdentity(token.Creds); err == nil {
		t.Error("it may sign as a host")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A row that cannot be read is told of, and keeps nothing else from going on.
func damaged(t *testing.T, c *hubtest.Cluster) {
	kv := hubtest.Bucket(t, c.Admin(t), protocol.Hosts)
	if _, err := kv.Put(t.Context(), "broken", []byte("{")); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kv.Purge(t.Context(), "broken") }()
	j := c.Join(t, "sound")
	nc := hubtest.Connect(t, j, wire.Options{})
	var list protocol.HostList
	if err := wire.Ask(t.Context(), c.Admin(t), protocol.HostsSubject, struct{}{}, &list); err != nil || len(list.Damaged) != 1 || list.Damaged[0] != "broken" {
		t.Errorf("%v %+v", err, list)
	}
	c.Revoke(t, "sound")
	hubtest.Eventually(t, 2*time.Second, "a host is revoked", func() bool { return !nc.IsConnected() })
}

// What a node's disk has lost of hosts, and that one is revoked, the nodes write back that have seen it: as that does
// which has just revoked one.
func lostRows(t *testing.T, c *hubtest.Cluster) {
	kv := hubtest.Bucket(t, c.Admin(t), protocol.Hosts)
	c.Join(t, "kept")
	c.Join(t, "shut-out")
	row := func(name string) (out protocol.Host) {
		if e, err := kv.Get(t.Context(), name); err == nil {
			_ = json.Unmarshal(e.Value(), &out)
		}
		return out
	}
	before, joined := row("kept"), row("shut-out")
	c.Revoke(t, "shut-out")
	js, err := jetstream.New(c.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), protocol.Stream(protocol.Hosts))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+protocol.Hosts+".kept")); err != nil {
		t.Fatal(err)
	}
	old, _ := json.Marshal(joined)
	if _, err := kv.Put(t.Context(), "shut-out", old); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, 10*time.Second, "they are back", func() bool { return row("kept").Key == before.Key && !row("shut-out").Revoked.IsZero() })
}

// A bucket that is full refuses what is new, and keeps what it has; there is room again when
// something is removed. One host can fill it for all.
func full(t *testing.T, c *hubtest.Cluster) {
	a, b := connect(t, c.Join(t, "a")), connect(t, c.Join(t, "b"))
	if err := put(t.Context(), b, "b.kept", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	kv, err := a.kv(t.Context(), protocol.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(c.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), protocol.Stream(protocol.Fleet))
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxBytes = 4 << 20 // and not the 256 MiB of Init: it is written in no time
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	var refused error
	for i := 0; i < 100 && refused == nil; i++ {
		_, refused = kv.Put(t.Context(), "a.x"+strings.Repeat("x", i), make([]byte, 60<<10))
	}
	if refused == nil || !strings.Contains(refused.Error(), "maximum bytes exceeded") {
		t.Errorf("it is not full: %v", refused)
	}
	if err := put(t.Context(), b, "b.new", make([]byte, 60<<10)); err == nil {
		t.Error("another may write")
	}
	if e, err := hubtest.Bucket(t, b.Conn, protocol.Fleet).Get(t.Context(), "b.kept"); err != nil || string(e.Value()) != "kept" {
		t.Errorf("what it has is lost: %v", err)
	}
	c.Revoke(t, "a")
	if err := put(t.Context(), b, "b.new", make([]byte, 60<<10)); err != nil {
		t.Errorf("there is no room though the host is revoked: %v", err)
	}
	if err := b.Publish("$KV.custos_fleet.b.large", make([]byte, protocol.MaxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a message of more than %d bytes: %v", protocol.MaxPayload, err)
	}
}

// The audit has a line for each invitation, joining and revocation, and no secret.
func audit(t *testing.T, c *hubtest.Cluster, log *lines) {
	token := c.Invite(t, protocol.Invite{Host: "seen", For: time.Hour})
	j, err := wire.Join(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	c.Revoke(t, "seen")
	id, err := j.Identity()
	if err != nil {
		t.Fatal(err)
	}
	text := log.String()
	for _, want := range []string{`"msg":"invite","node":"n0","host":"seen","invite":"` + token.Invite, `"msg":"join","node":"n0","host":"seen","key":"` + id.Key(), `"msg":"revoke","node":"n0","host":"seen"`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	secret, err := token.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{secret, "eyJ0eXAi", "SEED", `"SU`} {
		if strings.Contains(text, no) {
			t.Errorf("it has %s", no)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("this is no JSON: %s", line)
		}
	}
}

// TestRevokedAfterAnOldCopy: a hub that was put back from an old copy knows an earlier key of a host, and lets in the
// one of today: who revokes the host by its name ends that, too.
func TestRevokedAfterAnOldCopy(t *testing.T) {
	t.Parallel()
	c := hubtest.Start(t, 1)
	c.Join(t, "x")
	other := c.Join(t, "y")
	c.Stop(0)
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", c.Dirs[0], copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.Restart(0)
	j := c.Join(t, "x")
	c.Stop(0)
	if err := errors.Join(os.RemoveAll(c.Dirs[0]), os.Rename(copied, c.Dirs[0])); err != nil {
		t.Fatal(err)
	}
	c.Restart(0)
	c.WaitReady(0)
	x, y := hubtest.Connect(t, j, wire.Options{}), hubtest.Connect(t, other, wire.Options{})
	a := c.Revoke(t, "x")
	hubtest.Eventually(t, 5*time.Second, "it is thrown out", func() bool { return !x.IsConnected() })
	id, err := j.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(a.Host.Former, id.Key()) {
		t.Errorf("the key of today is not revoked: %+v", a.Host)
	}
	if !y.IsConnected() {
		t.Error("another host is thrown out")
	}
}
