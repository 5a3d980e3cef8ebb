package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) errorsCommand() *cobra.Command {
	return a.storyCommand("errors", api.FeedErrors, "What went wrong, over all agents",
		`errors shows, of what custos feed shows, only what went wrong: alerts, actions that
failed or could not be verified, orders that came to nothing, agents that crashed
or were given up, and the failures that agents reported.`)
}
