package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.holdCommand("pause", "Leave an agent, an account's agents, or a project alone until resumed",
		`pause holds back everything that Custos would do with an agent by itself. The
agent is not stopped. With --account it is about every agent of that account. With
--project it is about a whole project: none of its agents is nudged, restarted or started,
its runs and schedules wait, and alerts about its agents, issues, pull requests,
pipelines and phase files are not sent.`)
}

func (a *app) resumeCommand() *cobra.Command {
	return a.holdCommand("resume", "End a pause, or a rate limit that holds no more",
		`resume lets Custos act on an agent again after custos pause. With --account only
those agents are resumed that were paused with it, and a rate limit that was reported for
the account holds no more: one of its agents goes first, and the others follow when
that helped. An agent of no account is resumed with the limit it reported itself.
A limit that is reported again afterwards holds again. With --project the project is;
agents of it that were paused by themselves stay paused.`)
}

// holding is what is paused or resumed.
type holding struct{ account, project, why string }

// holdCommand is pause or resume: of an agent, an account or a project.
func (a *app) holdCommand(do, short, long string) *cobra.Command {
	f, h := orderFlags{}, holding{}
	c := &cobra.Command{
		Use: do + " [NAME]", Short: short, Long: long,
		Example: "  custos " + do + " builder\n  custos " + do + " --account work\n  custos " + do + " --project shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			given := len(args)
			for _, name := range []string{h.account, h.project} {
				if name != "" {
					given++
				}
			}
			switch {
			case given != 1:
				return &api.Error{Kind: api.BadInput, Message: "cannot " + do + ": name an agent, an account with --account, or a project with --project", Hint: "custos ps"}
			case h.project != "":
				return a.holdProject(cmd.Context(), do, h)
			case h.why != "":
				return usage("cannot %s: --why is for a project", do)
			}
			return a.order(cmd, api.OrderRequest{Do: do, Account: h.account, Agent: only(args)}, f)
		},
	}
	f.add(c)
	c.Flags().StringVar(&h.account, "account", "", "every agent of this `ACCOUNT`")
	c.Flags().StringVar(&h.project, "project", "", "everything of this `PROJECT`")
	if do == "pause" {
		c.Flags().StringVar(&h.why, "why", "", "the `REASON`, for others; with --project")
	}
	return c
}

func (a *app) holdProject(ctx context.Context, do string, h holding) error {
	return say(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Paused, error) {
		return c.Pause(ctx, api.PauseRequest{Project: h.project, Resume: do == "resume", Why: h.why})
	}, func(p *page, v api.Paused) {
		if v.Paused {
			p.line("Paused project %s: %s ends it.", flat(v.Project), p.command("custos resume --project "+quote(v.Project)))
			return
		}
		p.line("Resumed project %s.", flat(v.Project))
	})
}
