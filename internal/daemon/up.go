package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/release"
	"custos/internal/server"
	"custos/internal/sys/presence"
	"custos/internal/sys/shim"
	"custos/internal/upgrade"
)

// Runs says whether there is a daemon, by its presence or by the lock of the one writer:
// one that answers, one that does not answer yet, or one that has not quite gone. It
// writes nothing.
func Runs(cfg config.Config) bool {
	return presence.Find(cfg.StateDir) != 0 || onewriter.DaemonHolds(cfg)
}

// Untold says why it cannot be told whether a daemon runs; "" when it can.
func Untold(cfg config.Config) string { return onewriter.Untold(cfg) }

// Up is the daemon, in the foreground: it takes the lock of the one writer or
// says who holds it, takes up what a crash left, runs the cycle and serves the
// socket until ctx ends or somebody asks it to go down. Agents are left running. A new
// custos.toml that is good makes it begin anew, under the same lock; so does a damaged
// database, which is set aside when the ledger is opened again.
func Up(ctx context.Context, cfg config.Config, o Options) error {
	// Tokens may be in its environment and are in its memory: no process of the same
	// user, as agents are, may read those.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep the memory of the daemon to itself: %w", err)
	}
	said, again, err := upgrade.Mend(ctx, cfg, o.Version)
	if err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	if said != "" {
		fmt.Fprintln(o.Stderr, said)
	}
	if again {
		return upgrade.Become()
	}
	upgrade.TakeOver()
	if err := shim.SameRelease(ctx, o.Version, release.Programs()[1:]); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	a := as{what: onewriter.Daemon, wait: onewriter.WaitFor(cfg, o.Stderr), tell: o.Stderr}
	for {
		a.every = cfg.PatrolEvery
		s, err := build(cfg, o, a)
		if err != nil {
			return errors.Join(err, a.lock.Release())
		}
		next, err := s.watch(ctx, asked)
		kept, closing := s.handOff(next != nil)
		if closing != nil {
			o.Log.Error("Cannot close", "err", closing)
		}
		if next == nil && s.becomes {
			return errors.Join(err, upgrade.Become())
		}
		if next == nil {
			return err
		}
		cfg, a.lock, a.renewed, a.page = *next, kept, s.renewed, s.page.lentAt()
	}
}

// watch is the daemon with one configuration, until it ends, or another one is to come
// into force, which it returns.
func (s *system) watch(ctx context.Context, asked <-chan os.Signal) (next *config.Config, err error) {
	cfg, o := s.cfg, s.o
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	socket, err := server.OpenMainSocket(Socket(cfg))
	if err != nil {
		return nil, err
	}
	s.socket.Store(socket)
	s.reload = s.newReloader()
	hooks, err := server.ListenHooks(server.HookOptions{Run: cfg.RuntimeDir, Hooks: s.hookReceiver, Whose: s.hookReceiver.whose, Log: o.Log})
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	s.hookListener.Store(hooks)
	ctx, end := context.WithCancelCause(ctx)
	down := func() { end(nil) }
	defer down()
	fmt.Fprintf(o.Stderr, "custos %s watches, pid %d, mode %s; custos down ends it and leaves every agent running\n", o.Version, os.Getpid(), cfg.Mode)
	var parts sync.WaitGroup
	s.makeTools()
	parts.Go(func() { s.board.Run(ctx) })
	parts.Go(func() { s.loop.Run(ctx) })
	parts.Go(func() { s.part(ctx, "watch deaths", s.watchDeaths) })
	parts.Go(func() { s.part(ctx, "watch files", s.watchFiles) })
	parts.Go(func() { s.part(ctx, "watch transcripts", s.watchTranscripts) })
	parts.Go(func() { s.part(ctx, "count what models use", s.countUsage) })
	parts.Go(func() { s.part(ctx, "watch sessions", s.watchSessions) })
	parts.Go(func() { s.part(ctx, "watch parts for events", s.watchParts) })
	parts.Go(func() { s.part(ctx, "receive hooks", hooks.Serve) })
	parts.Go(func() { s.deliver(ctx) })
	parts.Go(func() { s.listenToPeople(ctx) })
	parts.Go(func() { s.commitJournal(ctx) })
	parts.Go(func() { s.serveMetrics(ctx) })
	parts.Go(func() { s.hearWebhooks(ctx) })
	api := s.handler(ctx, down)
	s.api = api
	parts.Go(func() { s.page.run(ctx, api) })
	parts.Go(func() { s.publish(ctx, api) })
	parts.Go(func() { s.takePart(ctx) })
	parts.Go(func() { s.tidy(ctx) })
	parts.Go(func() { s.keepReadings(ctx) })
	parts.Go(func() { s.reload.follow(ctx, asked) })
	parts.Go(func() { s.part(ctx, "notify the service manager", s.notifyManager) })
	parts.Go(func() {
		select {
		case <-ctx.Done():
		case cfg := <-s.reload.next:
			fmt.Fprintf(o.Stderr, "the configuration has changed: the daemon begins anew with it; agents run on\n")
			s.quiet(ctx)
			next = &cfg
			end(errAnew)
		case <-s.become:
			fmt.Fprintf(o.Stderr, "the daemon goes on as the program that lies in its place; agents run on\n")
			s.quiet(ctx)
			s.becomes = true
			end(errAnew)
		case why := <-s.hurt:
			o.Log.Error("The daemon begins anew with another database; agents run on", "why", why)
			sleep(ctx, rest(s.renewed, time.Now()))
			s.renewed, next = time.Now(), &cfg
			end(errAnew)
		}
	})
	var ousted error
	parts.Go(func() { ousted = s.keepPlace(ctx); down() })
	err = socket.Serve(ctx, api)
	down()
	parts.Wait()
	return next, errors.Join(err, ousted, socket.Close())
}

