// Package command sends messages to people through a program of theirs.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/program"
)

// Options say which program, and what it is given.
type Options struct {
	Name     string
	Run      []string      // the program and its arguments; no shell reads them
	Deadline time.Duration // then its process group is killed; default 10 s
	PassEnv  []string      // names of variables it gets besides PATH, HOME and LANG
	Getenv   func(string) string
}

// Notifier runs the program once for each message: a fleet.Message as JSON on
// standard input. Exit status 0 says that it was delivered; anything else has it tried
// again, with the same id.
type Notifier struct{ o Options }

var _ report.Notifier = Notifier{}

// New returns the notifier, or what is wrong with its options.
func New(o Options) (Notifier, error) {
	if len(o.Run) == 0 || o.Run[0] == "" {
		return Notifier{}, errors.New(`run: want a program, as in run = ["prog", "arg"]`)
	}
	if o.Deadline <= 0 {
		o.Deadline = 10 * time.Second
	}
	return Notifier{o}, nil
}

// Name is what routes call it.
func (n Notifier) Name() string { return n.o.Name }

// Notify runs the program.
func (n Notifier) Notify(ctx context.Context, m fleet.Message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("cannot write the message: %w: %w", err, report.ErrPermanent)
	}
	ctx, cancel := context.WithTimeout(ctx, n.o.Deadline)
	defer cancel()
	_, err = program.Run(ctx, program.Call{Argv: n.o.Run, Stdin: append(text, '\n'), Max: 1 << 20,
		Env: program.Environ(n.o.Getenv, n.o.PassEnv...)})
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", fleet.Line(n.o.Run[0], 80), err)
	}
	return nil
}
