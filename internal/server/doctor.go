package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// doctor says what is wrong with the installation.
func (s *server) doctor(req *http.Request, _ Caller) (any, error) {
	categories := req.URL.Query()["category"]
	if err := CheckCategories(categories); err != nil {
		return nil, err
	}
	e := s.examine(req.Context(), categories, req.URL.Query().Get("version"))
	return s.diagnosed(req.Context(), e, categories), nil
}

// examine finds out what the checks of the categories need. asker is the version of
// the program that asks.
func (s *server) examine(ctx context.Context, categories []string, asker string) Examination {
	e := Examination{At: s.Now(), Version: s.Version, Asker: asker, Daemon: !s.InProcess, Rules: s.Rules.Rules()}
	if needed(all(e.Rules), categories, wantsFleet) {
		s.examineFleet(ctx, &e)
	}
	if s.Examine == nil {
		e.NoInstallation = "nobody looks into the installation here"
		return e
	}
	e.Installation = s.Examine(ctx, func(category string) bool { return chosen(categories, category) }) // after a look: it tells which logs there are
	return e
}

// diagnosed is the diagnosis, with what of it Custos itself can mend.
func (s *server) diagnosed(ctx context.Context, e Examination, categories []string) api.Doctor {
	out := Diagnose(e, categories)
	out.Fix = s.fix(ctx, e, out.Checks)
	return out
}

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

// needed says whether a check of the categories needs something; none means all.
func needed(checks []check, categories []string, what int) bool {
	return slices.ContainsFunc(checks, func(c check) bool { return c.needs&what != 0 && chosen(categories, c.category) })
}

func chosen(categories []string, c string) bool {
	return len(categories) == 0 || slices.Contains(categories, c)
}

// examineFleet adds what a look and the ledger tell. What fails is told by the
// checks that need it.
func (s *server) examineFleet(ctx context.Context, e *Examination) {
	if s.Anew != nil {
		s.Anew(ctx)
	}
	pass, err := s.Cycle.Look(ctx, stare)
	if err != nil {
		e.NoPass = why(err)
	} else {
		e.Pass = &pass
	}
	if e.Formulas, err = s.Control.Formulas.Formulas(ctx); err != nil {
		e.NoFormulas = why(err)
	}
	if e.Schedules, err = s.Control.Schedules(ctx); err != nil {
		e.NoSchedules = why(err)
	}
	if e.Told, err = s.HookLog.HookEvents(ctx, HookFilter{Since: e.At.Add(-toldSince), Limit: toldMost}); err != nil {
		e.NoTold = why(err)
	}
}

// why is an error as the reason of a check.
func why(err error) string { return fleet.Line(err.Error(), 300) }

// Diagnose judges what was found: all categories, or those that are named; and the
// configuration, where it is why others cannot be judged. It is pure.
func Diagnose(e Examination, categories []string) api.Doctor {
	broken := e.Installation.Config.Err != ""
	out := api.Doctor{At: e.At.Wall.UTC(), Version: e.Version, Daemon: e.Daemon, Checks: []api.DoctorCheck{}, Fix: nothing()}
	for _, c := range all(e.Rules) {
		if chosen(categories, c.category) || broken && c.category == "config" && c.needs == 0 {
			out.Checks = append(out.Checks, c.view(e))
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
	return out
}

func (c check) view(e Examination) api.DoctorCheck {
	v := c.blind(e)
	if v.state == "" {
		v = c.judge(&e)
	}
	return api.DoctorCheck{Category: c.category, Name: c.name, State: v.state, Why: fleet.Redact(fleet.Line(v.why, 600)), Command: v.command, Mends: mends(v.heals)}
}

// blind says why a check cannot be made; the zero verdict when it can.
func (c check) blind(e Examination) verdict {
	switch {
	case c.needs&wantsConfig != 0 && e.Installation.Config.Err != "":
		return cannot("the configuration cannot be read")
	case c.needs&wantsPlaces != 0 && e.NoInstallation != "":
		return cannot(e.NoInstallation)
	case c.needs&wantsFleet != 0 && e.Pass == nil:
		return cannot(unlooked(&e))
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
