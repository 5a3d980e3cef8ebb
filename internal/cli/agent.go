package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) agentCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "agent", Short: "What is on record of an agent's work",
		Example: "  custos agent cv builder-1",
	}
	by := "agent"
	cv := &cobra.Command{
		Use: "cv [NAME]", Short: "Work done, branches merged, gates failed, cost and time of agents", Args: cobra.MaximumNArgs(1),
		Long: `cv shows what is on record of an agent, of each agent, or of all by role, kind or model. It is computed from
work, merge queues, the log and what models used, and written by no agent. What is not on record is
unknown, and not 0. FIRST TIME are branches that were merged at the first commit that was tested; an
agent counts for the model that answered it most.`,
		Example: "  custos agent cv builder-1\n  custos agent cv --by model",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.CVs, error) {
			return c.CVs(ctx, only(args), by)
		}, writeCVs),
	}
	cv.Flags().StringVar(&by, "by", by, "in which `GROUP` agents are added up: agent, role, kind or model")
	c.AddCommand(cv)
	return c
}

func writeCVs(p *page, v api.CVs) {
	if v.None {
		p.text(0, "No work and no branch of an agent is on record.")
		return
	}
	if v.By == "agent" && len(v.CVs) == 1 {
		writeCV(p, v.CVs[0], v)
	} else {
		p.table([]column{{head: strings.ToUpper(v.By), shorten: middle}, {head: "AGENTS", right: true}, {head: "DONE", right: true}, {head: "MERGED", right: true}, {head: "FIRST TIME"}, {head: "GATES FAILED", spare: true},
			{head: "TOOK", spare: true}, {head: "A MERGE", right: true}}, each(v.CVs, cvRow))
	}
	p.line("")
	p.text(0, v.Reach())
	for _, why := range v.AtLeast {
		p.text(0, "More may have been used: "+flat(why)+".")
	}
	p.next(v.Next)
}

func cvRow(v api.CV) []string {
	merged := "unknown"
	if v.Merges != nil {
		merged = fmt.Sprint(v.Merges.Merged)
	}
	return []string{flat(v.Key), fmt.Sprint(v.Agents), fmt.Sprint(v.Completed), merged, v.FirstWords(), v.FailedWords(), v.TookWords(), v.PerMergeWords()}
}

func writeCV(p *page, v api.CV, all api.CVs) {
	retired := ""
	if v.Retired {
		retired = "retired"
	}
	p.head(flat(v.Key), retired)
	p.known([][2]string{{"Role", v.Role}, {"Kind", v.Kind}, {"Model", v.Model}, {"Project", v.Project}, {"Work", v.WorkWords()}, {"From taking it to its close", v.TookWords()},
		{"Branches", v.MergeWords()}, {"Merged at the first commit tested", v.FirstWords()}, {"Gates failed at that commit", v.FailedWords()},
		{"Cost", v.CostWords()}, {"For each branch merged", v.PerMergeWords()}, {"Ends", v.EndWords()}, {"Last moved", v.WorkedWords(all.At)}})
}
