package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/config"
	"custos/internal/server"
)

// asDaemon is what a daemon calls itself in the lock's file. turnover is how long
// it waits for the lock: for one that is on its way out, and for the glance of Runs.
const (
	asDaemon = "custos up"
	turnover = time.Second
)

// Runs says whether a daemon holds the lock of the one writer: one that answers,
// one that does not answer yet, or one that has not quite gone. It writes nothing.
func Runs(cfg config.Config) bool {
	name := filepath.Join(cfg.RuntimeDir, "lock")
	if who := holder(name); who != nobody && !strings.HasPrefix(who, asDaemon+",") {
		return false // or it would get in the way of a command that is short
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() // and with it goes what was locked here
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Up is the daemon, in the foreground: it takes the lock of the one writer or
// says who holds it, takes up what a crash left, runs the cycle and serves the
// socket until ctx ends or somebody asks it to go down. Agents are left running.
func Up(ctx context.Context, cfg config.Config, o Options) error {
	s, err := build(cfg, o, as{what: asDaemon, wait: turnover, every: cfg.PatrolEvery, tell: o.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			o.Log.Error("Cannot close", "err", err)
		}
	}()
	if err := s.begin(ctx); err != nil {
		return held(err)
	}
	listener, err := server.Listen(Socket(cfg))
	if err != nil {
		return err
	}
	hooks, err := server.ListenHooks(server.HookOptions{Run: cfg.RuntimeDir, Hooks: s.ears, Log: o.Log})
	if err != nil {
		return errors.Join(err, listener.Close(), removeSocket(cfg))
	}
	ctx, down := context.WithCancel(ctx)
	defer down()
	fmt.Fprintf(o.Stderr, "custos %s watches, pid %d, mode %s; custos down ends it and leaves every agent running\n", o.Version, os.Getpid(), cfg.Mode)
	var parts sync.WaitGroup
	s.makeTools()
	parts.Go(func() { s.board.Run(ctx) })
	parts.Go(func() { s.loop.Run(ctx) })
	parts.Go(func() { s.part(ctx, "watch deaths", s.watchDeaths) })
	parts.Go(func() { s.part(ctx, "watch files", s.watchFiles) })
	parts.Go(func() { s.part(ctx, "watch sessions", s.watchSessions) })
	parts.Go(func() { s.part(ctx, "watch parts for events", s.watchParts) })
	parts.Go(func() { s.part(ctx, "hear hooks", hooks.Serve) })
	parts.Go(func() { s.deliver(ctx) })
	parts.Go(func() { s.listenToPeople(ctx) })
	parts.Go(func() { s.commitJournal(ctx) })
	parts.Go(func() { s.serveMetrics(ctx) })
	parts.Go(func() { s.hearWebhooks(ctx) })
	parts.Go(func() { s.tidy(ctx) })
	parts.Go(func() { s.part(ctx, "notify the service manager", s.notifyManager) })
	err = server.Serve(ctx, listener, s.handler(ctx, down))
	down()
	parts.Wait()
	return errors.Join(err, removeSocket(cfg))
}

// part runs a part of the daemon; one that fails is said, and the others go on:
// what it would have told by event is then found by the next look.
func (s *system) part(ctx context.Context, what string, run func(context.Context) error) {
	if err := run(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Error("Cannot "+what, "err", err)
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
	s.repeat(ctx, tidyEvery, "trim the ledger", s.ledger.trim(s.world.Now))
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

func removeSocket(cfg config.Config) error {
	if err := os.Remove(Socket(cfg)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove the socket: %w", err)
	}
	return nil
}
