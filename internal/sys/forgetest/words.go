package forgetest

import (
	"net/http"
	"strings"
)

// What the two kinds say differently is here.

func (r *Repo) issue(n int, i *Issue) map[string]any {
	owner, name, _ := strings.Cut(r.Name, "/")
	out := map[string]any{
		"id": n, "number": n, "title": i.Title, "body": i.Body, "user": r.s.user(i.Author), "state": state(i),
		"html_url": r.s.URL + "/" + r.Name + "/issues/" + number(n), "labels": r.labelled(i), "assignees": r.s.users(i.Assignees),
		"created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "closed_at": stamp(i.Closed), "comments": len(i.Comments),
	}
	if r.Pulls[n] != nil {
		out["pull_request"] = map[string]any{"html_url": r.s.URL + "/" + r.Name + "/pulls/" + number(n)}
	}
	if r.s.Kind == "github" {
		out["repository_url"] = r.s.URL + "/api/v3/repos/" + r.Name
		open := 0
		for _, d := range i.DependsOn {
			if repo, at, _ := strings.Cut(d, "#"); r.s.repos[pick(repo == "", r.Name, repo)] != nil {
				if other := r.s.repos[pick(repo == "", r.Name, repo)].find(atoi(at)); other != nil && other.Closed.IsZero() {
					open++
				}
			}
		}
		out["issue_dependencies_summary"] = map[string]any{"blocked_by": open, "total_blocked_by": len(i.DependsOn)}
		return out
	}
	out["repository"] = map[string]any{"id": 1, "name": name, "owner": owner, "full_name": r.Name}
	return out
}

func state(i *Issue) string { return pick(i.Closed.IsZero(), "open", "closed") }

func (r *Repo) labelled(i *Issue) []any {
	out := []any{}
	for _, l := range i.Labels {
		out = append(out, r.label(l))
	}
	return out
}

// pull is a pull request; GitHub tells only of a single one whether it merges.
func (r *Repo) pull(n int, p *Pull, single bool) map[string]any {
	out := map[string]any{
		"id": n, "number": n, "title": p.Title, "body": p.Body, "user": r.s.user(p.Author), "state": state(&p.Issue), "draft": p.Draft,
		"html_url": r.s.URL + "/" + r.Name + "/pulls/" + number(n), "labels": r.labelled(&p.Issue),
		"base":                map[string]any{"ref": p.Base, "sha": strings.Repeat("0", 40)},
		"head":                map[string]any{"ref": p.Branch, "sha": p.Head},
		"requested_reviewers": r.s.users(p.Requested),
		"created_at":          stamp(p.Created), "updated_at": stamp(p.Updated), "closed_at": stamp(p.Closed),
	}
	if p.Merged {
		out["merged_at"] = stamp(p.Closed)
	}
	if r.s.Kind != "github" || single {
		out["merged"] = p.Merged
	}
	switch {
	case r.s.Kind != "github":
		out["mergeable"] = !p.Conflict && !p.Undecided && !p.Draft
	case single && p.Undecided:
		out["mergeable"] = nil
	case single:
		out["mergeable"] = !p.Conflict
	}
	return out
}

func (r *Repo) reviews(p *Pull) []any {
	out := []any{}
	for n, v := range p.Reviews {
		state := v.State
		if r.s.Kind == "github" {
			state = map[string]string{"REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}[v.State]
			if state == "" {
				state = v.State
			}
			if v.Dismissed {
				state = "DISMISSED"
			}
		}
		out = append(out, map[string]any{"id": n + 1, "user": r.s.user(v.Author), "state": state, "dismissed": v.Dismissed,
			"commit_id": p.Head, "submitted_at": stamp(v.At)})
	}
	return out
}

// commit tells of the statuses and check runs of a commit.
func (r *Repo) commit(sha, what string) reply {
	p := r.at(sha)
	if p == nil {
		return r.s.refusal(http.StatusNotFound, "no such commit")
	}
	switch {
	case what == "status":
		return reply{200, r.combined(sha, p), false}
	case what == "check-runs" && r.s.Kind == "github":
		return reply{200, r.runs(p), false}
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

func (r *Repo) combined(sha string, p *Pull) map[string]any {
	statuses, key := []any{}, pick(r.s.Kind == "github", "state", "status")
	for _, c := range p.Checks {
		if !c.Run || r.s.Kind != "github" {
			statuses = append(statuses, map[string]any{"context": c.Context, key: c.State, "created_at": stamp(c.At), "updated_at": stamp(c.At)})
		}
	}
	return map[string]any{"state": "pending", "sha": sha, "total_count": len(statuses), "statuses": statuses}
}

func (r *Repo) runs(p *Pull) map[string]any {
	runs := []any{}
	for _, c := range p.Checks {
		if !c.Run {
			continue
		}
		run := map[string]any{"id": len(runs) + 1, "name": c.Context, "status": "in_progress", "started_at": stamp(c.At)}
		if c.State != "pending" {
			run["status"], run["conclusion"], run["completed_at"] = "completed", c.State, stamp(c.At)
		}
		runs = append(runs, run)
	}
	return map[string]any{"total_count": len(runs), "check_runs": runs}
}
