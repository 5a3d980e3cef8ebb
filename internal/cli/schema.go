package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) schemaCommand() *cobra.Command {
	var list bool
	c := &cobra.Command{
		Use:     "schema [NAME]",
		Example: "  custos schema --list\n  custos schema plan",
		Short:   "The JSON Schema of a recording, or of what --json prints",
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) ([]string, error) { return c.Schemas(ctx) }, func(p *page, names []string) {
					for _, n := range names {
						p.line("%s", flat(n))
					}
				})
			}
			name := "recording"
			if len(args) == 1 {
				name = args[0]
			}
			b, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) ([]byte, error) { return c.Schema(ctx, name) })
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(append(b, '\n'))
			return err
		},
	}
	c.Flags().BoolVar(&list, "list", false, "print the names there are")
	return c
}
