package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/agents"
	"custos/internal/observe/watch"
	"custos/internal/session"
)

// watchDeaths follows every agent process, and the terminal servers they run in,
// by pidfds. A death is laid over what
// the board shows at once, and wakes the loop: no tmux, no process table, no
// file stands between a death and its alert.
func (s *system) watchDeaths(ctx context.Context) error {
	w, err := watch.New(watch.Options{Now: s.world.Now, Exits: s.world.Own.Exit, ShimGone: s.world.Own.ShimGone, Asked: s.world.Own.Asked, Died: s.died})
	if err != nil {
		return err
	}
	s.followers.Store(w)
	<-ctx.Done()
	s.followers.Store(nil)
	return w.Close()
}

// died lays a death over the board, and has the agents looked at: hooks and terminal
// may tell who ended one.
func (s *system) died(d watch.Death) {
	s.world.Agents.Died(d.Exit)
	s.loop.Stir()
	put, why := func(snap *fleet.Snapshot) {
		snap.Agents.Value = agents.WithDeath(snap.Agents.Value, d.Exit, snap.At)
	}, "death of "+d.Agent
	if d.Server != "" {
		put, why = func(snap *fleet.Snapshot) {
			snap.Agents.Value = agents.WithServerDeath(snap.Agents.Value, d.Exit, d.Server, snap.At)
		}, "death of the terminal server "+d.Server
	}
	s.board.Overlay(fleet.PartAgents, put, why)
	s.board.LookNow(fleet.PartAgents)
}

// follow is told of every pass that succeeded, and has the agents in it followed.
func (s *system) follow(snap fleet.Snapshot) {
	s.report.Passed()
	s.auditMemory()
	s.gauges.pass(snap.At, s.world.Now())
	s.pulse.passed(snap.Patrol > 0, s.world.Now())
	s.changes.Note()
	s.stirHub()
	if snap.Agents.Usable() {
		s.conversed.pass(snap.Agents.Value)
	}
	if w := s.followers.Load(); w != nil && snap.Agents.Usable() {
		w.Follow(snap.Agents.Value)
	}
}

// watchFiles has agents looked at again when a registry file or the folder of
// an instance changes.
func (s *system) watchFiles(ctx context.Context) error {
	f, err := watch.Files(func(string) { s.board.LookNow(fleet.PartAgents) }, s.unfollowed("watch files"), s.world.Watched()...)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return f.Close()
}

// foldersEvery is how often it is looked whether agents keep conversations elsewhere than
// they did.
const foldersEvery = 2 * time.Second

// watchTranscripts has agents looked at again when something is written in a folder in which
// the conversations of those lie that run, or by one of which its output alone tells. What was
// written there before it is followed is read at once.
func (s *system) watchTranscripts(ctx context.Context) error {
	var f *watch.FilesWatch
	var have []string
	ticker := time.NewTicker(foldersEvery)
	defer ticker.Stop()
	for {
		outputs := s.world.Outputs()
		if want := slices.Concat(s.world.Conversations.Folders(), outputs); !slices.Equal(want, have) {
			written := func(folder string) {
				if !slices.Contains(outputs, folder) {
					s.conversed.in(folder)
				}
				s.board.LookNow(fleet.PartAgents)
			}
			next, err := watch.Files(written, s.unfollowed("watch transcripts"), want...)
			if err != nil {
				return errors.Join(err, closed(f))
			}
			if err := closed(f); err != nil {
				return errors.Join(err, next.Close())
			}
			for _, folder := range want {
				if !slices.Contains(have, folder) {
					written(folder)
				}
			}
			f, have = next, want
		}
		select {
		case <-ctx.Done():
			return closed(f)
		case <-ticker.C:
		case <-s.conversed.passed:
		}
	}
}

func closed(f *watch.FilesWatch) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// unfollowed makes what is told how well files are followed for a purpose: an error that
// lasts, one that is over (events were lost, and all has been looked at since), or nil.
func (s *system) unfollowed(purpose string) func(error) {
	return func(err error) {
		switch {
		case errors.Is(err, watch.ErrLost):
			s.unwatched.miss("changes of files", err, s.world.Now())
		case err != nil:
			s.unwatched.lose(purpose, err)
		default:
			s.unwatched.regain(purpose)
		}
	}
}

// watchSessions has panes and agents looked at again when our tmux server tells
// that something happened there.
func (s *system) watchSessions(ctx context.Context) error {
	ours, ok := s.world.Own.Providers[fleet.WhereTmux].(session.Announcer)
	if !ok {
		return nil
	}
	return watch.Panes(ctx, ours, s.world.Kinds, func(why string) {
		s.o.Log.Debug("Looking again", "why", why)
		s.board.LookNow(fleet.PartSessions, fleet.PartAgents)
	})
}
