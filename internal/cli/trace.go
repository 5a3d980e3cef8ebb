package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) traceCommand() *cobra.Command {
	return a.storyCommand("trace NAME", api.FeedTrace, "What one agent did, and what was done with it",
		`trace shows of one agent what custos feed shows of all; or, with the name of a
task, of all agents that work on it.`)
}
