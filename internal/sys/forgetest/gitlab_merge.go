package forgetest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

func (r *Repo) labMerges(req *http.Request, login string, path []string) reply {
	if len(path) == 0 {
		return reply{200, r.labListMerges(req), linked}
	}
	n := atoi(path[0])
	p := r.Pulls[n]
	if p == nil {
		return lab404("")
	}
	if get := req.Method == http.MethodGet; len(path) == 2 && get {
		switch path[1] {
		case "approvals":
			return reply{200, r.labApprovals(p), single}
		case "reviewers":
			if r.Old {
				return lab404("")
			}
			return reply{200, r.labReviewers(p), single}
		}
	}
	switch strings.Join(append([]string{req.Method}, path[1:]...), " ") {
	case "PUT merge":
		return r.labAccept(req, login, n)
	case "POST cancel_merge_when_pipeline_succeeds":
		return r.labCancel(login, n)
	}
	return r.labThing(req, login, &p.Issue, path[1:], func() any { return r.labOne(n, p) })
}

// labOne is a single merge request.
func (r *Repo) labOne(n int, p *Pull) map[string]any {
	out := r.labMerge(n, p)
	out["head_pipeline"], out["merge_error"], out["diff_refs"] = r.labHead(n, p), orNull(p.MergeError), map[string]any{"head_sha": p.Head}
	return out
}

func (r *Repo) labListMerges(req *http.Request) []any {
	q, out := req.URL.Query(), []any{}
	for _, n := range r.labOrder(slices.Collect(maps.Keys(r.Pulls)), q) {
		if state := q.Get("state"); state == "" || state == "all" || state == labMergeState(r.Pulls[n]) {
			out = append(out, r.labMerge(n, r.Pulls[n]))
		}
	}
	return out
}

func labMergeState(p *Pull) string {
	if p.Merged && !p.Closed.IsZero() {
		return "merged"
	}
	return labState(&p.Issue)
}

func (r *Repo) labMerge(n int, p *Pull) map[string]any {
	out := r.labIssuable(n, &p.Issue, "!", "merge_requests")
	asked := slices.Clone(p.Requested)
	for _, v := range p.Reviews { // who reviews is a reviewer
		if v.Author != "" && !slices.Contains(asked, v.Author) {
			asked = append(asked, v.Author)
		}
	}
	status := "can_be_merged"
	switch {
	case p.Undecided:
		status = "checking"
	case p.Conflict:
		status = "cannot_be_merged"
	}
	maps.Copy(out, map[string]any{"state": labMergeState(p), "target_branch": p.Base, "source_branch": p.Branch, "source_project_id": r.labProject(), "target_project_id": r.labProject(),
		"draft": p.Draft, "work_in_progress": p.Draft, "merge_status": status, "detailed_merge_status": r.labDetailed(n, p), "has_conflicts": status == "cannot_be_merged",
		"sha": p.Head, "merge_commit_sha": p.commit(), "squash_commit_sha": nil, "reviewers": r.s.labUsers(asked), "merged_at": nil, "blocking_discussions_resolved": true, "merge_when_pipeline_succeeds": p.Auto != nil, "merge_user": r.s.labUser(p.MergedBy), "merged_by": r.s.labUser(p.MergedBy)})
	if p.Auto != nil && !p.Merged {
		out["merge_user"] = r.s.labUser(p.Auto.By)
	}
	if p.Merged {
		out["merged_at"], out["closed_at"] = labTime(p.Closed), nil
	}
	if p.Fork != "" {
		out["source_project_id"] = 777
	}
	return out
}

// labApprovals are those that stand; who is gone has none.
func (r *Repo) labApprovals(p *Pull) map[string]any {
	by := []any{}
	for _, v := range p.Reviews {
		if v.State == "APPROVED" && !v.Dismissed && v.Author != "" {
			by = append(by, map[string]any{"user": r.s.labUser(v.Author), "approved_at": labTime(v.At)})
		}
	}
	return map[string]any{"user_has_approved": false, "user_can_approve": true, "approved": len(by) > 0, "approved_by": by}
}

