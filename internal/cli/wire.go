package cli

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/sys/logfile"
	"custos/internal/uninstall"
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
		Person:    daemon.NoAgentHere,
		Freeze:    daemon.Freeze,
		Thaw:      daemon.Thaw,
		Frozen:    daemon.Frozen,
		Alive:     uninstall.Alive,
		RunsOn:    uninstall.RunsOn,
		Going:     uninstall.Going,
		Uninstall: uninstall.Do,
	}
}

// logHandler writes a log for people, or for programs.
func logHandler(w io.Writer, asJSON bool) slog.Handler {
	if asJSON {
		return slog.NewJSONHandler(w, nil)
	}
	return slog.NewTextHandler(w, nil)
}

// versionOf is the version given at link time, else the one Go noted when it
// built the binary.
func versionOf(linked string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if revision != "" {
		return "dev-" + revision + dirty
	}
	return "dev"
}
