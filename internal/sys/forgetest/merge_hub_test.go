package forgetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"custos/internal/sys/forgetest"
)

const (
	hubPull  = "/api/v3/repos/acme/shop/pulls/7"
	hubMerge = hubPull + "/merge"
	hubNow   = `{"sha":"` + first + `","merge_method":"merge"}`
	hubTime  = "/api/v3/repos/acme/shop/issues/7/timeline"
	graphAPI = "/api/graphql"

	enable  = `mutation($id: ID!, $head: GitObjectID) { enablePullRequestAutoMerge(input: {pullRequestId: $id, expectedHeadOid: $head, mergeMethod: SQUASH}) { pullRequest { state autoMergeRequest { enabledBy { login } mergeMethod } isInMergeQueue } } }`
	enqueue = `mutation($id: ID!, $head: GitObjectID) { enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { id position state } } }`
	disable = `mutation($id: ID!) { disablePullRequestAutoMerge(input: {pullRequestId: $id}) { pullRequest { number } } }`
	dequeue = `mutation($id: ID!) { dequeuePullRequest(input: {id: $id}) { mergeQueueEntry { position } } }`
	look    = `query($id: ID!) { node(id: $id) { ... on PullRequest { state merged mergeCommit { oid } headRefOid mergeStateStatus isMergeQueueEnabled isInMergeQueue
		autoMergeRequest { enabledBy { login } } mergeQueueEntry { position state enqueuer { login } pullRequest { number } }
		timelineItems(last: 5, itemTypes: [REMOVED_FROM_MERGE_QUEUE_EVENT]) { nodes { __typename ... on RemovedFromMergeQueueEvent { reason } } } } } }`
)

func hub(t *testing.T) (*asker, *forgetest.Pull) {
	t.Helper()
	a, p := forge(t, "github")
	a.repo.AutoMerge = true
	return a, p
}

// graph asks by GraphQL, of the pull request and its first head.
func (a *asker) graph(query, head string, pairs ...any) {
	a.t.Helper()
	_, pull := a.ask("GET", hubPull, "")
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"id": at(pull, "node_id"), "head": head}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.want("POST", graphAPI, string(body), 200, pairs...)
}

func TestHubAutoMerge(t *testing.T) {
	a, p := hub(t)
	a.want("GET", hubPull, "", 200, "auto_merge", nil, "mergeable_state", "blocked", "merged", false)
	a.graph(enable, first, "errors", nil, "data.enablePullRequestAutoMerge.pullRequest.autoMergeRequest.enabledBy.login", "ann",
		"data.enablePullRequestAutoMerge.pullRequest.autoMergeRequest.mergeMethod", "SQUASH", "data.enablePullRequestAutoMerge.pullRequest.state", "OPEN")
	a.want("GET", hubPull, "", 200, "auto_merge.enabled_by.login", "ann", "auto_merge.merge_method", "squash")
	a.want("GET", hubTime, "", 200, "0.event", "auto_squash_enabled", "0.actor.login", "ann")
	a.repo.Report(7, "failure")
	a.is(false, true)
	a.repo.Report(7, "success")
	a.want("GET", hubPull, "", 200, "merged", true, "state", "closed", "merge_commit_sha", p.MergeCommit(), "merged_by.login", "ann", "auto_merge.enabled_by.login", "ann")
	a.graph(look, "", "data.node.state", "MERGED", "data.node.mergeCommit.oid", p.MergeCommit(), "data.node.mergeStateStatus", "UNKNOWN", "data.node.autoMergeRequest.enabledBy.login", "ann")
}

// A push by somebody who may merge leaves auto-merge on, and what is merged is another head than
// the one that was expected; a push by somebody else ends it.
func TestHubPush(t *testing.T) {
	a, p := hub(t)
	a.graph(enable, first, "errors", nil)
	if err := a.repo.Push(7, "ann", second); err != nil {
		t.Fatal(err)
	}
	a.repo.Report(7, "success")
	a.want("GET", hubPull, "", 200, "merged", true, "head.sha", second, "merge_commit_sha", p.MergeCommit())

	a, _ = hub(t)
	a.s.Change(func() { a.repo.Mergers = []string{"ann"} })
	a.graph(enable, first, "errors", nil)
	if err := a.repo.Push(7, "eve", second); err != nil {
		t.Fatal(err)
	}
	a.want("GET", hubPull, "", 200, "auto_merge", nil)
	a.want("GET", hubTime, "", 200, "1.event", "auto_merge_disabled")
	a.repo.Report(7, "success")
	a.is(false, false)
}

func TestHubAutoMergeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*asker, *forgetest.Pull)
		head      string
		kind, why string
	}{
		"not allowed":       {func(a *asker, _ *forgetest.Pull) { a.repo.AutoMerge = false }, first, "UNPROCESSABLE", "Auto merge is not allowed for this repository"},
		"and another head":  {func(a *asker, _ *forgetest.Pull) { a.repo.AutoMerge = false }, second, "UNPROCESSABLE", "Auto merge is not allowed for this repository"},
		"another head":      {func(*asker, *forgetest.Pull) {}, second, "UNPROCESSABLE", "Head sha didn't match expected head sha"},
		"clean":             {func(_ *asker, p *forgetest.Pull) { p.Checks[0].State = "success" }, first, "UNPROCESSABLE", "Pull request Pull request is in clean status"},
		"nothing required":  {func(a *asker, _ *forgetest.Pull) { delete(a.repo.Required, "main") }, first, "UNPROCESSABLE", "Pull request Pull request is in unstable status"},
		"conflict":          {func(_ *asker, p *forgetest.Pull) { p.Conflict = true }, first, "UNPROCESSABLE", "Pull request Pull request is in dirty status"},
		"no right":          {func(a *asker, _ *forgetest.Pull) { a.repo.Mergers = []string{"bob"} }, first, "FORBIDDEN", "ann does not have the correct permissions to execute `EnablePullRequestAutoMerge`"},
		"in the queue":      {func(a *asker, p *forgetest.Pull) { p.Auto = &forgetest.Auto{By: "bob", Queued: true} }, first, "UNPROCESSABLE", "Pull request is already in the queue"},
		"not to be refused": {func(*asker, *forgetest.Pull) {}, first, "<nil>", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			a, p := hub(t)
			a.s.Change(func() { c.change(a, p) })
			a.graph(enable, c.head, "errors.0.type", c.kind, "errors.0.message", c.why)
		})
	}
}

func TestHubDisables(t *testing.T) {
	a, _ := hub(t)
	a.graph(enable, first, "errors", nil)
	a.graph(disable, "", "errors", nil, "data.disablePullRequestAutoMerge.pullRequest.number", 7)
	a.is(false, false)
	a.graph(disable, "", "errors.0.type", "UNPROCESSABLE", "data.disablePullRequestAutoMerge", nil)
}

func TestHubMergesNow(t *testing.T) {
	a, p := hub(t)
	a.want("PUT", hubMerge, hubNow, 405, "message", `Required status check "ci" is expected.`, "status", "405")
	a.repo.Report(7, "failure")
	a.want("PUT", hubMerge, hubNow, 405, "message", `Required status check "ci" is failing.`)
	a.repo.Report(7, "success")
	a.want("PUT", hubMerge, strings.ReplaceAll(hubNow, first, second), 409, "message", "Head branch was modified. Review and try the merge again.")
	a.want("GET", hubMerge, "", 404)
	a.want("PUT", hubMerge, hubNow, 200, "merged", true, "sha", p.MergeCommit(), "message", "Pull Request successfully merged")
	a.want("GET", hubMerge, "", 204)
	a.want("PUT", hubMerge, hubNow, 405, "message", "Pull Request is not mergeable")
}

func TestHubRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*asker, *forgetest.Pull)
		status int
		why    string
	}{
		"conflict": {func(_ *asker, p *forgetest.Pull) { p.Conflict = true }, 405, "Pull Request is not mergeable"},
		"draft":    {func(_ *asker, p *forgetest.Pull) { p.Draft = true }, 405, "Pull Request is still a draft"},
		"no right": {func(a *asker, _ *forgetest.Pull) { a.repo.Mergers = []string{"bob"} }, 403, "Resource not accessible by integration"},
		"queue":    {func(a *asker, _ *forgetest.Pull) { a.repo.Queues = []string{"main"} }, 405, "Repository rule violations found\n\nChanges must be made through the merge queue\n\n"},
		"queued":   {func(_ *asker, p *forgetest.Pull) { p.Auto = &forgetest.Auto{By: "bob", Queued: true} }, 405, "Pull Request is in the merge queue."},
	} {
		t.Run(name, func(t *testing.T) {
			a, p := hub(t)
			a.repo.Report(7, "success")
			a.s.Change(func() { c.change(a, p) })
			a.want("PUT", hubMerge, hubNow, c.status, "message", c.why)
		})
	}
}

