package ledger

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
)

// What a piece of work may hold at most.
const (
	longestTitle = 200      // runes
	longestBody  = 64 << 10 // bytes
	mostLabels   = 20
)

// Work finds a piece of work of the ledger's own; nil when there is none.
func Work(all fleet.Records, r fleet.Ref) *fleet.WorkItem {
	return fleet.Find(all.Work, func(w *fleet.WorkItem) bool { return w.Ref() == r })
}

// AddWork returns a piece of work as it is first written down, and what it waits
// for: the store gives it its ID.
func AddWork(w fleet.WorkItem, by string, at fleet.Instant) (fleet.WorkItem, error) {
	const what = "add work"
	w.Title, w.Body = fleet.Line(strings.TrimSpace(w.Title), longestTitle), fleet.Text(w.Body)
	switch {
	case w.Title == "":
		return w, Unfit(what, "it has no title")
	case len(w.Body) > longestBody || !utf8.ValidString(w.Body):
		return w, Unfit(what, "its text is longer than %d bytes, or no text", longestBody)
	case len(w.Labels) > mostLabels:
		return w, Unfit(what, "it has %d labels, %d are the most", len(w.Labels), mostLabels)
	}
	if self, isAgent := fleet.AgentOf(by); isAgent && w.Agent != "" && (w.Agent != self || isNameless(self)) {
		return w, Unfit(what, "an agent takes work for itself only")
	}
	for _, l := range w.Labels {
		if l == "" || fleet.Line(l, 80) != l {
			return w, Unfit(what, "%q is no label", fleet.Line(l, 80))
		}
	}
	if w.Priority == "" {
		w.Priority = fleet.P3
	}
	if _, err := fleet.ParsePriority(string(w.Priority)); err != nil {
		return w, Unfit(what, "%v", err)
	}
	w.State, w.By, w.At, w.Since = fleet.WorkOpen, by, at, at
	if w.Agent != "" {
		w.State = fleet.WorkTaken
	}
	return w, nil
}

// mostParts is how many parts a piece of work may have.
const mostParts = 100

// AddPart returns new work as a part of what it names: of its project and its team, and for the same role where it says none.
// Work that names nothing stays as it is. An agent splits what it wrote down, what it has, and what it has a part of.
func AddPart(all fleet.Records, w fleet.WorkItem, by string) (fleet.WorkItem, error) {
	if w.Part == "" {
		return w, nil
	}
	self, isAgent := fleet.AgentOf(by)
	whole, parts, its := Work(all, w.Part), 0, !isAgent
	for i := range all.Work {
		p := &all.Work[i]
		if p.Part == w.Part {
			parts++
		}
		its = its || (p.Part == w.Part || p.Ref() == w.Part) && p.State == fleet.WorkTaken && p.Agent == self && !p.Person || p.Ref() == w.Part && p.By == by
	}
	name := fleet.Line(string(w.Part), 80)
	switch {
	case whole == nil:
		return w, Unfit("add work", "there is no work %s in the ledger that it could be a part of", name)
	case whole.State == fleet.WorkClosed:
		return w, Unfit("add work", "%s is closed", name)
	case !its || isAgent && isNameless(self):
		return w, Unfit("add work", "agent %s neither wrote %s down nor works on it", fleet.Line(self, 80), name)
	case whole.Review != nil:
		return w, Unfit("add work", "%s is a review", name)
	case parts >= mostParts:
		return w, Unfit("add work", "%s has %d parts, which are the most", name, parts)
	}
	w.Project, w.Role, w.Team = cmp.Or(w.Project, whole.Project), cmp.Or(w.Role, whole.Role), whole.Team
	return w, nil
}

// MayWait refuses a part of a whole to wait for what waits for that: neither would ever begin.
func MayWait(all fleet.Records, whole, needs fleet.Ref) error {
	if whole != "" && waitsOf(all).path(needs, whole) != nil {
		return Unfit("add work", "%s waits for its parts, and what is one cannot wait for %s", whole, fleet.Line(string(needs), 80))
	}
	return nil
}

// WithResult returns work with what came of it.
func WithResult(w fleet.WorkItem, text string) (fleet.WorkItem, error) {
	if w.Result = fleet.Redact(fleet.Text(text)); len(text) > longestBody || !utf8.ValidString(text) {
		return w, Unfit("close work", "its result is longer than %d bytes, or no text", longestBody)
	}
	return w, nil
}

// isNameless says whether it cannot be told which agent it is.
func isNameless(agent string) bool { return agent == "" || agent == "?" }

