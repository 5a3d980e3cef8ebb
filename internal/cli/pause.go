package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.holdCommand("pause", "Leave an agent, or every agent of an account, alone until resumed",
		`pause holds back everything that Custos would do with an agent by itself. The
agent is not stopped. With --account it is about every agent of that account.`)
}

func (a *app) resumeCommand() *cobra.Command {
	return a.holdCommand("resume", "End a pause",
		`resume lets Custos act on an agent again after custos pause. With --account only
those agents are resumed that were paused with it.`)
}

// holdCommand is pause or resume: of an agent or an account.
func (a *app) holdCommand(do, short, long string) *cobra.Command {
	f := orderFlags{}
	var account string
	c := &cobra.Command{
		Use: do + " [NAME]", Short: short, Long: long,
		Example: "  custos " + do + " builder\n  custos " + do + " --account work",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (account != "") {
				return usage("cannot %s: name an agent, or an account with --account", do)
			}
			o := api.OrderRequest{Do: do, Account: account}
			if len(args) == 1 {
				o.Agent = args[0]
			}
			return a.order(cmd, o, f)
		},
	}
	f.add(c)
	c.Flags().StringVar(&account, "account", "", "every agent of this `ACCOUNT`")
	return c
}
