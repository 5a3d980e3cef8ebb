package cli

import "github.com/spf13/cobra"

func (a *app) checkpointCommand() *cobra.Command {
	return a.orderCommand("checkpoint NAME", "backup", "Save the work of an agent now, without asking it",
		`checkpoint writes down where an agent stands: its commit, its conversation, its
last prompt, and its uncommitted and untracked work as refs/custos/backup/… of
its repository. The agent's branch, index and files are not touched. An agent may
ask for a checkpoint of itself.`)
}
