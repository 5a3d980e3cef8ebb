package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) convoyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "convoy",
		Short: "Work that is tracked together, across projects and trackers",
		Long: `A convoy is work that is tracked together. It is done when every member is closed, and
that is announced once; a member that is opened again opens it again. An empty convoy is never
done, and what no tracker shows is never closed.`,
		Example: "  custos convoy create 'Release 1.2' w1 shop#12 site!7 --due 3d\n  custos convoy list\n  custos convoy show c1",
	}
	c.AddCommand(a.convoyCreate(), a.convoyList(), a.convoyShow(),
		a.convoyMembers("add ID REF...", "Put more work into a convoy", "custos convoy add c1 shop#13 bd:hq-42", "add"),
		a.convoyMembers("remove ID REF...", "Take work out of a convoy", "custos convoy remove c1 shop#13", "remove"),
		a.convoyChange("close ID", "Close a convoy, whatever its members are", "custos convoy close c1 --why 'not wanted any more'", "close"),
		a.convoyChange("reopen ID", "Open a closed convoy again", "custos convoy reopen c1", "reopen"))
	return c
}

func (a *app) convoyCreate() *cobra.Command {
	var r api.ConvoyRequest
	var due string
	c := &cobra.Command{
		Use: "create TITLE REF...", Short: "Track work together", Args: cobra.MinimumNArgs(1),
		Long: `create makes a convoy of work: w12 of the ledger, PROJECT#12, PROJECT!7, bd:ID. When all
of it is closed, those that --notify names are notified; without it those that
[coordination] names, else people.`,
		Example: "  custos convoy create 'Release 1.2' w1 shop#12 --notify builder --due 3d",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r := r
			r.Title, r.Members = args[0], args[1:]
			if r.Due, r.DueIn, err = momentOf("due", due); err != nil {
				return err
			}
			r.Key = keyOr(r.Key)
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Convoy, error) { return c.AddConvoy(ctx, r) }, writeConvoyLine)
		},
	}
	c.Flags().StringVar(&due, "due", "", "the `MOMENT` from which it is overdue: so long from now, like 3d, or a time")
	c.Flags().StringArrayVar(&r.Notify, "notify", nil, "an `ADDRESS` to notify when it is done; repeat for more")
	c.Flags().StringVar(&r.Key, "key", "", "a `KEY` of yours: the same one again is the same convoy")
	return c
}

func writeConvoyLine(p *page, v api.Convoy) {
	p.line("%s (%s, %s): %s", flat(v.ID), flat(v.State), v.Progress(), flat(v.Title))
}

func (a *app) convoyList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "Convoys that are open, or were done within a day",
		Example: "  custos convoy list\n  custos convoy list --all",
		RunE: asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.ConvoyList, error) {
			return c.Convoys(ctx, all)
		}, writeConvoys),
	}
	c.Flags().BoolVar(&all, "all", false, "those that are closed or were done within a month, too")
	return c
}

func writeConvoys(p *page, v api.ConvoyList) {
	list(p, "No convoys.", v.Convoys, []column{{head: "ID"}, {head: "STATE"}, {head: "MEMBERS"}, {head: "READY", right: true}, {head: "TAKEN", right: true}, {head: "UNSEEN", right: true}, {head: "TITLE", shorten: cut}},
		func(c api.Convoy) []string {
			return []string{flat(c.ID), flat(c.StateWord()), c.Progress(), api.Count(c.Ready), api.Count(c.Taken), fmt.Sprint(c.Unseen), flat(c.Title)}
		}, v.Next)
}

func (a *app) convoyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "One convoy and its members",
		Example: "  custos convoy show c1",
		RunE:    asksOne(a, (*api.Client).Convoy, writeConvoy),
	}
}

func writeConvoy(p *page, v api.Convoy) {
	p.head(flat(v.ID)+": "+flat(v.Title), flat(v.StateWord())+", "+v.Progress())
	due := ""
	if !v.Due.IsZero() {
		due = v.Due.Format("2006-01-02 15:04 UTC")
	}
	p.known([][2]string{{"Due", due}, {"Overdue", v.Overdue}, {"Notifies when it is done", strings.Join(v.Notify, ", ")}, {"Why", v.Why}, {"By", v.By}})
	p.table([]column{{head: "REF"}, {head: "STATE"}, {head: "OUTCOME"}, {head: "TITLE", shorten: cut}}, each(v.Members, func(m api.Member) []string {
		return []string{flat(m.Ref), flat(m.State), flat(m.Outcome), flat(m.Title)}
	}))
}

// convoyMembers is a command that changes which work a convoy has.
func (a *app) convoyMembers(use, short, example, do string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: "  " + example,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Convoy, error) {
			return c.ChangeConvoy(ctx, args[0], api.ConvoyChange{Do: do, Members: args[1:]})
		}, writeConvoyLine),
	}
}

func (a *app) convoyChange(use, short, example, do string) *cobra.Command {
	r := api.ConvoyChange{Do: do}
	c := &cobra.Command{
		Use: use, Short: short, Example: "  " + example,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Convoy, error) {
			return c.ChangeConvoy(ctx, args[0], r)
		}, writeConvoyLine),
	}
	c.Flags().StringVar(&r.Why, "why", "", "the `REASON`, for the record")
	return c
}
