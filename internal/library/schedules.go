package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"custos/internal/api"
	"custos/internal/config"
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
	Hosts   string            `toml:"hosts"` // each or one
	Enabled *bool             `toml:"enabled"`
}

// Schedules are those of custos.toml, and those that formulas of the user's own
// folders bring along. Formulas are read when the list is first asked for, and again
// when one of their files or folders changed.
type Schedules struct {
	formulas *Formulas
	given    map[string]scheduleSettings
	warn     func(msg string, args ...any)

	mu   sync.Mutex
	list []Schedule
	followed
}

// Schedule is one as it was read.
type Schedule struct {
	fleet.Schedule
	when *rules.Condition // nil without one
}

// compiled compiles the condition of a schedule.
func compiled(s fleet.Schedule) (out Schedule, err error) {
	out.Schedule = s
	if s.When != "" {
		out.when, err = rules.CompileCondition(s.When)
	}
	return out, err
}

// newSchedules reads the sections. A schedule that makes no sense, or can never be
// due, refuses the whole configuration.
func newSchedules(cfg config.Config, b *Formulas, warn func(string, ...any)) (*Schedules, error) {
	t := &Schedules{formulas: b, given: map[string]scheduleSettings{}, warn: warn}
	if err := cfg.Section("schedule", &t.given); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range keys(t.given) {
		if err := t.check(name, t.given[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("cannot read %s:%d: %w", cfg.File, cfg.LineOf("schedule."+name, err), err))
		}
	}
	return t, errors.Join(wrong...)
}

// check refuses what is wrong with a section by itself; whether its formula can be
// read may change, and is said where it is asked.
func (t *Schedules) check(name string, g scheduleSettings) error {
	if !IsName(g.Formula) {
		return fmt.Errorf("[schedule.%s] formula: %q is no name of a formula", name, fleet.Line(g.Formula, 80))
	}
	if _, named := t.formulas.Projects[g.Project]; g.Project != "" && !named && !strings.HasPrefix(g.Project, "/") {
		return fmt.Errorf("[schedule.%s] project: there is no project %q in [formulas] projects", name, fleet.Line(g.Project, 80))
	}
	s, err := g.schedule(name)
	if err != nil || !isTimed(s) {
		return err
	}
	if err := ledger.CheckSchedule(s); err != nil {
		return fmt.Errorf("[schedule.%s]: %w", name, err)
	}
	if _, err := compiled(s); err != nil {
		return fmt.Errorf("[schedule.%s] when: %w", name, err)
	}
	return nil
}

// isTimed says whether it says when.
func isTimed(s fleet.Schedule) bool {
	return s.Every != 0 || s.Cron != "" || s.On != "" || s.When != ""
}

func (g scheduleSettings) schedule(name string) (fleet.Schedule, error) {
	s := fleet.Schedule{Name: name, Cron: g.Cron, Zone: g.Zone, On: g.On, When: g.When, Hosts: fleet.Hosts(g.Hosts), Enabled: g.Enabled == nil || *g.Enabled}
	if s.Hosts != "" && s.Hosts != fleet.HostsEach && s.Hosts != fleet.HostsOne {
		return s, fmt.Errorf("[schedule.%s] hosts: %q is neither each nor one", name, fleet.Line(g.Hosts, 80))
	}
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
	return fleet.Schedule{Every: fleet.Duration(s.Every), Cron: s.Cron, On: s.On, When: s.When, Jitter: fleet.Duration(s.Jitter), Hosts: fleet.Hosts(s.Hosts), Enabled: true}
}

// All returns the list, which is not to be changed.
func (t *Schedules) All(ctx context.Context) []Schedule {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reread(t.formulas.code.version, func() { t.load(ctx) })
	return t.list
}

