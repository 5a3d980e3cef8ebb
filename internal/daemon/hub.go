package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/hub/looks"
	"custos/internal/hub/member"
	"custos/internal/server"
	"custos/internal/view"
)

// readHub makes the host's part in a hub; nil where it shares nothing.
func (s *system) readHub(cfg config.Config) (*member.Member, error) {
	h, err := catalog.ReadHub(cfg)
	if err != nil {
		return nil, err
	}
	m, err := member.Open(member.Options{
		Place: member.Place{Joined: cfg.HubDir(), Hosts: cfg.HubHosts(), File: h.File, Host: h.Host}, Version: s.o.Version, Now: s.world.Now,
		Epochs: s.epochs, Learn: s.sawEpoch, Changed: func(what string) { s.wake(what) }, Log: s.o.Log,
		Tell: s.toldToHosts,
		Answer: func(from string) http.Handler {
			return server.WhileOne(s.isDoubled, server.GuardHub(from, h.Remote, s.api))
		},
	})
	return m, cfg.Misread("hub", err)
}

// isDoubled says whether another daemon tells under the name of this host.
func (s *system) isDoubled() bool { return s.member != nil && s.member.Doubled() }

// toHost is the way to another host of the hub.
func (s *system) toHost(host string) (http.RoundTripper, error) {
	if s.member == nil {
		return nil, &api.Error{Kind: api.NotFound, Message: "cannot find host " + fleet.Line(host, 80) + ": this host has joined no hub", Hint: "custos help hosts.md"}
	}
	return s.member.To(host)
}

func (s *system) epochs(ctx context.Context) (map[string]uint64, error) {
	st, err := s.ledger.reader(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return st.Epochs(ctx)
}

func (s *system) sawEpoch(ctx context.Context, key string, epoch uint64) error {
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	return st.SawEpoch(ctx, key, epoch, s.world.Now())
}

// takePart is the host's part in a hub, until ctx ends.
func (s *system) takePart(ctx context.Context) {
	if s.member != nil {
		s.repeat(ctx, metricsAgain, "share with other hosts", s.member.Run)
	}
}

// seeHub says in seen how this host stands with what it shares.
func (s *system) seeHub(seen *fleet.Snapshot) {
	if s.member != nil {
		seen.Hub = s.member.Seen(seen.At)
	}
}

// want has leases be got, and claims made, by their keys.
func (s *system) want(leases, claims []string) {
	if s.member != nil {
		s.member.Want(leases...)
		s.member.Claim(claims...)
	}
}

// lapsed says why nothing may be done by a lease any more; "" while it may.
func (s *system) lapsed(f fleet.Fence, fresh bool) string {
	if s.member == nil {
		return "other hosts shared it when it was planned, and this one shares nothing now"
	}
	return s.member.Lapsed(f, fresh)
}

// hubStatus is how this host stands with others.
func (s *system) hubStatus(ctx context.Context) api.Hub {
	if s.member == nil {
		return view.Hub("", s.noPart(), nil, "")
	}
	h, _ := catalog.ReadHub(s.cfg) // it was read before
	out := view.Hub(s.member.Host(), s.member.Seen(s.world.Now()), s.member.Names(), string(h.Remote))
	if p, err := (cycle{s}).Look(ctx, control.Glance); err == nil { // else it offers nothing that is known
		out.Offers = s.offers(&p)
	}
	return out
}

// noPart is how a host stands with others whose daemon takes part in nothing: it shares nothing, or has joined a hub
// since it began, and begins anew in a moment.
func (s *system) noPart() (p fleet.Part[fleet.Hub]) {
	p.Status = fleet.StatusAbsent
	if _, err := os.Stat(s.cfg.HubDir()); err == nil {
		p.Blind("its daemon takes part in a moment")
	}
	return p
}

// toldToHosts is what this host shows of itself to the others of its hub.
func (s *system) toldToHosts(ctx context.Context) (looks.Told, error) {
	p, err := cycle{s}.Look(ctx, control.Glance)
	if err != nil {
		return looks.Told{}, err
	}
	if p.Past.Blind != "" {
		return looks.Told{}, fmt.Errorf("what it knows is not read: %s", p.Past.Blind)
	}
	workers := append([]fleet.PoolWorkers{}, p.Plan.Workers...)
	if !p.Snapshot.Agents.Usable() {
		return looks.Told{Workers: workers}, fmt.Errorf("its agents are not seen: %s", p.Snapshot.Agents.Why)
	}
	agents := view.Agents(p, view.Hints{Daemon: true})
	alerts := toldAlerts(p.Assessment.Alerts, p.Past.Alerts, s.loop.Trouble() != "")
	out := looks.Told{Look: view.FirstLook(p, s.actor, view.Hints{Daemon: true, Configured: s.cfg.Found}), Alerts: view.Alerts(alerts, p.Snapshot.At), Pending: agents.Pending, Kept: agents.Kept,
		Workers: workers}
	out.Look.Agents, out.Offers = agents.Agents, s.offers(&p)
	return out, nil
}

// toldAlerts are the alerts that stand and are written down, for a number means nothing before; where nothing can be written,
// all that stand.
func toldAlerts(seen, written []fleet.Alert, unwritten bool) []fleet.Alert {
	return slices.DeleteFunc(slices.Clone(seen), func(a fleet.Alert) bool {
		is := slices.ContainsFunc(written, func(w fleet.Alert) bool { return w.Number == a.Number })
		return a.Status == fleet.AlertResolved || !is && !unwritten
	})
}

// stirHub has other hosts be told what changed here.
func (s *system) stirHub() {
	if s.member != nil {
		s.member.Stir()
	}
}

// offers is what this host has for agents that anybody wants to start.
func (s *system) offers(p *fleet.Pass) api.Offers {
	h, _ := catalog.ReadHub(s.cfg) // it was read before
	return view.Offers(p, h.Labels, h.Remote == fleet.RemoteAct)
}

// hubLooks are the other hosts of the hub as they tell of themselves.
func (s *system) hubLooks(ctx context.Context, since int64) api.HubLooks {
	if s.member == nil {
		return api.HubLooks{Hosts: []api.HostLook{}}
	}
	return s.member.Looks(ctx, since)
}
