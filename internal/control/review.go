package control

import (
	"context"
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// reviews are read by anyone, and given by who has one; who that may be says the ledger.
func reviews() Noun {
	return Noun{"reviews", []Verb{
		{Name: "list", Do: asks((*Control).reviewList)},
		{Name: "show", Do: asks((*Control).reviewShown)},
		{Name: "change", Access: Author, Do: given((*Control).giveReview)},
	}}
}

func (c *Control) reviewList(ctx context.Context, call Call) (api.ReviewList, error) {
	past, _, err := c.Records.Seen(ctx)
	out := api.ReviewList{At: c.Now().Wall.UTC(), Reviews: []api.Review{}, Next: []api.Hint{}}
	for i := range past.Records.Work {
		if w := &past.Records.Work[i]; w.Review != nil && (call.Ask("all") != "" || w.State != fleet.WorkClosed) {
			out.Reviews = append(out.Reviews, reviewView(w, ledger.Merge(past.Records, w.Review.Item)))
		}
	}
	if len(out.Reviews) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos help roles.md", What: "how branches come to be reviewed"})
	}
	return out, err
}

// findReview is a review, with what is on record of it.
func (c *Control) findReview(ctx context.Context, id string) (fleet.Past, *fleet.WorkItem, error) {
	past, _, err := c.Records.Seen(ctx)
	if err != nil {
		return past, nil, err
	}
	if w := ledger.Work(past.Records, fleet.Ref(id)); w != nil && w.Review != nil {
		return past, w, nil
	}
	var known []string
	for _, w := range past.Records.Work {
		if w.Review != nil {
			known = append(known, w.ID)
		}
	}
	return past, nil, missing("review", id, known, "custos review list --all")
}

// reviewShown is a review with all that its reader gets: the task, the difference, and what was found in earlier rounds.
func (c *Control) reviewShown(ctx context.Context, call Call) (api.Review, error) {
	past, w, err := c.findReview(ctx, call.ID)
	if err != nil {
		return api.Review{}, err
	}
	item := ledger.Merge(past.Records, w.Review.Item)
	v := reviewView(w, item)
	v.Task = w.Body
	of := fleet.MergeItem{Head: fleet.Head{ID: w.Review.Item}, Queue: w.Review.Queue, Source: w.Review.Source}
	if item != nil {
		of = *item
	}
	for _, o := range ledger.Reviews(past.Records, of) {
		if o.Review.Round < w.Review.Round && o.Review.Verdict != "" {
			v.Earlier = append(v.Earlier, reviewView(&o, item))
		}
	}
	q := fleet.Find(c.Merges.Queues(), func(q *fleet.MergeQueue) bool { return item != nil && q.Name == item.Queue })
	if q == nil {
		v.Missing = "its merge queue is not configured any more"
		return v, nil
	}
	at := *item
	at.Commit = w.Review.Commit
	diff, err := c.Merges.Diff(ctx, *q, at)
	if err != nil {
		v.Missing = fleet.Line(err.Error(), 400)
		return v, nil
	}
	if v.Cut = len(diff) > mostDiff; v.Cut {
		diff = diff[:mostDiff]
	}
	v.Diff = fleet.Text(diff)
	return v, nil
}

// mostDiff is how much of a difference is shown, in bytes: what is larger is no reading for one review.
const mostDiff = 1 << 20

// giveReview ends a review: what it found is told to the author in the same transaction.
func (c *Control) giveReview(ctx context.Context, call Call, r api.ReviewGiven) (api.Review, error) {
	var found []fleet.ReviewFinding
	for _, f := range r.Findings {
		found = append(found, fleet.ReviewFinding{Grade: fleet.ReviewGrade(f.Grade), Where: f.Where, Text: fleet.Redact(f.Text)})
	}
	switch {
	case len(found) == 0 && !r.Approve:
		return api.Review{}, api.AsBadInput(fmt.Errorf("cannot review %s: say what was found, or --approve that nothing was", fleet.Line(call.ID, 80)))
	case r.Approve && ledger.HasBlocker(found):
		return api.Review{}, api.AsBadInput(fmt.Errorf("cannot review %s: it names a blocker, and approves", fleet.Line(call.ID, 80)))
	}
	if _, _, err := c.findReview(ctx, call.ID); err != nil {
		return api.Review{}, err
	}
	_, err := c.edit(ctx, func(all fleet.Records) (out fleet.Records, err error) {
		now := ledger.Work(all, fleet.Ref(call.ID))
		if now == nil {
			return out, ledger.Unfit("review", "%s is gone", fleet.Line(call.ID, 80))
		}
		w, err := ledger.GiveReview(*now, found, call.By, c.Now())
		if out.Work = []fleet.WorkItem{w}; err == nil {
			out.Mails = ledger.ReviewNews(all, w, c.Now())
		}
		return out, err
	})
	if err != nil {
		return api.Review{}, err
	}
	past, w, err := c.findReview(ctx, call.ID)
	if err != nil {
		return api.Review{}, err
	}
	return reviewView(w, ledger.Merge(past.Records, w.Review.Item)), nil
}

// reviewView is a review as it is shown, of an item of a merge queue; nil: that is on record no more.
func reviewView(w *fleet.WorkItem, item *fleet.MergeItem) api.Review {
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
