package library

import (
	"slices"
	"sync"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// policy is what of a list may run by itself now. Conditions are judged by the snapshot.
func (b *Formulas) policy(list []Schedule, snap *fleet.Snapshot) (p fleet.RunPolicy) {
	view := sync.OnceValue(func() *rules.View { return rules.NewView(snap, true) })
	for _, s := range list {
		name := s.Run.Formula
		if b.Disabled(name) != "" && !slices.Contains(p.Disabled, name) {
			p.Disabled = append(p.Disabled, name)
		}
		// A disabled formula is not begun and skipped again and again: it is not due.
		s.Enabled = s.Enabled && !slices.Contains(p.Disabled, name)
		switch {
		case s.when != nil:
			s.Holds = holds(s.when, view())
		case len(s.Check) > 0:
			s.Holds = checked(snap, s.Name)
		}
		p.Schedules = append(p.Schedules, s.Schedule)
	}
	return p
}

// restsOn lists the parts that tell whether the schedules of a list are due.
func restsOn(list []Schedule) (parts []fleet.PartName) {
	for _, s := range list {
		switch {
		case s.when != nil:
			parts = append(parts, s.when.Parts()...)
		case len(s.Check) > 0:
			parts = append(parts, fleet.PartChecks)
		}
	}
	return parts
}

// holds is nil when it cannot be told.
func holds(c *rules.Condition, v *rules.View) *bool {
	answer, _ := c.Test(v)
	if answer != rules.True && answer != rules.False {
		return nil
	}
	is := answer == rules.True
	return &is
}

// checked is what the command of a gate said lately; nil when it cannot be told.
func checked(snap *fleet.Snapshot, name string) *bool {
	i := slices.IndexFunc(snap.Checks.Value, func(c fleet.GateCheck) bool { return c.Gate == name })
	if i < 0 || !snap.Checks.Usable() || !snap.Checks.Fresh() {
		return nil
	}
	is, known := snap.Checks.Value[i].Holds.Get()
	if !known {
		return nil
	}
	return &is
}
