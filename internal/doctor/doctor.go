// Package doctor says what is wrong with the installation and with what Custos stands on,
// one check a line. What Custos watches in any case is found by rules, and each rule with a
// category is a check. The table of checks has the rest: what nothing can be alerted by,
// since no daemon runs then or the configuration is broken; what takes too long for each
// patrol, or asks servers (pages of the database, ends of logs, chats); and what only says
// how much of a part was seen. It judges what was gathered, and knows no clock.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// CheckCategories refuses what is no category, and says which one was meant.
func CheckCategories(given []string) error {
	all := fleet.Categories()
	for _, c := range given {
		if slices.Contains(all, c) {
			continue
		}
		meant := nearest.Hint(c, all)
		if meant == "" {
			meant = "; there are " + strings.Join(all, ", ")
		}
		return &api.Error{Kind: api.BadInput, Hint: "custos help doctor", Message: fmt.Sprintf("cannot examine %q: there is no such category%s", fleet.Line(c, 60), meant)}
	}
	return nil
}

// NeedsLook says whether a check of the categories needs a look at the fleet.
func (e Examination) NeedsLook(categories []string) bool {
	return slices.ContainsFunc(all(e.Rules), func(c check) bool { return c.needs == look && Chosen(categories, c.category) })
}

// Chosen says whether a category is asked for; none given means all.
func Chosen(categories []string, c string) bool {
	return len(categories) == 0 || slices.Contains(categories, c)
}

// Why is an error as the reason of a check; "" for none.
func Why(err error) string {
	if err == nil {
		return ""
	}
	return fleet.Line(err.Error(), 300)
}

// Diagnose judges what was found: all categories, or those that are named; and the
// configuration, where it is why others cannot be judged. It returns the alerts, too,
// whose actions mend what is wrong, each once.
func Diagnose(e Examination, categories []string) (api.Doctor, []fleet.AlertKey) {
	var heal []fleet.AlertKey
	broken := e.Installation.Config.Err != ""
	out := api.Doctor{At: e.At.Wall.UTC(), Version: e.Version, Daemon: e.Daemon, Checks: []api.DoctorCheck{}, Fix: api.DoctorFix{Actions: []api.Deed{}, Skipped: []api.Refusal{}, Done: []api.Outcome{}}}
	for _, c := range all(e.Rules) {
		if Chosen(categories, c.category) || broken && c.category == "config" && c.needs == nothing {
			v := c.verdict(&e)
			heal = append(heal, v.heals...)
			out.Checks = append(out.Checks, c.view(v))
		}
	}
	for _, c := range out.Checks {
		switch c.State {
		case api.CheckOK:
			out.Counts.OK++
		case api.CheckWarn:
			out.Counts.Warn++
		case api.CheckBad:
			out.Counts.Bad++
		default:
			out.Counts.Cannot++
		}
	}
	if d, is := e.setAside(); is && Chosen(categories, "databases") {
		out.Fix.Actions = append(out.Fix.Actions, d)
	}
	return out, unique(heal)
}

func unique(list []fleet.AlertKey) (out []fleet.AlertKey) {
	for _, k := range list {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (c check) verdict(e *Examination) verdict {
	if v := c.blind(e); v.state != "" {
		return v
	}
	return c.judge(e)
}

func (c check) view(v verdict) api.DoctorCheck {
	return api.DoctorCheck{Category: c.category, Name: c.name, State: v.state, Why: fleet.Redact(fleet.Line(v.why, 600)), Command: v.command, Mends: mends(v.heals)}
}

// blind says why a check cannot be made; the zero verdict when it can.
func (c check) blind(e *Examination) verdict {
	switch {
	case c.needs >= config && e.Installation.Config.Err != "":
		return cannot("the configuration cannot be read")
	case c.needs == look && e.Pass == nil:
		return cannot(unlooked(e))
	}
	return verdict{}
}

// unlooked is why there is no look to judge by.
func unlooked(e *Examination) string { return cmp.Or(e.NoPass, "nobody looked") }

// verdict is what a check found.
type verdict struct {
	state, why, command string
	heals               []fleet.AlertKey // the alerts whose actions mend it
}

func ok(format string, args ...any) verdict {
	return verdict{state: api.CheckOK, why: fmt.Sprintf(format, args...)}
}

func warn(format string, args ...any) verdict {
	return verdict{state: api.CheckWarn, why: fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) verdict {
	return verdict{state: api.CheckBad, why: fmt.Sprintf(format, args...)}
}

func cannot(reason string) verdict { return verdict{state: api.CheckCannot, why: reason} }

// by names the command that mends it.
func (v verdict) by(argv ...string) verdict {
	if len(argv) == 1 { // a whole command line
		v.command = argv[0]
		return v
	}
	v.command = api.Typed(argv...)
	return v
}

// healed names the alert whose actions mend it, as far as the guards let them.
func (v verdict) healed(rule string, of fleet.Subject) verdict {
	v.heals = append(v.heals, fleet.AlertKey{Rule: rule, Subject: of})
	return v
}

// gravity orders the states: the worst is what a check tells first. What cannot be
// told outranks a mere warning, because it may hide something bad.
func gravity(state string) int {
	return slices.Index([]string{"", api.CheckOK, api.CheckWarn, api.CheckCannot, api.CheckBad}, state)
}

// worst joins what was found of many things: the worst state, the reasons of all
// that is not ok, the worst first, and the command of the first. well is said when
// all is.
func worst(list []verdict, well string, args ...any) verdict {
	list = slices.DeleteFunc(slices.Clone(list), func(v verdict) bool { return gravity(v.state) <= gravity(api.CheckOK) })
	if len(list) == 0 {
		return ok(well, args...)
	}
	slices.SortStableFunc(list, func(a, b verdict) int { return gravity(b.state) - gravity(a.state) })
	out := list[0]
	out.heals = nil
	reasons := make([]string, 0, len(list))
	for _, v := range list {
		out.heals = append(out.heals, v.heals...)
		if reasons = append(reasons, v.why); out.command == "" {
			out.command = v.command
		}
	}
	out.why = some(reasons)
	return out
}

// someShown is how many of many are told by name.
const someShown = 3

// some joins the first few of a list.
func some(list []string) string {
	if n := len(list); n > someShown {
		return strings.Join(list[:someShown], "; ") + fmt.Sprintf("; and %d more", n-someShown)
	}
	return strings.Join(list, "; ")
}
