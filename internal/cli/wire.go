package cli

import (
	"io"
	"log/slog"
	"runtime/debug"
)

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
