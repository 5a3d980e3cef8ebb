package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"custos/internal/config"
)

// Uninstall removes everything Custos wrote for itself: the state folder with
// the ledger, the journal when it lies in it, lock and socket. The
// configuration is the user's own and stays, and so do backups in git. It
// refuses while a daemon runs. It returns what it removed.
func Uninstall(cfg config.Config) (removed []string, err error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	held, err := takeLock(context.Background(), cfg, "custos uninstall", 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	for _, dir := range []string{cfg.RuntimeDir, cfg.StateDir} {
		if err := os.RemoveAll(dir); err != nil {
			return removed, fmt.Errorf("cannot remove %s: %w", dir, err)
		}
		removed = append(removed, dir)
	}
	return removed, nil
}
