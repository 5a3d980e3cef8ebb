package loop_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/cancelpipeline"
	"custos/internal/act/forgewrite"
	"custos/internal/act/retrigger"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/observe"
	ciprobe "custos/internal/observe/ci"
	forgeprobe "custos/internal/observe/forge"
	"custos/internal/observe/observetest"
	"custos/internal/report"
	"custos/internal/report/journal"
	"custos/internal/rules"
	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
	"custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

// forgeDay is a day of a fleet that works for three projects. A forge and three CI
// systems of different makes are played by servers that a script, and what is done
// to them, change; the agents and the one container are made up. All else is real:
// the clients, the probes, the board, the rules, the guards, the loop, the actions
// on the forge and the CI, the journal.
type forgeDay struct {
	*day
	dir      journal.Dir
	wire     wire
	board    *observe.Board
	forge    *forgetest.Server
	repos    map[string]*forgetest.Repo
	systems  map[string]*citest.Server // by project
	crews    []*mate
	told     report.Delivered
	messages []string // what the phone was told, and when
}

// forgeTick never falls on a patrol within a day, so that of two passes it is
// always known which comes first. For the same reason a look and a deed take a while.
const (
	forgeTick = 251 * time.Second
	takes     = 5 * time.Second
	glance    = 137 * time.Millisecond
)

// firm is a project, and what its CI is and is called.
type firm struct{ project, name, kind string }

func firms() []firm {
	return []firm{{"bank", "fj", "forgejo-actions"}, {"docs", "wp", "woodpecker"}, {"shop", "gh", "github-actions"}}
}

func newForgeDay(t *testing.T) *forgeDay {
	d := &forgeDay{day: &day{workshop: newWorkshop(t), t: t, regs: map[string]fleet.Registration{}, agents: map[string]fleet.AgentRecord{},
		alerts: map[fleet.AlertKey]fleet.Alert{}}, dir: journal.Dir(t.TempDir()), wire: wire{}, repos: map[string]*forgetest.Repo{}, systems: map[string]*citest.Server{}}
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin(), rules.Source{Name: "overlay", Text: []byte(`
[rule.forge-clock]
enabled = false # that it is ten minutes ahead is to make no age wrong
[rule.ci-stuck]
mode = "auto"
[rule.orphaned-work]
mode = "auto"
[rule.blocked-exhausted]
mode = "auto"
`)})
	if err != nil {
		t.Fatal(err)
	}
	actions := []act.Action{&errand{d, "nudge", fleet.PartAgents}, &errand{d, "restart-container", fleet.PartEngine}}
	probes := append(d.made(), d.forges(&actions), d.cis(&actions))
	d.board = observe.New(observe.Options{Probes: probes, Now: d.now, From: fleet.Vantage{Host: "h"}, Wake: func(why string) { d.loop.Wake(why) }})
	d.actor = act.New(act.Options{Actions: actions, Ledger: phoned{dayBook{d.day}, d}, Now: d.now, Workers: 4, Done: func(r fleet.Result) { d.loop.Done(r) }})
	t.Cleanup(d.actor.Close)
	d.loop = loop.New(loop.Options{Board: d.board, Rules: set, Policy: d.policy, History: d, Act: d.actor, Journal: report.New(report.Options{Journal: d.dir}),
		Touches: d.touches, Every: dayPatrol, Tick: forgeTick, Log: slog.New(slog.DiscardHandler)})
	return d
}

func (d *forgeDay) touches(do string) []fleet.PartName { return d.actor.Abilities()[do].Touches }

// live lets the day pass. Looks fall on full minutes since the board was made, patrols a
// second later: which of both comes first must not hang on chance.
func (d *forgeDay) live(t *testing.T, lasts time.Duration) {
	time.Sleep(time.Second) // fake
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	looks := make(chan struct{})
	go func() { d.board.Run(ctx); close(looks) }()
	d.loop.Run(ctx)
	<-looks
}

// client is an account on a server of the wire, and the server's clock.
func (d *forgeDay) client(url, scheme, token string, server http.Handler) (*http.Client, *httpcache.Host) {
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: url, AtOnce: 32, Base: d.wire})
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.wire[req.URL.Host] = server
	return httpcache.NewTransport(host, scheme, func(context.Context) (string, error) { return token, nil }).Client(), host
}

