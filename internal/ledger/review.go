package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// What a review may hold at most.
const (
	mostFindings   = 100
	longestFinding = 2000 // bytes
)

// Reviews are the reviews of an item of a merge queue, in the order they were asked for: those of its branch in its queue, and
// of what was for the same work, whatever item that was then.
func Reviews(all fleet.Records, i fleet.MergeItem) (list []fleet.WorkItem) {
	for _, w := range all.Work {
		if w.Review == nil || w.Review.Item != i.ID && (w.Review.Queue != i.Queue || w.Review.Source != i.Source && !sharesWork(all, w.Review.Item, i)) {
			continue
		}
		list = append(list, w)
	}
	return list
}

func sharesWork(all fleet.Records, item string, i fleet.MergeItem) bool {
	o := Merge(all, item)
	return o != nil && slices.ContainsFunc(o.Work, func(r fleet.Ref) bool { return slices.Contains(i.Work, r) })
}

// GiveReview returns a review with what was found, closed. Whoever has it gives it; a person may give any. What is
// given already stays as it is.
func GiveReview(w fleet.WorkItem, found []fleet.ReviewFinding, by string, at fleet.Instant) (fleet.WorkItem, error) {
	what := "review " + w.ID
	self, isAgent := fleet.AgentOf(by)
	switch {
	case w.Review == nil:
		return w, Unfit(what, "it is no review")
	case w.Review.Verdict != "" && slices.Equal(w.Review.Findings, found) && w.ClosedBy == by:
		return w, nil
	case w.State == fleet.WorkClosed:
		return w, Unfit(what, "it is closed: %s", w.Why)
	case isAgent && (isNameless(self) || w.Agent != self):
		return w, Unfit(what, "agent %s does not have it: custos work take %s", fleet.Line(self, 80), w.ID)
	case len(found) > mostFindings:
		return w, Unfit(what, "it has %d findings, %d are the most", len(found), mostFindings)
	}
	r := *w.Review
	r.Findings, r.Verdict = nil, fleet.ReviewApproved
	for _, f := range found {
		f.Where, f.Text = fleet.Line(f.Where, 300), strings.TrimSpace(fleet.Text(f.Text))
		if f.Text == "" || len(f.Text) > longestFinding {
			return w, Unfit(what, "a finding says nothing, or more than %d bytes", longestFinding)
		}
		if f.Grade == fleet.ReviewBlocker {
			r.Verdict = fleet.ReviewBlocked
		}
		r.Findings = append(r.Findings, f)
	}
	w.Review = &r
	done, err := CloseWork(w, string(r.Verdict), fmt.Sprintf("%s by %s: %s", r.Verdict, fleet.Line(strings.TrimPrefix(by, "agent/"), 80), CountFindings(r.Findings)), by, at)
	return done, err
}

