package view

import (
	"cmp"
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// elsewhere is a section on what is not on this machine's disk. Where nothing of
// the kind is configured, it says so.
func elsewhere(name, title string, sight fleet.Sight, none string, lines []string) api.Section {
	if notLookedFor(sight) {
		return absent(name, title, none)
	}
	return section(name, title, sight, lines)
}

func describeElsewhere(s *fleet.Snapshot, of fleet.Subject) []string {
	switch of.Kind {
	case fleet.KindContainer:
		return found(s.Engine.Value.Containers, func(c fleet.Container) string { return c.Name }, of.Name, said(containerLine, func(c fleet.Container) fleet.Owner { return c.Owner }))
	case fleet.KindProject:
		return found(s.Forge.Value.Projects, func(p fleet.Project) string { return p.Name }, of.Name, said(projectLine, func(p fleet.Project) fleet.Owner { return p.Owner }))
	case fleet.KindIssue:
		return found(s.Forge.Value.Issues, func(i fleet.Issue) string { return i.Name }, of.Name, said(issueLine, func(i fleet.Issue) fleet.Owner { return i.Owner }))
	case fleet.KindPull:
		return found(s.Forge.Value.Pulls, func(p fleet.PullRequest) string { return p.Name }, of.Name, said(pullLine, func(p fleet.PullRequest) fleet.Owner { return p.Owner }))
	case fleet.KindPipeline:
		return found(s.CI.Value.Pipelines, func(p fleet.Pipeline) string { return p.Name }, of.Name, said(pipelineLine, func(p fleet.Pipeline) fleet.Owner { return p.Owner }))
	case fleet.KindWorker:
		return found(s.CI.Value.Workers, func(w fleet.Worker) string { return w.Name }, of.Name, said(workerLine, func(w fleet.Worker) fleet.Owner { return w.Owner }))
	}
	return describeRecord(&s.Coordination.Value, of)
}

// said describes a thing by its line, and whose it is.
func said[T any](line func(T) string, whose func(T) fleet.Owner) func(T) []string {
	return func(v T) []string { return []string{line(v), owner(whose(v))} }
}

func containerLines(e fleet.Engine) []string {
	lines := Each(e.Containers, containerLine)
	if n, ok := e.Dangling.Get(); ok && n > 0 {
		lines = append(lines, "Images that nothing uses: "+leafSize(e.Dangling))
	}
	if n, ok := e.BuildCache.Get(); ok && n > 0 {
		lines = append(lines, "Build cache that nothing used for a day: "+leafSize(e.BuildCache))
	}
	return lines
}

func containerLine(c fleet.Container) string {
	parts := []string{fmt.Sprintf("Container %s: %s", c.Name, leafText(c.State)), "health " + leafText(c.Health)}
	if n, ok := c.Restarts.Get(); ok && n > 0 {
		parts = append(parts, fleet.Counted(n, "restart"))
	}
	if oom, _ := c.OOM.Get(); oom {
		parts = append(parts, "out of memory")
	}
	if c.Image != "" {
		parts = append(parts, "image "+c.Image)
	}
	return strings.Join(parts, ", ")
}

func projectLine(p fleet.Project) string {
	return fmt.Sprintf("%s (%s): %s ready, %s in progress, %s blocked", p.Name, p.Repo, leafInt(p.Ready), leafInt(p.InProgress), leafInt(p.Blocked))
}

func issueLine(i fleet.Issue) string {
	state := known(i.Open, func(open bool) string {
		if open {
			return "open"
		}
		return "closed " + LeafSpan(i.Closed) + " ago"
	})
	line := fmt.Sprintf("%s %q: %s", i.Name, i.Title, state)
	if by, ok := i.BlockedBy.Get(); ok && len(by) > 0 {
		line += ", blocked by " + strings.Join(by, ", ")
	}
	if i.Agent != "" {
		line += ", " + i.Agent + " works on it"
	}
	return line
}

func pullLine(p fleet.PullRequest) string {
	line := fmt.Sprintf("%s %q: checks %s, review %s, pushed %s ago", p.Name, p.Title, leafText(p.Checks), leafText(p.Review), LeafSpan(p.Pushed))
	if conflict, _ := p.Conflict.Get(); conflict {
		line += ", in conflict"
	}
	if p.Agent != "" {
		line += ", " + p.Agent + " works on it"
	}
	return line
}

func ciLines(c fleet.CI) []string {
	return append(Each(c.Pipelines, pipelineLine), Each(c.Workers, workerLine)...)
}

func pipelineLine(p fleet.Pipeline) string {
	line := fmt.Sprintf("%s on %s: %s", p.Name, cmp.Or(p.Branch, "no branch"), leafText(p.State))
	switch {
	case p.Running.Or(0) > 0:
		line += " for " + LeafSpan(p.Running)
	case p.Pending.Or(0) > 0:
		line += ", waits for " + LeafSpan(p.Pending)
	}
	if p.Cause != "" {
		line += ", " + p.Cause
	}
	return line
}

func workerLine(w fleet.Worker) string {
	return fmt.Sprintf("Worker %s: %s", w.Name, known(w.Healthy, func(ok bool) string {
		if ok {
			return "healthy"
		}
		return "not healthy: " + cmp.Or(w.Why, "it does not say why")
	}))
}