// errAnew ends the parts of a daemon whose process goes on.
var errAnew = errors.New("the daemon begins anew")

// goOn has the daemon go on as the program that lies in the place of its own, which is the
// one that is named.
func (s *system) goOn(program string) error {
	return upgrade.Ask(s.become, program)
}

// beginAnew has the daemon begin anew, with a ledger that is opened again. Whatever was
// thought out from the damaged one (a pass, an order, an action that runs) is not to be
// written to the next, so every part begins anew. What the mirror holds is not put in its
// place: that is what a pass reads and no more, without messages, events, costs and
// trusted code, and of the rows that were written since it has only the numbers. A past
// with holes that nobody is told of is worse than one that is lost.
func (s *system) beginAnew(why error) {
	select {
	case s.hurt <- why:
	default:
	}
}

// renewEvery is how far apart the daemon begins anew for a damaged database: where each
// one is damaged at once, the disk is not to fill with those that were set aside.
const renewEvery = time.Minute

// rest is how long to wait before that, by when it was done last.
func rest(last, now time.Time) time.Duration {
	return max(0, renewEvery-max(0, now.Sub(last)))
}

// sleep waits, until ctx ends at most.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// quietWithin is how long a new configuration waits for what is being done: while the
// parts end, nobody is answered.
const quietWithin = 2 * time.Minute

// quiet waits until no action is under way.
func (s *system) quiet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		past, err := s.recall(ctx)
		if err == nil && !slices.ContainsFunc(past.Actions, fleet.ActionRecord.Open) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// part runs a part of the daemon; one that fails is said, and the others go on:
// what it would have told by event is then found by the next look.
func (s *system) part(ctx context.Context, what string, run func(context.Context) error) {
	if err := run(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Error("Cannot "+what, "err", err)
		s.unwatched.lose(what, err)
	}
}

// deliverEvery is how often the outbox is looked at; tidyEvery how often old
// records are trimmed.
const (
	deliverEvery = 5 * time.Second
	tidyEvery    = time.Hour
)

func (s *system) deliver(ctx context.Context) {
	_ = s.report.Run(ctx, func(err error) { s.o.Log.Warn("Cannot deliver", "err", err) })
}

func (s *system) tidy(ctx context.Context) {
	s.repeat(ctx, tidyEvery, "drop what was kept for long enough", s.tidied)
}

// repeat does something now and then until ctx ends; a failure is logged.
func (s *system) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	clock := time.NewTicker(every)
	defer clock.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("Cannot "+what, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}
