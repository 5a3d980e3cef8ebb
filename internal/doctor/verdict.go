package doctor

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// verdict is what a check found. The zero verdict says that nothing was found.
type verdict struct {
	state, why, command string
	mends               []fleet.AlertKey // the alerts whose actions mend it
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

// when is the verdict where something is so.
func when(is bool, v verdict) verdict {
	if is {
		return v
	}
	return verdict{}
}

// by names the command that mends it, or looks closer: a whole line, or its words.
func (v verdict) by(argv ...string) verdict {
	if v.command = argv[0]; len(argv) > 1 {
		v.command = api.Typed(argv...)
	}
	return v
}

// gravity orders the states: the worst is what a check says first. What cannot be
// known outranks a mere warning, because it may hide something bad.
func gravity(v verdict) int {
	return slices.Index([]string{"", api.CheckOK, api.CheckWarn, api.CheckCannot, api.CheckBad}, v.state)
}

// each judges one thing after the other.
func each[T any](list []T, judge func(T) verdict) (out []verdict) {
	for _, x := range list {
		out = append(out, judge(x))
	}
	return out
}

// worst joins what was found of many things: the worst state, the reasons of all
// that is not ok, the worst first, and the command of the first. well is said when
// all is.
func worst(list []verdict, well string, args ...any) verdict {
	list = slices.DeleteFunc(slices.Clone(list), func(v verdict) bool { return gravity(v) <= gravity(ok("")) })
	if len(list) == 0 {
		return ok(well, args...)
	}
	slices.SortStableFunc(list, func(a, b verdict) int { return gravity(b) - gravity(a) })
	out := verdict{state: list[0].state}
	var reasons []string
	for _, v := range list {
		out.mends = append(out.mends, v.mends...)
		if !slices.Contains(reasons, v.why) {
			reasons = append(reasons, v.why)
		}
		if out.command == "" {
			out.command = v.command
		}
	}
	out.why = some(reasons)
	return out
}

// someShown is how many of many are shown by name.
const someShown = 3

// some joins the first few of a list.
func some(list []string) string {
	if n := len(list); n > someShown {
		return strings.Join(list[:someShown], "; ") + fmt.Sprintf("; and %d more", n-someShown)
	}
	return strings.Join(list, "; ")
}
