package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"custos/internal/api"
)

// doctorData is what the checks found: what is bad first, and counted of just that.
type doctorData struct {
	api.Doctor
	States []checkCount
	Only   []string // categories that were asked for
	All    bool
}

// checkCount is how many of the checks shown are in a state.
type checkCount struct {
	State string
	Count int
}

// checkStates are those of a check, the worst first; cannot tell is one of its own.
func checkStates() []string {
	return []string{api.CheckBad, api.CheckCannot, api.CheckWarn, api.CheckOK}
}

// quickChecks are the categories for which nothing is looked at anew. The others are asked
// for by a person: they take seconds.
func quickChecks() []string { return []string{"dependencies", "structure", "config", "version"} }

// doctor examines the installation. The page is not kept up to date by itself.
func (s *site) doctor(ctx context.Context, r *http.Request) (page, error) {
	d := doctorData{Only: r.URL.Query()["category"], All: r.URL.Query().Get("all") != ""}
	ask := d.Only
	if !d.All && len(ask) == 0 {
		ask = quickChecks()
	}
	status, err := s.api.Status(ctx)
	if err != nil {
		return page{}, err
	}
	v, err := s.api.Doctor(ctx, ask, status.Version) // the page and the daemon are one program
	if err != nil {
		return page{}, err
	}
	slices.SortStableFunc(v.Checks, func(a, b api.DoctorCheck) int {
		return cmp.Compare(slices.Index(checkStates(), a.State), slices.Index(checkStates(), b.State))
	})
	d.Doctor, d.States = v, countChecks(v.Checks)
	return page{Name: "doctor", Title: "Doctor", At: v.At, Still: true, Data: d}, nil
}

// countChecks counts by state; what is not known is counted also when it is none.
func countChecks(checks []api.DoctorCheck) (out []checkCount) {
	for _, state := range checkStates() {
		out = append(out, checkCount{State: state})
	}
	for _, c := range checks {
		i := slices.IndexFunc(out, func(n checkCount) bool { return n.State == c.State })
		if i < 0 { // of a daemon that knows more states
			i, out = len(out), append(out, checkCount{State: c.State})
		}
		out[i].Count++
	}
	return out
}

// checkClass is how a state of a check is drawn; what is not known is drawn as that.
func checkClass(state string) string {
	switch state {
	case api.CheckOK:
		return "state-working"
	case api.CheckBad:
		return "state-crashed"
	}
	return "state-unknown"
}
