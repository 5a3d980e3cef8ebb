package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/act"
	"custos/internal/agent/price"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/hub/member"
	"custos/internal/ledger"
	"custos/internal/library"
	"custos/internal/loop"
	"custos/internal/observe"
	"custos/internal/observe/watch"
	"custos/internal/onewriter"
	"custos/internal/remote"
	"custos/internal/report"
	"custos/internal/report/journal"
	"custos/internal/rules"
	"custos/internal/server"
	"custos/internal/store"
)

// Options are what the process brings.
type Options struct {
	Version string
	Stderr  io.Writer
	Log     *slog.Logger
}

// system is every part of Custos, put together. build makes it in one straight
// line; nothing in it runs yet.
type system struct {
	begun        atomic.Bool // what a crash left unfinished was taken up; a daemon does that once
	cfg          config.Config
	o            Options
	world        *catalog.World
	rules        *rules.Set
	limits       fleet.AgentLimits
	ledger       *ledgerFile
	disk         *fullDisk // that the ledger lies on
	journal      journal.Dir
	ops          *journal.Ops // nil: the journal is committed nowhere
	gauges       *gauges
	published    server.Published
	api          http.Handler           // the whole API, once the daemon serves it
	member       *member.Member         // this host's part in a hub; nil where it shares nothing
	hooked       server.WebhookListener // where webhooks are received
	board        *observe.Board
	actor        *act.Actor
	report       *report.Reporter
	loop         *loop.Loop
	hookReceiver *hookReceiver
	heard        *heard
	places       []report.Inbox // where people answer
	meant        interpreter    // asked what people may have meant; nil: nobody is
	chats        []catalog.Chat // that can be asked who Custos is

	watchers   []watcher
	library    *library.Library
	events     *library.Events
	triage     fleet.TriagePolicy
	who        fleet.CoordinationPolicy // is told of work and convoys
	handoff    fleet.HandoffPolicy
	workers    catalog.Workers
	budgets    []fleet.Budget
	policies   catalog.Policies
	prices     price.Table
	conditions conditions // of gates
	mail       map[fleet.MailType]fleet.MailAction

	daemon  bool // not one command
	hearing sync.Once
	deafen  func() // ends what listen began

	attending sync.Once
	leave     func() // ends what attend began

	conversed *conversed // where something was written in conversations of agents that run
	counted   counted
	counting  chan countAsk                 // what one conversation used is wanted at once
	holders   ledger.Holders                // of conversations; of countUsage alone
	followers atomic.Pointer[watch.Watcher] // nil unless deaths are watched
	pulse     pulse
	changes   *server.Changes
	page      *webPage
	served    catalog.WebPlace            // where the page is served
	hosts     []remote.Host               // other machines, for the page
	audited   atomic.Pointer[store.Audit] // the last comparison of memory with the ledger that was told

	reload       *reloader                           // nil without a daemon
	socket       atomic.Pointer[server.MainSocket]   // that it serves at; nil without one
	hookListener atomic.Pointer[server.HookListener] // that it receives hooks with; nil without one
	unwatched    unwatched
	hurt         chan error    // why the ledger is to be opened anew
	become       chan struct{} // that another program is to go on in this process
	becomes      bool          // it does
	renewed      time.Time     // when that was done last
}

// tick is how often a pass is made for rules that wait for time; while all is idle, every second time.
const (
	tick = 15 * time.Second
	lull = tick * 3 / 2
)

// meetFullDisk has people told of it, and a pass find out what cannot be written down.
func (s *system) meetFullDisk() {
	if s.report != nil && s.loop != nil { // not while it is put together
		s.report.Hurry()
		s.loop.Wake("a full disk")
	}
}

// configTrouble says what is wrong with custos.toml and with the files of kinds.
func (s *system) configTrouble() string {
	return strings.Trim(s.fileTrouble()+"; "+s.kindTrouble(), "; ")
}

func (s *system) fileTrouble() string {
	if s.reload == nil {
		return ""
	}
	return s.reload.says()
}

// kindTrouble says which files of kinds are not used, and why.
func (s *system) kindTrouble() string {
	if len(s.world.KindsAside) == 0 {
		return ""
	}
	return fleet.Line("of the kinds of agents these files are set aside, as if they were not there: "+strings.ReplaceAll(errors.Join(s.world.KindsAside...).Error(), "\n", "; "), 400)
}

// socketTrouble says what is wrong with the sockets of this daemon.
func (s *system) socketTrouble() string {
	why, hooks := s.ownSocket(), s.hookListener.Load()
	if why != "" || hooks == nil {
		return why
	}
	return hooks.Trouble()
}

// ownSocket says what is wrong with the socket that commands speak to.
func (s *system) ownSocket() string {
	if socket := s.socket.Load(); socket != nil {
		return socket.Trouble()
	}
	return ""
}

// registered lists the registrations of the ledger.
func (s *system) registered(ctx context.Context) ([]fleet.Registration, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Registration, error) { return st.Registrations(ctx) })
}

// wake and done close the circle from the board and the actor to the loop,
// which is made after them.
func (s *system) wake(reason string) {
	s.loop.Wake(reason)
	s.changes.Note()
	s.stirHub()
}
func (s *system) done(r fleet.Result) {
	s.gauges.meter.Ended(r)
	if r.Registration != nil {
		s.markAgent(*r.Registration)
	}
	s.loop.Done(r)
}

// learned is told of an agent that was started by an action which goes on: from
// now on it is seen as what it is.
func (s *system) learned(ctx context.Context, action string, r fleet.Registration) error {
	err := s.ledger.Learn(ctx, action, r)
	s.markAgent(r)
	s.board.Touched(fleet.PartAgents)
	return err
}

