package cli

import (
	"context"
	"fmt"

	"custos/internal/api"
)

// fix shows what is wrong and what Custos would do about it, asks, and has it done:
// exactly that, by the rules whose alerts it belongs to.
func (a *app) fix(ctx context.Context, categories []string, yes bool) error {
	d, err := a.examine(ctx, categories)
	if err != nil {
		return err
	}
	if len(d.Fix.Actions) == 0 {
		return a.shown(d, func(p *page) { writeDoctor(p, d); writeFix(p, d) })
	}
	d, err = a.mendAsked(ctx, d, categories, yes, shell(append([]string{"custos", "doctor", "--fix", "--yes"}, categories...)))
	if err != nil || d.Counts.Bad == 0 {
		return err
	}
	return errBad
}

// mendAsked shows what would be done of a diagnosis, asks, has exactly that done and shows
// what came of it. again is the command that does not ask.
func (a *app) mendAsked(ctx context.Context, d api.Doctor, categories []string, yes bool, again string) (api.Doctor, error) {
	if !a.json {
		p := a.page()
		writeDoctor(p, d)
		writeFix(p, d)
		if err := p.flush(); err != nil {
			return d, err
		}
	}
	if !yes && !a.confirmed(fmt.Sprintf("\nDo this (%d)? Type yes: ", len(d.Fix.Actions))) {
		return d, &api.Error{Kind: api.BadInput, Message: "nothing was mended: it takes a yes", Hint: again}
	}
	order := api.DoctorOrder{Categories: categories, Version: a.Version}
	for _, act := range d.Fix.Actions {
		order.Actions = append(order.Actions, api.DoctorDeed{Do: act.Do, Subject: act.Subject, Rule: act.Rule})
	}
	d, err := put(ctx, a, labour, func(ctx context.Context, c *api.Client) (api.Doctor, error) { return c.Mend(ctx, order) })
	if err != nil {
		return d, cutShort(ctx, err)
	}
	if err = a.show(d, func(p *page) { writeMended(p, d) }); err == nil && anyFailed(d.Fix.Done) {
		err = errFailed
	}
	return d, err
}

// shown prints a diagnosis, and fails when something is bad.
func (a *app) shown(d api.Doctor, write func(*page)) error {
	if err := a.show(d, write); err != nil {
		return err
	}
	if d.Counts.Bad > 0 {
		return errBad
	}
	return nil
}

// writeFix writes what would be done, with the exact commands, and what not.
func writeFix(p *page, d api.Doctor) {
	p.head("WOULD DO", "")
	switch f := d.Fix; {
	case len(f.Actions) == 0 && len(f.Skipped) == 0:
		p.line("  nothing: there is nothing wrong that Custos itself could mend")
	case len(f.Actions) == 0:
		p.line("  nothing")
	}
	for _, act := range d.Fix.Actions {
		writeDeed(p, act, d.At)
	}
	writeRefusals(p, api.Plan{At: d.At, Skipped: d.Fix.Skipped})
}

// writeMended writes what came of it, and what is still not well.
func writeMended(p *page, d api.Doctor) {
	patrolDone(p, api.PatrolReport{Planned: make([]api.Deed, len(d.Fix.Done)), Done: d.Fix.Done})
	writeRefusals(p, api.Plan{At: d.At, Skipped: d.Fix.Skipped})
	p.head("NOW", "")
	for _, c := range d.Checks {
		if c.State != api.CheckOK {
			writeCheck(p, c)
		}
	}
	writeCounts(p, d.Counts)
}
