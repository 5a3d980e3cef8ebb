package view

import (
	"cmp"
	"fmt"
	"path"
	"sort"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// PreflightText is the facts of the preflight as plain text, in the same sections.
func PreflightText(s fleet.Snapshot, places []Listening) string {
	var b strings.Builder
	for _, x := range Preflight(s, places).Sections {
		fmt.Fprintf(&b, "## %s\n", x.Title)
		if x.Status != "ok" {
			fmt.Fprintf(&b, "%s: %s\n", x.Status, x.Why)
		}
		for _, line := range x.Lines {
			b.WriteString(line + "\n")
		}
		if len(x.Lines) == 0 && x.Status == "ok" {
			b.WriteString("None\n")
		}
	}
	return fleet.Redact(fleet.Text(b.String()))
}

// Preflight is the facts, in the sections of the seed's checklist. All thirteen
// are there even when empty; what has no section there follows when there is any.
func Preflight(s fleet.Snapshot, places []Listening) api.Preflight {
	out := api.Preflight{At: s.At.Wall.UTC(), From: fromView(s.From), Sections: []api.Section{
		section("system-resources", "System resources", s.Host.Sight, hostLines(s.Host.Value)),
		elsewhere("docker", "Docker", s.Engine.Sight, "no container engine is configured", containerLines(s.Engine.Value)),
		section("active-sessions", "Active sessions", s.Sessions.Sight, sessionLines(s)),
		section("phase-files", "Phase files", s.Phases.Sight, Each(s.Phases.Value, phaseLine)),
		section("stale-phase-clean-up", "Stale phase clean-up", s.Phases.Sight, cleanUpLines(s.Phases.Value)),
		section("lock-files", "Lock files", s.Locks.Sight, Each(s.Locks.Value, lockLine)),
		section("agent-logs", "Agent logs", s.Logs.Sight, logLines(s.Logs.Value)),
		elsewhere("ci-pipelines", "CI pipelines", s.CI.Sight, "no CI is configured", ciLines(s.CI.Value)),
		elsewhere("open-prs", "Open PRs", s.Forge.Sight, "no forge is configured", Each(s.Forge.Value.Pulls, pullLine)),
		elsewhere("issue-status", "Issue status", s.Forge.Sight, "no forge is configured", Each(s.Forge.Value.Projects, projectLine)),
		section("stale-worktrees", "Stale worktrees", s.Repos.Sight, Each(s.Repos.Value.Worktrees, worktreeLine)),
		section("pending-escalations", "Pending escalations", s.Phases.Sight, escalationLines(s.Phases.Value)),
		replySection(places),
	}}
	if !notLookedFor(s.Vaults.Sight) {
		out.Sections = append(out.Sections, section("pending-vault-items", "Pending vault items", s.Vaults.Sight, vaultLines(s.Vaults.Value)))
	}
	if repos := s.Repos.Value.Repos; len(repos) > 0 {
		out.Sections = append(out.Sections, section("repositories", "Repositories", s.Repos.Sight, Each(repos, repoLine)))
	}
	if extra := s.Extra.Value; len(extra) > 0 {
		out.Sections = append(out.Sections, section("extra-facts", "Extra facts", s.Extra.Sight, extraLines(extra)))
	}
	return out
}

func section(name, title string, sight fleet.Sight, lines []string) api.Section {
	if !sight.Usable() || lines == nil {
		lines = []string{}
	}
	return api.Section{Name: name, Title: title, Status: string(sight.Status), Why: sight.Why, Lines: lines}
}

func absent(name, title, why string) api.Section {
	return api.Section{Name: name, Title: title, Status: "not-configured", Why: why, Lines: []string{}}
}

func Each[T any](list []T, line func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, line(v))
	}
	return out
}

