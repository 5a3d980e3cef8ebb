package daemon

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"custos/internal/act"
	"custos/internal/assess"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/library"
	"custos/internal/loop"
	"custos/internal/observe"
	"custos/internal/onewriter"
	policies "custos/internal/policy"
	"custos/internal/remote"
	"custos/internal/report"
	"custos/internal/report/journal"
	"custos/internal/rules"
	"custos/internal/server"
	"custos/internal/store"
	"custos/internal/sys/httpjson"
)

// as is what this process is: a daemon, or one command.
type as struct {
	what  string          // for whoever finds the lock taken
	wait  time.Duration   // for the lock
	every time.Duration   // between patrols; 0 without a daemon
	lock  *onewriter.Lock // of the daemon whose place this one takes; nil: it is taken
	// renewed is when a damaged ledger was opened anew last.
	renewed time.Time
	page    string    // where a person had the page served, of the daemon whose place this one takes; "" for nowhere
	tell    io.Writer // where messages are shown: what a command prints tells them already
}

// build puts the parts together.
func build(cfg config.Config, o Options, a as) (s *system, err error) {
	s = &system{cfg: cfg, o: o, journal: journal.Dir(cfg.JournalDir), daemon: a.every > 0, deafen: func() {}, leave: func() {}, hurt: make(chan error, 1), become: make(chan struct{}, 1), conversed: newConversed(), changes: server.NewChanges(), counting: make(chan countAsk), renewed: a.renewed}
	if s.daemon {
		s.counted.uncounted = notReadYet
	}
	if s.world, err = catalog.NewWorld(cfg, os.Getenv, o.Stderr, o.Version); err != nil {
		return nil, err
	}
	if s.rules, err = parseRules(cfg, string(rules.Builtin())); err != nil {
		return nil, &config.Mistake{Err: err}
	}
	s.disk = &fullDisk{dir: cfg.StateDir, now: s.world.Now, met: s.meetFullDisk}
	s.ledger = &ledgerFile{cfg: cfg, started: s.world.StartedAt, what: a.what, wait: a.wait, held: a.lock, wrote: s.disk.wrote, damaged: s.beginAnew}
	s.events = library.NewEvents(s.ledger)
	s.hookReceiver, s.heard = &hookReceiver{s: s}, &heard{lay: s.layTold}
	s.pulse.beats = make(chan struct{}, 1)
	s.page = &webPage{s: s, asked: make(chan webAsk), lent: a.page}
	s.page.live = s.page.terminals()
	p, err := s.readAll(a)
	if err != nil {
		return nil, &config.Mistake{Err: err}
	}
	s.join(p)
	return s, nil
}

// plugIns are the parts that are only joined to others.
type plugIns struct {
	probes  []observe.Probe
	actions []act.Action
	people  catalog.People
}

