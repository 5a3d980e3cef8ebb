package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/rules"
)

// scheduleSettings is a section [schedule.NAME] of custos.toml. Without every,
// cron, on and when the formula's own schedules are meant.
type scheduleSettings struct {
	Formula string            `toml:"formula" is:"name"`
	Project string            `toml:"project"`
	Vars    map[string]string `toml:"vars"`
	Every   string            `toml:"every" is:"duration"`
	Cron    string            `toml:"cron"`
	Zone    string            `toml:"zone"` // of cron; UTC
	On      string            `toml:"on"`
	When    string            `toml:"when"`
	Jitter  string            `toml:"jitter" is:"duration"`
	Enabled *bool             `toml:"enabled"`
}

// timetable is the schedules: those of custos.toml, and those that formulas of the
// user's own folders bring along. Formulas are read when the timetable is first
// asked for, and again when one of their files or folders changed.
type timetable struct {
	formulas *formulary
	given    map[string]scheduleSettings
	warn     func(msg string, args ...any)

	mu   sync.Mutex
	list []fleet.Schedule
	followed
	conditions map[string]*rules.Condition // by schedule
}

// newTimetable reads the sections. A schedule that makes no sense, or can never be
// due, refuses the whole configuration.
func newTimetable(cfg config.Config, b *formulary, warn func(string, ...any)) (*timetable, error) {
	t := &timetable{formulas: b, given: map[string]scheduleSettings{}, warn: warn}
	if err := cfg.Section("schedule", &t.given); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(t.given)) {
		if err := t.check(name, t.given[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("cannot read %s:%d: %w", cfg.File, cfg.LineOf("schedule."+name, err), err))
		}
	}
	return t, errors.Join(wrong...)
}

// check refuses what is wrong with a section by itself; whether its formula can be
// read may change, and is said where it is asked.
func (t *timetable) check(name string, g scheduleSettings) error {
	if !formulaName.MatchString(g.Formula) {
		return fmt.Errorf("[schedule.%s] formula: %q is no name of a formula", name, fleet.Line(g.Formula, 80))
	}
	if _, named := t.formulas.Projects[g.Project]; g.Project != "" && !named && !strings.HasPrefix(g.Project, "/") {
		return fmt.Errorf("[schedule.%s] project: there is no project %q in [formulas] projects", name, fleet.Line(g.Project, 80))
	}
	s, err := g.schedule(name)
	if err != nil || !s.timed() {
		return err
	}
	if err := ledger.CheckSchedule(s.Schedule); err != nil {
		return fmt.Errorf("[schedule.%s]: %w", name, err)
	}
	if s.When != "" {
		if _, err := rules.CompileCondition(s.When); err != nil {
			return fmt.Errorf("[schedule.%s] when: %w", name, err)
		}
	}
	return nil
}

// timing is a schedule without its run.
type timing struct{ fleet.Schedule }

// timed says whether it says when.
func (t timing) timed() bool { return t.Every != 0 || t.Cron != "" || t.On != "" || t.When != "" }

func (g scheduleSettings) schedule(name string) (timing, error) {
	s := timing{fleet.Schedule{Name: name, Cron: g.Cron, Zone: g.Zone, On: g.On, When: g.When, Enabled: g.Enabled == nil || *g.Enabled}}
	for _, f := range []struct {
		key, text string
		into      *fleet.Duration
	}{{"every", g.Every, &s.Every}, {"jitter", g.Jitter, &s.Jitter}} {
		if f.text == "" {
			continue
		}
		d, err := config.Duration(f.text)
		if err != nil {
			return s, fmt.Errorf("[schedule.%s] %s: %w", name, f.key, err)
		}
		*f.into = fleet.Duration(d)
	}
	return s, nil
}

// scheduleOf is a schedule as its formula has it.
func scheduleOf(s formula.Schedule) fleet.Schedule {
	return fleet.Schedule{Every: fleet.Duration(s.Every), Cron: s.Cron, On: s.On, When: s.When, Jitter: fleet.Duration(s.Jitter), Enabled: true}
}

// schedules returns the list, which is not to be changed.
func (t *timetable) schedules(ctx context.Context) []fleet.Schedule {
	list, _ := t.read(ctx)
	return list
}

// read returns the list, and the conditions in it; neither is to be changed.
func (t *timetable) read(ctx context.Context) ([]fleet.Schedule, map[string]*rules.Condition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reread(t.formulas.code.version, func() { t.load(ctx) })
	return t.list, t.conditions
}

