//go:build linux && !custos_client

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

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
		if !proc.Ended(r.Started.Agent.PID, r.Started.Agent.Start) {
			out = append(out, Living{Name: r.Started.Name, PID: r.Started.Agent.PID})
		}
	}
	return out, nil
}

// RunsOn says which processes of other users the agents of ours have left, and what ends
// each, as far as the records of the shims tell: they go with Do.
func RunsOn(cfg config.Config) ([]string, error) {
	boot, err := proc.BootID()
	if err != nil {
		return nil, err
	}
	own := catalog.Own{Shims: filepath.Join(cfg.RuntimeDir, "agents")}
	all, err := shim.List(own.Shims)
	errs := []error{err}
	var out []string
	for _, r := range all {
		if r.Err != nil || r.Started.At.Boot != boot {
			continue
		}
		says, err := own.OthersRunOn(context.Background(), r.Started)
		errs = append(errs, err)
		for _, one := range says {
			if one = r.Started.Name + ": " + one; !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out, errors.Join(errs...)
}

// Going says what Do would remove, and what would stay beside it. With leave, what
// agents that run on need (their terminals, and where their ends are written down) stays.
func Going(cfg config.Config, leave bool) (Removal, error) {
	strangers, err := catalog.Strangers(context.Background(), cfg)
	return remove(cfg, leave, err != nil || len(strangers) > 0, false) // of whom it cannot be told, stay
}

// remove removes what Custos makes in its folders, by name, or says what that would be. With server, that of
// tmux runs on, and its socket stays.
func remove(cfg config.Config, leave, server, do bool) (Removal, error) {
	r := files.Remover{Do: do}
	var errs []error
	if !leave {
		errs = append(errs, r.Root(cfg.RuntimeDir, isHome(cfg, cfg.RuntimeDir), catalog.RunFolderMade(server)))
	}
	errs = append(errs, r.Root(cfg.StateDir, isHome(cfg, cfg.StateDir), catalog.StateMade()))
	return r.Removal, errors.Join(errs...)
}

// isHome says whether a folder stays though it is empty: a home is its user's.
func isHome(cfg config.Config, dir string) bool {
	return filepath.Clean(dir) == filepath.Clean(cfg.Home)
}

// Do removes what Custos made for itself in the state folder and in the run folder:
// the ledger, lock and socket, and the rest of what catalog.StateMade and RunFolderMade list. What
// is not in them stays: the journal, and whatever somebody else keeps there. The
// configuration is the user's own and stays, and so do backups in git. It
// refuses while a daemon runs, and while agents of ours live unless they are to
// be left. It returns what it removed, and what stays beside it.
func Do(cfg config.Config, leave bool) (done Removal, err error) {
	if found, err := Going(cfg, leave); err != nil || len(found.Gone) == 0 {
		return found, err // and no lock is made where nothing is
	}
	held, err := onewriter.Take(context.Background(), cfg, "custos uninstall", 0)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	living, err := Alive(cfg)
	if err != nil {
		return done, err
	}
	if len(living) > 0 && !leave {
		return done, fmt.Errorf("cannot uninstall: agent %s runs (process %d)", living[0].Name, living[0].PID)
	}
	if leave {
		return remove(cfg, true, true, true)
	}
	guests, server := catalog.EndServer(context.Background(), cfg)
	if server == nil && len(guests) > 0 {
		server = fmt.Errorf("cannot end the tmux server of agents: sessions run in it that are no agent's (%s): it ends by itself with the last of them; to see them: tmux -S %s attach", fleet.Line(strings.Join(guests, ", "), 200), catalog.OwnSocket(cfg))
	}
	done, err = remove(cfg, false, server != nil, true)
	return done, errors.Join(server, err)
}
