package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) heartbeatCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "heartbeat",
		Example: "  custos heartbeat",
		Short:   "For agents: say that you are at work",
		Long: `heartbeat notes that the agent that calls it is at work. One with a heartbeat
contract ([heartbeat.NAME] of custos.toml, or spawn --heartbeat) is missed when it
has shown no sign of work for longer than it promised: what its hooks report is such a
sign, and so is this command. Only the agent itself may call it.`,
		RunE: asksFor(a, (*api.Client).Beat, func(p *page, b api.Beat) {
			p.line("Noted: %s is at work.", flat(b.Agent))
		}),
	}
}
