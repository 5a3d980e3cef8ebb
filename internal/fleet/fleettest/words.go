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
	case reflect.TypeFor[fleet.AgentState]():
		return []string{"starting", "dialog", "working", "idle", "waiting", "rate_limited", "auth_lost", "context_high",
			"stuck", "looping", "zombie", "crashed", "finished", "stopped", "unknown"}
	case reflect.TypeFor[fleet.Progress]():
		return []string{"some", "none", "unknown"}
	case reflect.TypeFor[fleet.Status]():
		return []string{"ok", "ok", "ok", "stale", "pending", "unknown", "absent"}
	case reflect.TypeFor[fleet.Owner]():
		return []string{"custos", "adopted", "configured", "foreign"}
	case reflect.TypeFor[fleet.Holder]():
		return []string{"alive", "dead", "reused", "unknown"}
	case reflect.TypeFor[fleet.Kind]():
		return []string{"host", "mount", "session", "agent", "repo", "worktree", "lock", "phase", "log", "part", "self", "extra", "run",
			"container", "project", "issue", "pr", "pipeline", "worker"}
	case reflect.TypeFor[fleet.Priority]():
		return []string{"P0", "P1", "P2", "P3", "P4"}
	case reflect.TypeFor[fleet.Mode]():
		return []string{"observe", "ask", "auto"}
	case reflect.TypeFor[fleet.AlertStatus]():
		return []string{"pending", "firing", "resolved"}
	case reflect.TypeFor[fleet.ActionStage]():
		return []string{"planned", "started", "ended"}
	case reflect.TypeFor[fleet.ResultStatus]():
		return []string{"done", "unneeded", "refused", "failed", "unverified", "in_doubt"}
	case reflect.TypeFor[fleet.Guard]():
		return []string{"in-flight", "frozen", "mode", "foreign", "cooldown", "attempts", "approval", "verdict"}
	case reflect.TypeFor[fleet.RunState]():
		return []string{"running", "running", "needs a person", "done", "failed", "skipped", "cancelled"}
	case reflect.TypeFor[fleet.StepState]():
		return []string{"waiting", "ready", "running", "done", "failed", "skipped", "needs a person"}
	case reflect.TypeFor[fleet.StepDo]():
		return []string{"run", "uses", "prose"}
	case reflect.TypeFor[fleet.RunMode]():
		return []string{"steps", "session", "headless"}
	case reflect.TypeFor[fleet.ProcState]():
		return []string{"none", "running", "ended", "failed", "in doubt", "unknown"}
	case reflect.TypeFor[fleet.VerdictWord]():
		return []string{"retry", "extend", "interrupt", "restart", "stop", "ask"}
	case reflect.TypeFor[fleet.PartName]():
		return partNames()
	}
	return nil
}

func partNames() []string {
	var out []string
	for _, p := range fleet.PartNames() {
		out = append(out, string(p))
	}
	return out
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
