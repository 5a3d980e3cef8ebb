package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/remote"
)

func (a *app) bridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "bridge",
		Example: "  custos bridge",
		Short:   "Hand the standard input and output on to the daemon's socket: for custos of another machine",
		Long: `bridge connects its standard input and output with the daemon of this machine. It
is what custos of another machine starts here by ssh, for a section [host.NAME] there:
who asks is then the user that ssh logged in as. custos help hosts.md has the rest.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.config()
			if err != nil {
				return err
			}
			conn, err := a.socket(cmd.Context(), conf)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(a.Stdout, "%s%s\n", remote.Greeting, a.Version); err != nil {
				return fmt.Errorf("cannot greet: %w", err)
			}
			return a.bridge(conn)
		},
	}
}

// socket connects with the daemon of this machine, and makes sure that it is who listens.
func (a *app) socket(ctx context.Context, conf config.Config) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", a.Daemon.Socket(conf))
	if err != nil {
		return nil, &api.Error{Kind: api.Unreachable, Message: remote.NoDaemon + ": " + err.Error(), Hint: "custos up"}
	}
	if a.Daemon.Verify == nil {
		return conn, nil
	}
	if err := a.Daemon.Verify(conf, conn); err != nil {
		return nil, errors.Join(&api.Error{Kind: api.Impostor, Message: err.Error(), Hint: "custos health"}, conn.Close())
	}
	return conn, nil
}

// bridge carries bytes both ways until one side ends.
func (a *app) bridge(conn net.Conn) error {
	go func() {
		_, _ = io.Copy(conn, a.Stdin) // how it ended, the other way tells
		if c, ok := conn.(*net.UnixConn); ok {
			_ = c.CloseWrite()
		}
	}()
	if _, err := io.Copy(a.Stdout, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot go on: %v", err)}
	}
	return nil
}
