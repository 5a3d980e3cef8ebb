package cli

import (
	"os/user"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) freezeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "freeze [WHY]",
		Short: "Stop every action, at once, until custos thaw",
		Long: `freeze puts a file in place that is looked for before every action. It needs
neither a daemon that answers nor a database: it works when nothing else does.
Looking and telling go on.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			why := strings.Join(args, " ")
			if err := a.Daemon.Freeze(c, a.user(), why); err != nil {
				return localError(err)
			}
			return a.show(map[string]any{"frozen": true, "by": a.user(), "why": why}, func(p *page) {
				p.line("Frozen: Custos acts on nothing until you type %s.", p.command("custos thaw"))
			})
		},
	}
}

// user is who types, for the record.
func (a *app) user() string {
	for _, v := range []string{"USER", "LOGNAME"} {
		if u := flat(a.Getenv(v)); u != "" {
			return u
		}
	}
	if u, err := user.Current(); err == nil {
		return flat(u.Username)
	}
	return "someone"
}