// load reads every formula that is scheduled.
func (t *Schedules) load(ctx context.Context) {
	t.list, t.sources = nil, slices.Clone(t.formulas.dirs)
	for _, name := range keys(t.given) {
		g := t.given[name]
		s, err := g.schedule(name)
		if err == nil {
			t.add(ctx, s, g)
		}
	}
	for _, dir := range t.formulas.dirs {
		for _, name := range t.formulas.formulasIn(dir) {
			if !t.names(name) {
				t.add(ctx, fleet.Schedule{Name: name, Enabled: true}, scheduleSettings{Formula: name})
			}
		}
	}
	for _, s := range t.list {
		if s.Broken != "" {
			t.warn("A schedule cannot run", "schedule", s.Name, "formula", s.Run.Formula, "why", s.Broken)
		}
	}
}

// Broken says which schedules cannot run, and why; "" when all can. Those that
// nobody wants to run are none of them.
func (t *Schedules) Broken(ctx context.Context) string {
	var out []string
	for _, s := range t.All(ctx) {
		if s.Broken != "" && s.Enabled && t.formulas.Disabled(s.Run.Formula) == "" {
			out = append(out, fleet.Line(s.Name, 60)+": "+fleet.Line(s.Broken, 200))
		}
	}
	return fleet.Line(strings.Join(out, "; "), 1000)
}

// names says whether a section names the formula: then it alone says when.
func (t *Schedules) names(name string) bool {
	for _, g := range t.given {
		if g.Formula == name {
			return true
		}
	}
	return slices.ContainsFunc(t.list, func(s Schedule) bool { return s.Run.Formula == name })
}

// add adds the schedule, or, where none is given, those of the formula itself.
func (t *Schedules) add(ctx context.Context, s fleet.Schedule, g scheduleSettings) {
	r, err := t.readFormula(g, isTimed(s))
	t.sources = append(t.sources, r.Formula.File)
	s.Run = fleet.Run{Formula: g.Formula, Project: g.Project}
	switch {
	case err != nil:
		s.Broken = fleet.Line(err.Error(), 500)
	case r.Refused():
		s.Broken = r.Errors()
	default:
		work := r.Dir
		if work == "" {
			work, _ = os.UserHomeDir()
		}
		s.Run = t.formulas.Template(ctx, r, work)
	}
	if isTimed(s) {
		t.put(s)
		return
	}
	t.addOwn(s, r.Schedules(), g.Zone)
}

// readFormula reads what is scheduled. What is not scheduled needs no values.
func (t *Schedules) readFormula(g scheduleSettings, timed bool) (Reading, error) {
	q := api.FormulaQuery{Name: g.Formula, Project: g.Project, Vars: g.Vars, Render: timed}
	r, err := t.formulas.Read(q)
	if err == nil && !timed && len(r.Formula.Schedules) > 0 {
		q.Render = true
		return t.formulas.Read(q)
	}
	return r, err
}

// addOwn adds the schedules that a formula brings along, with the run of s.
func (t *Schedules) addOwn(s fleet.Schedule, own []fleet.Schedule, zone string) {
	if (s.Broken != "" || len(own) == 0) && t.given[s.Name].Formula != "" {
		s.Broken = cmp.Or(s.Broken, "neither the section nor the formula says when")
		t.put(s)
	}
	for i, one := range own {
		one.Name, one.Run, one.Broken, one.Enabled, one.Zone = s.Name, s.Run, s.Broken, s.Enabled, zone
		one.Hosts = cmp.Or(s.Hosts, one.Hosts)
		if i > 0 {
			one.Name = fmt.Sprintf("%s-%d", s.Name, i+1)
		}
		if err := ledger.CheckSchedule(one); err != nil && one.Broken == "" {
			one.Broken = fleet.Line(err.Error(), 300)
		}
		t.put(one)
	}
}

func (t *Schedules) put(s fleet.Schedule) {
	one, err := compiled(s)
	if err != nil {
		one.Broken = cmp.Or(s.Broken, fleet.Line(err.Error(), 300))
	}
	t.list = append(t.list, one)
}

// Policy is what of the list may run by itself now.
func (t *Schedules) Policy(ctx context.Context, snap *fleet.Snapshot) fleet.RunPolicy {
	return t.formulas.policy(t.All(ctx), snap)
}

// RestsOn lists the parts that the conditions read.
func (t *Schedules) RestsOn(ctx context.Context) []fleet.PartName { return restsOn(t.All(ctx)) }
