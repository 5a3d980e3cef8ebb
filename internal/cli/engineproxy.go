package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/sys/engineproxy"
)

func (a *app) engineProxyCommand() *cobra.Command {
	var listen, socket string
	o := engineproxy.Options{}
	c := &cobra.Command{
		Use:     "engine-proxy",
		Example: "  custos engine-proxy --listen unix:/run/custos-engine/docker.sock --allow-restart web,worker",
		Short:   "Stand in front of a container engine's socket, and let through only what Custos needs",
		Long: `engine-proxy answers at a socket of its own (0600) for a container engine, in the
foreground, until it is ended. It lets containers, images and the build cache be looked
at, without what stands in environments, command lines and labels; it restarts containers
that you name, and nothing else but what you allow. It starts, makes, enters and removes
no container. Each refusal and each change is a line on its standard error, with --json
one of JSON. custos help edge.md has the rest.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if listen, err = engineproxy.Path(listen); err == nil {
				o.Socket, err = engineproxy.Path(socket)
			}
			if err != nil {
				return &api.Error{Kind: api.BadInput, Message: err.Error()}
			}
			o.Log = slog.New(logHandler(a.Stderr, a.json))
			if err := engineproxy.Run(cmd.Context(), listen, o); err != nil {
				return localError(err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "`PATH` of the socket to make; must be given")
	c.Flags().StringVar(&socket, "socket", "/var/run/docker.sock", "`PATH` of the engine's socket")
	c.Flags().StringSliceVar(&o.Restart, "allow-restart", nil, "`NAMES` of containers that may be restarted")
	c.Flags().BoolVar(&o.PruneImages, "allow-prune-images", false, "images that nothing names or uses may be removed")
	c.Flags().BoolVar(&o.PruneCache, "allow-prune-cache", false, "build cache that no build used for an hour or longer may be removed")
	return c
}
