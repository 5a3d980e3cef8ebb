package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"custos/internal/nearest"
)

// Checks is what Check must be told, since this package knows nothing of it.
// What is nil is not checked.
type Checks struct {
	Uses   []string           // the built-ins there are
	Agents []string           // the kinds of agent there are
	Cron   func(string) error // refuses an expression that is wrong or can never fire
	When   func(string) error // refuses a CEL expression that is wrong
	Gate   func(Gate) error   // refuses a gate that makes no sense
}

// Check says what would spoil a run of a resolved formula. It runs nothing.
func Check(f Formula, c Checks) []Problem {
	k := &checker{f: f, checks: c}
	if n := countSteps(f); n > maxSteps {
		k.wrong(f.Places.of("steps"), "the formula has %d steps: at most %d are run", n, maxSteps)
		return k.sorted()
	}
	k.formula()
	k.variables()
	k.schedules()
	k.convoy()
	k.steps(f.Steps, nil)
	k.steps(f.Template, nil)
	if at, cycle := findCycle(flat(f.Steps)); len(cycle) > 0 {
		k.wrong(at, "the steps wait for each other: %s", strings.Join(cycle, " → "))
	}
	return k.sorted()
}

type checker struct {
	problems
	f      Formula
	checks Checks
}

func (k *checker) formula() {
	f := k.f
	k.oneOf(f.Places.of("type"), "type", string(f.Type), []string{string(workflow), string(convoy), string(expansion), string(aspect)})
	k.oneOf(f.Places.of("mode"), "mode", string(f.Mode), []string{string(Session), string(Headless), string(Steps)})
	if f.Agent != "" && k.checks.Agents != nil {
		k.oneOf(f.Places.of("agent"), "agent", f.Agent, k.checks.Agents)
	}
	if f.Parallel < 1 || f.Parallel > 64 {
		k.wrong(f.Places.of("parallel"), "parallel is %d, want 1 to 64", f.Parallel)
	}
	if f.Compose != nil || len(f.Extends) > 0 {
		k.wrong(f.Places[""], "the formula builds on others, which were not brought in")
	}
	for _, word := range f.Context.Run {
		k.oneOf(f.Context.Places.of("run"), "context: run", word, Looks())
	}
	k.hasWork()
}

// Looks lists what can be looked at for a prompt: the facts of the preflight, and
// what is wrong now. A command is a step's matter.
func Looks() []string { return []string{"preflight", "findings"} }

func (k *checker) oneOf(at Place, what, written string, all []string) {
	if !slices.Contains(all, written) {
		k.wrong(at, "%s %q is unknown, want one of %s%s", what, written, strings.Join(all, ", "), nearest.Hint(written, all))
	}
}

func (k *checker) hasWork() {
	f := k.f
	n, want := len(f.Steps), "[[steps]]"
	switch f.Type {
	case convoy:
		n, want = len(f.Legs), "[[legs]]"
	case expansion:
		n, want = len(f.Template), "[[template]]"
	case aspect:
		n, want = len(f.Aspects)+len(f.Advice), "[[advice]] or [[aspects]]"
	}
	if n == 0 {
		k.wrong(f.Places[""], "the formula has nothing to do: a %s needs %s", f.Type, want)
	}
}

var varRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (k *checker) variables() {
	env := map[string]string{}
	for _, v := range k.all() {
		if !varRE.MatchString(v.Name) || len(v.Name) > 64 {
			k.wrong(v.Places[""], "variable %q: want letters, digits, dashes and underscores, not more than 64", v.Name)
		}
		if other, ok := env[EnvName(v.Name)]; ok {
			k.wrong(v.Places[""], "variables %q and %q are both $%s", other, v.Name, EnvName(v.Name))
		}
		env[EnvName(v.Name)] = v.Name
		k.variable(v)
	}
}

func (k *checker) variable(v Var) {
	if err := v.check(""); err != nil {
		k.wrong(v.Places.of("pattern"), "variable %q: %v", v.Name, err)
		return
	}
	if v.Default != nil {
		if err := v.check(*v.Default); err != nil && *v.Default != "" {
			k.wrong(v.Places.of("default"), "variable %q, default: %v", v.Name, err)
		}
	}
	for _, o := range v.RequiredUnless {
		if _, ok := k.f.variable(o); !ok {
			k.wrong(v.Places.of("required_unless"), "variable %q is required unless %q, which is no variable", v.Name, o)
		}
	}
}

func (k *checker) all() []Var { return append(slices.Clone(k.f.Vars), k.f.Inputs...) }

