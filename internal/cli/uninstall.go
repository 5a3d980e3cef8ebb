package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/daemon"
)

// uninstallFlags are those of uninstall.
type uninstallFlags struct {
	yes    bool
	agents string // what becomes of agents that run: stop or leave
}

func (a *app) uninstallCommand() *cobra.Command {
	var f uninstallFlags
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what Custos keeps: its database, socket and freeze file",
		Long: `uninstall says which agents run and what would go, and removes the state that
Custos keeps for itself. The configuration, the journal, and every backup in a git
repository (refs/custos/…) stay: they are yours. The daemon must be down.

While agents of ours live it refuses, until it is told what is to become of them:
--agents stop stops them first, as custos stop --all does; --agents leave lets them
run on, unwatched, and keeps the folder that their terminals need.`,
		Example: "  custos uninstall\n  custos uninstall --agents stop --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.uninstall(cmd, f) },
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	c.Flags().StringVar(&f.agents, "agents", "", "the `CHOICE` for agents that run: stop, or leave")
	return c
}

func (a *app) uninstall(cmd *cobra.Command, f uninstallFlags) error {
	if f.agents != "" && f.agents != "stop" && f.agents != "leave" {
		return usage("cannot read --agents %q: want stop or leave", flat(f.agents))
	}
	conf, err := a.config()
	if err != nil {
		return err
	}
	if client, err := a.dial(cmd.Context()); err == nil {
		client.Close()
		return &api.Error{Kind: api.BadInput, Message: "cannot uninstall: the daemon is running", Hint: "custos down"}
	}
	living, err := a.Daemon.Alive(conf)
	if err != nil {
		return localError(err)
	}
	going, err := a.Daemon.Going(conf, f.agents == "leave")
	if err != nil {
		return localError(err)
	}
	if err := a.survey(conf.StateDir, going, living, f); err != nil {
		return err
	}
	if len(living) > 0 && f.agents == "stop" {
		if err := a.stopAll(cmd, "custos uninstall", orderFlags{wait: waitOrder.String(), held: true}); err != nil {
			return err
		}
	}
	removed, err := a.Daemon.Uninstall(conf, f.agents == "leave")
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
}

// survey says who runs and what would go, and asks for what is still to be said.
func (a *app) survey(state string, going []string, living []daemon.Living, f uninstallFlags) error {
	who := make([]string, len(living))
	for i, l := range living {
		who[i] = fmt.Sprintf("%s (process %d)", flat(l.Name), l.PID)
	}
	if len(living) > 0 && f.agents == "" {
		return &api.Error{Kind: api.BadInput, Hint: "custos uninstall --agents stop, or --agents leave",
			Message: "cannot uninstall: " + plural(len(living), "agent") + " of ours run: " + strings.Join(who, ", ") + "; what would go: " + strings.Join(going, ", ")}
	}
	if f.yes || len(going) == 0 {
		return nil
	}
	question := "Remove the state in " + state + "? Type yes: "
	if len(living) > 0 {
		question = map[string]string{"stop": "Stop ", "leave": "Leave running, unwatched, "}[f.agents] + strings.Join(who, ", ") + ", and remove " + strings.Join(going, ", ") + "? Type yes: "
	}
	if !a.confirmed(question) {
		return &api.Error{Kind: api.BadInput, Hint: "custos uninstall --yes",
			Message: "nothing was removed: it takes a yes; what would go: " + strings.Join(going, ", ")}
	}
	return nil
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