func TestHubQueue(t *testing.T) {
	a, p := hub(t)
	a.graph(enqueue, first, "errors.0.message", "No merge queue found for branch 'main'", "data.enqueuePullRequest", nil)
	a.s.Change(func() { a.repo.Queues = []string{"main"} })
	a.want("GET", "/api/v3/repos/acme/shop/rules/branches/main", "", 200, "0.type", "merge_queue")
	a.graph(enqueue, first, "errors.0.message", `Pull request Required status check "ci" is expected.`)
	a.repo.Report(7, "failure")
	a.graph(enqueue, first, "errors.0.message", "Pull request has failing required statuses")
	a.repo.Report(7, "success")
	a.graph(enqueue, second, "errors.0.type", "UNPROCESSABLE")
	a.graph(enqueue, first, "errors", nil, "data.enqueuePullRequest.mergeQueueEntry.position", 1, "data.enqueuePullRequest.mergeQueueEntry.state", "AWAITING_CHECKS")
	a.graph(enqueue, first, "errors.0.message", "Pull request is already in the queue")
	a.graph(look, "", "data.node.isInMergeQueue", true, "data.node.isMergeQueueEnabled", true, "data.node.autoMergeRequest", nil, "data.node.mergeQueueEntry.enqueuer.login", "ann", "data.node.mergeQueueEntry.pullRequest.number", 7)
	a.want("GET", hubPull, "", 200, "auto_merge", nil)
	if err := a.repo.Push(7, "ann", second); !errors.Is(err, forgetest.ErrQueued) {
		t.Errorf("a push to what is queued: %v", err)
	}
	a.repo.Land(7)
	a.want("GET", hubPull, "", 200, "merged", true, "merge_commit_sha", p.MergeCommit())
	a.graph(look, "", "data.node.isInMergeQueue", false, "data.node.mergeQueueEntry", nil, "data.node.timelineItems.nodes.0.reason", "merged")
}

// What is dropped is open, in no queue, and has no auto-merge; only GraphQL says why.
func TestHubIsDropped(t *testing.T) {
	for reason, drop := range map[string]func(*asker){
		"failed_checks": func(a *asker) { a.repo.Drop(7, "failed_checks") },
		"manual": func(a *asker) {
			a.graph(dequeue, "", "errors", nil, "data.dequeuePullRequest.mergeQueueEntry.position", 1)
		},
	} {
		a, _ := hub(t)
		a.s.Change(func() { a.repo.Queues = []string{"main"} })
		a.repo.Report(7, "success")
		a.graph(enqueue, first, "errors", nil)
		drop(a)
		a.graph(look, "", "data.node.state", "OPEN", "data.node.isInMergeQueue", false, "data.node.mergeQueueEntry", nil, "data.node.autoMergeRequest", nil,
			"data.node.timelineItems.nodes.0.__typename", "RemovedFromMergeQueueEvent", "data.node.timelineItems.nodes.0.reason", reason)
		a.want("GET", hubTime, "", 200, "1.event", "removed_from_merge_queue", "1.reason", nil)
		a.repo.Land(7)
		a.is(false, false)
	}
}

// Where a queue is required, auto-merge puts what is green in it, now or later.
func TestHubAutoMergeQueues(t *testing.T) {
	a, _ := hub(t)
	a.s.Change(func() { a.repo.Queues = []string{"main"} })
	a.graph(enable, first, "errors", nil, "data.enablePullRequestAutoMerge.pullRequest.isInMergeQueue", false)
	a.repo.Report(7, "success")
	a.graph(look, "", "data.node.isInMergeQueue", true, "data.node.autoMergeRequest", nil)
	a.repo.Drop(7, "failed_checks")
	a.graph(enable, first, "errors", nil, "data.enablePullRequestAutoMerge.pullRequest.isInMergeQueue", true)
}

