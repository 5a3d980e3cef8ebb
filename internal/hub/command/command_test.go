package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/hub/command"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// typed is what a command has shown.
type typed struct {
	value any
	lines []string
	next  []api.Hint
}

// text is all of it.
func (s typed) text() string {
	out := strings.Join(s.lines, "\n")
	for _, n := range s.next {
		out += "\nNEXT " + n.Command
	}
	return out
}

// place is a machine on which commands are typed: the folder of a hub, and of what was joined.
type place struct {
	hub, joined string
	agent       string // that types
}

// run types a command.
func (p place) run(t *testing.T, in string, args ...string) (shown typed, err error) {
	t.Helper()
	root := &cobra.Command{Use: "custos", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(command.New(command.Surroundings{
		Hub:    func() (string, error) { return p.hub, nil },
		Joined: func() (string, error) { return p.joined, nil },
		Agent:  func(context.Context) string { return p.agent },
		Now:    time.Now,
		In:     strings.NewReader(in),
		Show: func(v any, lines []string, next []api.Hint) error {
			shown = typed{v, lines, next}
			return nil
		},
		Doing: func(string) func() { return func() {} },
	})...)
	root.SetArgs(args)
	return shown, root.ExecuteContext(t.Context())
}

// must types a command that goes well, and wants words in what it shows.
func (p place) must(t *testing.T, wants []string, args ...string) typed {
	t.Helper()
	shown, err := p.run(t, "", args...)
	if err != nil {
		t.Fatalf("custos %s: %v", strings.Join(args, " "), err)
	}
	for _, want := range wants {
		if !strings.Contains(shown.text(), want) {
			t.Errorf("custos %s: there is no %q in\n%s", strings.Join(args, " "), want, shown.text())
		}
	}
	if _, err := json.Marshal(shown.value); err != nil || shown.value == nil {
		t.Errorf("custos %s: as JSON it is %v: %v", strings.Join(args, " "), shown.value, err)
	}
	return shown
}

// fails types a command that does not go well.
func (p place) fails(t *testing.T, kind, want, in string, args ...string) {
	t.Helper()
	_, err := p.run(t, in, args...)
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Message+" "+e.Hint, want) {
		t.Errorf("custos %s: want %s %q, got %v", strings.Join(args, " "), kind, want, err)
	}
}

func token(t *testing.T, shown typed) string {
	t.Helper()
	at := slices.IndexFunc(shown.lines, func(l string) bool { return strings.HasPrefix(l, "custos-join-1.") })
	if at < 0 {
		t.Fatalf("there is no token in %q", shown.lines)
	}
	return shown.lines[at]
}

