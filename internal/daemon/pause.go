package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// pausePort is the paused projects as the server's port wants it.
type pausePort struct{ s *system }

var _ control.Pauses = pausePort{}

// Pause writes a pause down, or its end, and has a pass judge what that changes.
func (p pausePort) Pause(ctx context.Context, project string, resume bool, by, why string) error {
	now := p.s.world.Now()
	past, err := p.s.recall(ctx)
	if err != nil {
		return err
	}
	paused := fleet.PausedProjects(past.Silences)
	q := fleet.PauseProject(project, by, why, now)
	if resume {
		q = fleet.ResumeProject(project, by, now)
		err = oneOf("resume", project, slices.Sorted(maps.Keys(paused)), "is paused")
	} else {
		p.s.board.Await(ctx, fleet.PartForge)
		err = oneOf("pause", project, projectsOf(p.s.board.Snapshot(), past), "is known: no agent, forge or run names it")
	}
	if err != nil {
		return err
	}
	if err := p.s.begin(ctx); err != nil {
		return err
	}
	st, err := p.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	if err := st.Pause(ctx, q); err != nil {
		return err
	}
	p.s.loop.Stir()
	p.s.loop.Wake("pause of a project")
	return nil
}

// oneOf refuses a name that is none of the known ones: a slip would hold nothing.
func oneOf(do, project string, known []string, what string) error {
	if slices.Contains(known, project) {
		return nil
	}
	return fmt.Errorf("cannot %s: %w: no project %q %s%s", do, ledger.ErrIllegal, fleet.Line(project, 80), what, nearest.Hint(project, known))
}

// projectsOf lists the projects that agents, forges and runs name.
func projectsOf(snap fleet.Snapshot, past fleet.Past) []string {
	all := map[string]bool{}
	for _, r := range past.Registrations {
		all[r.Project] = true
	}
	for _, r := range past.Runs {
		all[r.Project] = true
	}
	for _, p := range snap.Forge.Value.Projects {
		all[p.Name] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// pausedLines says which projects are paused, for people.
func pausedLines(past fleet.Past) []string {
	paused := fleet.PausedProjects(past.Silences)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(paused)) {
		q := paused[name]
		line := fmt.Sprintf("%s, by %s since %s", name, q.By, q.From.Wall.UTC().Format("2006-01-02 15:04 UTC"))
		if q.Why != "" {
			line += ": " + q.Why
		}
		out = append(out, line)
	}
	return out
}