func hostLines(h fleet.Host) []string {
	out := []string{
		fmt.Sprintf("RAM: %s available of %s", leafSize(h.Memory.Available), leafSize(h.Memory.Total)),
		fmt.Sprintf("Swap: %s used of %s", leafSize(h.Swap.Used), leafSize(h.Swap.Total)),
		fmt.Sprintf("Load: %s %s %s on %s", leafFloat(h.Load.One), leafFloat(h.Load.Five), leafFloat(h.Load.Fifteen), fleet.Counted(h.CPUs, "CPU")),
		fmt.Sprintf("Pressure: cpu %s, memory %s, io %s", leafPercent(h.Pressure.CPU), leafPercent(h.Pressure.Memory), leafPercent(h.Pressure.IO)),
	}
	for _, m := range h.Mounts {
		out = append(out, mountLine(m))
	}
	return append(out, "OOM kills since boot: "+known(h.OOMKills, func(n int64) string { return fmt.Sprint(n) }), "Up: "+LeafSpan(h.Uptime))
}

func mountLine(m fleet.Mount) string {
	if !m.UsedPercent.IsKnown() {
		return fmt.Sprintf("Disk %s: %s", m.Path, leafPercent(m.UsedPercent))
	}
	line := fmt.Sprintf("Disk %s: %s used, %s available, inodes %s", m.Path, leafPercent(m.UsedPercent), leafSize(m.Available), leafPercent(m.InodesPercent))
	if full, ok := m.TimeToFull.Get(); ok {
		line += fmt.Sprintf(", full in %s at this rate", LeafSpan(fleet.Known(full)))
	}
	return line
}

// sessionLines lists every pane with the agent in it, then the agents that are
// in no pane.
func sessionLines(s fleet.Snapshot) []string {
	agents := map[fleet.PaneID]fleet.Agent{}
	var out []string
	for _, a := range s.Agents.Value {
		if a.Pane != nil {
			agents[a.Pane.ID] = a
		}
	}
	for _, p := range s.Sessions.Value {
		line := fmt.Sprintf("%s: %s", p.Name(), p.Command)
		if a, ok := agents[p.ID]; ok {
			line = fmt.Sprintf("%s: %s", p.Name(), agentWords(s.Now(a)))
		}
		if p.Attached > 0 {
			line += ", attached"
		}
		if p.Dead {
			line += ", dead, exit status " + leafInt(p.ExitStatus)
		}
		out = append(out, line)
	}
	for _, a := range s.Agents.Value {
		if a.Pane == nil {
			out = append(out, fmt.Sprintf("(no pane) %s: %s, %s", a.Name, agentWords(s.Now(a)), pidText(a)))
		}
	}
	return out
}

func pidText(a fleet.Agent) string {
	if a.Process.PID == 0 {
		return "not running"
	}
	return fmt.Sprintf("pid %d", a.Process.PID)
}

func agentWords(a fleet.Agent) string {
	line := fmt.Sprintf("%s %s", a.Kind, a.State)
	if a.Role != "" || a.Task != "" {
		line = strings.TrimSpace(a.Role+" "+a.Task) + ", " + line
	}
	if d := LeafSpan(a.Dwell); a.Dwell.IsKnown() {
		line += " for " + d
	}
	return line + fmt.Sprintf(" (%s: %s)", a.Source, a.Reason)
}

func phaseLine(p fleet.Phase) string {
	line := fmt.Sprintf("%s: %s", path.Base(p.Path), known(p.Phase, func(s string) string { return "PHASE:" + s }))
	if p.Reason != "" {
		line += " " + p.Reason
	}
	return line + fmt.Sprintf(" (%s ago)", LeafSpan(p.Age))
}

func isEscalation(p fleet.Phase) bool { return p.Phase.Or("") == "escalate" }

func cleanUpLines(list []fleet.Phase) []string {
	var out []string
	for _, p := range list {
		if isEscalation(p) {
			out = append(out, fmt.Sprintf("%s: issue closed: %s, %s old", path.Base(p.Path), closedText(p), LeafSpan(p.Age)))
		}
	}
	return out
}

