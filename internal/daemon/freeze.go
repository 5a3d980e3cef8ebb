package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

func freezeFile(cfg config.Config) string { return filepath.Join(cfg.StateDir, "frozen") }

// Freeze is freeze for whoever runs this process, if that is no agent.
func Freeze(cfg config.Config, by, why string) error {
	if err := noAgentHere("freeze"); err != nil {
		return err
	}
	return freeze(cfg, by, why)
}

// noAgentHere refuses what takes a person when this process carries the marker of
// an agent, or one it descends from does. It asks no daemon: a freeze must work
// when nothing else does.
func noAgentHere(what string) error {
	procs := proc.NewReader(proc.TableOptions{})
	line, err := lineage(procs, os.Getpid())
	if err != nil && what == "thaw" {
		return fmt.Errorf("cannot thaw: this process cannot be shown to be no agent: %w", err)
	}
	if name, ok := marked(procs, line); ok {
		return fmt.Errorf("cannot %s for agent %s: it takes a person", what, name)
	}
	return nil
}

// freeze stops every action at once: who asks and why go into a file that is
// checked before each of them. It needs no daemon, and no room on the disk
// beyond an empty file.
func freeze(cfg config.Config, by, why string) error {
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("cannot freeze: %w", err)
	}
	text := fleet.Line(by, 80) + "\n" + fleet.Line(why, 400) + "\n"
	if err := os.WriteFile(freezeFile(cfg), []byte(text), 0o600); err != nil {
		// The file is there even when the disk had no room for its text.
		if _, there := os.Lstat(freezeFile(cfg)); there != nil {
			return fmt.Errorf("cannot freeze: %w", err)
		}
	}
	return nil
}

// Thaw is thaw for whoever runs this process, if that is no agent.
func Thaw(cfg config.Config) (was string, err error) {
	if err := noAgentHere("thaw"); err != nil {
		return "", err
	}
	return thaw(cfg)
}

// thaw lets actions run again and returns what Frozen said before.
func thaw(cfg config.Config) (was string, err error) {
	was = Frozen(cfg)
	if err := os.Remove(freezeFile(cfg)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return was, fmt.Errorf("cannot thaw: %w", err)
	}
	return was, nil
}

// Frozen returns who froze Custos and why, or "" when nobody did. When that
// cannot be told it is frozen: unknown never leads to an action.
func Frozen(cfg config.Config) string {
	b, err := os.ReadFile(freezeFile(cfg))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "cannot tell whether it is frozen: " + err.Error()
	}
	by, why, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	switch {
	case by == "":
		return "frozen"
	case why == "":
		return by
	}
	return by + ": " + why
}