// labReviewers has one state for each: the last.
func (r *Repo) labReviewers(p *Pull) []any {
	states, order := map[string]string{}, slices.Clone(p.Requested)
	for _, who := range order {
		states[who] = "unreviewed"
	}
	for _, v := range p.Reviews {
		if _, there := states[v.Author]; !there {
			order = append(order, v.Author)
		}
		states[v.Author] = map[string]string{"APPROVED": "approved", "REQUEST_CHANGES": "requested_changes", "COMMENT": "reviewed"}[v.State]
		if v.Dismissed {
			states[v.Author] = "unapproved"
		}
	}
	out := []any{}
	for _, who := range order {
		out = append(out, map[string]any{"user": r.s.labUser(who), "state": states[who], "created_at": labTime(p.Created)})
	}
	return out
}

// What the head pipeline of a merge request may be besides one of its head (Pull.Pipeline).
const (
	PipelineMerged = "merged" // of what the branches come to together
	PipelineFork   = "fork"   // in the project that the branch is in
	PipelineOld    = "old"    // of a commit that was the head before
	PipelineEmpty  = "empty"  // that failed before it had a job
)

// labHead is the pipeline of the head; nil when there is none.
func (r *Repo) labHead(n int, p *Pull) any {
	if len(p.Checks) == 0 && p.Pipeline == "" {
		return nil
	}
	out := map[string]any{"id": 50000 + n, "iid": n, "project_id": r.labProject(), "sha": p.Head, "ref": p.Branch, "status": labStatus(labNewest(p)), "source": "push",
		"created_at": labTime(p.Committed), "updated_at": labTime(p.Updated), "started_at": labTime(p.Committed), "finished_at": nil, "yaml_errors": nil}
	if out["status"] != "running" {
		out["finished_at"] = labTime(p.Updated)
	}
	switch p.Pipeline {
	case PipelineMerged:
		out["sha"], out["ref"], out["source"] = labMergedSHA(p), "refs/merge-requests/"+number(n)+"/merge", "merge_request_event"
	case PipelineFork:
		out["project_id"] = 777
	case PipelineOld:
		out["sha"] = strings.Repeat("0", 40)
	case PipelineEmpty:
		out["status"], out["yaml_errors"] = "failed", "jobs config should contain at least one visible job"
	}
	return out
}

func labMergedSHA(p *Pull) string { return strings.Repeat("e", 8) + p.Head[:32] }

// labNewest are the checks that were not run again.
func labNewest(p *Pull) (out []Check) {
	for n, c := range p.Checks {
		if !slices.ContainsFunc(p.Checks[n+1:], func(o Check) bool { return o.Context == c.Context }) {
			out = append(out, c)
		}
	}
	return out
}

// labStatus is what a pipeline of such jobs comes to.
func labStatus(checks []Check) string {
	status := "success"
	for _, c := range checks {
		switch c.State {
		case "failure", "error":
			status = pick(status == "running", status, "failed")
		case "pending":
			status = "running"
		}
	}
	return status
}

func (r *Repo) labCommit(req *http.Request, path []string) reply {
	for n, p := range r.Pulls {
		head := p.Head == path[0]
		switch {
		case len(path) == 1 && head:
			return reply{200, map[string]any{"id": p.Head, "committed_date": labTime(p.Committed), "created_at": labTime(p.Committed), "status": nil, "last_pipeline": nil}, single}
		case len(path) == 2 && path[1] == "statuses" && (head || p.Pipeline == PipelineMerged && labMergedSHA(p) == path[0]):
			return reply{200, r.labStatuses(req.URL.Query(), n, p, head), linked}
		}
	}
	return lab404("Commit ")
}

// labStatuses are the jobs and foreign statuses of a commit's pipelines, those in another
// project left out.
func (r *Repo) labStatuses(q url.Values, n int, p *Pull, head bool) []any {
	id, out := 50000+n, []any{}
	if of := q.Get("pipeline_id"); of != "" && of != number(id) || head == (p.Pipeline == PipelineMerged) || p.Pipeline == PipelineFork || p.Pipeline == PipelineEmpty {
		return out
	}
	list := labNewest(p)
	if q.Get("all") == "true" {
		list = p.Checks
	}
	for k, c := range list {
		one := map[string]any{"id": 7000 + k, "name": c.Context, "status": c.State, "allow_failure": c.State == "warning", "created_at": labTime(c.At), "started_at": labTime(c.At), "finished_at": nil,
			"sha": p.Head, "ref": p.Branch, "pipeline_id": id, "description": nil, "author": nil, "target_url": nil}
		switch c.State {
		case "failure", "error", "warning":
			one["status"] = "failed"
		case "pending":
			one["status"] = "running"
		}
		if one["status"] != "running" {
			one["finished_at"] = labTime(c.At)
		}
		out = append(out, one)
	}
	return out
}
