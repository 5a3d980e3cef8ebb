package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// command asks an agent CLI without a terminal.
type command struct {
	argv        []string
	environment []string
	model       string
	read        func([]byte) (Answer, error)
}

func newCommand(s Settings) (asker, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return nil, errors.New("kind command needs a command")
	case s.BaseURL != "":
		return nil, errors.New("kind command has no base_url")
	case s.Key.File != "" || s.Key.Env != "" || len(s.Key.Command) > 0:
		return nil, errors.New("kind command has no key: the CLI has its own login, or name its variable in environment")
	}
	read, err := reader(s.Output, s.Command)
	return &command{argv: slices.Clone(s.Command), environment: s.Environment, model: s.Model, read: read}, err
}

// reader is chosen by what is configured and never by what was printed, or a
// model could tell what it cost.
func reader(output string, argv []string) (func([]byte) (Answer, error), error) {
	if output == "" {
		output = spoken(argv)
	}
	switch output {
	case "text":
		return readText, nil
	case "claude":
		return readClaude, nil
	case "codex":
		return readCodex, nil
	}
	return nil, fmt.Errorf("output %q is none of text, claude, codex", output)
}

func spoken(argv []string) string {
	for i, a := range argv {
		value, joined := strings.CutPrefix(a, "--output-format=")
		if a == "--output-format" && i+1 < len(argv) {
			value, joined = argv[i+1], true
		}
		if joined && (value == "json" || value == "stream-json") {
			return "claude"
		}
	}
	if slices.Contains(argv, "exec") && slices.Contains(argv, "--json") {
		return "codex"
	}
	return "text"
}

// ask runs the CLI once, in an empty folder: whatever lies in a project would be
// read as instructions.
func (c *command) ask(ctx context.Context, q Question) (Answer, error) {
	dir, err := os.MkdirTemp("", "custos-judge-")
	if err != nil {
		return Answer{}, err
	}
	defer os.RemoveAll(dir)
	out, err := run(ctx, dir, c.argv, environment(c.environment), q.whole())
	var exit *exitError
	if err != nil && !errors.As(err, &exit) {
		return Answer{Model: c.model, Calls: 1}, fmt.Errorf("%s: %w", c.argv[0], err)
	}
	// One that failed may still have told what it cost, and why it failed.
	a, unread := c.read([]byte(c.scrub(string(out))))
	a.Calls = 1
	if a.Model == "" {
		a.Model = c.model
	}
	if exit != nil {
		exit.stderr = c.scrub(exit.stderr)
		return a, c.failed(exit, unread)
	}
	return a, unread
}

// scrub hides what was passed to the CLI by name: its key may be among it.
func (c *command) scrub(s string) string {
	for _, name := range c.environment {
		s = scrub(s, os.Getenv(name))
	}
	return s
}

func (c *command) failed(exit, unread error) error {
	if unread != nil {
		return fmt.Errorf("%s: %w: %w", c.argv[0], exit, unread)
	}
	return fmt.Errorf("%s: %w", c.argv[0], exit)
}
