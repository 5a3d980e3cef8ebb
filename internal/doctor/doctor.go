// Package doctor says what is wrong with the installation and with what Custos stands on,
// one check a line. What Custos watches in any case is found by rules, and each rule with a
// category is a check: there is one threshold for each thing, in the rules. The table of
// checks has the rest, each for one of these reasons: it must be answered where no look can
// be made, with a database or folders that are broken; it takes too long for each patrol, or
// asks servers (pages of the database, ends of logs, chats); it depends on the program that
// asks; or it says how much of a part was seen. It judges what was gathered, without a clock.
package doctor

import (
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
	out := api.Doctor{At: e.At.Wall.UTC(), Version: e.Version, Daemon: e.Daemon, Checks: []api.DoctorCheck{},
		Fix: api.DoctorFix{Actions: []api.Deed{}, Skipped: []api.Refusal{}, Done: []api.Outcome{}}}
	var mends []fleet.AlertKey
	counts := map[string]*int{api.CheckOK: &out.Counts.OK, api.CheckWarn: &out.Counts.Warn, api.CheckBad: &out.Counts.Bad, api.CheckCannot: &out.Counts.Cannot}
	for _, c := range all(e.Rules) {
		if !Chosen(categories, c.category) && (e.Installation.Config.Err == "" || c.name != "read") {
			continue
		}
		v := c.verdict(&e)
		out.Checks = append(out.Checks, c.view(v))
		*counts[v.state]++
		mends = append(mends, v.mends...)
	}
	if d, is := e.setAside(); is && Chosen(categories, "databases") {
		out.Fix.Actions = append(out.Fix.Actions, d)
	}
	return out, unique(mends)
}

func unique(list []fleet.AlertKey) (out []fleet.AlertKey) {
	for _, k := range list {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// verdict is what a check finds, or why it cannot be made.
func (c check) verdict(e *Examination) verdict {
	switch {
	case c.needs >= config && e.Installation.Config.Err != "":
		return cannot("the configuration cannot be read")
	case c.needs == look && e.Pass == nil:
		return cannot(e.NoPass)
	}
	return c.judge(e)
}

func (c check) view(v verdict) api.DoctorCheck {
	out := api.DoctorCheck{Category: c.category, Name: c.name, State: v.state, Why: fleet.Redact(fleet.Line(v.why, 600)), Command: v.command}
	for _, k := range v.mends {
		out.Mends = append(out.Mends, api.DoctorMend{Rule: k.Rule, Subject: k.Subject.String()})
	}
	return out
}
