package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// Review is a review as it is shown, of an item of a merge queue; nil: that is on record no more.
func Review(w *fleet.WorkItem, item *fleet.MergeItem) api.Review {
	r := w.Review
	v := api.Review{Ref: w.ID, Title: w.Title, Item: r.Item, Commit: r.Commit, Author: r.Author, Round: r.Round, State: string(w.State), Agent: w.Agent, Verdict: string(r.Verdict), Why: w.Why,
		Since: w.Since.Wall.UTC(), Findings: []api.Finding{}}
	if item != nil {
		v.Queue, v.Source = item.Queue, item.Source
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, api.Finding{Grade: string(f.Grade), Where: f.Where, Text: f.Text})
	}
	return v
}
