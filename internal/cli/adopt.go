package cli

import "github.com/spf13/cobra"

func (a *app) adoptCommand() *cobra.Command {
	return a.orderCommand("adopt NAME", "adopt", "Let Custos care for an agent that it did not start",
		`adopt registers an agent, by the name that custos ps shows, as handed over: from
then on Custos may nudge, interrupt and stop it as its rules and modes say. It is
never started again by itself: Custos does not know how it was started. What a
lost database knew of agents is not found again; those that live can be adopted.`)
}
