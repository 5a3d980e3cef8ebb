package plugin

import (
	"regexp"
	"slices"
	"time"

	"custos/internal/nearest"
)

// gateTypes lists the types of gate.
func gateTypes() []GateType { return []GateType{Cooldown, Cron, Condition, Event, Manual} }

// Of the command of a gate: how long it may take, unless its gate says, and at
// most. It is asked again and again, so one that takes longer is no condition.
const (
	CheckTimeout = 10 * time.Second
	longestCheck = time.Minute
)

// checkGate holds a gate to what its type has.
func (r *reader) checkGate() {
	g := r.p.Gate
	line := r.line("gate.type")
	switch {
	case r.tree.doc["gate"] == nil:
		r.wrong(1, `there is no gate: say when it runs, as in type = "manual"`)
	case g.Type == "":
		r.wrong(line, "the gate has no type: want one of %s", words(gateTypes()))
	case !slices.Contains(gateTypes(), g.Type):
		r.wrong(line, "gate type %q is unknown, want one of %s%s", g.Type, words(gateTypes()), nearest.Hint(string(g.Type), each(gateTypes())))
	default:
		r.keysOf(g.Type)
		r.wants(g)
	}
}

// wants says what a gate cannot do without.
func (r *reader) wants(g Gate) {
	line := r.line("gate.type")
	switch {
	case g.Type == Cooldown && g.Duration == 0 && !r.has("duration"):
		r.wrong(line, `a gate of type cooldown wants a duration, as in duration = "12h"`)
	case g.Type == Cron && g.Schedule == "":
		r.wrong(line, `a gate of type cron wants a schedule, as in schedule = "0 9 * * *"`)
	case g.Type == Event && g.On == "":
		r.wrong(line, `a gate of type event wants on, as in on = "startup"`)
	case g.Type == Condition && r.has("when") == r.has("check"):
		r.wrong(line, "a gate of type condition wants either when (an expression) or check (a command)")
	case g.Timeout > longestCheck:
		r.wrong(r.line("gate.timeout"), "gate.timeout: a check may take at most %s: it is asked again and again", longestCheck)
	case g.Hosts != "" && g.Hosts != EachHost && g.Hosts != OneHost:
		r.wrong(r.line("gate.hosts"), "gate.hosts is %q, want each or one%s", g.Hosts, nearest.Hint(g.Hosts, []string{EachHost, OneHost}))
	case g.Hosts == OneHost && g.Type != Cron:
		r.wrong(r.line("gate.hosts"), `gate.hosts = "one": a gate of type %s is of each host; only the times of one of type cron are the same on all`, g.Type)
	case g.Type == Cooldown && g.Duration != 0 && g.Duration < time.Second:
		r.wrong(r.line("gate.duration"), "gate.duration is less than a second")
	}
}

func (r *reader) has(key string) bool {
	gate, _ := r.tree.doc["gate"].(map[string]any)
	_, there := gate[key]
	return there
}

// keysOf refuses keys that a gate of this type does nothing with: what was meant
// would never happen.
func (r *reader) keysOf(t GateType) {
	for _, k := range []struct {
		key string
		of  []GateType
	}{{"duration", []GateType{Cooldown, Condition}}, {"schedule", []GateType{Cron}}, {"zone", []GateType{Cron}}, {"when", []GateType{Condition}},
		{"check", []GateType{Condition}}, {"timeout", []GateType{Condition}}, {"on", []GateType{Event}}} {
		if r.has(k.key) && !slices.Contains(k.of, t) {
			r.wrong(r.line("gate."+k.key), "gate.%s: a gate of type %s has none; one of type %s has", k.key, t, words(k.of))
		}
	}
	if r.has("timeout") && !r.has("check") && t == Condition {
		r.wrong(r.line("gate.timeout"), "gate.timeout: it is how long check may take, and there is none")
	}
}

var (
	goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)
	goodEnv  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// checkNames refuses names that could be taken for something else. Values of
// variables do not stand in a file that others may read.
func (r *reader) checkNames() {
	if r.p.Name != "" && !goodName.MatchString(r.p.Name) {
		r.wrong(r.line("name"), "name %q: want at most 60 letters, digits, '.', '_' and '-', a letter or digit first", r.p.Name)
	}
	for _, name := range r.p.Env {
		if !goodEnv.MatchString(name) {
			r.wrong(r.line("env"), "env: %q is no name of a variable; only names stand here", name)
		}
	}
}

func each(list []GateType) (out []string) {
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}

func words(list []GateType) string {
	out := ""
	for i, t := range each(list) {
		switch {
		case i == 0:
		case i == len(list)-1:
			out += " or "
		default:
			out += ", "
		}
		out += t
	}
	return out
}
