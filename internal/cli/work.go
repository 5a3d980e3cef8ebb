package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) workCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "work",
		Short: "Work that agents take up, and what waits for what",
		Long: `work keeps a small ledger of work of its own, beside the issues of forges and the
beads that a fleet may have. Work names other work by its reference: w12 here,
PROJECT#12 for an issue, PROJECT!7 for a pull request, bd:ID for a bead. An issue
and a bead are closed, and opened again, where they are kept: by an action, with
every guard of one.`,
		Example: "  custos work add 'Add a retry to the uploader' --project shop\n  custos work list\n  custos work dep w2 --needs shop#12",
	}
	c.AddCommand(a.workAdd(), a.workList(), a.workShow(), a.workDep(),
		a.workChange("take REF", "Take work up", "custos work take w2 --agent builder", "take"),
		a.workChange("release REF", "Give work back, for anyone to take", "custos work release w2 --why 'needs a design first'", "release"),
		a.workChange("close REF", "Close work; those that wait for it are notified, once", "custos work close w2 --why 'merged as !7'", "close"),
		a.workChange("reopen REF", "Open closed work again", "custos work reopen w2 --why 'it came back'", "reopen"))
	return c
}

func (a *app) workAdd() *cobra.Command {
	var r api.WorkRequest
	c := &cobra.Command{
		Use: "add TITLE", Short: "Write work down", Args: cobra.MinimumNArgs(1),
		Long:    "add writes work down. With --body - the text is read from standard input.",
		Example: "  custos work add 'Release 1.2' --project shop --needs w1 --needs shop#12",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Title = strings.Join(args, " ")
			body, err := a.textOf(r.Body)
			if err != nil {
				return err
			}
			r := r
			r.Body = body
			r.Key, r.Files = keyOr(r.Key), api.SplitFiles(r.Files)
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Work, error) { return c.AddWork(ctx, r) },
				func(p *page, w api.Work) { p.line("%s: %s", flat(w.Ref), flat(w.Title)) })
		},
	}
	c.Flags().StringVar(&r.Body, "body", "", "the `TEXT`; - reads standard input")
	c.Flags().StringVar(&r.Project, "project", "", "its `PROJECT`")
	c.Flags().StringVar(&r.Role, "role", "", "the `ROLE` of agents that it is for")
	c.Flags().StringVar(&r.Agent, "agent", "", "the `AGENT` that works on it from the start")
	c.Flags().StringVar(&r.Priority, "priority", "P3", "how urgent, as a `PRIORITY`: P0 to P4")
	c.Flags().StringArrayVar(&r.Labels, "label", nil, "a `LABEL`, more than once for more")
	c.Flags().StringArrayVar(&r.Needs, "needs", nil, "`REF` of work that it waits for, more than once for more")
	c.Flags().StringVar(&r.Part, "part-of", "", "`REF` of the work that it is a part of")
	c.Flags().StringArrayVar(&r.Files, "files", nil, "a `FILE`, folder or pattern that it changes: two that change the same are not handed out at once")
	c.Flags().StringVar(&r.Key, "key", "", "a `KEY` of yours: the same one again is the same work")
	return c
}

func (a *app) workList() *cobra.Command {
	var all, ready, blocked bool
	var q api.WorkQuery
	c := &cobra.Command{
		Use: "list", Short: "Work that is not closed, in every tracker",
		Long: `list shows the work of the ledger, the issues of forges and the beads in one list. What
its tracker cannot show now is "unknown", and never ready.`,
		Example: "  custos work list\n  custos work list --ready\n  custos work list --blocked --project shop\n  custos work list --all --tracker custos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := q
			for name, set := range map[string]bool{"all": all, "ready": ready, "blocked": blocked} {
				if set {
					q.Which = name
				}
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.WorkList, error) { return c.Work(ctx, q) }, writeWork)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "what of the ledger was closed within a month, too")
	c.Flags().BoolVar(&ready, "ready", false, "only what may be taken up now")
	c.Flags().BoolVar(&blocked, "blocked", false, "only what waits for other work, or is said to")
	c.Flags().StringVar(&q.Tracker, "tracker", "", "only of one `TRACKER`: custos, issue, pr or beads")
	c.Flags().StringVar(&q.Project, "project", "", "only of one `PROJECT`")
	c.Flags().StringVar(&q.Agent, "agent", "", "only what an `AGENT` has")
	c.MarkFlagsMutuallyExclusive("all", "ready", "blocked")
	return c
}