// A person makes a hub, has a host join, and revokes it.
func TestCommands(t *testing.T) {
	c := hubtest.Start(t, 1)
	admin := place{hub: c.Dirs[0]}
	host := place{joined: filepath.Join(t.TempDir(), "hub")}
	byAgent, hostByAgent := admin, host
	byAgent.agent, hostByAgent.agent = "builder", "builder"
	byAgent.fails(t, api.Forbidden, "agent builder asks", "", "hub", "invite", "build-1")
	byAgent.fails(t, api.Forbidden, "agent builder asks", "", "hub", "revoke", "build-1")
	hostByAgent.fails(t, api.Forbidden, "agent builder asks", "", "join", "hello")
	admin.must(t, []string{"No host has joined.", "NEXT custos hub invite HOST"}, "hub", "hosts")
	first := token(t, admin.must(t, []string{"Host build-1 may join once", "NEXT custos join -"}, "hub", "invite", "build-1", "--for", "10m"))
	host.fails(t, api.BadInput, "this is no token", "", "join", "hello")
	host.fails(t, api.BadInput, "not copied whole", "", "join", first[:len(first)-1])
	host.fails(t, api.BadInput, "this is no token", "Hello\n"+first+"\n", "join", "-")
	host.fails(t, api.BadInput, "this is no token", "Host build-1 may join once", "join", "-")
	shown, err := host.run(t, "Host build-1 may join once,\nuntil then, with this\ntoken:\n"+first+"\n\nWhat next\n", "join", "-")
	if err != nil || !strings.Contains(shown.text(), "This is host build-1 of the hub now.") || !strings.Contains(shown.text(), "NEXT custos up") {
		t.Fatalf("%v\n%s", err, shown.text())
	}
	j, err := credential.Load(host.joined)
	if err != nil || j.Host != "build-1" {
		t.Fatal(j, err)
	}
	host.fails(t, api.Changed, "this machine is host build-1 of a hub already", "", "join", first)
	creds := filepath.Join(host.joined, "hub.creds")
	if err := os.Chmod(creds, 0o644); err != nil {
		t.Fatal(err)
	}
	host.fails(t, api.BadInput, "chmod 600 "+creds, "", "join", first)
	if err := os.Chmod(creds, 0o600); err != nil {
		t.Fatal(err)
	}
	host.fails(t, api.Forbidden, "this token was used before", "", "join", first, "--replace")
	if again, err := credential.Load(host.joined); err != nil || string(again.Creds) != string(j.Creds) {
		t.Errorf("what was joined is lost: %v", err)
	}
	admin.must(t, []string{"build-1: joined 20"}, "hub", "hosts")
	admin.fails(t, api.Changed, "there is a host build-1 already", "", "hub", "invite", "build-1")
	admin.fails(t, api.BadInput, "the name of a host has", "", "hub", "invite", "build.1")
	admin.fails(t, api.BadInput, "a second to 168h", "", "hub", "invite", "x", "--for", "200h")
	admin.fails(t, api.NotFound, "there is no host none", "", "hub", "revoke", "none")
	admin.must(t, []string{"Host build-1 is revoked.", "NEXT custos hub hosts"}, "hub", "revoke", "build-1")
	admin.must(t, []string{", revoked 20"}, "hub", "hosts")
	second := token(t, admin.must(t, nil, "hub", "invite", "build-1"))
	if _, err := host.run(t, "", "join", second, "--replace"); err != nil {
		t.Error(err)
	}
	short := token(t, admin.must(t, nil, "hub", "invite", "late", "--for", "1s"))
	late := place{joined: filepath.Join(t.TempDir(), "hub")}
	hubtest.Eventually(t, 5*time.Second, "a token has run out", func() bool {
		_, err := late.run(t, short, "join", "-")
		var e *api.Error
		return errors.As(err, &e) && e.Kind == api.Forbidden && strings.Contains(e.Message, "it was good until") || err == nil && os.RemoveAll(late.joined) == nil
	})
	third := token(t, admin.must(t, nil, "hub", "invite", "gone"))
	c.Stop(0)
	late.fails(t, api.Unreachable, "the token is not used up", "", "join", third, "--replace")
	admin.fails(t, api.Unreachable, "cannot reach the hub at tls://127.0.0.1:", "", "hub", "hosts")
}

