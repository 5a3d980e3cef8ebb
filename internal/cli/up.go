package cli

import "github.com/spf13/cobra"

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Keep watching, in the foreground, until custos down or Ctrl-C",
		Long: `up runs the daemon in the foreground: it keeps looking, patrols on schedule, acts
as the modes allow, and answers every other command at once. Only one runs at a
time; a second says who holds the lock. When it ends, every agent runs on. With
--json its log is JSON.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			if err := a.Daemon.Up(cmd.Context(), c, a.json); err != nil {
				return localError(err)
			}
			return nil
		},
	}
}
