package cli

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"

	"custos/internal/config"
	"custos/internal/daemon"
)

// realDaemon joins the command line to package daemon.
func realDaemon(e Env) Daemon {
	options := func(asJSON bool) daemon.Options {
		h := slog.Handler(slog.NewTextHandler(e.Stderr, nil))
		if asJSON {
			h = slog.NewJSONHandler(e.Stderr, nil)
		}
		return daemon.Options{Version: e.Version, Stderr: e.Stderr, Log: slog.New(h)}
	}
	return Daemon{
		Local: func(ctx context.Context, c config.Config) (http.Handler, func() error, error) {
			l, err := daemon.Ephemeral(ctx, c, options(false))
			if err != nil {
				return nil, nil, err
			}
			return l.Handler(), l.Close, nil
		},
		Up: func(ctx context.Context, c config.Config, asJSON bool) error {
			return daemon.Up(ctx, c, options(asJSON))
		},
		Socket:    daemon.Socket,
		Runs:      daemon.Runs,
		Freeze:    daemon.Freeze,
		Thaw:      daemon.Thaw,
		Uninstall: daemon.Uninstall,
	}
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
