package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// groupCommand is convoys by the words of Legio's groups. It is hidden: who knows convoys needs no second word.
func (a *app) groupCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "group", Short: "Convoys, by the words of Legio's groups", Hidden: true,
		Long:    "A group is a convoy, found by its ID or, where that is plain, by its title. custos help convoys.md",
		Example: "  custos group create 'Release 1.2' w1 w2\n  custos group status 'Release 1.2'",
	}
	create := a.convoyCreate()
	create.Use, create.Args, create.Example = "create NAME REF...", cobra.MinimumNArgs(2), "  custos group create 'Release 1.2' w1 w2 shop#12"
	c.AddCommand(create, &cobra.Command{
		Use: "status [GROUP]", Short: "Progress of a group, or of each that is not done", Args: cobra.MaximumNArgs(1), Example: "  custos group status 'Release 1.2'",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.ConvoyList, error) {
			if len(args) == 0 {
				return openGroups(ctx, c)
			}
			v, err := c.Group(ctx, args[0])
			return api.ConvoyList{At: v.Since, Convoys: []api.Convoy{v}, Next: []api.Hint{{Command: "custos convoy show " + v.ID, What: "each member"}}}, err
		}, writeProgress),
	}, &cobra.Command{
		Use: "list", Short: "All groups, the done ones too", Args: cobra.NoArgs, Example: "  custos group list",
		RunE: asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.ConvoyList, error) {
			return c.Convoys(ctx, true)
		}, writeProgress),
	}, a.groupChange("add GROUP REF...", "Put more work into a group", "custos group add 'Release 1.2' w3", "add"),
		a.groupChange("remove GROUP REF...", "Take work out of a group", "custos group remove 'Release 1.2' w3", "remove"),
		a.groupChange("close GROUP", "Close a group, whatever its members are", "custos group close c1 --why 'not wanted any more'", "close"))
	return c
}

func openGroups(ctx context.Context, c *api.Client) (api.ConvoyList, error) {
	v, err := c.Convoys(ctx, false)
	open := v.Convoys[:0]
	for _, g := range v.Convoys {
		if g.State == "open" {
			open = append(open, g)
		}
	}
	v.Convoys = open
	return v, err
}

func writeProgress(p *page, v api.ConvoyList) {
	if len(v.Convoys) == 0 {
		p.line("No groups.")
	}
	for _, g := range v.Convoys {
		p.line("%s (%s, %s)", flat(g.Title), flat(g.ID), flat(g.StateWord()))
		p.line("  %s", g.Picture())
	}
	p.next(v.Next)
}

// groupChange changes a convoy that is found as a group is.
func (a *app) groupChange(use, short, example, do string) *cobra.Command {
	r := api.ConvoyChange{Do: do}
	c := &cobra.Command{
		Use: use, Short: short, Example: "  " + example,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Convoy, error) {
			v, err := c.Group(ctx, args[0])
			if err != nil {
				return v, err
			}
			r := r
			r.Members = args[1:]
			return c.ChangeConvoy(ctx, v.ID, r)
		}, writeConvoyLine),
	}
	if do == "close" {
		c.Flags().StringVar(&r.Why, "why", "", "the `REASON`, for the record")
	}
	return c
}
