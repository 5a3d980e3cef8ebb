package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/term"

	"custos/internal/config"
)

// The most that is read of what a person names.
const (
	largestRecording = 256 << 20
	largestScreen    = 1 << 20
	largestText      = 2 << 20 // of a mail, a nudge, a message; what of it may be sent says who takes it
)

// input reads a file a person named, or the standard input for "-"; nil for "".
func (a *app) input(file, what string, limit int64) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	b, err := a.unlessInterrupted(func() ([]byte, error) {
		if file == "-" {
			return a.standardInput(limit)
		}
		return config.ReadFile(file, limit)
	})
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, usage("cannot read the %s: %v", what, err)
	}
	return append([]byte{}, b...), nil
}

// textOf is a text that was given, or the standard input for "-".
func (a *app) textOf(text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	b, err := a.input("-", "text", largestText)
	return string(b), err
}

// standardInput reads a file, a pipe or a terminal; another device may give
// without end.
func (a *app) standardInput(limit int64) ([]byte, error) {
	if f, ok := a.Stdin.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		m := info.Mode()
		if !m.IsRegular() && m&(fs.ModeNamedPipe|fs.ModeSocket) == 0 && !term.IsTerminal(int(f.Fd())) {
			return nil, errors.New("the standard input is no file and no pipe")
		}
	}
	return config.ReadAll(a.Stdin, "the standard input", limit)
}

// unlessInterrupted reads, and gives up reading at the first signal: a pipe that
// no process writes to cannot be read any other way. The reader that is left behind
// ends with the process.
func (a *app) unlessInterrupted(read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		b   []byte
		err error
	}
	got := make(chan result, 1)
	go func() {
		b, err := read()
		got <- result{b, err}
	}()
	select {
	case r := <-got:
		return r.b, r.err
	case <-a.interrupted:
		return nil, context.Canceled
	}
}
