package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// GitHub's server is not public. How it merges was written down from its documentation, and the
// texts from answers of api.github.com that others recorded and published:
//
//   - docs.github.com/en/rest/pulls/pulls: "Merge a pull request" (200, 403, 404, 405, 409, 422), and
//     "Merge a pull request asynchronously" (202 and a UUID; 200, 400, 409), which is GitHub's own
//     advice since github.blog/changelog/2026-10-01-github-async-merge-api-generally-available.
//     github.github.io/gh-stack/reference/merge-api: its answers.
//   - docs.github.com, "Automatically merging a pull request": who may push and who ends it by
//     pushing. "Managing a merge queue", "Merging a pull request with a merge queue".
//   - cli/cli, pkg/cmd/pr/merge/{merge,http}.go (01f53b1, 10db389): where a queue is required,
//     enablePullRequestAutoMerge either waits or puts it in the queue.
//   - Recorded: glunk-works/wb-ruleset-scratch on 2026-10-09 (refusals of rules, auto-merge that goes on
//     through a push of a writer and is told of after the merge, 403 of an app); yeyo11/agentry-probe
//     (auto-merge that is not allowed is told of first, before a stale head);
//     kintohubtest/beanstalk-race on 2026-10-07 (refusals of the queue and its reasons);
//     pascalgn/automerge-action#235 and HomericIntelligence/Mnemosyne#3201 (405 of a queue).
//   - Not recorded anywhere that could be found, and made up from like ones: a stale head with
//     GraphQL, a draft with GraphQL, what an asynchronous merge that fails says.

