// Package command is custos hub and custos join as a person types them: flags in, words out. What it
// stands on is handed to it by the command line.
package command

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// Surroundings are what the command line gives.
type Surroundings struct {
	// Hub is the folder of a hub where --dir names none.
	Hub func() (string, error)
	// Joined is the folder in which is kept which hub this host has joined.
	Joined func() (string, error)
	// Agent is the agent that runs the command, where one is seen to; "": none is.
	Agent func(context.Context) string
	Now   func() time.Time
	In    io.Reader // of custos join -
	// Show prints a value as JSON, where --json is given, or the lines and what may be typed next.
	Show func(v any, lines []string, next []api.Hint) error
	// Doing says what is waited for, until what it returns is called.
	Doing func(what string) func()
}

// byPerson refuses what an agent is seen to ask for: who is let into a hub, and who not, is for people. Where it cannot
// be seen who asks it is done: to revoke must work when all else does not.
func (s Surroundings) byPerson(ctx context.Context, do string) error {
	if agent := s.Agent(ctx); agent != "" {
		return &api.Error{Kind: api.Forbidden, Message: "cannot " + do + ": agent " + agent + " asks, and that is for people"}
	}
	return nil
}

// New makes the commands hub and join.
func New(s Surroundings) []*cobra.Command {
	return []*cobra.Command{s.hubCommand(), s.joinCommand()}
}

func (s Surroundings) hubCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "hub",
		Short:   "Make a hub that several hosts join, and say who may",
		Example: "  custos hub init --address hub.example.com\n  custos hub invite build-1",
		Long: `hub makes the folder of a hub, lets hosts join it, and revokes them. The hub itself is a
program of its own, custos-hub, which runs from that folder. What is said to a hub is said
from a machine that has the folder: whoever can read it can do anything there.`,
	}
	var dir string
	c.PersistentFlags().StringVar(&dir, "dir", "", "the `FOLDER` of the hub")
	at := func() (string, error) {
		if dir != "" {
			return dir, nil
		}
		return s.Hub()
	}
	c.AddCommand(s.initCommand(at), s.inviteCommand(at), s.revokeCommand(at), s.hostsCommand(at))
	return c
}

// notReached is what is said of a hub that does not answer.
func notReached(err error) error {
	if errors.Is(err, nats.ErrAuthorization) {
		return &api.Error{Kind: api.Forbidden, Message: "the hub does not let these credentials in: the folder is of another hub, or of one that was made anew"}
	}
	return &api.Error{Kind: api.Unreachable, Message: err.Error(), Hint: "custos-hub --dir DIR"}
}

// failure is what went wrong, with what may be done instead.
func failure(err error) error {
	var refused *wire.RefusedError
	if errors.As(err, &refused) {
		return refusal(refused.Refused)
	}
	if errors.Is(err, wire.ErrNotReached) {
		return notReached(err)
	}
	if errors.Is(err, wire.ErrNoAnswer) {
		return &api.Error{Kind: api.Lost, Message: err.Error() + ": it may have been done", Hint: "custos hub hosts"}
	}
	return &api.Error{Kind: api.CannotLook, Message: err.Error()}
}

// refusal is what the hub did not do.
func refusal(r protocol.Refused) error {
	e := &api.Error{Kind: api.BadInput, Message: r.Why}
	switch r.Kind {
	case protocol.Taken:
		e.Kind, e.Hint = api.Changed, "custos hub invite HOST --replace"
	case protocol.Spent, protocol.Expired:
		e.Kind, e.Hint = api.Forbidden, "custos hub invite HOST"
	case protocol.Unknown:
		e.Kind = api.NotFound
	case protocol.Unavailable:
		e.Kind = api.Unreachable
	}
	return e
}
