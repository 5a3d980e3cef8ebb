package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/caller"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// longestOwn is many times what Custos writes into the files that say who froze it, or holds a
// lock, in bytes.
const longestOwn = 64 << 10

func freezeFile(cfg config.Config) string { return filepath.Join(cfg.StateDir, "frozen") }

// Freeze is freeze for whoever runs this process, if that is no agent.
func Freeze(cfg config.Config, by, why string) error {
	if err := NoAgentHere(cfg, "freeze"); err != nil {
		return err
	}
	return freeze(cfg, by, why)
}

// NoAgentHere refuses what takes a person when this process is known to be an
// agent's without a look at the fleet. It asks no daemon: it is for when none
// answers.
func NoAgentHere(cfg config.Config, what string) error {
	find := caller.Finder{Procs: proc.NewReader(proc.TableOptions{}), Socket: catalog.OwnSocket(cfg)}
	line, err := caller.Line(find.Procs, os.Getpid())
	var a caller.Agent
	var is bool
	if err == nil {
		a, is, err = find.WhoseKept(line)
	}
	switch {
	case is:
		return forbidden("cannot %s for agent %s: it takes a person", what, a.Name)
	case err != nil && what != "freeze":
		return forbidden("cannot %s: this process cannot be shown to be no agent: %v", what, err)
	}
	return nil
}

func forbidden(format string, args ...any) error {
	return &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf(format, args...)}
}

// freeze stops every action at once: who asks and why go into a file that is
// checked before each of them. It needs no daemon, and no room on the disk
// beyond an empty file.
func freeze(cfg config.Config, by, why string) error {
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("cannot freeze: %w", err)
	}
	text := fleet.Line(by, 80) + "\n" + fleet.Line(why, 400) + "\n"
	if err := files.Write(freezeFile(cfg), []byte(text), 0o600); err != nil {
		// The file is there even when the disk had no room for its text.
		if _, there := os.Lstat(freezeFile(cfg)); there != nil {
			return fmt.Errorf("cannot freeze: %w", err)
		}
	}
	return nil
}

// Thaw is thaw for whoever runs this process, if that is no agent.
func Thaw(cfg config.Config) (was string, err error) {
	if err := NoAgentHere(cfg, "thaw"); err != nil {
		return "", err
	}
	return thaw(cfg)
}

// brakes is freeze and thaw as the port of control wants them.
type brakes struct{ s *system }

var _ control.Brakes = brakes{}

// Freeze stops every action.
func (b brakes) Freeze(by, why string) error { return freeze(b.s.cfg, by, why) }

// Frozen says who has frozen and why, and since when.
func (b brakes) Frozen() (why string, since time.Time) {
	if info, err := os.Stat(freezeFile(b.s.cfg)); err == nil {
		since = info.ModTime()
	}
	return Frozen(b.s.cfg), since
}

// Thaw lets actions run again, and has a pass made.
func (b brakes) Thaw() (string, error) {
	was, err := thaw(b.s.cfg)
	if err == nil && was != "" {
		b.s.wake("thaw")
	}
	return was, err
}

// thaw lets actions run again and returns what Frozen said before.
func thaw(cfg config.Config) (was string, err error) {
	was = frozenBy(cfg)
	if err := os.Remove(freezeFile(cfg)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return was, fmt.Errorf("cannot thaw: %w", err)
	}
	return was, nil
}

// Frozen returns who froze Custos and why, or "" when nobody did. When that
// cannot be told it is frozen: unknown never leads to an action.
func Frozen(cfg config.Config) string { return cmp.Or(frozenBy(cfg), switchedOff(cfg)) }

// switchedOff is what Frozen says where the switch of custos.toml is off: its file is missing.
func switchedOff(cfg config.Config) string {
	if cfg.Active == "" {
		return ""
	}
	_, err := os.Lstat(cfg.Active)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "the switch of custos.toml: there is no " + fleet.Path(cfg.Active)
	}
	return "cannot tell how the switch of custos.toml stands: " + fleet.Line(err.Error(), 200)
}

// frozenBy is what the file of freeze says.
func frozenBy(cfg config.Config) string {
	b, err := files.Read(freezeFile(cfg), longestOwn)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "cannot tell whether it is frozen: " + err.Error()
	}
	by, why, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	switch {
	case by == "":
		return "somebody: there was no room to write down who, and why"
	case why == "":
		return by
	}
	return by + ": " + why
}
