package cli

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) uninstallCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what Custos keeps: its database, socket and freeze file",
		Long: `uninstall removes the state that Custos keeps for itself, and says what. The
configuration, the journal, and every backup in a git repository (refs/custos/…)
stay: they are yours. The daemon must be down.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.config()
			if err != nil {
				return err
			}
			if client, err := a.dial(cmd.Context()); err == nil {
				client.Close()
				return &api.Error{Kind: api.BadInput, Message: "cannot uninstall: the daemon is running", Hint: "custos down"}
			}
			if !yes && !a.confirmed("Remove the state in "+conf.StateDir+"? Type yes: ") {
				return &api.Error{Kind: api.BadInput, Message: "nothing was removed: it takes a yes", Hint: "custos uninstall --yes"}
			}
			removed, err := a.Daemon.Uninstall(conf)
			if err != nil {
				return localError(err)
			}
			return a.show(map[string][]string{"removed": append([]string{}, removed...)}, func(p *page) {
				if len(removed) == 0 {
					p.line("There was nothing to remove.")
				}
				for _, r := range removed {
					p.line("removed %s", p.path(r))
				}
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirmed asks a person on a terminal; without one the answer is no.
func (a *app) confirmed(question string) bool {
	if !a.Progress || a.json {
		return false
	}
	if _, err := io.WriteString(a.Stderr, clean(question)); err != nil {
		return false
	}
	line, err := a.unlessInterrupted(func() ([]byte, error) { return bufio.NewReader(a.Stdin).ReadBytes('\n') })
	return (err == nil || errors.Is(err, io.EOF)) && strings.TrimSpace(string(line)) == "yes"
}
