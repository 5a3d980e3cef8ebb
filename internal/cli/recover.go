package cli

import "github.com/spf13/cobra"

func (a *app) recoverCommand() *cobra.Command {
	return a.orderCommand("recover NAME", "recover", "Start an agent that ended again, where it was",
		`recover starts a registered agent again that crashed, finished or was stopped: in
the same folder, with its work as it lies there, and with its conversation where
the kind of agent can resume one. It works without a daemon too, but then nothing
watches the agent.`)
}
