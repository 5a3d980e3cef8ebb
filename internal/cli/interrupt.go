package cli

import "github.com/spf13/cobra"

func (a *app) interruptCommand() *cobra.Command {
	return a.orderCommand("interrupt NAME", "interrupt", "Make an agent stop what it is doing, and listen",
		`interrupt presses the keys by which a person interrupts this kind of agent, when
it works. The agent stays, with its conversation.`)
}