// A hub that lost its store has forgotten its hosts, whose keys are good all the same: each is revoked by its key,
// and by none of another host. Who has the name by then goes on.
func TestRevokeAfterTheStoreWasLost(t *testing.T) {
	c := hubtest.Start(t, 1)
	admin := place{hub: c.Dirs[0]}
	lost, again := c.Join(t, "a"), c.Join(t, "b")
	c.Stop(0)
	if err := os.RemoveAll(filepath.Join(c.Dirs[0], "store")); err != nil {
		t.Fatal(err)
	}
	c.Restart(0)
	c.WaitReady(0)
	hubtest.Connect(t, lost, wire.Options{}) // it is let in still
	admin.fails(t, api.NotFound, "there is no host a: if it joined before", "", "hub", "revoke", "a")
	admin.fails(t, api.NotFound, "custos hub revoke a --key KEY", "", "hub", "revoke", "a")
	admin.fails(t, api.BadInput, "this is no public key of a host", "", "hub", "revoke", "a", "--key", "x")
	admin.must(t, []string{"Host a is revoked.", "NEXT custos hub hosts"}, "hub", "revoke", "a", "--key", key(t, lost))
	admin.must(t, []string{"a: joined before the hub lost its store, revoked 20"}, "hub", "hosts")
	isShutOut(t, c, "a", lost)
	now := c.Join(t, "b")
	admin.fails(t, api.BadInput, "this is a key of host b", "", "hub", "revoke", "x", "--key", key(t, now))
	for range 2 {
		admin.must(t, []string{"That key is revoked. Host b, which has another one, goes on."}, "hub", "revoke", "b", "--key", key(t, again))
	}
	isShutOut(t, c, "b", again)
	hubtest.Connect(t, now, wire.Options{})
	admin.fails(t, api.BadInput, "this is a key of host b", "", "hub", "revoke", "x", "--key", key(t, again))
	admin.must(t, []string{"Host b is revoked."}, "hub", "revoke", "b", "--key", key(t, now))
	isShutOut(t, c, "b", now)
	hubtest.Connect(t, c.Join(t, "a"), wire.Options{}) // the name is free
}

func key(t *testing.T, j credential.Joined) string {
	t.Helper()
	id, err := j.Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Key()
}

// isShutOut wants a hub to refuse a key, and not the certificate or the like.
func isShutOut(t *testing.T, c *hubtest.Cluster, host string, j credential.Joined) {
	t.Helper()
	nc, err := wire.Once(c.URLs(), j.CA, j.Creds, protocol.InboxPrefix(host))
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("%s is let in, or: %v", host, err)
	}
	if err == nil {
		nc.Close()
	}
}

// init makes a folder that custos-hub can run from, and touches none that has something in it.
func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "hub")
	p := place{hub: dir}
	p.must(t, []string{"The hub is made in " + dir, "NEXT custos-hub --dir " + dir, "NEXT custos hub invite --dir " + dir + " HOST"}, "hub", "init")
	before := files(t, dir)
	p.fails(t, api.BadInput, "it is not empty", "", "hub", "init")
	if after := files(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	three := filepath.Join(t.TempDir(), "three")
	p.must(t, []string{"node b: bring " + three + "/b to its machine"}, "hub", "init", "--dir", three, "--node", "a=10.0.0.1", "--node", "b=10.0.0.2:4333,b.example.com", "--node", "c=10.0.0.3")
	for _, bad := range [][]string{
		{"--node", "a"}, {"--node", "=x"}, {"--node", "a=10.0.0.1", "--node", "a=10.0.0.2"}, {"--node", "a/b=10.0.0.1"}, {"--address", "a:b:c"}, {"--address", "a:99999"},
		{"--node", "a=10.0.0.1", "--node", "b=10.0.0.1"}, {"--address", "10.0.0.1,10.0.0.1"},
	} {
		at := filepath.Join(t.TempDir(), "bad")
		p.fails(t, api.BadInput, "", "", append([]string{"hub", "init", "--dir", at}, bad...)...)
		if left, _ := os.ReadDir(filepath.Dir(at)); len(left) > 0 {
			t.Errorf("%q: %s is left", bad, left[0].Name())
		}
	}
	p.fails(t, api.BadInput, "there is no hub in", "", "hub", "hosts", "--dir", t.TempDir())
	if err := os.WriteFile(filepath.Join(dir, "hub.toml"), []byte("node = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.fails(t, api.BadInput, "hub.toml:1", "", "hub", "hosts")
	if err := os.Chmod(filepath.Join(three, "a", "keys.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.fails(t, api.BadInput, "chmod 600 "+three+"/a/keys.json", "", "hub", "hosts", "--dir", three)
}

// files lists what is in a folder.
func files(t *testing.T, dir string) (out string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out += path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n"
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is for others too: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every command says what it does, with an example.
func TestHelp(t *testing.T) {
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s has no help", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			all(sub)
		}
	}
	for _, c := range command.New(command.Surroundings{}) {
		all(c)
	}
}
