package daemon

import (
	"context"
	"errors"
	"time"

	"custos/internal/onewriter"
)

// lookAtPlace is how often a daemon looks whether its lock and its socket lie where
// others look for them.
const lookAtPlace = 2 * time.Second

// keepPlace puts the lock and the sockets of a Custos back where they were removed or
// moved away from, and that of hooks where something else was put in its place, until ctx ends. It returns an error when another Custos holds the lock
// there: of two that act, this one ends.
func (s *system) keepPlace(ctx context.Context) error {
	tick := time.NewTicker(lookAtPlace)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := s.putBack(ctx)
		switch {
		case errors.Is(err, onewriter.ErrOusted):
			s.o.Log.Error("This Custos does nothing more: another one has taken its place", "err", err)
			return err
		case err == nil:
			said = ""
		case err.Error() != said && ctx.Err() == nil:
			said = err.Error()
			s.o.Log.Error("The daemon's lock or socket is not where it was, and nothing is done until it is", "err", err)
		}
	}
}

func (s *system) putBack(ctx context.Context) error {
	held := s.ledger.keeps()
	if held == nil {
		return nil
	}
	anew, err := held.Keep(ctx)
	for _, name := range anew {
		s.o.Log.Warn("The lock of the daemon was taken away, and is held anew", "lock", name)
	}
	if err != nil {
		return err
	}
	return errors.Join(s.mendSocket(), s.mendHooks())
}

func (s *system) mendSocket() error {
	socket := s.socket.Load()
	if socket == nil {
		return nil
	}
	made, err := socket.Mend()
	if made && err == nil {
		s.o.Log.Warn("The socket of the daemon was removed, and was made anew", "socket", Socket(s.cfg))
	}
	return err
}

func (s *system) mendHooks() error {
	hooks := s.hookListener.Load()
	if hooks == nil {
		return nil
	}
	was, err := hooks.Mend()
	if was != "" && err == nil {
		s.o.Log.Warn("The socket of hooks was not ours, and was made anew", "why", was)
	}
	return err
}
