package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/remote"
)

// place gives an order to one of the hosts of the hub: to the best first, and to the next only where it is certain
// that the one before has not taken it.
func (a *app) place(cmd *cobra.Command, o api.OrderRequest, f orderFlags, labels []string) error {
	own, list, err := a.hubHosts(cmd.Context())
	if err != nil {
		return err
	}
	fit, not := remote.Place(list, labels)
	said := &api.Error{Kind: api.CannotLook, Hint: "custos hub status"}
	for _, name := range fit {
		if err := a.turnTo(name, own); err != nil {
			return err
		}
		took, err := a.give(cmd, []api.OrderRequest{o}, f)
		if isNotTaken(err) {
			said = &api.Error{Kind: api.ErrorOf(err).Kind}
			not = append(not, name+": "+api.ErrorOf(err).Message)
			continue
		}
		if err != nil {
			return err
		}
		took[0].Host = name
		if err := a.show(took[0], func(p *page) { writeOrder(p, took[0]) }); err != nil {
			return err
		}
		return cameToNothing(took)
	}
	a.host = nil
	said.Message = "cannot spawn " + flat(o.Agent) + " on any host: " + flat(strings.Join(not, "; "))
	return said
}

// turnTo has what follows be asked of a host of the hub.
func (a *app) turnTo(name, own string) error {
	if a.host = nil; name == own {
		return nil
	}
	h, err := a.hostNamed(name)
	a.host, a.Daemon.Stop = &h, nil
	return err
}

// hubHosts are the hosts of the hub as they are known now, this one too.
func (a *app) hubHosts(ctx context.Context) (own string, list []api.HostLook, err error) {
	v, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Hub, error) { return c.Hub(ctx) })
	if err != nil {
		return "", nil, err
	}
	if v.Host == "" {
		return "", nil, usage("cannot spawn on any host: this one is at no hub: custos help hosts.md")
	}
	told, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.HubLooks, error) { return c.HubLooks(ctx, 0) })
	v.Offers.Acts = true // who sits here may order here
	return v.Host, append(told.Hosts, api.HostLook{HostSeen: api.HostSeen{Name: v.Host, Status: "ok"}, Offers: v.Offers}), err
}

// isNotTaken says whether it is certain that an order was not taken.
func isNotTaken(err error) bool {
	return isKind(err, api.Unreachable, api.Forbidden, api.NotFound, api.BadInput)
}
