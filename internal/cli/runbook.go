package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"custos/docs"
	"custos/internal/api"
	"custos/internal/nearest"
)

func (a *app) runbookCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "runbook [NAME]",
		Example: "  custos runbook\n  custos runbook locks",
		Short:   "What to do when something is wrong: the pages that alerts name",
		Long: `runbook shows one page: what its alerts mean, how to look yourself, what Custos does,
and what you can do. Without a name it lists them. They are within this program and
need nothing else. How things work is told by the pages of custos help pages.`,
		ValidArgsFunction: listed(func() []string { return pageNames(docs.Runbooks()) }),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.show(docs.Runbooks(), func(p *page) { listPages(p, docs.Runbooks(), "custos runbook NAME") })
			}
			pg, ok := docs.Runbook(args[0])
			if !ok {
				return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("there is no runbook %q%s", flat(args[0]), nearest.Hint(args[0], pageNames(docs.Runbooks()))), Hint: "custos runbook"}
			}
			return a.show(pg, func(p *page) { p.markdown(pg, "runbooks") })
		},
	}
}

func listPages(p *page, all []docs.Page, command string) {
	p.table([]column{{paint: func(s string) string { return p.paint(bold, s) }}, {fold: true}}, each(all, func(pg docs.Page) []string { return []string{pg.Name, pg.Title} }))
	p.next([]api.Hint{{Command: command, What: "read one"}})
}

func pageNames(all []docs.Page) []string {
	names := make([]string, len(all))
	for i, pg := range all {
		names[i] = pg.Name
	}
	return names
}
