package daemon

import (
	"context"
	"errors"
	"sync"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/server"
)

// attend has a Custos of one command carry runs on for as long as it lives: the
// loop of a daemon, without its patrols, and the same socket, so that agents and
// other commands reach the one that writes. A daemon does so anyway.
func (s *system) attend() {
	if s.daemon {
		return
	}
	s.attending.Do(func() {
		s.listen()
		s.makeTools()
		ctx, stop := context.WithCancel(context.Background())
		var parts sync.WaitGroup
		parts.Go(func() { s.board.Run(ctx) })
		parts.Go(func() { s.loop.Attend(ctx) })
		parts.Go(func() { s.part(ctx, "watch deaths", s.watchDeaths) })
		parts.Go(func() { s.part(ctx, "watch files", s.watchFiles) })
		parts.Go(func() { s.part(ctx, "watch transcripts", s.watchTranscripts) })
		parts.Go(func() { s.part(ctx, "watch parts for events", s.watchParts) })
		parts.Go(func() { s.part(ctx, "serve the socket", s.serve) })
		s.leave = func() { stop(); parts.Wait() }
		s.board.LookNow(fleet.PartRuns)
	})
}

// serve answers at the daemon's socket.
func (s *system) serve(ctx context.Context) error {
	socket, err := server.OpenMainSocket(Socket(s.cfg))
	if err != nil {
		return err
	}
	s.socket.Store(socket)
	err = socket.Serve(ctx, s.handler(ctx, nil))
	return errors.Join(err, socket.Close())
}

// watcher is a probe that tells by itself when there is something new to see.
type watcher interface {
	Spec() observe.Spec
	Watch(ctx context.Context, changed func()) error
}

// watchParts has a part looked at again when its own probe says so: when something
// happens in the folder of a run, or to a container.
func (s *system) watchParts(ctx context.Context) error {
	failed := make([]error, len(s.watchers))
	var parts sync.WaitGroup
	for i, w := range s.watchers {
		parts.Go(func() { failed[i] = w.Watch(ctx, func() { s.board.LookNow(w.Spec().Part) }) })
	}
	parts.Wait()
	return errors.Join(failed...)
}