// load reads every formula that is scheduled.
func (t *timetable) load(ctx context.Context) {
	t.list, t.sources, t.conditions = nil, slices.Clone(t.formulas.dirs), map[string]*rules.Condition{}
	for _, name := range slices.Sorted(maps.Keys(t.given)) {
		g := t.given[name]
		s, err := g.schedule(name)
		if err == nil {
			t.add(ctx, s, g)
		}
	}
	for _, dir := range t.formulas.own {
		for _, name := range t.formulas.formulasIn(dir) {
			if !t.names(name) {
				t.add(ctx, timing{fleet.Schedule{Name: name, Enabled: true}}, scheduleSettings{Formula: name})
			}
		}
	}
	for _, s := range t.list {
		if s.Broken != "" {
			t.warn("A schedule cannot run", "schedule", s.Name, "formula", s.Run.Formula, "why", s.Broken)
		}
	}
}

// broken says which schedules cannot run, and why; "" when all can. Those that
// nobody wants to run are none of them.
func (t *timetable) broken(ctx context.Context) string {
	var out []string
	for _, s := range t.schedules(ctx) {
		if s.Broken != "" && s.Enabled && t.formulas.disabled(s.Run.Formula) == "" {
			out = append(out, fleet.Line(s.Name, 60)+": "+fleet.Line(s.Broken, 200))
		}
	}
	return fleet.Line(strings.Join(out, "; "), 1000)
}

// names says whether a section names the formula: then it alone says when.
func (t *timetable) names(name string) bool {
	for _, g := range t.given {
		if g.Formula == name {
			return true
		}
	}
	return slices.ContainsFunc(t.list, func(s fleet.Schedule) bool { return s.Run.Formula == name })
}

// add adds the schedule, or, where none is given, those of the formula itself.
func (t *timetable) add(ctx context.Context, s timing, g scheduleSettings) {
	r, err := t.formulas.read(api.FormulaQuery{Name: g.Formula, Project: g.Project, Vars: g.Vars, Render: s.timed()})
	if err == nil && !s.timed() && len(r.f.Schedules) > 0 { // what is not scheduled needs no values
		r, err = t.formulas.read(api.FormulaQuery{Name: g.Formula, Project: g.Project, Vars: g.Vars, Render: true})
	}
	t.sources = append(t.sources, r.f.File)
	s.Run = fleet.Run{Formula: g.Formula, Project: g.Project}
	switch {
	case err != nil:
		s.Broken = fleet.Line(err.Error(), 500)
	case r.refused():
		s.Broken = errorsOf(r.problems)
	default:
		work := r.dir
		if work == "" {
			work, _ = os.UserHomeDir()
		}
		s.Run = t.formulas.template(ctx, r, work)
	}
	if s.timed() {
		t.put(s.Schedule)
		return
	}
	own := r.f.Schedules
	if (s.Broken != "" || len(own) == 0) && t.given[s.Name].Formula != "" {
		s.Broken = cmp.Or(s.Broken, "neither the section nor the formula says when")
		t.put(s.Schedule)
	}
	for i, of := range own {
		one := scheduleOf(of)
		one.Name, one.Run, one.Broken, one.Enabled, one.Zone = s.Name, s.Run, s.Broken, s.Enabled, g.Zone
		if i > 0 {
			one.Name = fmt.Sprintf("%s-%d", s.Name, i+1)
		}
		if err := ledger.CheckSchedule(one); err != nil && one.Broken == "" {
			one.Broken = fleet.Line(err.Error(), 300)
		}
		t.put(one)
	}
}

func (t *timetable) put(s fleet.Schedule) {
	if s.When != "" {
		c, err := rules.CompileCondition(s.When)
		if err != nil {
			s.Broken = cmp.Or(s.Broken, fleet.Line(err.Error(), 300))
		}
		t.conditions[s.Name] = c
	}
	t.list = append(t.list, s)
}

// policy is what may run by itself now. Conditions are judged by the snapshot.
func (t *timetable) policy(ctx context.Context, snap *fleet.Snapshot) fleet.RunPolicy {
	list, conditions := t.read(ctx)
	p := fleet.RunPolicy{Schedules: slices.Clone(list)}
	var view *rules.View
	for i := range p.Schedules {
		s := &p.Schedules[i]
		if why := t.formulas.disabled(s.Run.Formula); why != "" && !slices.Contains(p.Disabled, s.Run.Formula) {
			p.Disabled = append(p.Disabled, s.Run.Formula)
		}
		// A disabled formula is not begun and skipped again and again: it is not due.
		s.Enabled = s.Enabled && !slices.Contains(p.Disabled, s.Run.Formula)
		if c := conditions[s.Name]; c != nil {
			if view == nil {
				view = rules.NewView(snap, true)
			}
			s.Holds = holds(c, view)
		}
	}
	return p
}

