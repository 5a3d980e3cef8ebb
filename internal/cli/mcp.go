package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "For agents: what they may say and ask, as an MCP server over stdin and stdout",
		Long: `mcp speaks the Model Context Protocol over standard input and output, and is started
by an agent's CLI, not by people. It offers eleven tools: heartbeat, step, inbox, send_mail,
close_mail, work, change_work, wait_for, handoff, cost_left and who. Who calls is found as for each
other command, so that an agent may do by a tool what it may do by the command.
mcp = ["claude"] in [launch] of custos.toml offers it to agents that Custos starts.`,
		Example: "  custos mcp\n  claude mcp add custos -- custos mcp",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcp.Serve(cmd.Context(), a.Version, a.question, io.NopCloser(a.Stdin), unclosed{a.Stdout})
		},
	}
}

// question puts a question of a server that outlives it.
func (a *app) question(ctx context.Context, question func(context.Context, *api.Client) error) error {
	_, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (struct{}, error) { return struct{}{}, question(ctx, c) })
	return err
}

// unclosed is a writer that is not ours to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
