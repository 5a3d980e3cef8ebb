package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Example: "  custos up\n  custos up --json 2>>custos.log",
		Short:   "Keep watching, in the foreground, until custos down or Ctrl-C",
		Long: `up runs the daemon in the foreground: it keeps looking, patrols on schedule, acts
as the modes allow, and answers every other command at once. Only one runs at a
time; a second says who holds the lock. When it ends, every agent runs on. With
--json its log is JSON.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err == nil {
				err = a.Daemon.Up(cmd.Context(), c, a.json)
			}
			if isMistake(err) {
				return &api.Error{Kind: api.BadInput, Message: "cannot start with a configuration that is wrong: mend it, and try again\n" + err.Error(), Hint: "custos config check"}
			}
			if err != nil {
				return localError(err)
			}
			return nil
		},
	}
}