// CountFindings says how many of each grade there are.
func CountFindings(list []fleet.ReviewFinding) string {
	var parts []string
	for _, g := range []fleet.ReviewGrade{fleet.ReviewBlocker, fleet.ReviewMajor, fleet.ReviewNit} {
		n := 0
		for _, f := range list {
			if f.Grade == g {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fleet.Counted(n, string(g)))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// FindingLines are findings as they are told, one a paragraph, the worst first.
func FindingLines(list []fleet.ReviewFinding) string {
	var b strings.Builder
	for _, g := range []fleet.ReviewGrade{fleet.ReviewBlocker, fleet.ReviewMajor, fleet.ReviewNit} {
		for _, f := range list {
			if f.Grade == g {
				fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace(string(f.Grade)+" "+f.Where), f.Text)
			}
		}
	}
	return b.String()
}

// MayReview refuses a review to an agent of another role than it is for, and to those of WroteIt.
func MayReview(w fleet.WorkItem, agent string, all []fleet.Registration) error {
	if w.Review == nil {
		return nil
	}
	if r := Registration(all, agent); r == nil || r.Role != w.Role {
		return Unfit("review "+w.ID, "it is for agents of role %s, and %s is none", w.Role, fleet.Line(agent, 80))
	}
	return WroteIt(w, agent, all)
}

// WroteIt refuses a review to those who wrote what is reviewed, and to those that one of them started: nobody is the judge of
// its own work.
func WroteIt(w fleet.WorkItem, agent string, all []fleet.Registration) error {
	if w.Review == nil {
		return nil
	}
	what, name := "review "+w.ID, agent
	for range len(all) + 1 {
		if slices.Contains(w.Review.Authors, name) && name == agent {
			return Unfit(what, "agent %s has written what it is about", fleet.Line(agent, 80))
		}
		if slices.Contains(w.Review.Authors, name) {
			return Unfit(what, "agent %s was started by %s, who has written what it is about", fleet.Line(agent, 80), name)
		}
		r := Registration(all, name)
		if r == nil || r.Parent == "" {
			return nil
		}
		name = r.Parent
	}
	return nil
}

// authorsOf are the agents that have, or may have, written what an item is about: who added it, whose branch it is, and who
// has, or had, the work that it is for.
func authorsOf(past fleet.Past, i fleet.MergeItem) (list []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	add(i.Agent)
	for _, r := range past.Registrations {
		if r.Branch == i.Source {
			add(r.Name)
		}
	}
	for _, ref := range i.Work {
		if w := Work(past.Records, ref); w != nil && !w.Person {
			add(w.Agent)
			add(w.LeftBy)
		}
	}
	return list
}

// AskReview returns the review of an item as it is to be asked for, at the commit that it has now; the same again has the
// same key.
func AskReview(past fleet.Past, q fleet.MergeQueue, i fleet.MergeItem, at fleet.Instant) (fleet.WorkItem, error) {
	all := past.Records
	var body strings.Builder
	for _, r := range i.Work {
		if w := Work(all, r); w != nil {
			fmt.Fprintf(&body, "%s: %s\n%s\n\n", w.ID, w.Title, w.Body)
		}
	}
	title := i.Source
	if i.Title != "" {
		title += ": " + i.Title
	}
	w, err := AddWork(fleet.WorkItem{Head: fleet.Head{Key: "review/" + i.ID + "/" + i.Commit}, Title: "Review " + title, Body: strings.TrimSpace(fleet.Text(body.String()[:min(body.Len(), longestBody/2)])),
		Project: i.Project, Role: q.Review, Priority: i.Priority}, fleet.ByCustos, at)
	w.Review = &fleet.Review{Item: i.ID, Commit: i.Commit, Queue: q.Name, Source: i.Source, Author: i.Agent, Authors: authorsOf(past, i), Round: len(Reviews(all, i)) + 1}
	return w, err
}

// ReviewsBlocked counts the reviews of an item that have found blockers.
func ReviewsBlocked(list []fleet.WorkItem) (n int) {
	for _, w := range list {
		if w.Review.Verdict == fleet.ReviewBlocked {
			n++
		}
	}
	return n
}

// HasBlocker says whether there is a finding that keeps a branch from being merged.
func HasBlocker(list []fleet.ReviewFinding) bool {
	return slices.ContainsFunc(list, func(f fleet.ReviewFinding) bool { return f.Grade == fleet.ReviewBlocker })
}

// ReviewNews tells the author of a branch what a review has found; none where that is nothing.
func ReviewNews(all fleet.Records, w fleet.WorkItem, at fleet.Instant) []fleet.Mail {
	i := Merge(all, w.Review.Item)
	if i == nil || len(w.Review.Findings) == 0 {
		return nil
	}
	to, text := fleet.Overseer, FindingLines(w.Review.Findings)
	if i.Agent != "" {
		to = AddressOf(i.Agent)
	}
	subject := fmt.Sprintf("%s (%s) is approved, with remarks", i.ID, i.Source)
	if w.Review.Verdict == fleet.ReviewBlocked {
		subject = fmt.Sprintf("%s (%s) is not merged: its review found blockers", i.ID, i.Source)
		text += fmt.Sprintf("\nMend what blocks it, commit, and say: custos merge add %s --queue %s\n", i.Source, i.Queue)
	}
	return []fleet.Mail{News("review/"+w.ID+"/"+w.Review.Commit, []string{to}, fleet.Mail{Type: fleet.MailMergeResult, Priority: i.Priority, Project: i.Project, About: i.ID, Subject: subject, Body: text}, at)}
}
