package forge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

func (v view) pull(p forge.Pull, views []view) fleet.PullRequest {
	out := fleet.PullRequest{Name: fleet.PullName(v.Name, p.Number), Project: v.Name, Number: p.Number, Title: line(p.Title, mostTitle),
		URL: line(p.URL, 300), Owner: v.Owner, Author: line(p.Author, mostName), Labels: lines(p.Labels), Base: line(p.Base, mostName),
		Branch: line(p.Branch, mostName), Head: line(p.Head, 64), Fork: p.Fork, Draft: p.Draft}
	for _, r := range closes(p.Title+"\n"+p.Body, v.URL) {
		name, _ := stand(views, &v, r)
		out.Closes = append(out.Closes, name)
	}
	if v.why != "" {
		out.Age, out.Pushed, out.Checked = fleet.Unknown[fleet.Duration](v.why), fleet.Unknown[fleet.Duration](v.why), fleet.Unknown[fleet.Duration](v.why)
		out.Checks, out.Review, out.Conflict = fleet.Unknown[string](v.why), fleet.Unknown[string](v.why), fleet.Unknown[bool](v.why)
		return out
	}
	out.Age = v.age(p.Created)
	v.checks(p, &out)
	out.Pushed = v.pushed(p)
	out.Conflict = v.conflict(p)
	out.Review = known(v, question{askReviews, p.Number, ""}, func(list []forge.Review) string { return verdict(list, p.Requested) })
	return out
}

// checks judges the required contexts where there are any, else all.
func (v view) checks(p forge.Pull, out *fleet.PullRequest) {
	all := known(v, question{askChecks, p.Number, p.Head}, func(c forge.Checks) forge.Checks { return c })
	required := known(v, question{askRequired, 0, p.Base}, func(list []string) []string { return list })
	checks, ok := all.Get()
	if !ok {
		out.Checks, out.Checked = fleet.Unknown[string](all.Why()), fleet.Unknown[fleet.Duration](all.Why())
		return
	}
	names, ok := required.Get()
	if !ok { // to judge all of them instead would call a pull request green that lacks a required one
		out.Checks, out.Checked = fleet.Unknown[string](required.Why()), fleet.Unknown[fleet.Duration](required.Why())
		return
	}
	contexts, missing := wanted(checks.Checks, names)
	state, ended := "none", time.Time{}
	if missing {
		state = "pending"
	}
	for _, c := range contexts {
		switch {
		case c.State == "failure":
			state, out.Failed = "failure", append(out.Failed, line(c.Context, mostName))
		case c.State == "pending" && state != "failure", state == "none":
			state = c.State
		}
		if c.Ended.After(ended) {
			ended = c.Ended
		}
	}
	slices.Sort(out.Failed)
	if len(out.Failed) > mostLabels {
		out.Failed = out.Failed[:mostLabels]
	}
	out.Checks, out.Checked = leaf(checks.Whole || state == "failure", state, "it has more checks than one answer holds"), fleet.Known[fleet.Duration](0)
	if !ended.IsZero() {
		out.Checked = v.age(ended)
	}
}

// pushed is the time since the newest commit was pushed: exactly, when that was
// seen; else since it was made, but not after its first check.
func (v view) pushed(p forge.Pull) fleet.Leaf[fleet.Duration] {
	if h := v.heads[p.Number]; !h.at.IsZero() {
		return v.age(h.at)
	}
	made := known(v, question{askCommit, p.Number, p.Head}, func(at time.Time) time.Time { return at })
	at, ok := made.Get()
	if !ok {
		return fleet.Unknown[fleet.Duration](made.Why())
	}
	if checks, ok := known(v, question{askChecks, p.Number, p.Head}, func(c forge.Checks) forge.Checks { return c }).Get(); ok {
		for _, c := range checks.Checks {
			if !c.Began.IsZero() && c.Began.Before(at) {
				at = c.Began
			}
		}
	}
	return v.age(at)
}

func (v view) conflict(p forge.Pull) fleet.Leaf[bool] {
	merges := fleet.Known(p.Merges)
	if v.Lazy {
		merges = known(v, question{askMerges, p.Number, ""}, func(s string) string { return s })
	}
	said, ok := merges.Get()
	switch {
	case !ok:
		return fleet.Unknown[bool](merges.Why())
	case said == "":
		return fleet.Unknown[bool]("the forge does not tell")
	}
	return fleet.Known(said == "no")
}

// verdict joins reviews: the newest of each reviewer that says yes or no counts.
func verdict(list []forge.Review, requested bool) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b forge.Review) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	newest, commented := map[string]string{}, false
	for _, r := range list {
		switch r.State {
		case "approved", "changes requested":
			newest[strings.ToLower(r.Author)] = r.State
		case "commented":
			commented = true
		case "requested":
			requested = true
		case "dismissed":
		}
	}
	approved := false
	for _, s := range newest {
		if s == "changes requested" {
			return s
		}
		approved = true
	}
	switch {
	case approved:
		return "approved"
	case commented:
		return "commented"
	case requested:
		return "requested"
	}
	return "none"
}