// restsOn lists the parts that the conditions read.
func (t *timetable) restsOn(ctx context.Context) (parts []fleet.PartName) {
	_, conditions := t.read(ctx)
	for _, c := range conditions {
		if c != nil {
			parts = append(parts, c.Parts()...)
		}
	}
	return parts
}

// holds is nil when it cannot be told.
func holds(c *rules.Condition, v *rules.View) *bool {
	answer, _ := c.Test(v)
	if answer != rules.True && answer != rules.False {
		return nil
	}
	is := answer == rules.True
	return &is
}

// scheduleWords says in words when a schedule is due.
func scheduleWords(s fleet.Schedule) string {
	out := ""
	switch {
	case s.Every != 0:
		out = "every " + s.Every.String()
	case len(s.Check) > 0:
		out = "when " + strings.Join(s.Check, " ") + " ends with 0"
	case s.Rest != 0 && s.When == "":
		out = s.Rest.String() + " after its end"
	case s.Cron != "":
		out = strings.TrimSpace("cron " + s.Cron + " " + s.Zone)
	case s.On != "":
		out = "on " + s.On
	case s.When != "":
		out = "when " + s.When
	}
	if s.Jitter > 0 {
		out += ", up to " + s.Jitter.String() + " later"
	}
	return fleet.Line(out, 200)
}

// rows lists the schedules for people.
func (s *system) scheduleRows(ctx context.Context) ([]api.ScheduleRow, error) {
	now := s.world.Now()
	past, err := s.recall(ctx)
	if err != nil {
		return nil, err
	}
	policy := s.timetable.policy(ctx, s.lookedAt(ctx, past, s.timetable.restsOn(ctx)))
	rows := make([]api.ScheduleRow, 0, len(policy.Schedules))
	for _, of := range policy.Schedules {
		row := api.ScheduleRow{Name: of.Name, Formula: of.Run.Formula, Project: of.Run.Project, When: scheduleWords(of), Source: of.Run.Source,
			Enabled: of.Enabled, NextAt: []time.Time{}, Holds: of.Holds}
		if last := lastOf(past.Runs, of.Name); last != nil {
			at := last.At.Wall.UTC()
			row.LastRun, row.LastAt, row.LastDone = last.ID, &at, string(last.State)
		}
		row.WhyNot = whyNot(of, past, s.formulas.disabled(of.Run.Formula))
		if row.WhyNot == "" {
			row.NextAt = nextTimes(of, past, now)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func lastOf(runs []fleet.Run, schedule string) (last *fleet.Run) {
	for i := range runs {
		if runs[i].Schedule == schedule && (last == nil || last.At.Before(runs[i].At)) {
			last = &runs[i]
		}
	}
	return last
}

// whyNot says why a schedule starts nothing now; "" when only its time is awaited.
func whyNot(s fleet.Schedule, past fleet.Past, disabled string) string {
	switch {
	case s.Broken != "":
		return s.Broken
	case disabled != "":
		return "disabled: " + disabled
	case !s.Enabled:
		return "its section says enabled = false"
	}
	for _, r := range past.Runs {
		if !r.IsOver() && r.Flight() == s.Run.Flight() {
			return "run " + r.ID + " of it is " + string(r.State)
		}
	}
	switch {
	case s.Conditional() && s.Holds == nil:
		return "it cannot be told whether its condition holds"
	case s.Conditional() && !*s.Holds:
		return "its condition does not hold"
	case s.On != "":
		return "nothing has happened that it waits for"
	}
	return ""
}

// foretold is how many of the next times are told.
const foretold = 3

// nextTimes are the moments a schedule is due next, as the ledger itself reckons
// them: with its delay.
func nextTimes(s fleet.Schedule, past fleet.Past, at fleet.Instant) []time.Time {
	out := []time.Time{}
	s.Enabled = true
	for len(out) < foretold {
		due, next := runs.Due(fleet.RunPolicy{Schedules: []fleet.Schedule{s}}, past, fleet.Snapshot{At: at}, fleet.Assessment{})
		switch {
		case len(due) > 0 && due[0].IsOver(): // what is only written down
			past.Runs = append(slices.Clone(past.Runs), due[0])
		case len(due) > 0:
			done := due[0]
			done.State, done.EndedAt = fleet.RunDone, at
			past.Runs = append(slices.Clone(past.Runs), done)
			out = append(out, at.Wall.UTC())
		case next.IsZero() || !at.Before(next):
			return out
		default:
			at = next
		}
	}
	return out
}
