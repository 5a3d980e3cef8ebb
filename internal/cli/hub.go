package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/hub/command"
)

// hubCommands are custos hub and custos join.
func (a *app) hubCommands() []*cobra.Command {
	list := command.New(command.Surroundings{
		Hub: func() (string, error) {
			conf, err := a.config()
			return filepath.Join(conf.Home, "custos-hub"), err
		},
		Joined: a.hubDir,
		Agent:  a.agentThatAsks,
		Now:    time.Now, In: os.Stdin, Show: a.showLines, Doing: func(what string) func() { return a.progress(what).end },
	})
	for _, c := range list {
		if c.Name() == "hub" {
			c.AddCommand(a.hubStatus())
		}
	}
	return list
}

// hubDir is where it is kept which hub was joined; an error where leases are kept in a file instead: a token would be
// used up for nothing.
func (a *app) hubDir() (string, error) {
	conf, err := a.config()
	if err == nil && conf.LeaseFile() != "" {
		err = usage("cannot join a hub: leases are kept in %s, as [hub] file in custos.toml says: leave that out first", flat(conf.LeaseFile()))
	}
	return conf.HubDir(), err
}

// agentThatAsks is the agent that runs this command; "" where none is seen to.
func (a *app) agentThatAsks(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, asksWhoWithin)
	defer cancel()
	who, err := put(ctx, a.quiet(), asksWhoWithin, func(ctx context.Context, c *api.Client) (api.Caller, error) { return c.Caller(ctx) })
	if err != nil || who.Person {
		return ""
	}
	return cmp.Or(who.Agent, "without a name ("+flat(who.Why)+")")
}

func (a *app) hubStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "How this host stands with the others: who there is, and who holds what is shared",
		Long: `status shows the other hosts of the hub, and the leases of what several hosts share. Which
hosts are silent is known by the one that looks after all; status there shows it. Where the
hub is not reached the command ends with exit code 3: nothing that is shared is acted on then.`,
		Example: "  custos hub status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f := cmd.Flags().Lookup("dir"); f != nil && f.Changed {
				return usage("cannot show a hub by --dir: status is of this host; custos hub hosts --dir %s shows who has joined", flat(f.Value.String()))
			}
			v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Hub, error) { return c.Hub(ctx) }, writeHub)
			return unlessKnown(v.Why, err)
		},
	}
}

func writeHub(p *page, v api.Hub) {
	switch {
	case v.Host == "" && v.Status == "absent":
		p.text(0, "This host shares nothing with others. A hub is made by custos hub init, and joined by custos join. Where one runs, custos hub hosts shows who has joined it.")
		return
	case v.Why != "":
		who := "This host has joined a hub"
		if v.Host != "" {
			who = "This is host " + flat(v.Host)
		}
		p.text(0, who+". What it shares is not acted on now: "+flat(v.Why)+".")
	default:
		p.text(0, "This is host "+flat(v.Host)+". People at other hosts may "+map[string]string{"act": "look and order here.", "ask": "look here, and order what a person here then approves of (custos orders).", "view": "look here, and order nothing."}[v.Remote])
	}
	if v.Doubled {
		p.text(0, "Two daemons tell under this name: nothing is ordered here from elsewhere (custos runbook host).")
	}
	if len(v.Offers.Labels) > 0 {
		p.text(0, "Agents are placed here by the label "+flat(strings.Join(v.Offers.Labels, ", "))+".")
	}
	writeHubHosts(p, v)
	writeHubNodes(p, v.Nodes)
	rows := make([][]string, 0, len(v.Leases))
	for _, l := range v.Leases {
		holder := flat(l.Holder)
		if l.Mine {
			holder = "this host, " + l.Left + " left"
		} else if holder == "" {
			holder = "nobody, or not known"
		}
		rows = append(rows, []string{flat(l.Key), holder, flat(l.Why)})
	}
	p.table([]column{{head: "SHARED", shorten: middle}, {head: "HELD BY"}, {head: "", shorten: cut}}, rows)
	p.next(v.Next)
}

func writeHubNodes(p *page, nodes []api.HubNode) {
	rows := make([][]string, 0, len(nodes))
	for _, n := range nodes {
		rows = append(rows, []string{flat(n.Name), flat(n.State)})
	}
	p.table([]column{{head: "NODE OF THE HUB"}, {head: "STATE", shorten: cut}}, rows)
}

func writeHubHosts(p *page, v api.Hub) {
	rows := make([][]string, 0, len(v.Hosts))
	for _, h := range v.Hosts {
		state := h.State
		switch {
		case h.State == "silent":
			state = "silent for " + h.Silent
		case h.State == "unknown" && v.Looks != "" && v.Looks != v.Host:
			state = "not known here: " + flat(v.Looks) + " looks after all"
		case h.Doubled:
			state += ", from two daemons"
		}
		rows = append(rows, []string{flat(h.Name), state})
	}
	p.table([]column{{head: "HOST"}, {head: "STATE", shorten: cut}}, rows)
}
