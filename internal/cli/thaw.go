package cli

import "github.com/spf13/cobra"

func (a *app) thawCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "thaw",
		Short: "Let Custos act again after custos freeze",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			was, err := a.Daemon.Thaw(c)
			if err != nil {
				return localError(err)
			}
			return a.show(map[string]any{"frozen": false, "was": was}, func(p *page) {
				if was == "" {
					p.line("Custos was not frozen.")
					return
				}
				p.line("Thawed. It was frozen by %s", flat(was))
			})
		},
	}
}