// hubRefusal is an error of GitHub's REST API.
func hubRefusal(status int, message string) reply {
	return reply{status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest/pulls/pulls#merge-a-pull-request", "status": strconv.Itoa(status)}, single}
}

// What GitHub says, by REST and by GraphQL.
const (
	hubMissing  = "Not Found"
	hubStale    = "Head branch was modified. Review and try the merge again."
	hubUnable   = "Pull Request is not mergeable"
	hubDraft    = "Pull Request is still a draft"
	hubQueued   = "Pull Request is in the merge queue."
	hubForeign  = "Resource not accessible by integration"
	hubViolated = "Repository rule violations found\n\n"
	hubByQueue  = hubViolated + "Changes must be made through the merge queue\n\n"
)

// hubState is mergeable_state: clean, unstable (what is not required has not passed), blocked
// (what is required has not), dirty, draft, unknown.
func (r *Repo) hubState(p *Pull) string {
	switch {
	case !p.Closed.IsZero(), p.Undecided:
		return "unknown"
	case p.Draft:
		return "draft"
	case p.Conflict:
		return "dirty"
	case p.worst(r.Required[p.Base]) != green:
		return "blocked"
	case slices.ContainsFunc(p.Checks, func(c Check) bool { return verdict(c.State) != green }):
		return "unstable"
	}
	return "clean"
}

// hubReady says whether nothing that is required is missing.
func (r *Repo) hubReady(p *Pull) bool {
	return slices.Contains([]string{"clean", "unstable"}, r.hubState(p))
}

// hubBlocked names the first check that is missing; "" where none is.
func (r *Repo) hubBlocked(p *Pull) string {
	for _, c := range r.Required[p.Base] {
		switch p.check(c) {
		case red:
			return fmt.Sprintf("Required status check %q is failing.", c)
		case pending:
			return fmt.Sprintf("Required status check %q is expected.", c)
		}
	}
	return ""
}

// queue says whether a pull request goes through a merge queue.
func (r *Repo) queue(p *Pull) bool { return slices.Contains(r.Queues, p.Base) }

// hubPull is what GitHub adds to a pull request. While it is open merge_commit_sha is a merge
// that GitHub tried; auto_merge is nothing while it is in the queue, and stays once it is merged.
func (r *Repo) hubPull(out map[string]any, n int, p *Pull, single bool) {
	out["node_id"], out["auto_merge"] = r.node(n), nil
	if p.Auto != nil && !p.Auto.Queued {
		out["auto_merge"] = map[string]any{"enabled_by": r.s.user(p.Auto.By), "merge_method": p.Auto.Style, "commit_title": nil, "commit_message": nil}
	}
	if !p.Merged && !p.Undecided {
		out["merge_commit_sha"] = digest("try " + p.Head)
	}
	if single {
		out["mergeable_state"] = r.hubState(p)
	}
}

// rules are those of a branch, as rulesets have them.
func (r *Repo) rules(branch string) []any {
	if !slices.Contains(r.Queues, branch) {
		return []any{}
	}
	return []any{map[string]any{"type": "merge_queue", "ruleset_source_type": "Repository", "ruleset_source": r.Name, "ruleset_id": 1,
		"parameters": map[string]any{"check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN", "max_entries_to_build": 5, "max_entries_to_merge": 5, "merge_method": "MERGE",
			"min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5}}}
}

func (r *Repo) hubMerge(req *http.Request, login string, n int) reply {
	p := r.Pulls[n]
	switch {
	case req.Method == http.MethodGet && p.Merged:
		return reply{http.StatusNoContent, nil, single}
	case req.Method != http.MethodPut:
		return hubRefusal(http.StatusNotFound, hubMissing)
	}
	var in struct{ SHA string }
	_ = json.NewDecoder(req.Body).Decode(&in)
	if status, why := r.hubRefuses(p, login, in.SHA); status > 0 {
		return hubRefusal(status, why)
	}
	r.finish(n, login)
	return reply{200, map[string]any{"sha": p.MergeCommit(), "merged": true, "message": "Pull Request successfully merged"}, single}
}

// hubRefuses says why a pull request is not merged now; 0: it is.
func (r *Repo) hubRefuses(p *Pull, login, sha string) (status int, why string) {
	switch {
	case !r.may(login):
		return http.StatusForbidden, hubForeign
	case p.Closed.IsZero() && p.Auto != nil && p.Auto.Queued:
		return http.StatusMethodNotAllowed, hubQueued
	case p.Closed.IsZero() && p.Draft:
		return http.StatusMethodNotAllowed, hubDraft
	case !p.Closed.IsZero(), p.Conflict:
		return http.StatusMethodNotAllowed, hubUnable
	case sha != "" && sha != p.Head:
		return http.StatusConflict, hubStale
	case r.queue(p):
		return http.StatusMethodNotAllowed, hubByQueue
	}
	if why := r.hubBlocked(p); why != "" {
		return http.StatusMethodNotAllowed, why
	}
	return 0, ""
}

// hubSettle merges what has auto-merge on and lacks nothing, or puts it in the queue. It may be
// another head than the one that auto-merge was turned on at.
func (r *Repo) hubSettle(n int) {
	switch p := r.Pulls[n]; {
	case !r.hubReady(p) || !r.may(p.Auto.By):
	case r.queue(p):
		r.enqueue(p, p.Auto.By)
	default:
		r.finish(n, p.Auto.By)
	}
}

func (r *Repo) enqueue(p *Pull, by string) {
	r.ask(p, by, "")
	p.Auto.Queued = true
	r.write(p, by, "added_to_merge_queue", "")
}

// hubPushed ends auto-merge where somebody pushed who may not merge.
func (r *Repo) hubPushed(p *Pull, by string) {
	if p.Auto != nil && !r.may(by) {
		p.Auto = nil
		r.write(p, by, "auto_merge_disabled", "")
	}
}

// async is a merge that was asked for asynchronously.
type async struct {
	number              int
	by                  string
	method, action, sha string
	done                map[string]any // what came of it; nil: it is pending
}

// hubAsync takes an asynchronous merge, and tells what came of one.
func (r *Repo) hubAsync(req *http.Request, login string, n int, path []string) reply {
	switch {
	case req.Method == http.MethodPut && len(path) == 0 && r.may(login):
		return r.hubSubmit(req, login, n)
	case req.Method == http.MethodPut && len(path) == 0:
		return hubRefusal(http.StatusForbidden, hubForeign)
	case req.Method != http.MethodGet || len(path) != 1 || r.async[path[0]] == nil || r.async[path[0]].number != n:
		return hubRefusal(http.StatusNotFound, hubMissing)
	}
	a := r.async[path[0]]
	if a.done == nil && !r.Lazy {
		a.done = r.hubRun(n, a)
	}
	if a.done == nil {
		return reply{200, a.pending(path[0]), single}
	}
	return reply{200, a.done, single}
}

func asyncResult(status, message string) map[string]any {
	return map[string]any{"status": status, "details": map[string]any{"message": message}}
}

func (a *async) pending(uuid string) map[string]any {
	return map[string]any{"status": "pending", "details": map[string]any{"message": "Merge request enqueued.", "uuid": uuid, "merge_method": a.method, "merge_action": a.action, "expected_head_sha": a.sha}}
}

// hubSubmit looks only at what a pull request is; rules and checks are looked at when it runs.
func (r *Repo) hubSubmit(req *http.Request, login string, n int) reply {
	in := struct {
		SHA    string
		Method string `json:"merge_method"`
		Action string `json:"merge_action"`
	}{r.Pulls[n].Head, "merge", "default"}
	_ = json.NewDecoder(req.Body).Decode(&in)
	p := r.Pulls[n]
	switch {
	case !slices.Contains([]string{"default", "direct_merge", "merge_queue"}, in.Action):
		return hubRefusal(http.StatusUnprocessableEntity, "Invalid request.")
	case p.Merged:
		return reply{200, r.asyncMerged(p), single}
	case !p.Closed.IsZero(), p.Draft:
		return reply{http.StatusBadRequest, asyncResult("failed", pick(p.Draft, hubDraft, hubUnable)), single}
	case p.Auto != nil && p.Auto.Queued:
		return reply{200, asyncResult("enqueued", strings.TrimSuffix(hubQueued, ".")), single}
	}
	for uuid, a := range r.async {
		if a.number == n && a.done == nil {
			return reply{http.StatusConflict, a.pending(uuid), single}
		}
	}
	text := digest(fmt.Sprint(r.Name, n, len(r.async)))
	uuid := fmt.Sprintf("%s-%s-4%s-8%s-%s", text[:8], text[8:12], text[13:16], text[17:20], text[20:32])
	r.async[uuid] = &async{number: n, by: login, method: in.Method, action: in.Action, sha: in.SHA}
	return reply{http.StatusAccepted, r.async[uuid].pending(uuid), single}
}

func (r *Repo) asyncMerged(p *Pull) map[string]any {
	out := asyncResult("merged", "Pull request was merged.")
	out["details"].(map[string]any)["sha"] = p.MergeCommit()
	return out
}

// hubRun does what was asked for.
func (r *Repo) hubRun(n int, a *async) map[string]any {
	p := r.Pulls[n]
	queue := r.queue(p) && a.action != "direct_merge"
	status, why := r.hubRefuses(p, a.by, a.sha)
	if queue && why == hubByQueue {
		why = r.hubBlocked(p)
		status = len(why)
	}
	switch {
	case a.action == "merge_queue" && !r.queue(p):
		return asyncResult("failed", noQueue(p.Base))
	case status > 0:
		return asyncResult("failed", why)
	case queue:
		r.enqueue(p, a.by)
		return asyncResult("enqueued", "Pull request was added to the merge queue.")
	}
	r.finish(n, a.by)
	return r.asyncMerged(p)
}

func noQueue(branch string) string { return "No merge queue found for branch '" + branch + "'" }