func (s *system) policy(o fleet.PatrolOrder) fleet.Policy {
	p := policy(s.cfg, s.limits, s.actor.Abilities(), o)
	p.Triage, p.Mails, p.Coordination, p.Budgets = s.triage, s.mail, s.who, s.budgets
	if s.daemon { // one command starts nothing that it was not asked for
		p.Handoff, p.Pools, p.Merges = s.handoff, s.workers.Pools, s.workers.Merges
		p.Roles, p.Teams = s.workers.Roles, s.workers.Teams
	}
	return p
}

func (s *system) touches(do string) []fleet.PartName { return s.actor.Abilities()[do].Touches }

// settling is how long a daemon waits for what it takes up: what is done in a moment is settled
// before its first pass, and what goes on for minutes, as a recovery may, holds its claims while
// the daemon listens.
const settling = 2 * time.Second

// begin opens the ledger for writing and takes up what a crash left behind. One command waits
// until that is settled.
func (s *system) begin(ctx context.Context) error {
	if s.begun.Load() { // what is unfinished from now on is under way
		return nil
	}
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	left, err := st.Unfinished(ctx)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		s.begun.Store(s.daemon)
		return nil
	}
	s.o.Log.Warn("Taking up what was left unfinished", "actions", len(left))
	s.actor.Recover(ctx, left)
	limited, cancel := ctx, func() {}
	if s.daemon {
		limited, cancel = context.WithTimeout(ctx, settling)
	}
	defer cancel()
	if err := s.actor.Wait(limited); err != nil && (ctx.Err() != nil || !s.daemon) {
		return err
	}
	s.begun.Store(s.daemon)
	return nil
}

// handler is the whole API over this system. down is nil without a daemon.
func (s *system) handler(ctx context.Context, down func()) http.Handler {
	return server.New(server.Options{
		Cycle: cycle{s}, Explainer: reader{s.world.Kinds, s.world.KindsAside},
		Now: s.world.Now, Down: down, Become: s.goOn, InProcess: down == nil, Log: s.o.Log, AgentOf: s.agentOf,
		HookFiles: hookFiles{s}, Hooks: s.hookReceiver, Whose: s.hookReceiver.whose, Changes: s.changes,
		Control: s.control(down != nil), Metrics: s.metricsPage(), Hub: s.toHost,
	})
}

// control is what people and agents may do.
func (s *system) control(watched bool) *control.Control {
	d := control.OnDisk{Library: s.library, Past: s.recall, Look: s.lookedAt, Runs: runPort{s}.Runs, Take: runPort{s}.take, Now: s.world.Now}
	b := ledgerPort{s.ledger, s.world.Now}
	return &control.Control{
		Formulas: d, Schedules: d.Schedules, Runs: runPort{s}, Plugins: d, Pauses: pausePort{s}, Merges: mergePort{s}, Roles: s.workers.Roles, Teams: s.workers.Teams, Presets: presets(), RoleBook: catalog.RoleBook{Policies: s.policies, Config: s.cfg, Kinds: s.world.Kinds}, Watchers: s.who, Budgets: budgetPort{s}, Grants: grantPort{s}, Code: codePort{s},
		Alerts: b, Approver: cycle{s}, Look: cycle{s}.Look, Brakes: brakes{s}, Tell: b.tell, Receivers: s.receivers, Posts: postPort{s}, Events: b.Events,
		Records: records{s}, Asker: cycle{s}, Orders: orderPort{s}, Turned: orderPort{s}.Turned, Agents: agentPort{s}, Asks: askPort{s}, Web: s.page, Typing: s.page.live.Typing, Past: s.recall, Situation: s.situation, PatrolEvery: s.cfg.PatrolEvery, Registry: s.registered, KindOf: s.world.Kinds.Of,
		Status: s.status(watched), Vitals: s.vitals(watched), Costs: s.costs, UsageFaults: s.usageFaults, MoreMayBe: s.moreMayBe, Prices: s.pricesShown, Priced: s.priced, Made: s.made, Places: s.listening, Screens: screens{s}, History: orderPort{s},
		Journal: journalPort{s.journal}.Journal, Teller: s.actor, Configured: s.cfg.Found, Settings: s.settingsShown, Readings: s.readings, Hub: s.hubStatus, HubLooks: s.hubLooks, Rules: rulebook{s.rules}, Mender: cycle{s}, Version: s.o.Version, Examine: s.examine, Anew: s.anew, Now: s.world.Now,
		Reply: replyToRun, Attend: s.attend, Watched: watched, People: []string{server.Caller{UID: os.Getuid()}.Name(), server.Caller{}.Name()},
	}
}

// Close ends the parts in reverse order.
func (s *system) Close() error {
	_, err := s.handOff(false)
	return err
}

// keepAnswers has what forges answered written down for who comes next: a command
// that asks once must not begin anew each time. Without it, it is asked again.
func (s *system) keepAnswers() {
	if !s.ledger.writing() {
		return
	}
	if err := s.world.KeepAnswers(); err != nil {
		s.o.Log.Warn("Cannot keep what forges answered", "err", err)
	}
}

// handOff ends the parts; with keep, the lock is for the one that takes its place.
func (s *system) handOff(keep bool) (*onewriter.Lock, error) {
	s.leave()
	s.actor.Close()
	s.deafen()
	s.compareMemory()
	s.keepAnswers()
	return s.ledger.handOff(keep)
}

// Socket is the path of the daemon's unix socket.
func Socket(cfg config.Config) string { return cfg.Socket() }