// TakeWork returns work as somebody takes it up. An agent takes for itself; work
// that another one has is taken from it by a person only.
func TakeWork(w fleet.WorkItem, agent, by string, at fleet.Instant) (fleet.WorkItem, error) {
	const what = "take work"
	self, isAgent := fleet.AgentOf(by)
	switch {
	case agent == "":
		return w, Unfit(what, "nobody is named who takes it")
	case w.State == fleet.WorkClosed:
		return w, Unfit(what, "%s is closed", w.ID)
	case isAgent && (agent != self || isNameless(self)):
		return w, Unfit(what, "an agent takes work for itself only")
	case isAgent && w.Agent != "" && w.Agent != agent:
		return w, Unfit(what, "agent %s has %s", fleet.Line(w.Agent, 80), w.ID)
	case w.Agent == agent:
		return w, nil
	}
	w.State, w.Agent, w.Since, w.Begin, w.Begun = fleet.WorkTaken, agent, at, nil, false
	return anew(w, by), nil
}

// ReleaseWork returns work as it is given back, for anybody to take.
func ReleaseWork(w fleet.WorkItem, why, by string, at fleet.Instant) (fleet.WorkItem, error) {
	const what = "release work"
	self, isAgent := fleet.AgentOf(by)
	switch {
	case w.State != fleet.WorkTaken:
		return w, Unfit(what, "nobody has %s", w.ID)
	case isAgent && w.Agent != self:
		return w, Unfit(what, "agent %s has %s", fleet.Line(w.Agent, 80), w.ID)
	}
	if !w.Person {
		w.LeftBy = w.Agent
	}
	if w.Branch != "" {
		w.Left, w.Branch = w.Branch, ""
	}
	w.State, w.Agent, w.Person, w.Since, w.Why = fleet.WorkOpen, "", false, at, fleet.Line(why, 400)
	w.Begin, w.Begun, w.Ends = nil, false, ""
	return anew(w, by), nil
}

// anew forgets how often work was handed out in vain where a person says what becomes of it.
func anew(w fleet.WorkItem, by string) fleet.WorkItem {
	if fleet.IsPerson(by) {
		w.Tries, w.Spent = 0, false
	}
	return w
}

// Completed is the outcome of work that is closed without another word.
const Completed = "completed"

// CloseWork returns work as it is closed. To close what is closed changes nothing.
func CloseWork(w fleet.WorkItem, outcome, why, by string, at fleet.Instant) (fleet.WorkItem, error) {
	const what = "close work"
	self, isAgent := fleet.AgentOf(by)
	switch {
	case w.State == fleet.WorkClosed:
		return w, nil
	case isAgent && w.Agent != "" && w.Agent != self:
		return w, Unfit(what, "agent %s has %s", fleet.Line(w.Agent, 80), w.ID)
	case isAgent && isNameless(self):
		return w, Unfit(what, "it cannot be told which agent asks")
	case isAgent && w.Agent == "" && w.By != by && w.Team != "":
		return w, Unfit(what, "team %s has %s, and agent %s has not", w.Team, w.ID, fleet.Line(self, 80))
	case isAgent && w.Review != nil && w.Review.Verdict == "":
		return w, Unfit(what, "%s is a review: custos review give %s", w.ID, w.ID)
	}
	if outcome == "" {
		outcome = Completed
	}
	w.Begin, w.Begun = nil, false
	w.State, w.Outcome, w.Why, w.ClosedBy, w.Since = fleet.WorkClosed, fleet.Line(outcome, 40), fleet.Line(why, 400), by, at
	return w, nil
}

// ReopenWork returns closed work as it is open again.
func ReopenWork(w fleet.WorkItem, why, by string, at fleet.Instant) (fleet.WorkItem, error) {
	if w.State != fleet.WorkClosed {
		return w, Unfit("reopen work", "%s is %s", w.ID, w.State)
	}
	if _, isAgent := fleet.AgentOf(by); isAgent && w.Review != nil {
		return w, Unfit("reopen work", "%s is a review: it takes a person to have it given again", w.ID)
	}
	if w.Tries, w.Spent = 0, false; w.Review != nil { // it is asked for anew, and what was said counts no more
		r := *w.Review
		r.Verdict, r.Findings = "", nil
		w.Review = &r
	}
	w.State, w.Agent, w.Person, w.Outcome, w.ClosedBy, w.Since, w.Why = fleet.WorkOpen, "", false, "", "", at, fleet.Line(why, 400)
	return w, nil
}
