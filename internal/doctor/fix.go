package doctor

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func mends(of []fleet.AlertKey) (out []api.DoctorMend) {
	for _, k := range of {
		out = append(out, api.DoctorMend{Rule: k.Rule, Subject: k.Subject.String()})
	}
	return out
}

// doSetAside is no action of the loop: a damaged database is set aside when it is opened
// to write, before there is a ledger that anything could be journalled in.
const doSetAside = "set-database-aside"

// setAside is offered where no daemon has the database open.
func (e Examination) setAside() (api.Deed, bool) {
	st := e.Installation.Store
	return api.Deed{
		Do: doSetAside, Subject: "self/custos", Priority: string(fleet.P1), Rule: "self-amnesia", Why: st.Path + " is damaged: " + st.Err,
		Commands: []api.Command{{Argv: []string{"mv", "-n", st.Path, st.Path + ".corrupt-TIME"}, Note: "with its -wal and -shm; a new one is begun, and nothing is done until a person acknowledges self-amnesia"}},
	}, st.Damaged && !e.Daemon && !e.Installation.Mute && e.Installation.NotKnown == ""
}

// CheckOrder refuses an order of what to mend that names nothing, or that leaves out what
// would be done in any case.
func (e Examination) CheckOrder(order []api.DoctorDeed) error {
	if len(order) == 0 {
		return &api.Error{Kind: api.BadInput, Message: "cannot mend: nothing was named that is to be done", Hint: "custos doctor"}
	}
	if d, is := e.setAside(); is && !slices.Contains(order, api.DoctorDeed{Do: d.Do, Subject: d.Subject, Rule: d.Rule}) {
		return &api.Error{Kind: api.BadInput, Message: "cannot mend: " + d.Why + ", and to set it aside was not named", Hint: "custos doctor --fix databases"}
	}
	return nil
}

// Began says what became of a damaged database.
func Began(before, after Examination) []api.Outcome {
	was, now := before.Installation.Store, after.Installation.Store
	if !was.Damaged {
		return []api.Outcome{}
	}
	out := api.Outcome{Do: doSetAside, Subject: "self/custos", Rule: "self-amnesia", Ran: []string{}, Status: string(fleet.ResultFailed), Why: now.Err}
	if !now.Damaged && len(now.Aside) > len(was.Aside) {
		out.Status, out.Why, out.Effect = string(fleet.ResultDone), "", "set aside as "+now.Aside[len(now.Aside)-1]
	}
	return []api.Outcome{out}
}

// NotFired is what of some alerts' actions waits until they fire. Without a daemon nothing
// counts how long it has been so: there no moment is told.
func (e Examination) NotFired(of []fleet.AlertKey) (held []api.Refusal) {
	if e.Pass == nil {
		return nil
	}
	for _, f := range e.Pass.Assessment.Findings {
		i := slices.IndexFunc(e.Rules, func(r api.Rule) bool { return r.Name == f.Rule })
		if f.Firing || i < 0 || !slices.Contains(of, f.AlertKey) {
			continue
		}
		why, until := e.fires(e.Rules[i], f)
		for _, do := range e.Rules[i].Actions {
			held = append(held, api.Refusal{Do: do, Subject: f.Subject.String(), Priority: string(f.Priority), Rule: f.Rule,
				Guard: string(fleet.AlertPending), Why: why, Until: until})
		}
	}
	return held
}

// fires says what a pending finding waits for, and until when that is.
func (e Examination) fires(r api.Rule, f fleet.Finding) (why string, until *time.Time) {
	why = "its rule waits until it has been so for " + r.For
	if r.ForPatrols > 0 {
		return fmt.Sprintf("its rule waits until %d patrols in a row have found it", r.ForPatrols), nil
	}
	if wait, err := time.ParseDuration(r.For); err == nil && e.Daemon {
		at := f.Since.Add(wait).Wall.UTC()
		until = &at
	}
	return why, until
}