func writeWork(p *page, v api.WorkList) {
	list(p, "No work.", v.Work, []column{{head: "REF"}, {head: "PRIO"}, {head: "STATE"}, {head: "AGENT", shorten: middle}, {head: "WAITS FOR", shorten: cut}, {head: "TITLE", shorten: cut}},
		func(w api.Work) []string {
			return []string{flat(w.Ref), p.priority(w.Priority), flat(w.StateWord()), flat(w.Holder()), flat(strings.Join(w.BlockedBy, " ")), flat(w.Title)}
		}, v.Next)
}

func (a *app) workShow() *cobra.Command {
	return &cobra.Command{
		Use: "show REF", Short: "One piece of work",
		Example: "  custos work show w2",
		RunE:    asksOne(a, (*api.Client).WorkItem, writeWorkItem),
	}
}

func writeWorkItem(p *page, w api.Work) {
	p.head(flat(w.Ref)+": "+flat(w.Title), flat(w.StateWord()))
	p.known([][2]string{{"Project", w.Project}, {"Role", w.Role}, {"Agent", w.Holder()}, {"Part of", w.Part}, {"Parts", strings.Join(w.Parts, ", ")}, {"Team", w.Team}, {"Files", strings.Join(w.Files, ", ")}, {"Left on branch", w.Left}, {"Handed out", number(w.Tries)}, {"Labels", strings.Join(w.Labels, ", ")},
		{"Waits for", strings.Join(w.BlockedBy, ", ")}, {"Not seen", strings.Join(w.Unseen, ", ")}, {"Its tracker", w.Held}, {"Others that wait for it", strings.Join(w.Blocks, ", ")},
		{"Cycle", strings.Join(w.Cycle, " -> ")}, {"Outcome", w.Outcome}, {"Why", w.Why}, {"By", w.By}})
	if w.Body != "" {
		p.line("")
		p.text(2, w.Body)
	}
	if w.Result != "" {
		p.line("\nWhat came of it:")
		p.text(2, w.Result)
	}
}

func (a *app) workDep() *cobra.Command {
	var needs string
	var drop bool
	c := &cobra.Command{
		Use: "dep REF --needs REF", Short: "Have work wait for other work, in whichever tracker it is kept",
		Long: `dep has work wait for other work. When that is closed, it is announced once that the
work is free, whichever trackers the two are kept in. What a tracker does not show is never closed.`,
		Example: "  custos work dep w2 --needs shop#12\n  custos work dep w2 --needs shop#12 --drop",
		RunE: func(cmd *cobra.Command, args []string) error {
			do := "needs"
			if drop {
				do = "needs-not"
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Work, error) {
				return c.ChangeWork(ctx, args[0], api.WorkChange{Do: do, Needs: needs})
			}, writeWorkItem)
		},
	}
	c.Flags().StringVar(&needs, "needs", "", "`REF` of the work that it waits for")
	c.Flags().BoolVar(&drop, "drop", false, "it waits for that no longer")
	_ = c.MarkFlagRequired("needs")
	return c
}

// writeMoved says what became of it; where another tracker keeps it, what was begun.
func writeMoved(p *page, w api.Work) {
	if w.Begun != nil {
		p.line("%s: %s is begun (action %s)", flat(w.Ref), flat(w.Begun.Do), flat(w.Begun.ID))
		return
	}
	p.line("%s is %s: %s", flat(w.Ref), flat(w.State), flat(w.Title))
}

// workChange is a command that moves one piece of work on.
func (a *app) workChange(use, short, example, do string) *cobra.Command {
	r := api.WorkChange{Do: do}
	c := &cobra.Command{
		Use: use, Short: short, Example: "  " + example,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (_ api.Work, err error) {
			r := r
			if r.Result, err = a.textOf(r.Result); err != nil {
				return api.Work{}, err
			}
			return c.ChangeWork(ctx, args[0], r)
		}, writeMoved),
	}
	if do == "take" {
		c.Flags().StringVar(&r.Agent, "agent", "", "the `AGENT` (default: the one that asks)")
	} else {
		c.Flags().StringVar(&r.Why, "why", "", "the `REASON`, for the record")
	}
	if do == "close" {
		c.Flags().StringVar(&r.Outcome, "as", "completed", "the `OUTCOME`: completed, wontfix, …")
		c.Flags().StringVar(&r.Result, "result", "", "what came of it, as a `TEXT` for whoever goes on from there; - reads standard input")
	}
	return c
}