// closedText says whether the issue of a phase file is closed, and since when.
func closedText(p fleet.Phase) string {
	if closed, known := p.Closed.Get(); known && closed && p.ClosedFor.IsKnown() {
		return "yes, for " + LeafSpan(p.ClosedFor)
	}
	return leafBool(p.Closed)
}

func escalationLines(list []fleet.Phase) []string {
	var out []string
	for _, p := range list {
		if isEscalation(p) {
			out = append(out, phaseLine(p))
		}
	}
	return out
}

// vaultLines lists what waits for a person, and what was approved of and is not dispatched.
func vaultLines(list []fleet.VaultItem) (out []string) {
	for _, v := range list {
		if v.State != fleet.VaultDispatched && v.State != fleet.VaultRejected {
			out = append(out, vaultLine(v))
		}
	}
	return out
}

func vaultLine(v fleet.VaultItem) string {
	line := fmt.Sprintf("%s: %s", v.Name, cmp.Or(v.Title, "(no title)"))
	if v.State == fleet.VaultMissing {
		line = fmt.Sprintf("%s: secrets are missing", v.Name)
	}
	if len(v.Secrets) > 0 {
		line += " [" + strings.Join(v.Secrets, ", ") + "]"
	}
	return line + fmt.Sprintf(" (%s for %s)", v.State, LeafSpan(v.Age))
}

func lockLine(l fleet.Lock) string {
	holder := known(l.Holder, func(h fleet.Holder) string { return string(h) })
	line := fmt.Sprintf("%s: PID=%s %s age=%s", path.Base(l.Path), leafInt(l.PID), holder, LeafSpan(l.Age))
	if l.Name != "" {
		line += " (" + l.Name + ")"
	}
	return line
}

// preflightTail is how many lines of a log are shown, as the seed shows them.
const preflightTail = 15

func logLines(list []fleet.Log) []string {
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%s (%s, written %s ago)", l.Path, leafSize(l.Bytes), LeafSpan(l.Age)))
		tail := l.Tail.Or(nil)
		for _, line := range tail[max(0, len(tail)-preflightTail):] {
			out = append(out, "  "+line)
		}
	}
	return out
}

func worktreeLine(w fleet.Worktree) string {
	line := fmt.Sprintf("%s: %s old, %s", w.Path, LeafSpan(w.Age), leafSize(w.Bytes))
	if merged, ok := w.Merged.Get(); ok && merged {
		line += ", merged"
	}
	switch removable, ok := w.Removable.Get(); {
	case ok && removable:
		return line + ", removable"
	case len(w.Obstacles) > 0:
		return line + ", not removable: " + strings.Join(w.Obstacles, "; ")
	case !ok:
		return line + ", removable: " + leafBool(w.Removable)
	}
	return line
}

func repoLine(r fleet.Repo) string {
	line := fmt.Sprintf("%s: on %s (primary %s)", r.Path, branchText(r.Branch), leafText(r.Primary))
	if op, ok := r.Operation.Get(); ok && op != "" {
		line += fmt.Sprintf(", %s in progress for %s", op, LeafSpan(r.OperationAge))
	}
	if n, ok := r.Dirty.Get(); ok && n > 0 {
		line += ", " + fleet.Counted(n, "changed file")
	}
	return line
}

func branchText(l fleet.Leaf[string]) string {
	if b, ok := l.Get(); ok && b == "" {
		return "a detached HEAD"
	}
	return leafText(l)
}

func extraLines(list []fleet.Extra) []string {
	var out []string
	for _, e := range list {
		var facts []string
		for name, v := range e.Numbers {
			facts = append(facts, name+"="+known(v, func(f float64) string { return fmt.Sprintf("%g", f) }))
		}
		for name, v := range e.Texts {
			facts = append(facts, name+"="+leafText(v))
		}
		sort.Strings(facts)
		out = append(out, fmt.Sprintf("%s (%s): %s", e.Name, e.Probe, strings.Join(facts, " ")))
	}
	return out
}
