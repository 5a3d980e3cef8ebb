package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// Unread lists what lies in the folder and was not acted on yet, oldest first: a
// reply each. It takes nothing.
func (e Inbox) Unread() (out []string, err error) {
	if err := e.own(); err != nil {
		return nil, err
	}
	list, err := filepath.Glob(e.path() + taken + "*")
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	for _, path := range append(list, e.path()) {
		lines, err := replies(path)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}

// replies are the lines of a file; none when it is gone.
func replies(path string) (out []string, err error) {
	f, _, err := files.OpenOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", fleet.Path(path), err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", fleet.Path(path), err)
	}
	for line := range strings.Lines(string(text)) {
		if s := strings.TrimSpace(line); s != "" {
			out = append(out, body(s))
		}
	}
	return out, nil
}
