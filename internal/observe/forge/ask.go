package forge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"custos/internal/sys/forge"
)

// What can be asked of one thing.
const (
	askIssue    = "issue"
	askBlockers = "blockers"
	askChecks   = "checks"
	askReviews  = "reviews"
	askMerges   = "merges"
	askCommit   = "commit"
	askRequired = "required"
	askPrimary  = "primary"
	askEnded    = "ended"
)

// question names one thing that the lists do not tell.
type question struct {
	kind   string
	number int    // of an issue or a pull request
	name   string // of a commit or a branch
}

// asking is a question as it stands in one look.
type asking struct {
	question
	version string        // what it is about: an answer to another version is none
	every   time.Duration // how long an answer is good
	cost    int           // requests
}

// answer is what was answered to a question.
type answer struct {
	version string
	tried   time.Time
	err     error
	value   any
	old     bool // remembered from a former process
	expired bool // too old to be told
}

// Limits of one look at one project. With the three lists, mostDue keeps a look at
// which nothing changed at six requests.
const (
	mostNew = 150 // questions that were never asked; and requests for remembered answers that are due
	mostDue = 3   // requests for what may have changed

	onTime = 0.9 // of how long an answer is good, from which on it may be asked for again
)

// questions lists all there is to ask. The mutex is held.
func (p *project) questions() (out []asking) {
	out = append(out, asking{question{askPrimary, 0, ""}, "", 6 * time.Hour, 1},
		asking{question{askEnded, 0, ""}, fmt.Sprint(slices.Sorted(maps.Keys(p.pulls))), time.Hour, 1})
	for n, i := range p.issues {
		if i.Native != 0 {
			q := question{askBlockers, n, ""}
			out = append(out, asking{q, i.Updated.String(), 30 * time.Minute, 1 + truth(!p.Lazy && p.answered(q))})
		}
	}
	out = append(out, p.singles()...)
	branches := map[string]bool{}
	for n, x := range p.pulls {
		if x.Head == "" || x.Base == "" {
			continue
		}
		branches[x.Base] = true
		every := 10 * time.Minute
		checks := question{askChecks, n, x.Head}
		if a := p.asked[checks]; a != nil && a.err == nil && isPending(a.value.(forge.Checks)) {
			every = time.Minute
		}
		out = append(out, asking{checks, "", every, 1 + truth(p.Lazy)},
			asking{question{askReviews, n, ""}, x.Updated.String() + x.Head, 10 * time.Minute, 1 + truth(p.Apart != nil)},
			asking{question{askCommit, n, x.Head}, "", 24 * time.Hour, 1})
		if p.Lazy {
			out = append(out, asking{question{askMerges, n, ""}, x.Updated.String() + x.Head, 5 * time.Minute, 1})
		}
	}
	for b := range branches {
		out = append(out, asking{question{askRequired, 0, b}, "", time.Hour, 1 + truth(p.Lazy)})
	}
	slices.SortFunc(out, func(a, b asking) int { // blockers last: there is a question for each issue
		return cmp.Or(cmp.Compare(truth(a.kind == askBlockers), truth(b.kind == askBlockers)), cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	return out
}

// answered says whether a question for a list was answered with more than none: a
// Gitea then gives its end away only by an empty page.
func (p *project) answered(q question) bool {
	a := p.asked[q]
	return a != nil && a.err == nil && len(a.value.([]forge.Issue)) > 0
}

// singles are the issues that a phase file or another issue names and that no list
// holds. One that is closed stays so while the list of open ones does not have it.
func (p *project) singles() (out []asking) {
	named := map[int]bool{}
	for n := range p.wanted {
		named[n] = true
	}
	for _, s := range p.said {
		for _, r := range s.waits {
			if r.repo == "" || r.repo == p.Repo {
				named[r.number] = true
			}
		}
	}
	for n := range named {
		_, open := p.issues[n]
		_, closed := p.recent[n]
		_, pull := p.pulls[n]
		if open || closed || pull && p.Apart == nil {
			continue
		}
		every := 6 * time.Hour
		if a := p.asked[question{askIssue, n, ""}]; a != nil && a.err == nil && a.value.(forge.Issue).Open {
			every = time.Minute // some list should have it
		}
		out = append(out, asking{question{askIssue, n, ""}, "", every, 1})
	}
	return out
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isPending(c forge.Checks) bool {
	return slices.ContainsFunc(c.Checks, func(c forge.Check) bool { return c.State == "pending" })
}

// choose takes from all questions those that were never asked, those whose answer a
// former process remembered and that are due, the most overdue first, and of the rest
// the few that are the most overdue; eagerly also of those that would be due later. What failed
// before counts as asked: a forge that always fails is not asked more often for it.
func choose(all []asking, asked map[question]*answer, now time.Time, eager bool) (out []asking) {
	var old, rest []due
	least := onTime
	if eager {
		least = onTime / 10
	}
	for _, q := range all {
		a := asked[q.question]
		if (a == nil || a.version != q.version && a.err == nil) && len(out) < mostNew {
			out = append(out, q)
			continue
		}
		if a == nil {
			continue
		}
		switch d := (due{q, ratio(q, a, now)}); {
		case a.old && (d.ratio >= onTime || a.expired):
			old = append(old, d)
		case a.old: // there may be as many as there are issues
		case d.ratio >= least || a.expired:
			rest = append(rest, d)
		}
	}
	return append(append(out, within(mostNew, old)...), within(mostDue, rest)...)
}

// within takes the most overdue questions, for so many requests.
func within(left int, list []due) (out []asking) {
	slices.SortStableFunc(list, func(a, b due) int { return cmp.Compare(b.ratio, a.ratio) })
	for _, d := range list {
		if d.cost <= left {
			out, left = append(out, d.asking), left-d.cost
		}
	}
	return out
}

// due is a question that is to be asked again.
type due struct {
	asking
	ratio float64 // of the age of its answer to how long one is good
}

func ratio(q asking, a *answer, now time.Time) float64 {
	every := q.every
	if a.err != nil && !forge.IsMissing(a.err) {
		every = time.Minute
	}
	return float64(now.Sub(a.tried)) / float64(every)
}

// ask asks one question.
func ask(ctx context.Context, r forge.Reader, q asking) *answer {
	a := &answer{version: q.version}
	switch q.kind {
	case askIssue:
		a.value, a.err = r.Issue(ctx, q.number)
	case askBlockers:
		a.value, a.err = r.Blockers(ctx, q.number)
	case askChecks:
		a.value, a.err = r.Checks(ctx, q.number, q.name)
	case askReviews:
		a.value, a.err = r.Reviews(ctx, q.number)
	case askMerges:
		a.value, a.err = r.Merges(ctx, q.number)
	case askCommit:
		a.value, a.err = r.Committed(ctx, q.name)
	case askRequired:
		a.value, a.err = r.Required(ctx, q.name)
	case askPrimary:
		a.value, a.err = r.Primary(ctx)
	case askEnded:
		a.value, a.err = r.Ended(ctx)
	}
	return a
}
