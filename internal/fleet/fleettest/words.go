package fleettest

import (
	"reflect"
	"strings"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

var (
	boots = []string{"6f0c6d5e-0000-4000-8000-000000000001", "6f0c6d5e-0000-4000-8000-000000000000"}
	whys  = []string{"permission denied", "deadline exceeded", "not looked at", "outside of this pid namespace"}
	names = []string{"dev", "review", "planner", "supervisor", "claude", "main", "a b", "naïve", "x<y>&z"}
	roots = []string{"/", "/home/me/repo", "/tmp/dev-worktree-7", "/tmp/with space", "/tmp/bad\xffbyte", "/tmp/new\nline", "/var/log/a.log"}
)

// words lists, for each type that is a closed vocabulary, its words.
func words(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[fleet.Status]():
		return []string{"ok", "ok", "ok", "stale", "pending", "unknown", "absent"}
	case reflect.TypeFor[fleet.RunState]():
		return append(fleet.Words(t), "running")
	case reflect.TypeFor[fleet.Kind]():
		return []string{"host", "mount", "session", "agent", "repo", "worktree", "lock", "phase", "log", "part", "self", "extra", "run",
			"container", "project", "issue", "pr", "pipeline", "worker"}
	}
	return fleet.Words(t)
}

// text draws a string that fits its type and the name of its field.
func (g generator) text(t reflect.Type, name string) string {
	if w := words(t); w != nil {
		return rapid.SampledFrom(w).Draw(g.t, name)
	}
	switch name {
	case "Path", "CWD", "GitDir", "Repo", "Socket", "Exe":
		return fleet.Path(rapid.SampledFrom(roots).Draw(g.t, name))
	case "Boot":
		return rapid.SampledFrom(boots).Draw(g.t, name)
	case "Name", "Kind", "Role", "Do", "Rule", "Session":
		return rapid.SampledFrom(names).Draw(g.t, name)
	case "ID", "ActionID":
		return rapid.StringMatching(`[a-z]{3}-[0-9]{6}`).Draw(g.t, name)
	}
	return strings.ToValidUTF8(rapid.StringN(0, 12, -1).Draw(g.t, name), "\uFFFD")
}
