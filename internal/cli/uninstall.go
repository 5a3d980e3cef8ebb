package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/uninstall"
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
		Long: `uninstall says which agents run, what would go and what would stay, and removes by
name what Custos made for itself in its state folder and its run folder, and a folder
only when nothing else is in it. The configuration, the journal, every backup in a
git repository (refs/custos/…), and whatever else lies in those folders stay: they
are yours. No link is followed. The daemon must be down.

While agents of ours live it refuses, until you say what is to become of them:
--agents stop stops them first, as custos stop --all does; --agents leave lets them
run on, unwatched, and keeps the folder that their terminals need. The tmux server
that agents ran in ends, unless a person has a session of their own in it. What other
users run of the agents that were stopped is named, with what ends it.`,
		Example: "  custos uninstall\n  custos uninstall --agents stop --yes",
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
	if err := a.survey(going, living, f); err != nil {
		return err
	}
	if len(living) > 0 && f.agents == "stop" {
		if err := a.stopAll(cmd, "custos uninstall", orderFlags{wait: waitOrder.String(), held: true}); err != nil {
			return err
		}
	}
	on := a.othersRunOn(conf, f)
	at := a.progress("removing")
	done, err := a.Daemon.Uninstall(conf, f.agents == "leave")
	at.end()
	if len(done.Gone) == 0 && err != nil {
		return localError(err)
	}
	if err := a.showRemoved(done, on); err != nil {
		return err
	}
	if err != nil { // the rest
		return localError(err)
	}
	return nil
}

// othersRunOn says what other users run of agents of ours, while that is on record.
func (a *app) othersRunOn(conf config.Config, f uninstallFlags) []string {
	if f.agents == "leave" {
		return nil // all of them run on
	}
	on, err := a.Daemon.RunsOn(conf)
	if err != nil {
		on = append(on, fmt.Sprintf("cannot tell what other users run of agents that have ended: %v", err))
	}
	return on
}

func (a *app) showRemoved(r uninstall.Removal, on []string) error {
	left := map[string][]string{}
	for _, l := range r.Left {
		left[l.Folder] = append([]string{}, l.Names...)
	}
	return a.show(map[string]any{"removed": append([]string{}, r.Gone...), "left": left, "runs_on": append([]string{}, on...)}, func(p *page) {
		if len(r.Gone) == 0 {
			p.line("There was nothing to remove.")
			return
		}
		for _, path := range r.Gone {
			p.line("removed %s", p.path(path))
		}
		for _, l := range r.Left {
			p.text(0, stays(l.Names, p.path(l.Folder)))
		}
		for _, one := range on {
			p.text(0, flat(one))
		}
	})
}

// someNames is how many names of what stays in a folder are said in words.
const someNames = 12

// stays says what stays in a folder.
func stays(names []string, folder string) string {
	if len(names) == 0 {
		return "stays: " + folder + ", which is empty"
	}
	some := make([]string, 0, someNames)
	for _, n := range names[:min(len(names), someNames)] {
		some = append(some, flat(n))
	}
	more := ""
	if n := len(names) - len(some); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "stays: " + folder + ", with " + strings.Join(some, ", ") + more
}

// wouldGo says what uninstall would remove, and what stays beside it.
func wouldGo(r uninstall.Removal) string {
	if len(r.Gone) == 0 {
		return "nothing would go"
	}
	gone := make([]string, len(r.Gone))
	for i, path := range r.Gone {
		gone[i] = flat(path)
	}
	text := "what would go: " + strings.Join(gone, ", ")
	for _, l := range r.Left {
		text += "; what " + stays(l.Names, flat(l.Folder))
	}
	return text
}

// survey says who runs and what would go, and asks for what is still to be said.
func (a *app) survey(going uninstall.Removal, living []uninstall.Living, f uninstallFlags) error {
	who := make([]string, len(living))
	for i, l := range living {
		who[i] = fmt.Sprintf("%s (process %d)", flat(l.Name), l.PID)
	}
	if len(living) > 0 && f.agents == "" {
		return &api.Error{Kind: api.BadInput, Hint: "custos uninstall --agents stop, or --agents leave",
			Message: "cannot uninstall: " + plural(len(living), "agent") + " of ours run: " + strings.Join(who, ", ") + "; " + wouldGo(going)}
	}
	if f.yes || len(going.Gone) == 0 {
		return nil
	}
	question := flat(wouldGo(going)) + "\nRemove that? Type yes: "
	if len(living) > 0 {
		question = flat(wouldGo(going)) + "\n" + map[string]string{"stop": "Stop ", "leave": "Leave running, unwatched, "}[f.agents] + strings.Join(who, ", ") + ", and remove that? Type yes: "
	}
	if !a.confirmed(question) {
		return &api.Error{Kind: api.BadInput, Hint: "custos uninstall --yes",
			Message: "nothing was removed: it takes a yes; " + wouldGo(going)}
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
