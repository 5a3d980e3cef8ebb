package forgetest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// What the two kinds say differently is here.

func (r *Repo) issue(n int, i *Issue) map[string]any {
	owner, name, _ := strings.Cut(r.Name, "/")
	out := map[string]any{
		"id": n, "number": n, "title": i.Title, "body": i.Body, "user": r.s.user(i.Author), "state": state(i),
		"html_url": r.s.URL + "/" + r.Name + "/issues/" + number(n), "labels": r.labelled(i), "assignees": r.s.users(i.Assignees),
		"created_at": r.s.stamp(i.Created), "updated_at": r.s.stamp(i.Updated), "closed_at": r.s.stamp(i.Closed), "comments": len(i.Comments),
	}
	if r.Pulls[n] != nil {
		out["pull_request"] = r.asPull(n)
	}
	if r.s.Kind == "github" {
		out["repository_url"] = r.s.URL + "/api/v3/repos/" + r.Name
		out["issue_dependencies_summary"] = map[string]any{"blocked_by": r.open(i), "total_blocked_by": len(i.DependsOn)}
		out["state_reason"] = any(nil)
		if !i.Closed.IsZero() {
			out["state_reason"] = "completed"
		}
		return out
	}
	out["repository"] = map[string]any{"id": 1, "name": name, "owner": owner, "full_name": r.Name}
	return out
}

// open counts the open issues that one waits for.
func (r *Repo) open(i *Issue) (n int) {
	for _, d := range i.DependsOn {
		if r.waits(&Issue{DependsOn: []string{d}}) {
			n++
		}
	}
	return n
}

// asPull is what an issue that is a pull request says of it.
func (r *Repo) asPull(n int) map[string]any {
	p := r.Pulls[n]
	out := map[string]any{"html_url": r.s.URL + "/" + r.Name + "/pulls/" + number(n), "merged_at": nil}
	if p.Merged {
		out["merged_at"] = r.s.stamp(p.Closed)
	}
	if r.s.Kind != "github" {
		out["merged"], out["draft"] = p.Merged, p.Draft
	}
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
		"base":                map[string]any{"ref": p.Base, "sha": strings.Repeat("0", 40), "repo": map[string]any{"full_name": r.Name}},
		"head":                r.head(n, p),
		"requested_reviewers": r.s.users(p.Requested),
		"created_at":          r.s.stamp(p.Created), "updated_at": r.s.stamp(p.Updated), "closed_at": r.s.stamp(p.Closed),
	}
	if out["merged_at"] = any(nil); p.Merged {
		out["merged_at"] = r.s.stamp(p.Closed)
	}
	if r.s.Kind != "github" || single {
		out["merged"], out["merged_by"] = p.Merged, r.s.maybe(p.MergedBy)
	}
	out["merge_commit_sha"] = p.commit()
	if r.s.Kind == "github" {
		r.hubPull(out, n, p, single)
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

// head is the branch of a pull request.
func (r *Repo) head(n int, p *Pull) map[string]any {
	repo := cmp.Or(p.Fork, r.Name)
	owner, _, _ := strings.Cut(repo, "/")
	out := map[string]any{"ref": p.Branch, "sha": p.Head, "label": owner + ":" + p.Branch, "repo": map[string]any{"full_name": repo}}
	if r.s.Kind == "github" {
		return out
	}
	out["label"] = p.Branch
	if p.BranchGone {
		out["ref"] = "refs/pull/" + number(n) + "/head"
	}
	return out
}

// asked are those who were asked for a review, in the list of a Gitea's reviews.
func (r *Repo) asked(p *Pull) (out []any) {
	for n, who := range p.Requested {
		out = append(out, map[string]any{"id": 100 + n, "user": r.s.user(who), "team": nil, "state": "REQUEST_REVIEW", "submitted_at": r.s.stamp(p.Updated)})
	}
	for n, team := range p.Teams {
		out = append(out, map[string]any{"id": 200 + n, "user": nil, "team": map[string]any{"name": team}, "state": "REQUEST_REVIEW", "submitted_at": r.s.stamp(p.Updated)})
	}
	return out
}

func (r *Repo) reviews(p *Pull) []any {
	out := []any{}
	if r.s.Kind != "github" {
		out = append(out, r.asked(p)...)
	}
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
		user := any(r.s.user(v.Author))
		if v.Author == "" {
			user = nil
		}
		out = append(out, map[string]any{"id": n + 1, "user": user, "state": state, "dismissed": v.Dismissed,
			"commit_id": p.Head, "submitted_at": r.s.stamp(v.At)})
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
	case what == "status" && r.s.Kind == "github":
		return reply{200, r.combined(sha, p), inside}
	case what == "check-runs" && r.s.Kind == "github":
		return reply{200, r.runs(p), inside}
	case what == "statuses" && r.s.Kind != "github":
		return reply{200, r.statuses(p), linked}
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

// statuses are all that were ever written to a commit, the newest first, as a Gitea
// has them.
func (r *Repo) statuses(p *Pull) []any {
	out := []any{}
	for n, c := range p.Checks {
		out = append(out, map[string]any{"id": n + 1, "context": c.Context, "status": c.State, "created_at": r.s.stamp(c.At), "updated_at": r.s.stamp(c.At)})
	}
	slices.Reverse(out)
	return out
}

// combined are the newest statuses of a commit, as GitHub has them: a page of them, and
// how many there are.
func (r *Repo) combined(sha string, p *Pull) map[string]any {
	statuses, state := []any{}, "success"
	for _, c := range p.Checks {
		if c.Run {
			continue
		}
		statuses = append(statuses, map[string]any{"context": c.Context, "state": c.State, "created_at": r.s.stamp(c.At), "updated_at": r.s.stamp(c.At)})
		switch c.State {
		case "failure", "error":
			state = "failure"
		case "pending":
			state = pick(state == "failure", state, "pending")
		}
	}
	if len(statuses) == 0 {
		state = "pending"
	}
	return map[string]any{"state": state, "sha": sha, "total_count": len(statuses), "statuses": statuses}
}

func (r *Repo) runs(p *Pull) map[string]any {
	runs := []any{}
	for _, c := range p.Checks {
		if !c.Run {
			continue
		}
		run := map[string]any{"id": len(runs) + 1, "name": c.Context, "status": "in_progress", "conclusion": nil, "started_at": r.s.stamp(c.At), "completed_at": nil}
		if c.State != "pending" {
			run["status"], run["conclusion"], run["completed_at"] = "completed", c.State, r.s.stamp(c.At)
		}
		runs = append(runs, run)
	}
	return map[string]any{"total_count": len(runs), "check_runs": runs}
}
