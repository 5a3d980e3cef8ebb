package ledger

import (
	"strings"
	"time"

	"custos/internal/fleet"
)

// mergeShown is how long an item of a merge queue that is over is still a fact.
const mergeShown = 24 * time.Hour

// merges are the items that are not over, or were over lately, and the queues that are held.
func (f facts) merges() (out []fleet.MergeFacts) {
	for i := range f.past.Records.Merges {
		m := &f.past.Records.Merges[i]
		if m.Over() && f.snap.At.Since(m.Since) > mergeShown {
			continue
		}
		out = append(out, fleet.MergeFacts{ID: m.ID, Queue: m.Queue, Project: m.Project, Source: m.Source, Title: m.Title, Agent: m.Agent, By: m.By, State: m.State, Why: m.Why,
			Files: m.Files, Lost: m.State == fleet.MergeHeld && strings.HasPrefix(m.Why, fleet.MergeLoses), Blocked: m.State == fleet.MergeHeld && strings.HasPrefix(m.Why, fleet.MergeBlocked), Age: f.age(m.At), Since: f.age(m.Since)})
	}
	for _, h := range f.past.Records.MergeHolds {
		if h.Held {
			out = append(out, fleet.MergeFacts{ID: h.Queue, Queue: h.Queue, Whole: true, By: h.By, State: fleet.MergeHeld, Why: h.Why, Age: f.age(h.At), Since: f.age(h.At)})
		}
	}
	for i := range f.past.Records.MergeGroups { // what cannot be built, or does not land
		if g := &f.past.Records.MergeGroups[i]; g.Why != "" && (g.State == fleet.GroupBuilding || g.State == fleet.GroupGreen) {
			out = append(out, fleet.MergeFacts{ID: g.Queue, Queue: g.Queue, Whole: true, By: fleet.ByCustos, State: fleet.MergeWaiting, Why: g.Why, Age: f.age(g.At), Since: f.age(g.Since)})
		}
	}
	return out
}
