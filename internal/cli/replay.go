package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) replayCommand() *cobra.Command {
	return a.storyCommand("replay NAME", api.FeedReplay, "What an agent and all that work for it did, side by side",
		`replay shows, in the order of time, what an agent and all agents below it did; or,
with the ID of a run, all agents of that run.`)
}
