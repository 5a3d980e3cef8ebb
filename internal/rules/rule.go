package rules

import (
	"sort"

	"custos/internal/fleet"
)

// Rule is one line of the table: what is wrong, how bad, and what to do.
type Rule struct {
	Name          string
	What          string // one sentence for people
	Priority      fleet.Priority
	Over          fleet.Kind // what it ranges over
	Expr          string     // CEL, bool
	For           fleet.Duration
	KeepFiringFor fleet.Duration
	ForPatrols    int    // fires once so many patrols in a row found it true; 0: does not count patrols
	TellAfter     int    // people are notified once so many patrols in a row found it true; 0: as soon as it fires
	Summary       string // CEL, string
	Actions       []Action
	Mode          fleet.Mode
	Cooldown      fleet.Duration
	Attempts      fleet.Attempts
	Spacing       fleet.Spacing // of the attempts; empty: growing
	CausedBy      []string      // rules whose alerts explain this one
	Runbook       string
	Lists         string // command that lists what it ranges over; with one, the sixth and all that follow are one finding
	Category      string // of custos doctor, where it is a check; "": it is none
	Enabled       bool

	expr, summary *expression
	leaves        []leaf
	parts         []fleet.PartName
}

// Action is what a rule asks for.
type Action struct {
	Do      string
	Targets fleet.Kind // empty: the finding's own subject
	Where   string     // CEL, bool; empty: every target
	Order   string     // CEL with an optional "asc" or "desc" behind it
	Limit   int        // at most so many targets at once; 0: no limit of its own
	Text    string     // what to type (nudge), or why (stop): words of the table alone, never of an agent

	where, order *expression
	descending   bool
}

// Kind returns what the action is done to, in a rule over the given kind.
func (a Action) Kind(over fleet.Kind) fleet.Kind {
	if a.Targets == "" {
		return over
	}
	return a.Targets
}

// Remedy returns what decide needs to know of the rule.
func (r *Rule) Remedy() fleet.Remedy {
	return fleet.Remedy{Mode: r.Mode, Cooldown: r.Cooldown, Attempts: r.Attempts, Spacing: r.Spacing}
}

// Parts returns the parts of a snapshot the rule rests on, sorted.
func (r *Rule) Parts() []fleet.PartName { return r.parts }

// Set is a rule table, checked and compiled.
type Set struct {
	rules  []*Rule // by priority, then name
	byName map[string]*Rule
}

// Rules returns every rule, those switched off too, by priority, then name.
func (s *Set) Rules() []*Rule { return s.rules }

// Rule returns the named rule, or nil.
func (s *Set) Rule(name string) *Rule { return s.byName[name] }

// Names returns the names of all rules, sorted.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.byName))
	for name := range s.byName {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func newSet(rules []*Rule) *Set {
	s := &Set{rules: rules, byName: make(map[string]*Rule, len(rules))}
	for _, r := range rules {
		s.byName[r.Name] = r
	}
	sort.Slice(rules, func(i, j int) bool {
		if rules[i].Priority != rules[j].Priority {
			return rules[i].Priority < rules[j].Priority
		}
		return rules[i].Name < rules[j].Name
	})
	return s
}
