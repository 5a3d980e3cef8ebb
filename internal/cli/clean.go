package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// cleaning are the actions that remove what is not needed any more; each has its guards.
func cleaning() []string {
	return []string{"remove-worktree", "clear-build-output", "rotate-log", "remove-lock"}
}

// cleanFlags say what is cleaned.
type cleanFlags struct {
	dry, yes bool
	older    string
}

func (f *cleanFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.dry, "dry-run", false, "only show what would be done")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	c.Flags().StringVar(&f.older, "older", "", "only worktrees that were not touched for this `DURATION`, like 24h, and nothing else")
}

func (a *app) cleanCommand() *cobra.Command {
	var f cleanFlags
	c := &cobra.Command{
		Use: "clean", Short: "Remove what is not needed any more: worktrees, dead locks, logs that grew too large",
		Long: `clean shows what of that the rules would have done, with the exact commands, and does
it when you say yes: exactly that, through the same guards and the same ledger as
any action. It is custos doctor --fix for worktrees, locks and logs.`,
		Example: "  custos clean --dry-run\n  custos clean --older 24h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.clean(cmd, []string{"worktrees", "locks", "logs"}, f)
		},
	}
	f.add(c)
	return c
}

func (a *app) worktreeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "worktree", Short: "Unused worktrees: list them, remove them", Example: "  custos worktree list",
	}
	var f cleanFlags
	clean := &cobra.Command{
		Use: "clean", Short: "Remove worktrees in which nothing would be lost", Example: "  custos worktree clean --dry-run\n  custos worktree clean --older 24h",
		Long: "clean is custos clean for worktrees alone.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.clean(cmd, []string{"worktrees"}, f)
		},
	}
	f.add(clean)
	c.AddCommand(clean, &cobra.Command{
		Use: "list", Short: "Unused worktrees, and whether each may go", Example: "  custos worktree list",
		RunE: asksFor(a, (*api.Client).FirstLook, lookWorktrees),
	})
	return c
}

// clean has the housekeeping of some categories done, as far as the flags say.
func (a *app) clean(cmd *cobra.Command, categories []string, f cleanFlags) error {
	ctx, again := cmd.Context(), cmd.CommandPath()+" --yes"
	var old []string
	if f.older != "" {
		least, err := config.Duration(f.older)
		if err != nil {
			return usage("cannot read --older: %v", err)
		}
		if old, err = a.olderTrees(ctx, least); err != nil {
			return err
		}
		again += " --older " + quote(f.older)
	}
	d, err := a.examine(ctx, categories)
	if err != nil {
		return err
	}
	d.Fix.Actions = slices.DeleteFunc(d.Fix.Actions, func(act api.Deed) bool {
		return !slices.Contains(cleaning(), act.Do) || f.older != "" && !slices.Contains(old, act.Subject)
	})
	if f.dry || len(d.Fix.Actions) == 0 {
		return a.show(d.Fix, func(p *page) { writeFix(p, d) })
	}
	_, err = a.mendAsked(ctx, d, categories, f.yes, again)
	return err
}

// olderTrees are the subjects of the unused worktrees that were not touched for so long.
func (a *app) olderTrees(ctx context.Context, least time.Duration) (out []string, err error) {
	l, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.FirstLook, error) { return c.FirstLook(ctx) })
	if err != nil {
		return nil, err
	}
	for _, w := range l.Worktrees {
		if age, err := time.ParseDuration(strings.TrimSpace(w.Age)); err == nil && age >= least {
			out = append(out, "worktree/"+w.Path)
		}
	}
	return out, nil
}
