package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/brokentoml"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// Source is a whole custos.toml. Only its `rule` table is read here.
type Source struct {
	Name string // as it is named in errors
	Text []byte
}

// BrokenRule is the name of the finding that an expression failed while it
// ran. It is no line of the table.
const BrokenRule = "rule-broken"

// Checker parses rule tables and knows what there is beyond them.
type Checker struct {
	// Actions are those there are; nil: do not check. Only what the overlays ask
	// for is checked: what the first table asks for and is not there, because it
	// is switched off or cannot be done on this machine, is refused by decide.
	Actions []string
}

// Parse reads a rule table and lays others over it: an overlay changes single
// keys of a rule that is there, or adds rules, whose mode is observe unless
// they say otherwise. name is what errors call the table. Every mistake of every
// source is reported at once, each with its file and line, and so is an action
// that does not exist.
func (c Checker) Parse(name string, table []byte, overlays ...Source) (*Set, error) {
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	r := &reader{drafts: map[string]*draft{}, actions: c.Actions, compiler: compiler}
	r.read(Source{name, table})
	for _, o := range overlays {
		r.read(o)
	}
	rules := r.finish()
	if len(r.mistakes) > 0 {
		return nil, r.failed()
	}
	return newSet(rules), nil
}

// place is where something was written.
type place struct {
	source string
	order  int // of the source
	line   int
}

// firstTable is the order of the table that others are laid over.
const firstTable = 1

// mistake is one error with its place.
type mistake struct {
	place
	err error
}

// draft is a rule while it is being read.
type draft struct {
	Rule
	at   place
	keys map[string]place // of the keys that were set
}

func (d *draft) place(key string) place {
	if p, ok := d.keys[key]; ok {
		return p
	}
	return d.at
}

// reader reads sources one over the other.
type reader struct {
	drafts   map[string]*draft
	actions  []string
	compiler *compiler
	sources  int
	mistakes []mistake
}

func (r *reader) wrong(at place, format string, args ...any) {
	r.mistakes = append(r.mistakes, mistake{at, fmt.Errorf(format, args...)})
}

// failed returns all mistakes as one error, in the order of the files.
func (r *reader) failed() error {
	sort.SliceStable(r.mistakes, func(i, j int) bool {
		a, b := r.mistakes[i], r.mistakes[j]
		if a.order != b.order {
			return a.order < b.order
		}
		return a.line < b.line
	})
	var all []error
	for _, m := range r.mistakes {
		all = append(all, fmt.Errorf("cannot read %s:%d: %w", m.source, m.line, m.err))
	}
	return errors.Join(all...)
}

func (r *reader) read(s Source) {
	r.sources++
	file := place{source: s.Name, order: r.sources, line: 1}
	var doc map[string]any
	if err := toml.Unmarshal(s.Text, &doc); err != nil {
		r.wrongTOML(file, err)
		return
	}
	if doc["rule"] == nil {
		return
	}
	lines := keyLines(s.Text)
	table, ok := doc["rule"].(map[string]any)
	if !ok {
		r.wrong(file.on(lines, "rule"), "rule is %s, want tables like [rule.NAME]", kindOf(doc["rule"]))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		at := file.on(lines, "rule", name)
		if keys, ok := table[name].(map[string]any); ok {
			r.readRule(name, keys, at, lines)
		} else {
			r.wrong(at, "rule %q is %s, want a table", name, kindOf(table[name]))
		}
	}
}

func (r *reader) wrongTOML(file place, err error) {
	var d *toml.DecodeError
	if errors.As(err, &d) {
		file.line, _ = d.Position()
	}
	r.wrong(file, "%s", brokentoml.Plain(err))
}

