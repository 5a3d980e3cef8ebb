package forge

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// compose makes the facts of what is known of every project. It is pure: the same
// views give the same facts, in the same order.
func compose(views []view, hands []Hand) fleet.Forge {
	var out fleet.Forge
	blocked := waits(views)
	cycles := cyclesOf(blocked)
	for _, v := range views {
		issues := make([]fleet.Issue, 0, len(v.issues)+len(v.closed))
		for _, n := range slices.Sorted(maps.Keys(v.issues)) {
			issues = append(issues, v.openIssue(n, blocked, cycles))
		}
		for _, n := range slices.Sorted(maps.Keys(v.closed)) {
			if _, open := v.issues[n]; !open {
				issues = append(issues, v.closedIssue(v.closed[n]))
			}
		}
		pulls := make([]fleet.PullRequest, 0, len(v.pulls))
		for _, n := range slices.Sorted(maps.Keys(v.pulls)) {
			pulls = append(pulls, v.pull(v.pulls[n], views))
		}
		ended := v.ended()
		v.assign(issues, pulls, ended, hands)
		out.Projects = append(out.Projects, v.project(issues))
		out.Issues, out.Pulls, out.Ended = append(out.Issues, issues...), append(out.Pulls, pulls...), append(out.Ended, ended...)
	}
	slices.SortStableFunc(out.Issues, func(a, b fleet.Issue) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Number, b.Number))
	})
	return out
}

func (v view) project(issues []fleet.Issue) fleet.Project {
	out := fleet.Project{Name: v.Name, Repo: v.Repo, URL: strings.TrimSuffix(v.URL, "/") + "/" + v.Repo, Owner: v.Owner, Primary: v.primary, Active: v.active,
		Skew: v.skew, Empty: fleet.Unknown[int](v.why)}
	out.Ready = v.count(issues, func(i fleet.Issue) fleet.Leaf[bool] { return i.Ready })
	out.InProgress = v.count(issues, func(i fleet.Issue) fleet.Leaf[bool] { return i.Taken })
	out.Blocked = v.count(issues, func(i fleet.Issue) fleet.Leaf[bool] {
		by, known := i.BlockedBy.Get()
		if len(by) > 0 || has(i.Labels, v.Labels.Blocked) {
			return fleet.Known(true)
		}
		return leaf(known, false, i.BlockedBy.Why())
	})
	return out
}

// count counts the open issues of which something is true; unknown when one cannot
// be told.
func (v view) count(issues []fleet.Issue, of func(fleet.Issue) fleet.Leaf[bool]) fleet.Leaf[int] {
	if v.why != "" {
		return fleet.Unknown[int](v.why)
	}
	n := 0
	for _, i := range issues {
		if !i.Open.Or(false) {
			continue
		}
		yes, known := of(i).Get()
		if !known {
			return fleet.Unknown[int](fleet.Line(i.Name+": "+of(i).Why(), 200))
		}
		if yes {
			n++
		}
	}
	return fleet.Known(n)
}

func leaf[T any](known bool, value T, why string) fleet.Leaf[T] {
	if known {
		return fleet.Known(value)
	}
	return fleet.Unknown[T](why)
}

// Limits of what is kept of a text that anybody may write.
const (
	mostTitle  = 200
	mostName   = 100
	mostLabels = 50
)

// line is a text as it may be kept. Of a very long one only the beginning is looked at.
func line(text string, most int) string {
	return fleet.Line(fleet.Redact(text[:min(len(text), 20*mostTitle)]), most)
}

func lines(list []string) (out []string) {
	for _, l := range list {
		if len(out) < mostLabels {
			out = append(out, line(l, mostName))
		}
	}
	return out
}

func (v view) issue(i forge.Issue) fleet.Issue {
	unknown := fleet.Unknown[fleet.Duration](v.why)
	out := fleet.Issue{Name: fleet.IssueName(v.Name, i.Number), Project: v.Name, Number: i.Number, Title: line(i.Title, mostTitle),
		URL: line(i.URL, 300), Owner: v.Owner, Author: line(i.Author, mostName), Labels: lines(i.Labels), Assignees: lines(i.Assignees),
		Open: fleet.Unknown[bool](v.why), Age: unknown, Updated: unknown, Closed: unknown, Waits: unknown,
		Taken: fleet.Unknown[bool](v.why), Ready: fleet.Unknown[bool](v.why), BlockedBy: fleet.Unknown[[]string](v.why)}
	if v.why == "" {
		out.Open, out.Age, out.Updated = fleet.Known(i.Open), v.age(i.Created), v.age(i.Updated)
	}
	return out
}

func (v view) openIssue(n int, blocked map[string]node, cycles map[string][]string) fleet.Issue {
	out := v.issue(v.issues[n])
	if v.why != "" {
		return out
	}
	out.Closed = fleet.Known[fleet.Duration](0)
	taken := len(out.Assignees) > 0 || has(out.Labels, v.Labels.InProgress)
	out.Taken = fleet.Known(taken)
	b := blocked[out.Name]
	out.BlockedBy, out.Waits, out.Cycle = b.names(), b.oldest(), short(cycles[out.Name])
	out.Marked = has(out.Labels, v.Labels.Blocked)
	marked := len(v.Labels.Ready) == 0 || has(out.Labels, v.Labels.Ready)
	switch {
	case taken || !marked || out.Marked || b.surely():
		out.Ready = fleet.Known(false)
	default:
		out.Ready = leaf(b.why == "", true, b.why)
	}
	return out
}

func (v view) closedIssue(i forge.Issue) fleet.Issue {
	out := v.issue(i)
	if v.why != "" {
		return out
	}
	out.Closed = v.age(i.Closed)
	out.Taken, out.Ready, out.BlockedBy = fleet.Known(false), fleet.Known(false), fleet.Known([]string{})
	out.Waits = fleet.Known[fleet.Duration](0)
	return out
}

// nearly is how far ahead of the forge's clock a time may lie and still be now: the
// clock is told to the second, by an answer that travelled.
const nearly = 5 * time.Second

// age is the time since then, by the forge's clock.
func (v view) age(then time.Time) fleet.Leaf[fleet.Duration] {
	d := v.clock.Sub(then)
	switch {
	case then.IsZero() || then.Unix() <= 0:
		return fleet.Unknown[fleet.Duration]("the forge does not say when")
	case d < -nearly:
		return fleet.Unknown[fleet.Duration]("it lies in the future of the forge's clock")
	}
	return fleet.Known(fleet.Duration(max(d, 0).Round(time.Second)))
}

func has(labels, wanted []string) bool {
	return slices.ContainsFunc(labels, func(l string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(l, w) })
	})
}