func (f Formula) variable(name string) (Var, bool) {
	for _, list := range [][]Var{f.Vars, f.Inputs} {
		if i := slices.IndexFunc(list, func(v Var) bool { return v.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Var{}, false
}

func (k *checker) schedules() {
	for _, s := range k.f.Schedules {
		n := 0
		for _, given := range []bool{s.Every > 0, s.Cron != "", s.On != "", s.When != ""} {
			if given {
				n++
			}
		}
		if n != 1 {
			k.wrong(s.Places[""], "a schedule has one of every, cron, on and when; this has %d", n)
		}
		switch {
		case s.Hosts != "" && s.Hosts != "each" && s.Hosts != "one":
			k.wrong(s.Places.of("hosts"), "hosts is %q, want each or one", s.Hosts)
		case s.Hosts == "one" && s.Cron == "":
			k.wrong(s.Places.of("hosts"), `hosts = "one" needs cron: no other time is the same on each host`)
		}
		k.told(s.Places.of("cron"), "cron", s.Cron, k.checks.Cron)
		k.told(s.Places.of("when"), "when", s.When, k.checks.When)
	}
}

func (k *checker) told(at Place, what, text string, check func(string) error) {
	if text == "" || check == nil {
		return
	}
	if err := check(text); err != nil {
		k.wrong(at, "%s: %v", what, err)
	}
}

func (k *checker) convoy() {
	f := k.f
	var legs []string
	for _, l := range f.Legs {
		legs = append(legs, l.ID)
		k.id(l.Places.of("id"), l.ID, "leg")
	}
	k.twice(legs, func(i int) Place { return f.Legs[i].Places.of("id") }, "legs")
	if s := f.Synthesis; s != nil {
		k.known(s.Places.of("needs"), "synthesis", s.Needs, legs)
	}
	for _, p := range f.Presets {
		k.known(p.Places.of("legs"), "preset "+p.Name, p.Legs, legs)
	}
}

func (k *checker) known(at Place, who string, names, all []string) {
	for _, n := range names {
		if !slices.Contains(all, n) {
			k.wrong(at, "%s needs %q, which is not there%s", who, n, nearest.Hint(n, all))
		}
	}
}

func (k *checker) twice(ids []string, at func(int) Place, what string) {
	seen := map[string]int{}
	for i, id := range ids {
		if first, ok := seen[id]; ok {
			k.wrong(at(i), "two %s have the id %q (the other is in line %d)", what, id, at(first).Line)
			continue
		}
		seen[id] = i
	}
}

// steps checks steps that may name each other. scope holds the variables of
// the loops around them.
func (k *checker) steps(steps []Step, scope []string) {
	all := level(steps)
	ids := idsOf(all)
	k.twice(ids, func(i int) Place { return all[i].Places.of("id") }, "steps")
	for _, s := range all {
		k.known(s.Places.of("needs"), fmt.Sprintf("step %q", s.ID), s.Needs, ids)
		k.known(s.Places.of("waits_for"), fmt.Sprintf("step %q", s.ID), s.WaitsFor.Steps, ids)
		k.step(s, scope)
		if s.Loop != nil {
			k.loop(*s.Loop, scope)
		}
	}
}

// level lists steps and their children as they are, without the bodies of loops.
func level(steps []Step) (out []Step) {
	for _, s := range steps {
		out = append(append(out, s), level(s.Children)...)
	}
	return out
}

// flat lists steps and their children with all they wait for: a step waits for
// its children, and they for what it needs. Loops stay closed.
func flat(steps []Step) (out []Step) {
	for _, s := range steps {
		below := flat(s.Children)
		for i := range below {
			below[i].Needs = union(slices.Clone(below[i].Needs), s.waits()...)
		}
		for _, c := range s.Children {
			s.Needs = union(slices.Clone(s.Needs), c.ID)
		}
		out = append(append(out, s), below...)
	}
	return out
}

func (k *checker) loop(l Loop, scope []string) {
	forms := 0
	for _, given := range []bool{l.Count > 0, l.Range != "", l.Until != ""} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		k.wrong(l.Places[""], "a loop has one of count, range and until; this has %d", forms)
	case l.Count > maxIterations || l.Max > maxIterations:
		k.wrong(l.Places[""], "a loop goes round at most %d times", maxIterations)
	case l.Until != "" && hasCommands(l.Body):
		k.wrong(l.Places.of("until"), "until can only be judged by an agent, and the body has commands: write count and a condition")
	}
	if l.Var != "" {
		scope = append(slices.Clone(scope), l.Var)
	}
	k.steps(l.Body, scope)
	if at, cycle := findCycle(flat(l.Body)); len(cycle) > 0 {
		k.wrong(at, "the steps wait for each other: %s", strings.Join(cycle, " → "))
	}
}

func hasCommands(steps []Step) (found bool) {
	every(steps, func(s *Step) { found = found || !s.Prose() })
	return found
}
