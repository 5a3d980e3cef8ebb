package view

import (
	"fmt"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// addPulls finds the pull requests of an agent: those that the forge's probe says
// are its, and those of its branch. Open ones come first, then those that ended
// within the time.
func addPulls(r *api.ReportAgent, a fleet.Agent, snap *fleet.Snapshot, within fleet.Duration) {
	f := snap.Forge
	switch {
	case f.Status == fleet.StatusAbsent:
		r.NoForge = "no forge is configured"
		return
	case !f.Usable():
		r.NoForge = fmt.Sprintf("forge is %s (%s)", f.Status, f.Why)
		return
	}
	mine := func(agent, branch, project string) bool {
		return agent == a.Name || agent == "" && r.Branch != "" && branch == r.Branch && (a.Project == "" || a.Project == project)
	}
	for _, p := range f.Value.Pulls {
		if mine(p.Agent, p.Branch, p.Project) {
			r.Pulls = append(r.Pulls, pullReport(p))
		}
	}
	for _, p := range f.Value.Ended {
		if ago, known := p.Ended.Get(); known && ago <= within && mine(p.Agent, p.Branch, p.Project) {
			r.Pulls = append(r.Pulls, endReport(p, snap.At.Wall.Add(-time.Duration(ago))))
		}
	}
}

func pullReport(p fleet.PullRequest) api.ReportPull {
	return api.ReportPull{Name: p.Name, Title: p.Title, URL: p.URL, Checks: p.Checks.Or(""), Failed: p.Failed, Review: p.Review.Or(""),
		Conflict: pointer(p.Conflict), Draft: p.Draft}
}

func endReport(p fleet.EndedPull, at time.Time) api.ReportPull {
	at = at.UTC()
	out := api.ReportPull{Name: p.Name, Title: p.Title, URL: p.URL, Ended: "closed", EndedAt: &at}
	if p.Merged {
		out.Ended = "merged"
	}
	return out
}
