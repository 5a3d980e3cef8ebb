package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"custos/internal/sys/files"
)

// Secret is where a token is: exactly one of its fields is set. The token itself is
// never in it, and in no error.
type Secret struct {
	File    string   // holds it, and nothing else but white space
	Command []string // prints it
	Env     string   // name of the variable that holds it
	Getenv  func(string) string
	Environ []string // of a program that prints it; nil: the usual few variables
}

// maxSecret is in bytes; long-lived tokens of some services have two thousand.
const maxSecret = 16 << 10

// patience is how long the program that prints a secret may take.
const patience = 10 * time.Second

// Check says what is wrong with the place itself.
func (s Secret) Check() error {
	n := 0
	for _, set := range []bool{s.File != "", len(s.Command) > 0, s.Env != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("want exactly one of a file, a command and the name of a variable")
	}
	return nil
}

// Read returns the secret. It is read anew each time, so that one that was
// exchanged is taken up.
func (s Secret) Read(ctx context.Context) (string, error) {
	raw, where, err := s.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot read the secret from %s: %w", where, err)
	}
	secret := strings.TrimSpace(raw)
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("cannot use what %s holds as a secret: it is empty, or has spaces or other than ASCII in it", where)
	}
	return secret, nil
}

func (s Secret) fetch(ctx context.Context) (raw, where string, err error) {
	switch {
	case s.File != "":
		text, err := files.ReadOthers(s.File, maxSecret)
		return string(text), s.File, err
	case len(s.Command) > 0:
		raw, err = s.print(ctx)
		return raw, "program " + s.Command[0], err
	}
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if raw = getenv(s.Env); raw == "" {
		err = errors.New("it is not set")
	}
	return raw, "$" + s.Env, err
}

func (s Secret) print(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	env := s.Environ
	if env == nil {
		env = Environ(s.Getenv)
	}
	out, err := Run(ctx, Call{Argv: s.Command, Env: env, Max: maxSecret})
	return string(out), err
}
