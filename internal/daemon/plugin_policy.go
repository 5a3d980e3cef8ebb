package daemon

import (
	"context"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/library"
)

// pluginFacts tells of the plugins, and how their runs went.
func (s *system) pluginFacts(ctx context.Context) []fleet.PluginFacts {
	var out []fleet.PluginFacts
	known := map[string]bool{}
	for _, x := range s.library.Plugins.All(ctx) {
		name := fleet.Line(x.Name, 100)
		if known[name] { // it is broken for that; what is told of it is not told of the other
			name = fleet.Path(x.Dir)
		}
		known[name] = true
		f := fleet.PluginFacts{Name: name, Source: fleet.Path(x.File), Broken: x.Broken, Gate: string(x.Gate.Type), Notify: x.Notify,
			Grade: gradeOf(x.Severity), Disabled: s.library.Plugins.Disabled(x), Failures: fleet.Known(0)}
		if x.Broken == "" {
			s.countFailures(ctx, x.Schedule.Name, &f)
		}
		out = append(out, f)
	}
	return out
}

func gradeOf(severity string) fleet.Priority {
	if severity == "" {
		return fleet.P3
	}
	return fleet.Priority(severity)
}

// countFailures notes how the newest runs went. One that was skipped or cancelled
// tells nothing, and one that is still going on neither.
func (s *system) countFailures(ctx context.Context, formula string, f *fleet.PluginFacts) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	runs, err := runPort{s}.Runs(ctx, fleet.RunFilter{Formula: formula, Limit: library.RunsCounted})
	if err != nil {
		f.Failures = fleet.Unknown[int](fleet.Line(err.Error(), 200))
		return
	}
	f.Last, f.Why = library.Outcome(runs)
	f.Failures = fleet.Known(library.FailuresInARow(runs))
}

// due is what may run by itself now: formulas by schedule, and plugins. One command
// starts nothing that it was not asked for.
func (s *system) due(seen *fleet.Snapshot) fleet.RunPolicy {
	if !s.daemon {
		return fleet.RunPolicy{}
	}
	ctx := context.Background()
	p := s.library.Due(ctx, seen)
	s.events.Fill(ctx, p.Schedules, s.world.Now())
	return p
}

// checksLook is how long an answer waits for the first look at checks that are new.
const checksLook = 3 * time.Second

// lookAtNewChecks has the checks of plugins that were written since the last look be run
// now, and not with the next one.
func (s *system) lookAtNewChecks(ctx context.Context) {
	if !s.daemon {
		return // one command runs no command of a plugin that it was not asked for
	}
	known := s.board.Snapshot().Checks.Value
	isNew := func(c fleet.PluginCheck) bool {
		return !slices.ContainsFunc(known, func(k fleet.GateCheck) bool { return k.Gate == c.Formula })
	}
	if !slices.ContainsFunc(s.library.Plugins.Checks(ctx), isNew) {
		return
	}
	s.board.Touched(fleet.PartChecks)
	ctx, cancel := context.WithTimeout(ctx, checksLook)
	defer cancel()
	s.board.Await(ctx, fleet.PartChecks)
}

// lookedAt is what conditions are judged by outside of a pass, once the parts that they
// rest on were looked at.
func (s *system) lookedAt(ctx context.Context, past fleet.Past, parts []fleet.PartName) *fleet.Snapshot {
	if slices.Contains(parts, fleet.PartCoordination) { // which is made of these
		parts = append(parts, fleet.PartAgents, fleet.PartForge, fleet.PartBeads, fleet.PartCI, fleet.PartChecks)
	}
	s.board.Await(ctx, parts...)
	if slices.Contains(parts, fleet.PartChecks) {
		s.lookAtNewChecks(ctx)
	}
	snap := s.board.Snapshot()
	s.seeHub(&snap)
	snap.Coordination = ledger.Facts(past, snap)
	return &snap
}
