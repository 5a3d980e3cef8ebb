package daemon

import (
	"context"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/plugin"
	"custos/internal/rules"
	"custos/internal/store"
)

// policy adds what plugins may run by themselves now. Conditions are judged by the
// snapshot.
func (s *pluginShelf) policy(ctx context.Context, p *fleet.RunPolicy, snap *fleet.Snapshot) {
	var view *rules.View
	for _, x := range s.all(ctx) {
		one := x.schedule
		if x.broken != "" || x.Gate.Type == plugin.Manual {
			continue
		}
		if x.when != nil && view == nil {
			view = rules.NewView(snap, true)
		}
		switch {
		case x.when != nil:
			one.Holds = holds(x.when, view)
		case len(one.Check) > 0:
			one.Holds = checked(snap, one.Name)
		}
		if s.formulas.switchedOff(one.Name) != "" {
			p.Disabled = append(p.Disabled, one.Name)
			one.Enabled = false
		}
		p.Schedules = append(p.Schedules, one)
	}
}

// restsOn lists the parts that tell whether gates are open.
func (s *pluginShelf) restsOn(ctx context.Context) (parts []fleet.PartName) {
	for _, x := range s.all(ctx) {
		switch {
		case x.when != nil:
			parts = append(parts, x.when.Parts()...)
		case len(x.schedule.Check) > 0:
			parts = append(parts, fleet.PartChecks)
		}
	}
	return parts
}

// checked is what the command of a gate said lately; nil when it cannot be told.
func checked(snap *fleet.Snapshot, name string) *bool {
	i := slices.IndexFunc(snap.Checks.Value, func(c fleet.GateCheck) bool { return c.Gate == name })
	if i < 0 || !snap.Checks.Usable() || !snap.Checks.Fresh() {
		return nil
	}
	is, known := snap.Checks.Value[i].Holds.Get()
	if !known {
		return nil
	}
	return &is
}

// checks lists the commands that tell whether gates are open.
func (s *pluginShelf) checks(ctx context.Context) (list []fleet.PluginCheck) {
	for _, x := range s.all(ctx) {
		if x.broken != "" || x.Disabled || len(x.Gate.Check) == 0 || s.formulas.switchedOff(x.schedule.Name) != "" {
			continue
		}
		timeout := x.Gate.Timeout
		if timeout == 0 {
			timeout = plugin.CheckTimeout
		}
		list = append(list, fleet.PluginCheck{Formula: x.schedule.Name, Argv: x.schedule.Check, Dir: x.dir, Env: x.Env, Timeout: fleet.Duration(timeout)})
	}
	return list
}

// runsCounted is how many runs of a plugin are looked at for how many failed in a
// row.
const runsCounted = 50

// pluginFacts tells of the plugins, and how their runs went.
func (s *system) pluginFacts(ctx context.Context) []fleet.PluginFacts {
	var out []fleet.PluginFacts
	known := map[string]bool{}
	for _, x := range s.plugins.all(ctx) {
		name := fleet.Line(x.Name, 100)
		if known[name] { // it is broken for that; what is told of it is not told of the other
			name = fleet.Path(x.dir)
		}
		known[name] = true
		f := fleet.PluginFacts{Name: name, Source: fleet.Path(x.File), Broken: x.broken, Gate: string(x.Gate.Type), Notify: x.Notify,
			Grade: gradeOf(x.Severity), Disabled: s.plugins.disabled(x), Failures: fleet.Known(0)}
		if x.broken == "" {
			s.countFailures(ctx, x.schedule.Name, &f)
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

// disabled says why a plugin is not run; "" when it is.
func (s *pluginShelf) disabled(x shelved) string {
	if x.Disabled {
		return "its " + plugin.File + " says disabled"
	}
	return s.formulas.switchedOff(fleet.PluginFormula(x.Name))
}

// countFailures notes how the newest runs went. One that was skipped or cancelled
// tells nothing, and one that is still going on neither.
func (s *system) countFailures(ctx context.Context, formula string, f *fleet.PluginFacts) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	runs, err := s.runsOf(ctx, formula, runsCounted)
	if err != nil {
		f.Failures = fleet.Unknown[int](fleet.Line(err.Error(), 200))
		return
	}
	f.Last, f.Why = lastOutcome(runs)
	f.Failures = fleet.Known(failuresInARow(runs))
}

// runsOf lists the newest runs of a formula, the newest last.
func (s *system) runsOf(ctx context.Context, formula string, most int) ([]fleet.Run, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Run, error) {
		return st.Runs(ctx, store.RunFilter{Formula: formula, Limit: most})
	})
}

// lastOutcome is the state of the newest run, and why the newest failure failed.
func lastOutcome(runs []fleet.Run) (state fleet.RunState, why string) {
	for _, r := range slices.Backward(runs) {
		if state == "" {
			state = r.State
		}
		if r.State == fleet.RunFailed {
			return state, fleet.Line(r.Why, 300)
		}
	}
	return state, ""
}

func failuresInARow(runs []fleet.Run) (n int) {
	for _, r := range slices.Backward(runs) {
		switch r.State {
		case fleet.RunFailed:
			n++
		case fleet.RunDone:
			return n
		}
	}
	return n
}

// due is what may run by itself now: formulas by schedule, and plugins. One command
// starts nothing that it was not asked for.
func (s *system) due(seen *fleet.Snapshot) fleet.RunPolicy {
	if !s.daemon {
		return fleet.RunPolicy{}
	}
	ctx := context.Background()
	p := s.timetable.policy(ctx, seen)
	s.plugins.policy(ctx, &p, seen)
	s.events.fill(ctx, p.Schedules, s.world.Now())
	return p
}

// lookedAt is what conditions are judged by outside of a pass, once the parts that they
// rest on were looked at.
func (s *system) lookedAt(ctx context.Context, past fleet.Past, parts []fleet.PartName) *fleet.Snapshot {
	if slices.Contains(parts, fleet.PartCoordination) { // which is made of these
		parts = append(parts, fleet.PartAgents, fleet.PartForge, fleet.PartBeads, fleet.PartCI, fleet.PartChecks)
	}
	s.board.Await(ctx, parts...)
	snap := s.board.Snapshot()
	snap.Coordination = ledger.Facts(past, snap)
	return &snap
}

// disabled says why a formula, or a plugin, does not run; "" when it may. The
// switches of a factory are for formulas.
func (s *system) disabled(formula string) string {
	if _, is := fleet.PluginOf(formula); is {
		return s.formulas.switchedOff(formula)
	}
	return s.formulas.disabled(formula)
}