// readAll reads every section of custos.toml, each into its place, but that of the rules.
func (s *system) readAll(a as) (p plugIns, err error) {
	for _, read := range slices.Concat(s.settings(), []func() error{func() error { s.know(a.every); return nil }}, s.plugged(&p, a.tell)) {
		if err := read(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// from reads one thing into its place.
func from[O, T any](of O, read func(O) (T, error), into *T) func() error {
	return func() (err error) {
		*into, err = read(of)
		return err
	}
}

// settings are the sections that need nothing but themselves.
func (s *system) settings() []func() error {
	return []func() error{
		from(s.cfg, catalog.Limits, &s.limits),
		from(s.cfg, s.readLibrary, &s.library),
		from(s.cfg, catalog.Triage, &s.triage),
		from(s.cfg, catalog.Handoff, &s.handoff),
		from(s.cfg, func(cfg config.Config) (catalog.Workers, error) { return catalog.ReadWorkers(cfg, s.world.Kinds) }, &s.workers),
		from(s.cfg, catalog.Budgets, &s.budgets),
		from(s.cfg, catalog.ReadPolicies, &s.policies),
		from(s.cfg, catalog.Prices, &s.prices),
		from(s.cfg, mailActions, &s.mail),
		from(s.cfg, readInterpreter, &s.meant),
		from(s.cfg, catalog.Coordination, &s.who),
		from(s.cfg, func(cfg config.Config) (catalog.WebPlace, error) { return catalog.Web(cfg, server.Loopback) }, &s.served),
		from(s.cfg, remote.Hosts, &s.hosts),
		from(s.cfg, s.readHub, &s.member),
	}
}

// plugged are the sections of plug-ins, which are handed what Custos knows of itself.
func (s *system) plugged(p *plugIns, tell io.Writer) []func() error {
	return []func() error{
		from(s.world, catalog.Probes, &p.probes),
		from(s.world, catalog.Actions, &p.actions),
		from(tell, func(tell io.Writer) (catalog.People, error) { return catalog.NewPeople(s.world, tell) }, &p.people),
		from(s.world, catalog.Ops, &s.ops),
		from(s.world, newGauges, &s.gauges), from(s.world, newPublished, &s.published),
		func() (err error) { s.hooked.Address, s.hooked.Secret, err = catalog.Webhook(s.world); return err },
	}
}

func (s *system) readLibrary(cfg config.Config) (*library.Library, error) {
	warn := s.o.Log.Warn
	if !s.daemon { // one command says in its answer what of a schedule is broken
		warn = func(string, ...any) {}
	}
	return library.New(cfg, library.Options{Kinds: s.world.Kinds.Names(), Pins: s.pins, Warn: warn})
}

// readInterpreter makes who is asked what people may have meant; nil: nobody is.
func readInterpreter(cfg config.Config) (interpreter, error) {
	c, err := catalog.Interpreter(cfg)
	if c == nil {
		return nil, err // no interface around a nil
	}
	return c, err
}

// join makes the five stages, and the loop that they meet in.
func (s *system) join(p plugIns) {
	now := s.world.Now
	for _, probe := range p.probes {
		if w, ok := probe.(watcher); ok {
			s.watchers = append(s.watchers, w)
		}
	}
	s.places, s.chats = p.people.Ears, p.people.Chats
	s.board = observe.New(observe.Options{Probes: p.probes, Now: now, From: s.world.From, Wake: s.wake, Forget: s.world.Forget})
	s.actor = act.New(act.Options{Actions: p.actions, Ledger: s.ledger, Frozen: s.ledger.mayAct, Lease: s.lapsed, Fenced: httpjson.Fenced,
		Now: now, Workers: s.cfg.Workers, Done: s.done, Learned: s.learned, Log: s.o.Log})
	s.report = report.New(report.Options{Asks: s.asks, Answering: s.answering(), Notifiers: p.people.Notifiers, Routes: p.people.Routes, Pulses: p.people.Pulses, Outbox: s.ledger,
		Mirrors: p.people.Mirrors, Windows: p.people.Windows, Status: s.hostStatus, Trouble: func() string { return s.loop.Trouble() }, Full: s.disk.says,
		Memory: s.ledger, History: s.ledger, Journal: s.keeper(), Replies: s.replied, Now: now, Host: s.world.From.Host, Every: deliverEvery})
	s.loop = loop.New(loop.Options{Board: s.board, Rules: s.rules, Policy: s.policy, Due: s.due, Holds: s.holds, Hub: s.seeHub, Want: s.want, History: s.ledger, Act: s.actor,
		Journal: s.report, Touches: s.touches, Seen: s.follow, Every: s.cfg.PatrolEvery, IdleMax: s.cfg.PatrolIdle, Tick: tick, Lull: lull, Log: s.o.Log})
}

// parseRules reads the built-in table, or the one of a recording, and lays the
// user's own rules over it.
func parseRules(cfg config.Config, table string) (assess.Rules, error) {
	check := rules.Checker{Actions: catalog.ActionNames()}
	return check.Parse("rules.toml", []byte(table), rules.Source{Name: cfg.File, Text: cfg.Text})
}

// Policies are the policies there are, and the name of that of a role; "" for none.
func Policies(c config.Config, role string) (all map[string]policies.Policy, of string, err error) {
	p, err := catalog.ReadPolicies(c)
	return p.All, p.Of(role), err
}

// PolicyPlaces are what lies where for an agent that stands in a folder.
func PolicyPlaces(c config.Config, home, dir string) policies.Places {
	return catalog.PolicyPlaces(c, home, dir)
}

// Sections lists the sections of custos.toml that belong to plug-ins.
func Sections() []string {
	out := append(slices.Concat(catalog.Sections(), library.Sections()), "triage", "mail")
	slices.Sort(out)
	return slices.Compact(out)
}

// know hands the plug-ins what Custos knows of itself.
func (s *system) know(every time.Duration) {
	w := s.world
	w.StoreFile, w.PatrolEvery = storeFile(s.cfg), func() time.Duration { return 0 }
	w.Warn = func(text string) { s.o.Log.Warn(text) }
	w.Unwatched = func() string { return s.unwatched.tell(w.Now()) }
	w.Remembered, w.LastPatrol = s.memory, s.sincePatrol
	w.ConfigTrouble, w.SocketTrouble = s.configTrouble, s.socketTrouble
	w.Schedules = func() string { return s.library.Schedules.Broken(context.Background()) }
	w.Plugins, w.Code, w.Pin = s.pluginFacts, s.library.Code.All, s.pin
	w.Seen, w.Landmarks = s.seen, func() []fleet.Landmark { return s.installation().Landmarks() }
	w.Hooks, w.HooksOf = s.hookEvents(), s.hookEventsOf
	s.knowPast()
	if every > 0 { // one command runs no command of a plugin that it was not asked for, and tells at its end, and not for long
		w.PatrolEvery = func() time.Duration { return s.loop.Interval() }
		w.PluginChecks = s.library.Plugins.Checks
		w.Receivers = func() []fleet.Receiver { return s.report.Receivers() }
	}
}

// knowPast hands them what is written down.
func (s *system) knowPast() {
	w := s.world
	w.Lost, w.Registered, w.GateChecks, w.MergeBarred, w.PullBarred = s.ledger.lost, unlessLost(s.registered), s.gateChecks, s.mergeBarred, s.pullBarred
	w.MergeQueue = s.mergeQueue
	w.Spending, w.Counting = s.usage, s.howCounted
	w.Used = s.used
	w.Runs = func(ctx context.Context) ([]fleet.Run, error) {
		return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Run, error) { return st.OpenRuns(ctx, w.Now()) })
	}
	w.Named = func(ctx context.Context) ([]fleet.Ref, error) {
		p, err := s.recall(ctx)
		return ledger.Named(p.Records), err
	}
	w.Judged = catalog.Judgements{Past: s.recall, Verdict: s.verdict}
	w.Recorded = unlessLost(func(ctx context.Context) ([]fleet.AgentRecord, error) {
		p, err := s.recall(ctx)
		return p.Agents, err
	})
}

func (s *system) verdict(ctx context.Context, hash string) (v fleet.Verdict, known bool, err error) {
	st, err := s.ledger.reader(ctx)
	if err != nil {
		return v, false, err
	}
	return st.VerdictOf(ctx, hash)
}
