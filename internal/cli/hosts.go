package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/remote"
)

// mayGoElsewhere has commands speak of the machine that is named.
func (a *app) mayGoElsewhere(c *cobra.Command) {
	if _, may := api.Elsewhere()[c.CommandPath()]; may {
		c.Flags().StringVar(&a.onHost, "host", "", "another machine: a `HOST` of custos.toml ([host.HOST]) or of the hub")
	}
	if !c.HasParent() {
		c.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
			if err := a.goElsewhere(cmd, args); err != nil {
				return err
			}
			return a.canLook(cmd)
		}
	}
	for _, sub := range c.Commands() {
		a.mayGoElsewhere(sub)
	}
}

// goElsewhere finds out of which machine a command speaks, before it runs: that of --host, or
// of a name that begins with one.
func (a *app) goElsewhere(cmd *cobra.Command, args []string) error {
	name, rest := a.onHost, ""
	if name == "" && api.Elsewhere()[cmd.CommandPath()] && len(args) > 0 {
		name, rest, _ = strings.Cut(args[0], "/")
	}
	if a.onHost == "" && rest == "" || a.onHost == remote.AnyHost && cmd.CommandPath() == "custos spawn" {
		return nil
	}
	if a.isOwn(name) {
		if rest != "" {
			args[0] = rest
		}
		return nil
	}
	h, err := a.hostNamed(name)
	if err != nil && a.onHost == "" {
		a.noHost = name
		return nil // what it names is on this machine
	}
	if err != nil {
		return err
	}
	if rest != "" {
		args[0] = rest
	}
	a.host, a.Daemon.Stop = &h, nil // which stops what runs here
	return nil
}

// isOwn says whether a name is the one that this host has at a hub.
func (a *app) isOwn(name string) bool {
	conf, err := a.config()
	return err == nil && name != "" && conf.HubHost() == name
}

func (a *app) hosts() ([]remote.Host, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	return remote.Hosts(conf)
}

func (a *app) hostNamed(name string) (remote.Host, error) {
	all, err := a.hosts()
	if err != nil {
		return remote.Host{}, err
	}
	i := slices.IndexFunc(all, func(h remote.Host) bool { return h.Name == name })
	if i < 0 {
		return remote.Host{}, usage("cannot find host %q: there is no section [%s.%s] in custos.toml, nor such a host at a hub", flat(name), remote.Section, flat(name))
	}
	return all[i], nil
}

// asksWhoWithin is how long it may take to find out who asks: a daemon that hangs is given up
// within feel, and this process looks by itself then.
const asksWhoWithin = 15 * time.Second

// whoAsks finds out on this machine which agent asks for something on another one, as for what
// is asked for here: by the daemon, and where none runs by a look of this process.
func (a *app) whoAsks(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, asksWhoWithin)
	defer cancel()
	here := a.quiet()
	here.host = nil
	who, err := put(ctx, here, asksWhoWithin, func(ctx context.Context, c *api.Client) (api.Caller, error) { return c.Caller(ctx) })
	switch {
	case err != nil || who.Person:
		return "", err
	case who.Agent == "":
		return "", errors.New(who.Why)
	}
	return who.Agent, nil
}

// others asks all other machines, unless one machine was named: the hosts of the hub with one question to the
// daemon of this one, which hears what they tell, where told makes the answer of that.
func others[T any](ctx context.Context, a *app, ask func(context.Context, *api.Client) (T, error), told func(api.HostLook) T) []remote.Answer[T] {
	list, err := a.hosts()
	if err != nil || a.host != nil {
		return nil // a configuration that is wrong was said before
	}
	if told == nil {
		return remote.Each(ctx, list, a.whoAsks, ask)
	}
	out := remote.Each(ctx, slices.DeleteFunc(slices.Clone(list), isOfHub), a.whoAsks, ask)
	out = append(out, remote.EachTold(ctx, slices.DeleteFunc(list, func(h remote.Host) bool { return !isOfHub(h) }), told)...)
	slices.SortFunc(out, func(x, y remote.Answer[T]) int { return strings.Compare(x.Host.Name, y.Host.Name) })
	return out
}

func isOfHub(h remote.Host) bool { return h.Hub != "" }

// everyAgent asks this machine, and all others.
func (a *app) everyAgent(ctx context.Context, c *api.Client) (api.Agents, error) {
	asks := func(ctx context.Context, c *api.Client) (api.Agents, error) { return c.Agents(ctx) }
	v, err := asks(ctx, c)
	if err != nil {
		return v, err
	}
	return withAgents(v, others(ctx, a, asks, func(h api.HostLook) api.Agents {
		return api.Agents{Agents: h.Look.Agents, Pending: h.Pending, Kept: h.Kept}
	})), nil
}

// withAgents adds the agents of other machines, each by the name that commands take.
func withAgents(v api.Agents, all []remote.Answer[api.Agents]) api.Agents {
	v.Hosts = remote.Seen(all)
	for _, at := range all {
		v.Agents = append(v.Agents, api.AgentsOn(at.Host.Name, at.V.Agents)...)
		for _, p := range at.V.Pending {
			p.Agent = api.On(at.Host.Name, p.Agent)
			v.Pending = append(v.Pending, p)
		}
		for _, k := range at.V.Kept {
			v.Kept = append(v.Kept, api.On(at.Host.Name, k))
		}
	}
	return v
}

// withAlerts adds the alerts of other machines.
func withAlerts(v api.Alerts, all []remote.Answer[api.Alerts]) api.Alerts {
	v.Hosts = remote.Seen(all)
	for _, at := range all {
		for _, al := range at.V.Alerts {
			al.Host = at.Host.Name
			v.Alerts = append(v.Alerts, al)
		}
	}
	api.SortAlerts(v.Alerts)
	return v
}

// writeSilent says which machines were not seen: what their agents do is not known.
func writeSilent(p *page, hosts []api.HostSeen) {
	for _, h := range hosts {
		if h.Status != "ok" {
			p.text(0, "host "+flat(h.Name)+" is silent, and what its agents do is unknown: "+flat(h.Why))
		} else if h.Cut != "" {
			p.text(0, "host "+flat(h.Name)+": not all is shown: "+flat(h.Cut))
		}
	}
}

// isSilent says whether one of the machines was not seen, or not all of it.
func isSilent(hosts []api.HostSeen) bool {
	return slices.ContainsFunc(hosts, func(h api.HostSeen) bool { return h.Status != "ok" || h.Cut != "" })
}
