package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Read custos.toml, its rules and every section; say everything that is wrong",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.config()
			if err != nil {
				return err
			}
			// The sections, rules and kinds are read where they are used.
			_, closer, err := a.Daemon.Local(cmd.Context(), conf)
			if err != nil {
				return localError(err)
			}
			if err := closer(); err != nil {
				return localError(err)
			}
			return a.show(map[string]any{
				"ok": true, "file": conf.File, "found": conf.Found, "mode": conf.Mode,
				"state_dir": conf.StateDir, "runtime_dir": conf.RuntimeDir, "journal_dir": conf.JournalDir,
				"patrol_every": conf.PatrolEvery.String(), "grace": conf.Grace.String(),
				"budget": conf.Budget.String(), "blast": conf.Blast, "workers": conf.Workers, "fail_on": conf.FailOn,
			}, func(p *page) {
				if conf.Found {
					p.line("%s is good.", p.path(conf.File))
					return
				}
				p.line("There is no %s: the defaults hold.", p.path(conf.File))
			})
		},
	})
	return c
}
