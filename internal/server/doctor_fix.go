package server

import (
	"context"
	"net/http"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// Mender mends what alerts tell of, by the actions of their rules.
type Mender interface {
	// Mending looks, anew at what the alerts are about, and plans what they lead to
	// by a person's word. It writes and does nothing.
	Mending(ctx context.Context, of []fleet.AlertKey) (fleet.Plan, error)
	// Mend has it done by a person's word, as far as meant says of each action,
	// and waits for it. The pass holds each action, and what became of it.
	Mend(ctx context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error)
}

func nothing() api.DoctorFix {
	return api.DoctorFix{Actions: []api.Deed{}, Skipped: []api.Refusal{}, Done: []api.Outcome{}}
}

func mends(of []fleet.AlertKey) (out []api.DoctorMend) {
	for _, k := range of {
		out = append(out, api.DoctorMend{Rule: k.Rule, Subject: k.Subject.String()})
	}
	return out
}

// healers are the alerts that mend what checks found, each once.
func healers(checks []api.DoctorCheck) (out []fleet.AlertKey) {
	for _, c := range checks {
		for _, m := range c.Mends {
			of, ok := fleet.ParseSubject(m.Subject)
			if key := (fleet.AlertKey{Rule: m.Rule, Subject: of}); ok && !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// fix is what of the diagnosis Custos itself can mend.
func (s *server) fix(ctx context.Context, e Examination, checks []api.DoctorCheck) api.DoctorFix {
	out := nothing()
	if d, is := setAside(e); is && slices.ContainsFunc(checks, func(c api.DoctorCheck) bool { return c.Category == "databases" }) {
		out.Actions = append(out.Actions, d)
	}
	of := healers(checks)
	if len(of) == 0 || s.Mender == nil {
		return out
	}
	wished, err := s.Mender.Mending(ctx, of)
	if err != nil {
		out.Cannot = why(err)
		return out
	}
	dry := view.Plan(fleet.Pass{Plan: wished}, s.Teller)
	out.Actions, out.Skipped = append(out.Actions, dry.Actions...), dry.Skipped
	return out
}

// doSetAside is no action of the loop: whoever opens a damaged database to write
// sets it aside, before there is a ledger that anything could be journalled in.
const doSetAside = "set-database-aside"

// setAside is offered where nobody has the database open.
func setAside(e Examination) (api.Deed, bool) {
	st := e.Installation.Store
	return api.Deed{
		Do: doSetAside, Subject: "self/custos", Priority: string(fleet.P1), Rule: "self-amnesia", Why: st.Path + " is damaged: " + st.Err,
		Commands: []api.Command{{Argv: []string{"mv", "-n", st.Path, st.Path + ".corrupt-TIME"}, Note: "with its -wal and -shm; a new one is begun, and nothing is done until a person acknowledges self-amnesia"}},
	}, st.Damaged && !e.Daemon && !e.Installation.Mute && e.Installation.Untold == ""
}

// mend has done what a person was shown, and examines again.
func (s *server) mend(req *http.Request, c Caller) (any, error) {
	var order api.DoctorOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if err := CheckCategories(order.Categories); err != nil {
		return nil, err
	}
	if s.Mender == nil || len(order.Actions) == 0 {
		return nil, &api.Error{Kind: api.BadInput, Message: "cannot mend: nothing was named that is to be done", Hint: "custos doctor"}
	}
	before := s.examine(req.Context(), order.Categories, order.Version)
	if d, is := setAside(before); is && !slices.Contains(order.Actions, api.DoctorDeed{Do: d.Do, Subject: d.Subject, Rule: d.Rule}) {
		return nil, &api.Error{Kind: api.BadInput, Message: "cannot mend: " + d.Why + ", and to set it aside was not named", Hint: "custos doctor --fix databases"}
	}
	pass, err := s.Mender.Mend(req.Context(), c.Name(), healers(Diagnose(before, order.Categories).Checks), func(a fleet.Action) bool {
		return slices.Contains(order.Actions, api.DoctorDeed{Do: a.Do, Subject: a.Subject.String(), Rule: a.For.Rule})
	})
	if err != nil {
		return nil, err
	}
	e := s.examine(req.Context(), order.Categories, order.Version)
	out := s.diagnosed(req.Context(), e, order.Categories)
	out.Fix.Done = append(began(before, e), view.Outcomes(pass.Results)...)
	return out, nil
}

// began says what became of a damaged database.
func began(before, after Examination) []api.Outcome {
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