func TestHubAsync(t *testing.T) {
	a, p := hub(t)
	path := hubPull + "/merge-async"
	submit := func(body string) string {
		t.Helper()
		_, out := a.ask("PUT", path, body)
		return path + "/" + fmt.Sprint(at(out, "details.uuid"))
	}
	a.s.Change(func() { a.repo.Lazy = true })
	a.want("PUT", path, hubNow, 202, "status", "pending", "details.expected_head_sha", first)
	a.want("PUT", path, hubNow, 409, "status", "pending")
	one := submit(hubNow)
	a.want("GET", one, "", 200, "status", "pending")
	a.s.Change(func() { a.repo.Lazy = false })
	a.want("GET", one, "", 200, "status", "failed", "details.message", `Required status check "ci" is expected.`)
	a.repo.Report(7, "success")
	a.want("GET", submit(`{"sha":"`+second+`"}`), "", 200, "status", "failed")
	a.want("GET", submit(`{"merge_action":"merge_queue"}`), "", 200, "status", "failed")
	a.want("PUT", path, `{"merge_action":"now"}`, 422)
	a.s.Change(func() { a.repo.Queues = []string{"main"} })
	a.want("GET", submit(`{"merge_action":"direct_merge"}`), "", 200, "status", "failed")
	a.want("GET", submit(hubNow), "", 200, "status", "enqueued")
	a.want("PUT", path, hubNow, 200, "status", "enqueued")
	a.repo.Drop(7, "manual")
	a.s.Change(func() { a.repo.Queues, p.Draft = nil, true })
	a.want("PUT", path, hubNow, 400, "status", "failed")
	a.s.Change(func() { p.Draft = false })
	a.want("GET", submit(hubNow), "", 200, "status", "merged", "details.sha", p.MergeCommit())
	a.want("PUT", path, hubNow, 200, "status", "merged", "details.sha", p.MergeCommit())
	a.want("GET", path+"/nosuch", "", 404)
}

// A request that is wrong in one place does nothing at all.
func TestGraphOfWhatThereIsNot(t *testing.T) {
	a, _ := hub(t)
	a.repo.Report(7, "success")
	for query, why := range map[string]string{
		strings.Replace(enqueue, "position", "nosuch", 1):                            "Field 'nosuch' doesn't exist on type 'MergeQueueEntry'",
		strings.Replace(enqueue, "expectedHeadOid: $head", "mergeMethod: SQUASH", 1): "InputObject 'EnqueuePullRequestInput' doesn't accept argument 'mergeMethod'",
		strings.Replace(dequeue, "id: $id", "pullRequestId: $id", 1):                 "InputObject 'DequeuePullRequestInput' doesn't accept argument 'pullRequestId'",
		"{":                                    "Parse error on \"\" at [1, 2]",
		"{ viewer }":                           "Field must have selections (field 'viewer' returns Actor but has no selections)",
		"{ viewer { login { x } } }":           "Selections can't be made on scalars (field 'login' returns a scalar)",
		"query a { viewer { login } } query b": "Parse error on \"\" at [1, 37]",
		`mutation($who: ID!) { disablePullRequestAutoMerge(input: {pullRequestId: $who}) { actor { login } } }`: "Variable $who was provided invalid value",
	} {
		a.graph(query, first, "errors.0.message", why, "data", nil)
	}
	a.graph(`mutation { mergePullRequest(input: {pullRequestId: "PR_x"}) { pullRequest { number } } }`, "", "errors.0.type", "NOT_FOUND", "errors.0.message", "Could not resolve to a node with the global id of 'PR_x'")
	a.is(false, false)
	stranger := &asker{t: t, s: a.s, repo: a.repo, token: "wrong"}
	stranger.want("POST", graphAPI, `{"query":"{ viewer { login } }"}`, 401)
}

func TestGraphForms(t *testing.T) {
	a, _ := hub(t)
	a.graph(`# a remark
		query Look($o: String = "acme", $n: Int = 7) { me: viewer { login } repository(owner: $o, name: "shop") { autoMergeAllowed pull: pullRequest(number: $n) { ...some } } }
		fragment some on PullRequest { number, title }`, "",
		"errors", nil, "data.me.login", "ann", "data.repository.autoMergeAllowed", true, "data.repository.pull.number", 7, "data.repository.pull.title", "fix")
	a.graph(`{ repository(owner: "acme", name: "nosuch") { id } }`, "", "errors.0.type", "NOT_FOUND", "data.repository", nil)
	a.graph(`mutation($id: ID!) { mergePullRequest(input: {pullRequestId: $id, expectedHeadOid: "`+second+`"}) { pullRequest { number } } }`, "",
		"errors.0.message", "Head branch was modified. Review and try the merge again.")
}
