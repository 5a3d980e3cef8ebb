//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/credential"
	"custos/internal/hub/folder"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// joinConfig is what a process is told that does something with a hub from within its network.
type joinConfig struct {
	Hub   string            // folder of a node
	Hosts map[string]string // that are to join: the folder of each
	Whole bool              // fail where the leases are not whole on some node; say which one leads them
}

// joinMain has hosts join, or says how the hub is. It returns the code it exits with.
func joinMain() int {
	var c joinConfig
	err := json.Unmarshal([]byte(os.Getenv(joinEnv)), &c)
	if err == nil {
		err = c.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (c joinConfig) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	f, err := folder.Read(c.Hub)
	if err != nil {
		return err
	}
	nc, err := wire.Once(f.URLs, f.CA, f.Admin, "")
	if err != nil {
		return err
	}
	defer nc.Close()
	for host, dir := range c.Hosts {
		if err := join(ctx, nc, host, dir); err != nil {
			return err
		}
	}
	if c.Whole {
		return whole(ctx, nc)
	}
	return nil
}

func join(ctx context.Context, nc *nats.Conn, host, dir string) error {
	var a protocol.Invited
	if err := wire.Ask(ctx, nc, protocol.InviteSubject, protocol.Invite{Host: host, For: time.Hour, Replace: true}, &a); err != nil || a.Kind != "" {
		return fmt.Errorf("cannot invite %s: %w %s", host, err, a.Why)
	}
	token, err := credential.ReadToken(a.Token)
	if err != nil {
		return err
	}
	j, err := wire.Join(ctx, token)
	if err != nil {
		return err
	}
	return j.Save(dir)
}

// whole says which node leads the leases, or what is wrong with their copies on the nodes.
func whole(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	s, err := js.Stream(ctx, protocol.Stream(protocol.Leases))
	if err != nil {
		return err
	}
	is := s.CachedInfo().Cluster
	if is == nil || is.Leader == "" {
		return fmt.Errorf("the leases have no leader")
	}
	for _, r := range is.Replicas {
		if r.Offline || !r.Current {
			return fmt.Errorf("the copy of the leases on %s: offline %t, current %t, active %v ago, lag %d", r.Name, r.Offline, r.Current, r.Active, r.Lag)
		}
	}
	fmt.Print(is.Leader)
	return nil
}
