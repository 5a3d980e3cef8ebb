package control

import (
	"context"
	"slices"

	"custos/internal/api"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/view"
)

// Mender mends what alerts are about, by the actions of their rules.
type Mender interface {
	// Mending is what they lead to in a pass, by a person's approval. It does no I/O.
	Mending(p fleet.Pass, of []fleet.AlertKey) fleet.Plan
	// Mend has it done with a person's approval, as far as meant says of each action,
	// and waits for it. The pass holds each action, and what became of it.
	Mend(ctx context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error)
}

// installation is examined by anyone, and mended by a person.
func installation() Noun {
	return Noun{"doctor", []Verb{
		{Name: "get", Do: (*Control).doctor},
		{Name: "fix", Access: Person, Do: given((*Control).mend)},
	}}
}

// doctor says what is wrong with the installation.
func (c *Control) doctor(ctx context.Context, call Call) (any, error) {
	categories := call.All("category")
	if err := doctor.CheckCategories(categories); err != nil {
		return nil, err
	}
	return c.diagnosed(c.examine(ctx, categories, call.Ask("version")), categories), nil
}

// mend has done what a person was shown, and examines again.
func (c *Control) mend(ctx context.Context, call Call, order api.DoctorOrder) (any, error) {
	if err := doctor.CheckCategories(order.Categories); err != nil {
		return nil, err
	}
	before := c.examine(ctx, order.Categories, order.Version)
	if err := before.CheckOrder(order.Actions); err != nil {
		return nil, err
	}
	_, mends := doctor.Diagnose(before, order.Categories)
	pass, err := c.Mender.Mend(ctx, call.By, mends, func(a fleet.Action) bool {
		return slices.Contains(order.Actions, api.DoctorDeed{Do: a.Do, Subject: a.Subject.String(), Rule: a.For.Rule})
	})
	if err != nil {
		return nil, err
	}
	after := c.examine(ctx, order.Categories, order.Version)
	out := c.diagnosed(after, order.Categories)
	out.Fix.Done = append(doctor.Began(before, after), view.Outcomes(pass.Results)...)
	return out, nil
}

// examine finds out what the checks of the categories need. asker is the version of
// the program that asks. What fails is said by the checks that need it.
func (c *Control) examine(ctx context.Context, categories []string, asker string) doctor.Examination {
	e := doctor.Examination{At: c.Now(), Version: c.Version, Asker: asker, Daemon: c.Watched, Rules: c.Rules.Rules()}
	if e.NeedsLook(categories) {
		c.Anew(ctx)
		pass, err := c.Look(ctx, Whole)
		if e.NoPass = doctor.Why(err); err == nil {
			e.Pass = &pass
		}
		e.Formulas = leafOf(c.Formulas.Formulas(ctx))
		schedules, err := c.Schedules(ctx)
		e.Schedules = leafOf(len(slices.DeleteFunc(schedules, func(s api.ScheduleRow) bool { return !s.Enabled })), err)
		e.Events = leafOf(c.History.HookEvents(ctx, HookFilter{Since: e.At.Add(-doctor.EventsWithin), Limit: doctor.MostEvents}))
	}
	e.Installation = c.Examine(ctx, func(category string) bool { return doctor.Chosen(categories, category) }) // after a look: it says which logs there are
	return e
}

// diagnosed is the diagnosis, with what of it Custos itself can mend.
func (c *Control) diagnosed(e doctor.Examination, categories []string) api.Doctor {
	out, mends := doctor.Diagnose(e, categories)
	if len(mends) == 0 {
		return out
	}
	dry := view.Plan(fleet.Pass{Plan: c.Mender.Mending(*e.Pass, mends)}, c.Teller)
	out.Fix.Actions, out.Fix.Skipped = append(out.Fix.Actions, dry.Actions...), append(dry.Skipped, e.NotFired(mends)...)
	return out
}

// leafOf is what was asked for, or why it is not known.
func leafOf[T any](v T, err error) fleet.Leaf[T] {
	if err != nil {
		return fleet.Unknown[T](doctor.Why(err))
	}
	return fleet.Known(v)
}
