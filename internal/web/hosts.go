package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"custos/internal/api"
)

// Hosts are other machines. Only persons see what they have: a link is to something of this one.
type Hosts interface {
	// Looks returns at once what each answered last, with its alerts or without; they are asked
	// from now on, for a while.
	Looks(alerts bool) ([]api.HostLook, int64)
	// Hold has them be asked until release is called.
	Hold() (release func())
	// Client asks one of them; false where there is none of that name.
	Client(name string) (*api.Client, bool)
}

// hostPatience is how long a page of another machine waits for that.
const hostPatience = 9 * time.Second

// others is what the other machines answered last, for who may see that.
func (s *site) others(r *http.Request, alerts bool) []api.HostLook {
	if s.Hosts == nil || sessionOf(r).Link {
		return nil
	}
	list, _ := s.Hosts.Looks(alerts)
	return list
}

// hostBanners say which machines are not seen as they are now.
func hostBanners(list []api.HostLook, now time.Time) (out []banner) {
	for _, h := range list {
		if says := h.Says(now); says != "" {
			kind := "note"
			if h.IsSilent() {
				kind = "bad"
			}
			out = append(out, banner{kind, says})
		}
	}
	return out
}

// isPartial says whether one of the machines is not known now.
func isPartial(list []api.HostLook) bool {
	return slices.ContainsFunc(list, func(h api.HostLook) bool { return h.Status != "ok" })
}

// withAgents adds the agents of other machines: what may wait for a person stays first.
func withAgents(rows []api.AgentRow, list []api.HostLook, now time.Time) []api.AgentRow {
	return api.Merged(rows, list, func(h api.HostLook) []api.AgentRow { return h.Agents(now) }, api.SortAgents)
}

// withNeeds adds what of other machines needs a person; the most urgent stays first.
func withNeeds(needs []api.Need, list []api.HostLook, now time.Time) []api.Need {
	return api.Merged(needs, list, func(h api.HostLook) []api.Need { return h.Needs(now) }, api.SortNeeds)
}

// withAlerts adds the alerts of other machines; the most urgent stays first.
func withAlerts(alerts []api.Alert, list []api.HostLook, now time.Time) []api.Alert {
	return api.Merged(alerts, list, func(h api.HostLook) []api.Alert { return h.AlertsOn(now) }, api.SortAlerts)
}

// hostPath is where the pages of another machine begin; "" for this one.
func hostPath(host string) string {
	if host == "" {
		return ""
	}
	return "/hosts/" + url.PathEscape(host)
}

// rowPath is the page of an agent, on whichever machine.
func rowPath(a api.AgentRow) string { return hostPath(a.Host) + agentPath(a.Own()) }

// alertPage is the page of an alert, on whichever machine.
func alertPage(a api.Alert) string { return hostPath(a.Host) + alertPath(a.Number) }

// at is the site of the machine that an address names: all that it shows and does is asked of
// the Custos there.
func (s *site) at(r *http.Request) (*site, string, error) {
	name := r.PathValue("host")
	if s.Hosts != nil && !sessionOf(r).Link {
		if c, ok := s.Hosts.Client(name); ok {
			there := *s
			there.api, there.Hosts = c, nil
			return &there, name, nil
		}
	}
	return nil, name, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show host %q: there is no such host in custos.toml", name)}
}

// there is a view of another machine.
func (s *site) there(show func(*site, context.Context, *http.Request) (page, error)) view {
	return func(ctx context.Context, r *http.Request) (page, error) {
		there, host, err := s.at(r)
		if err != nil {
			return page{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, hostPatience)
		defer cancel()
		p, err := show(there, ctx, r)
		if err != nil {
			return page{}, errorOn(host, err)
		}
		p.Title, p.Data = host+"/"+p.Title, dataOn(host, p.Data)
		for _, b := range there.banners(ctx) {
			p.Banners = append(p.Banners, banner{b.Kind, "host " + host + ": " + b.Says})
		}
		return p, nil
	}
}

// doneThere is a thing that a person does on another machine, as a person of it.
func (s *site) doneThere(do func(*site, context.Context, *http.Request) (string, error)) deed {
	return func(ctx context.Context, r *http.Request) (string, error) {
		there, host, err := s.at(r)
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, orderWait)
		defer cancel()
		next, err := do(there, ctx, r)
		if errors.Is(err, context.DeadlineExceeded) {
			err = &api.Error{Kind: api.CannotLook, Message: fmt.Sprintf("no answer within %v: it is not known whether that was done", orderWait), Hint: "custos status"}
		}
		if err != nil {
			return "", errorOn(host, err)
		}
		return hostPath(host) + next, nil
	}
}

// errorOn is an error that another machine told, or the way to it: what to type goes there.
func errorOn(host string, err error) error {
	e := api.ErrorOf(err)
	return &api.Error{Kind: e.Kind, Message: "host " + host + ": " + e.Message, Hint: api.CommandOn(host, e.Hint)}
}

// dataOn is what another machine told, with the name of that machine: its links and commands
// go there.
func dataOn(host string, data any) any {
	switch d := data.(type) {
	case agentData:
		d.Agent = api.AgentsOn(host, []api.AgentRow{d.Agent})[0]
		d.Alerts, d.Next = alertsOn(host, d.Alerts), api.HintsOn(host, d.Next)
		if d.Outcome != nil {
			o := *d.Outcome
			o.Next = api.HintsOn(host, o.Next)
			d.Outcome = &o
		}
		return d
	case alertData:
		d.Alert.Host = host
		d.Story.Alerts, d.Story.Next = alertsOn(host, d.Story.Alerts), api.HintsOn(host, d.Story.Next)
		return d
	}
	return data
}

func alertsOn(host string, list []api.Alert) []api.Alert {
	list = slices.Clone(list)
	for i := range list {
		list[i].Host = host
	}
	return list
}