func (r *reader) readRule(name string, keys map[string]any, at place, lines lineTable) {
	d := r.drafts[name]
	if d == nil {
		if !isRuleName(name) || name == BrokenRule {
			r.wrong(at, "rule name %q cannot be used: want lower-case letters, digits and dashes, and not %s", name, BrokenRule)
			return
		}
		d = &draft{at: at, keys: map[string]place{}}
		d.Name, d.Enabled, d.Mode = name, true, fleet.ModeObserve
		r.drafts[name] = d
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		where := at.on(lines, "rule", name, key)
		set, ok := setters()[key]
		if !ok {
			r.wrong(where, "unknown key %q%s", key, nearest.Hint(key, slices.Sorted(maps.Keys(setters()))))
			continue
		}
		d.keys[key] = where
		if err := set(&d.Rule, keys[key]); err != nil {
			r.wrong(where, "rule %q, %s: %w", name, key, err)
		}
	}
}

func isRuleName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// finish checks and compiles every draft.
func (r *reader) finish() []*Rule {
	var rules []*Rule
	for _, name := range slices.Sorted(maps.Keys(r.drafts)) {
		d := r.drafts[name]
		r.check(d)
		rules = append(rules, &d.Rule)
	}
	return rules
}

func (r *reader) check(d *draft) {
	r.checkNeeds(d)
	for _, cause := range d.CausedBy {
		if r.drafts[cause] == nil {
			r.wrong(d.place("caused_by"), "rule %q, caused_by: there is no rule %q%s", d.Name, cause, nearest.Hint(cause, slices.Sorted(maps.Keys(r.drafts))))
		}
	}
	if countable := []fleet.Kind{fleet.KindConvoy, fleet.KindGate, fleet.KindMail, fleet.KindMerge, fleet.KindVault, fleet.KindWork}; d.Lists != "" && (len(d.Actions) > 0 || !slices.Contains(countable, d.Over)) {
		r.wrong(d.place("lists"), "rule %q, lists: only a rule over %s, without actions, makes one finding of many", d.Name, strings.Join(names(countable), ", "))
	}
	if d.Summary == "" {
		d.Summary = "'" + d.Name + "'"
	}
	if d.Over != "" && d.Expr != "" {
		r.compile(d)
	}
}

// checkNeeds refuses a rule that lacks what each needs. One that is nearly called like
// another was to change that.
func (r *reader) checkNeeds(d *draft) {
	for _, key := range []string{"priority", "over", "expr"} {
		if _, written := d.keys[key]; written {
			continue
		}
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(r.drafts)), func(name string) bool { return name == d.Name })
		if hint := nearest.Hint(d.Name, others); hint != "" {
			r.wrong(d.at, "there is no rule %q%s", d.Name, hint)
			return
		}
		r.wrong(d.at, "rule %q has no %s", d.Name, key)
	}
}

func (r *reader) compile(d *draft) {
	d.expr = r.expression(d, "expr", d.Expr, boolType(), d.Over)
	d.summary = r.expression(d, "summary", d.Summary, stringType(), d.Over)
	for i := range d.Actions {
		r.compileAction(d, &d.Actions[i])
	}
	if d.expr == nil {
		return
	}
	d.parts = partsOf(d.Over, d.expr.uses)
	leaves, err := r.compiler.leavesOf(d.expr, d.Over)
	if err != nil {
		r.wrong(d.place("expr"), "rule %q, expr: %w", d.Name, err)
	}
	d.leaves = leaves
}

func (r *reader) compileAction(d *draft, a *Action) {
	at := d.place("actions")
	if r.actions != nil && at.order > firstTable && !slices.Contains(r.actions, a.Do) {
		r.wrong(at, "rule %q, actions: there is no action %q%s", d.Name, a.Do, nearest.Hint(a.Do, r.actions))
	}
	kind := a.Kind(d.Over)
	if !slices.Contains(names(targetKinds()), string(kind)) {
		r.wrong(at, "rule %q, actions: %s needs targets: nothing can be done to a %s itself", d.Name, a.Do, kind)
		return
	}
	if a.Where != "" {
		a.where = r.expression(d, "actions", a.Where, boolType(), d.Over, a.Targets)
	}
	if a.Order != "" {
		source, descending := splitOrder(a.Order)
		a.descending = descending
		a.order = r.expression(d, "actions", source, nil, d.Over, a.Targets)
	}
}

func (p place) on(lines lineTable, path ...string) place {
	if n := lines.of(path...); n > 0 {
		p.line = n
	}
	return p
}
