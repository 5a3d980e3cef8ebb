package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) teamCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "team",
		Short: "Have work brought to its end by roles, one after another",
		Long: `A team is an order of roles, a section [team.NAME] of custos.toml: each but the last does one part of the work, and the last
one does the work itself, or each of the pieces that it was split into. Who is next follows from what is on record; no
agent looks after the others. custos help roles.md`,
		Example: "  custos team list\n  custos team run feature --work w12\n  custos team show w12",
	}
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "The teams there are, and what they have", Args: cobra.NoArgs, Example: "  custos team list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.TeamList, error) { return c.Teams(ctx, all) }, writeTeams)
		},
	}
	list.Flags().BoolVar(&all, "all", false, "what was closed within a month, too")
	var work string
	run := &cobra.Command{
		Use: "run TEAM --work REF", Short: "Give work to a team", Args: cobra.ExactArgs(1), Example: "  custos team run feature --work w12",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.TeamWork, error) {
			return c.RunTeam(ctx, api.TeamRequest{Team: args[0], Work: work})
		}, func(p *page, v api.TeamWork) {
			p.line("%s: team %s has it", flat(v.Work.Ref), flat(v.Team))
			p.next([]api.Hint{{Command: "custos team show " + v.Work.Ref, What: "how it goes"}})
		}),
	}
	run.Flags().StringVar(&work, "work", "", "`REF` of the work")
	_ = run.MarkFlagRequired("work")
	c.AddCommand(list, run, &cobra.Command{
		Use: "show REF", Short: "Work of a team: its parts, who has them, and its branches", Args: cobra.ExactArgs(1), Example: "  custos team show w12",
		RunE: asksOne(a, (*api.Client).TeamWork, writeTeamWork),
	}, &cobra.Command{
		Use: "stop REF", Short: "Take work from its team; who works on it goes on", Args: cobra.ExactArgs(1), Example: "  custos team stop w12",
		RunE: asksOne(a, (*api.Client).StopTeam, func(p *page, v api.TeamWork) { p.line("%s: no team has it any more", flat(v.Work.Ref)) }),
	})
	return c
}

func writeTeams(p *page, v api.TeamList) {
	for _, t := range v.Teams {
		p.line("%s: %s  %s", flat(t.Name), flat(strings.Join(t.Roles, " → ")), flat(t.What))
	}
	if len(v.Teams) > 0 && len(v.Work) > 0 {
		p.line("")
	}
	if len(v.Work) == 0 {
		p.line("No work of a team.")
	}
	for _, w := range v.Work {
		writeTeamWork(p, w)
	}
	p.next(v.Next)
}

func writeTeamWork(p *page, v api.TeamWork) {
	p.head(flat(v.Work.Ref)+": "+flat(v.Work.Title), flat(v.Work.StateWord()))
	for _, w := range v.Parts {
		p.line("  %s %s: %s  %s", flat(w.Ref), flat(w.StateWord()), flat(w.Title), flat(w.Holder()))
	}
	for _, m := range v.Merges {
		p.text(2, flat(m.ID+" "+m.State+": "+m.Why))
	}
}
