//go:build !custos_client

package cli

import (
	"context"
	"log/slog"
	"net/http"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/sys/logfile"
	"custos/internal/sys/reaper"
	"custos/internal/uninstall"
	"custos/internal/upgrade"
)

// realDaemon joins the command line to package daemon.
func realDaemon(e Env) Daemon {
	options := func(h slog.Handler) daemon.Options {
		return daemon.Options{Version: e.Version, Stderr: e.Stderr, Log: slog.New(h)}
	}
	return Daemon{
		Local: func(ctx context.Context, c config.Config) (http.Handler, func() error, error) {
			l, err := daemon.Ephemeral(ctx, c, options(newSpoken(e)))
			if err != nil {
				return nil, nil, err
			}
			return l.Handler(), l.Close, nil
		},
		Up: func(ctx context.Context, c config.Config, asJSON bool) error {
			to, closeLog, err := logfile.Beside(e.Stderr, c.LogDir)
			if err != nil {
				return err
			}
			defer closeLog()
			e.Stderr = to
			return daemon.Up(ctx, c, options(logHandler(to, asJSON)))
		},
		Socket: daemon.Socket,
		Runs:   daemon.Runs,
		Untold: daemon.Untold,
		Verify: daemon.Verify,
		Holder: daemon.Holder,
		End:    daemon.End,
		Stop: func(ctx context.Context, c config.Config, agent, by, why string) (string, error) {
			return daemon.Stop(ctx, c, options(newSpoken(e)), agent, by, why)
		},
		StoppedBy: daemon.StoppedBy,
		Simulate: func(ctx context.Context, c config.Config, name string, text []byte) (api.Simulation, error) {
			return daemon.Simulate(ctx, c, options(newSpoken(e)), name, text)
		},
		Policies:     daemon.Policies,
		PolicyPlaces: daemon.PolicyPlaces,
		Person:       daemon.NoAgentHere,
		Freeze:       daemon.Freeze,
		Thaw:         daemon.Thaw,
		Frozen:       daemon.Frozen,
		Alive:        uninstall.Alive,
		RunsOn:       uninstall.RunsOn,
		Going:        uninstall.Going,
		Uninstall:    uninstall.Do,
	}
}

// buries says whether this is the first process of its pid namespace, which does nothing but
// wait for others, and with which exit code it has ended.
func buries() (code int, is bool) {
	if !reaper.Needed() {
		return 0, false
	}
	return reaper.Main(exitLook), true
}

// sections are those of custos.toml that belong to plug-ins.
func sections() []string { return daemon.Sections() }

// me is the name of the user of this process.
func me() string { return daemon.Me() }

// ledgerSchema is the version of the ledger that this program reads and writes.
func ledgerSchema() int { return upgrade.Schema() }

// doctorAlone is what can be found out where cause keeps Custos from being put together.
func doctorAlone(ctx context.Context, version string, cause error, categories []string) (api.Doctor, error) {
	return daemon.DoctorOf(ctx, version, cause, categories)
}