// forges is the probe of the forge, whose clock is ten minutes ahead. The actions
// on it are added.
func (d *forgeDay) forges(actions *[]act.Action) observe.Probe {
	d.forge = forgetest.At("http://forge.test", "forgejo")
	d.forge.Skew = 10 * time.Minute
	client, host := d.client(d.forge.URL, forgetest.Kind("forgejo").Scheme, d.forge.Account("custos"), d.forge)
	o, hands := forgeprobe.Options{Agents: d.atWork}, forgewrite.Options{Projects: map[string]forgewrite.Project{}}
	for _, f := range firms() {
		project := f.project
		d.repos[project] = d.forge.Repo("acme/" + project)
		at := forge.Options{Kind: forgetest.Kind("forgejo"), URL: d.forge.URL, Repo: "acme/" + project, HTTP: client}
		reader, err := forge.New(at)
		if err != nil {
			d.t.Fatal(err)
		}
		writer, err := forge.NewWriter(at)
		if err != nil {
			d.t.Fatal(err)
		}
		labels := forgeprobe.Labels{Ready: []string{"backlog"}, InProgress: []string{"in-progress"}, Blocked: []string{"blocked"}}
		o.Projects = append(o.Projects, forgeprobe.Project{Name: project, URL: d.forge.URL, Repo: at.Repo, Owner: fleet.OwnerConfigured, Labels: labels, Reader: reader, Clock: host})
		hands.Projects[project] = forgewrite.Project{Writer: writer, Labels: map[string][]string{"ready": labels.Ready, "in-progress": labels.InProgress, "blocked": labels.Blocked}}
	}
	for _, do := range []string{forgewrite.Comment, forgewrite.Label, forgewrite.Assign} {
		*actions = append(*actions, forgewrite.New(do, hands))
	}
	p, err := forgeprobe.New(o)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// cis is the probe of the CI systems; the actions on them are added.
func (d *forgeDay) cis(actions *[]act.Action) observe.Probe {
	var o ciprobe.Options
	again, cancel := retrigger.Options{Systems: map[string]retrigger.System{}}, cancelpipeline.Options{Systems: map[string]cancelpipeline.System{}}
	for _, m := range firms() {
		s := citest.At("http://"+m.name+".test", m.kind, "acme/"+m.project)
		d.systems[m.project] = s
		client, host := d.client(s.URL, citest.Kind(m.kind).Scheme, citest.Token, s)
		at := ci.Options{Kind: citest.Kind(m.kind), URL: s.URL, Project: "acme/" + m.project, HTTP: client, Clock: host.Clock, Elsewhere: &http.Client{Transport: d.wire}}
		reader, err := ci.NewReader(at)
		if err != nil {
			d.t.Fatal(err)
		}
		writer, err := ci.NewWriter(at)
		if err != nil {
			d.t.Fatal(err)
		}
		system := ciprobe.System{Name: m.name, Project: m.project, Owner: fleet.OwnerConfigured, Reader: reader}
		if m.kind == "woodpecker" {
			system.TellsWorkers, system.Workers = true, map[string]string{"one": "wp-agent"}
		}
		o.Systems = append(o.Systems, system)
		again.Systems[m.name] = retrigger.System{Looker: reader, Writer: writer}
		cancel.Systems[m.name] = cancelpipeline.System{Looker: reader, Writer: writer, Clock: host.Clock}
	}
	*actions = append(*actions, retrigger.New(again), cancelpipeline.New(cancel))
	p, err := ciprobe.New(o)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// made are the probes of what is made up: all but the forge and the CI.
func (d *forgeDay) made() (out []observe.Probe) {
	for _, part := range fleet.PartNames() {
		if part == fleet.PartForge || part == fleet.PartCI {
			continue
		}
		out = append(out, &observetest.Fake{Of: observe.Spec{Name: string(part), Part: part, Every: time.Minute, Deadline: 10 * time.Second},
			Do: func(context.Context) (observe.Put, error) {
				time.Sleep(glance) // fake
				return d.seen(part), nil
			}})
	}
	return out
}

// seen is one part of what is made up.
func (d *forgeDay) seen(part fleet.PartName) observe.Put {
	now := d.day.Snapshot()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.crews {
		now.Agents.Value = append(now.Agents.Value, d.mateSeen(m))
	}
	now.Engine.Value.Containers, now.Engine.Value.Exposed, now.Engine.Value.Dangling, now.Engine.Value.BuildCache = []fleet.Container{d.container()}, fleet.Known(false), fleet.Known[int64](0), fleet.Known[int64](0)
	return func(s *fleet.Snapshot) {
		switch part {
		case fleet.PartHost:
			s.Host.Value = now.Host.Value
		case fleet.PartAgents:
			s.Agents.Value = now.Agents.Value
		case fleet.PartEngine:
			s.Engine.Value = now.Engine.Value
		case fleet.PartSelf:
			s.Self.Value = now.Self.Value
		}
	}
}
