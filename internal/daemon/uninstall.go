package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"custos/internal/config"
	"custos/internal/sys/shim"
)

// Living is an agent of ours that runs.
type Living struct {
	Name string
	PID  int
}

// Alive lists the agents of ours that run, daemon or not, as their shims know
// them: neither the database nor the configuration of agents is asked. One of
// which it cannot be told counts as living.
func Alive(cfg config.Config) ([]Living, error) {
	all, err := shim.List(filepath.Join(cfg.RuntimeDir, "agents"))
	if err != nil {
		return nil, err
	}
	var out []Living
	for _, r := range all {
		if r.Err == nil && r.Exit != nil {
			continue
		}
		if !hasEnded(r.Started.Agent) {
			out = append(out, Living{Name: r.Started.Name, PID: r.Started.Agent.PID})
		}
	}
	return out, nil
}

// Going lists what Uninstall would remove. With leave, what agents that run on
// need (their terminals, and where their ends are written down) stays.
func Going(cfg config.Config, leave bool) ([]string, error) {
	if !leave {
		var out []string
		for _, dir := range []string{cfg.RuntimeDir, cfg.StateDir} {
			if _, err := os.Lstat(dir); err == nil {
				out = append(out, dir)
			}
		}
		return out, nil
	}
	entries, err := os.ReadDir(cfg.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", cfg.StateDir, err)
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(cfg.StateDir, e.Name()); path != filepath.Clean(cfg.RuntimeDir) {
			out = append(out, path)
		}
	}
	return out, nil
}

// Uninstall removes everything Custos wrote for itself: the state folder with
// the ledger, the journal when it lies in it, lock and socket. The
// configuration is the user's own and stays, and so do backups in git. It
// refuses while a daemon runs, and while agents of ours live unless they are to
// be left. It returns what it removed.
func Uninstall(cfg config.Config, leave bool) (removed []string, err error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	held, err := takeLock(context.Background(), cfg, "custos uninstall", 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	living, err := Alive(cfg)
	if err != nil {
		return nil, err
	}
	if len(living) > 0 && !leave {
		return nil, fmt.Errorf("cannot uninstall: agent %s runs (process %d)", living[0].Name, living[0].PID)
	}
	going, err := Going(cfg, leave)
	if err != nil {
		return nil, err
	}
	for _, path := range going {
		if err := os.RemoveAll(path); err != nil {
			return removed, fmt.Errorf("cannot remove %s: %w", path, err)
		}
		removed = append(removed, path)
	}
	return removed, nil
}
