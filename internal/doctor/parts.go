package doctor

import (
	"cmp"
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
)

// judging is what a check does with what was gathered.
type judging = func(*Examination) verdict

// of is a check of what a part holds: what it finds is told, and that it finds nothing
// only where all of the part was seen now. none is said where there is no such thing.
func of(name fleet.PartName, none string, judge judging) judging {
	return func(e *Examination) verdict {
		if v := unjudged(e, name, none); v.state != "" {
			return v
		}
		return unlessHalfSeen(e, judge(e), string(name))
	}
}

// missing is a check of what a part should hold and does not: where not all of it was
// seen now, nothing is known to be missing.
func missing(name fleet.PartName, judge judging) judging {
	return func(e *Examination) verdict {
		if v := unjudged(e, name, ""); v.state != "" {
			return v
		}
		if v := unlessHalfSeen(e, ok(""), string(name)); v.state != api.CheckOK {
			return v
		}
		return judge(e)
	}
}

// unjudged says why a part cannot be judged; the zero verdict when it can.
func unjudged(e *Examination, name fleet.PartName, none string) verdict {
	s := e.Pass.Snapshot.Sight(name)
	switch {
	case s.Status == fleet.StatusAbsent && none != "":
		return ok("%s", none)
	case !s.Usable():
		return cannot(cmp.Or(s.Why, "it was not seen")).by("custos status")
	}
	return verdict{}
}

// unlessHalfSeen is a verdict that rests on parts: one that is well is none where a part
// of them is an old reading, or where not all of it is looked at. Of parts that were not
// seen at all the assessment tells itself who cannot be judged.
func unlessHalfSeen(e *Examination, v verdict, parts ...string) verdict {
	if v.state != api.CheckOK {
		return v
	}
	for _, name := range parts {
		if s := e.Pass.Snapshot.Sight(fleet.PartName(name)); s.Usable() && !s.Tells() {
			return cannot(halfSeen(name, *s)).by("custos status")
		}
	}
	return v
}

// halfSeen says why what a part does not hold may be there all the same.
func halfSeen(name string, s fleet.Sight) string {
	if !s.Fresh() {
		return fmt.Sprintf("of %s there is only an old reading: %s", name, cmp.Or(s.Why, s.Cut))
	}
	return fmt.Sprintf("not all of %s is looked at: %s", name, s.Cut)
}
