package forgetest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// GitHub's GraphQL, of docs.github.com/en/graphql/reference/pulls: as much of it as merging needs.
// The address is that of an Enterprise Server, /api/graphql, as its REST API is at /api/v3.

// graphTypes are the fields of each type, and the type of each field; "": a scalar.
var graphTypes = map[string]map[string]string{
	"query":    {"repository": "Repository", "node": "Node", "viewer": "Actor"},
	"mutation": {"enablePullRequestAutoMerge": "AutoMergePayload", "disablePullRequestAutoMerge": "AutoMergePayload", "enqueuePullRequest": "QueuePayload", "dequeuePullRequest": "QueuePayload", "mergePullRequest": "AutoMergePayload"},

	"AutoMergePayload": {"actor": "Actor", "clientMutationId": "", "pullRequest": "PullRequest"},
	"QueuePayload":     {"clientMutationId": "", "mergeQueueEntry": "MergeQueueEntry"},
	"Repository": {"id": "", "nameWithOwner": "", "autoMergeAllowed": "", "mergeCommitAllowed": "", "squashMergeAllowed": "", "rebaseMergeAllowed": "", "viewerPermission": "",
		"pullRequest": "PullRequest", "mergeQueue": "MergeQueue"},
	"Node":  {"id": ""},
	"Actor": {"login": ""},
	"User":  {"login": ""},
	"PullRequest": {"id": "", "number": "", "title": "", "url": "", "state": "", "isDraft": "", "closed": "", "closedAt": "", "merged": "", "mergedAt": "", "mergedBy": "Actor", "mergeCommit": "Commit",
		"headRefOid": "", "headRefName": "", "baseRefName": "", "mergeable": "", "mergeStateStatus": "", "autoMergeRequest": "AutoMergeRequest", "isInMergeQueue": "", "isMergeQueueEnabled": "",
		"mergeQueueEntry": "MergeQueueEntry", "mergeQueue": "MergeQueue", "viewerCanEnableAutoMerge": "", "viewerCanDisableAutoMerge": "", "createdAt": "", "updatedAt": "", "timelineItems": "Timeline"},
	"AutoMergeRequest": {"enabledBy": "Actor", "enabledAt": "", "mergeMethod": "", "commitHeadline": "", "commitBody": "", "authorEmail": "", "pullRequest": "PullRequest"},
	"MergeQueue":       {"id": "", "url": "", "entries": "Entries"},
	"Entries":          {"totalCount": "", "nodes": "MergeQueueEntry", "pageInfo": "PageInfo"},
	"MergeQueueEntry": {"id": "", "position": "", "state": "", "enqueuedAt": "", "enqueuer": "Actor", "estimatedTimeToMerge": "", "jump": "", "solo": "", "baseCommit": "Commit", "headCommit": "Commit",
		"pullRequest": "PullRequest", "mergeQueue": "MergeQueue"},
	"Commit":                     {"oid": ""},
	"PageInfo":                   {"hasNextPage": "", "hasPreviousPage": "", "endCursor": "", "startCursor": ""},
	"Timeline":                   {"totalCount": "", "nodes": "PullRequestTimelineItems", "pageInfo": "PageInfo"},
	"PullRequestTimelineItems":   {},
	"AutoMergeEnabledEvent":      {"id": "", "actor": "Actor", "createdAt": ""},
	"AutoSquashEnabledEvent":     {"id": "", "actor": "Actor", "createdAt": ""},
	"AutoRebaseEnabledEvent":     {"id": "", "actor": "Actor", "createdAt": ""},
	"AutoMergeDisabledEvent":     {"id": "", "actor": "Actor", "createdAt": "", "reason": "", "reasonCode": ""},
	"AddedToMergeQueueEvent":     {"id": "", "actor": "Actor", "createdAt": "", "enqueuer": "Actor"},
	"RemovedFromMergeQueueEvent": {"id": "", "actor": "Actor", "createdAt": "", "reason": "", "beforeCommit": "Commit", "enqueuer": "Actor"},
	"MergedEvent":                {"id": "", "actor": "Actor", "createdAt": ""},
	"ClosedEvent":                {"id": "", "actor": "Actor", "createdAt": ""},
}

// graphInputs are what each mutation takes, the one that it must have first. How they are
// merged is the queue's to say, so that enqueuePullRequest takes no mergeMethod.
var graphInputs = map[string][]string{
	"enablePullRequestAutoMerge":  {"pullRequestId", "authorEmail", "clientMutationId", "commitBody", "commitHeadline", "expectedHeadOid", "mergeMethod"},
	"disablePullRequestAutoMerge": {"pullRequestId", "clientMutationId"},
	"enqueuePullRequest":          {"pullRequestId", "clientMutationId", "expectedHeadOid", "jump"},
	"dequeuePullRequest":          {"id", "clientMutationId"},
	"mergePullRequest":            {"pullRequestId", "authorEmail", "clientMutationId", "commitBody", "commitHeadline", "expectedHeadOid", "mergeMethod"},
}

// graphEvents are the types of what stands in a timeline.
var graphEvents = map[string]string{"auto_merge_enabled": "AutoMergeEnabledEvent", "auto_squash_enabled": "AutoSquashEnabledEvent", "auto_rebase_enabled": "AutoRebaseEnabledEvent",
	"auto_merge_disabled": "AutoMergeDisabledEvent", "added_to_merge_queue": "AddedToMergeQueueEvent", "removed_from_merge_queue": "RemovedFromMergeQueueEvent", "merged": "MergedEvent", "closed": "ClosedEvent"}

// graphQL answers a request. Faults in what is asked are 200 as well, with no data; a refusal
// has null in the place of what was refused.
func (s *Server) graphQL(r *http.Request, login string) reply {
	var in struct {
		Query         string
		Variables     map[string]any
		OperationName string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return reply{http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"}, single}
	}
	d, err := parseGraph(in.Query)
	var o operation
	if err == nil {
		o, err = d.chosen(in.OperationName)
	}
	if err != nil {
		return graphFailed(graphError("", err.Error(), selection{}))
	}
	vars, faults := o.values(in.Variables)
	if faults = append(faults, d.check(graphTypes, o.kind, o.sub, 0)...); len(faults) == 0 {
		faults = graphUnknown(o, vars)
	}
	if len(faults) > 0 {
		return graphFailed(faults...)
	}
	return s.graphRun(d, o, vars, login)
}

func graphFailed(faults ...any) reply {
	return reply{200, map[string]any{"errors": faults}, single}
}

// values are those of the variables of an operation.
func (o operation) values(given map[string]any) (out map[string]any, faults []any) {
	out = map[string]any{}
	for _, v := range o.vars {
		value, there := given[v.name]
		switch {
		case there:
			out[v.name] = value
		case v.required:
			faults = append(faults, graphError("", "Variable $"+v.name+" was provided invalid value", selection{}))
		case v.usual != nil:
			out[v.name] = v.usual
		}
	}
	return out, faults
}

// graphUnknown finds fields of an input that there are not, and what is missing of it.
func graphUnknown(o operation, vars map[string]any) (faults []any) {
	for _, s := range o.sub {
		takes := graphInputs[s.name]
		if o.kind != "mutation" || takes == nil {
			continue
		}
		kind := strings.ToUpper(s.name[:1]) + s.name[1:] + "Input"
		in := graphInput(s, vars)
		for name := range in {
			if !slices.Contains(takes, name) {
				faults = append(faults, graphError("", fmt.Sprintf("InputObject '%s' doesn't accept argument '%s'", kind, name), s))
			}
		}
		if id, _ := in[takes[0]].(string); id == "" {
			faults = append(faults, graphError("", fmt.Sprintf("Argument '%s' on InputObject '%s' is required. Expected type ID!", takes[0], kind), s))
		}
	}
	return faults
}

func graphInput(s selection, vars map[string]any) map[string]any {
	args, _ := filled(s.args, vars).(map[string]any)
	in, _ := args["input"].(map[string]any)
	return in
}

func (s *Server) graphRun(d document, o operation, vars map[string]any, login string) reply {
	data, faults := map[string]any{}, []any{}
	for _, sel := range o.sub {
		v, kind, why := s.graphRoot(o.kind, sel, vars, login)
		if why != "" {
			faults = append(faults, graphError(kind, why, sel))
		}
		data[sel.alias] = d.value(v, sel, vars)
	}
	out := map[string]any{"data": data}
	if len(faults) > 0 {
		out["errors"] = faults
	}
	return reply{200, out, single}
}

// graphRoot is one thing that is asked for, or why it is not given, and what kind of refusal that is.
func (s *Server) graphRoot(kind string, sel selection, vars map[string]any, login string) (v any, refusal, why string) {
	args, _ := filled(sel.args, vars).(map[string]any)
	switch {
	case kind == "mutation":
		return s.graphMutation(sel.name, graphInput(sel, vars), login)
	case sel.name == "viewer":
		return actor(login), "", ""
	case sel.name == "repository":
		name := fmt.Sprintf("%v/%v", args["owner"], args["name"])
		if r := s.repos[name]; r != nil && !r.Unseen {
			return r.graph(login), "", ""
		}
		return nil, "NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s'.", name)
	case sel.name == "node":
		if r, n := s.noded(args["id"]); r != nil {
			return r.graphPull(n, login), "", ""
		}
		return nil, "NOT_FOUND", unresolved(args["id"])
	}
	return nil, "", ""
}

func unresolved(id any) string {
	return fmt.Sprintf("Could not resolve to a node with the global id of '%v'", id)
}

// node is the identifier of a pull request that GraphQL wants.
func (r *Repo) node(n int) string {
	return "PR_" + hex.EncodeToString([]byte(r.Name)) + "_" + number(n)
}

// noded finds what an identifier means.
func (s *Server) noded(id any) (*Repo, int) {
	for _, r := range s.repos {
		for n := range r.Pulls {
			if r.node(n) == id && !r.Unseen {
				return r, n
			}
		}
	}
	return nil, 0
}

// graphMutation does what is asked. Who may not is told so before anything else; that auto-merge is
// not allowed, before a head that is stale.
func (s *Server) graphMutation(name string, in map[string]any, login string) (v any, refusal, why string) {
	r, n := s.noded(in[graphInputs[name][0]])
	if r == nil {
		return nil, "NOT_FOUND", unresolved(in[graphInputs[name][0]])
	}
	if !r.may(login) {
		return nil, "FORBIDDEN", fmt.Sprintf("%s does not have the correct permissions to execute `%s`", login, strings.ToUpper(name[:1])+name[1:])
	}
	p, sha := r.Pulls[n], fmt.Sprint(orEmpty(in["expectedHeadOid"]))
	out := object{"clientMutationId": in["clientMutationId"], "actor": actor(login), "pullRequest": func(map[string]any) any { return r.graphPull(n, login) }}
	switch name {
	case "enablePullRequestAutoMerge":
		why = r.graphEnable(p, login, sha, strings.ToLower(fmt.Sprint(orEmpty(in["mergeMethod"]))))
	case "disablePullRequestAutoMerge":
		why = r.graphDisable(p, login)
	case "enqueuePullRequest":
		why = r.graphEnqueue(p, login, sha)
		out["mergeQueueEntry"] = r.graphEntry(n, login)
	case "dequeuePullRequest":
		out["mergeQueueEntry"] = r.graphEntry(n, login)
		why = r.graphDequeue(p, login)
	case "mergePullRequest":
		if _, why = r.hubRefuses(p, login, sha); why == "" {
			r.finish(n, login)
		}
	}
	if why != "" {
		return nil, "UNPROCESSABLE", why
	}
	return out, "", ""
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

const graphStale = "Head sha didn't match expected head sha"

// graphEnable turns auto-merge on: only for what cannot be merged yet, and where there is a queue, it puts what
// could be merged in it.
func (r *Repo) graphEnable(p *Pull, login, sha, style string) (why string) {
	state := r.hubState(p)
	switch {
	case !r.AutoMerge:
		return "Auto merge is not allowed for this repository"
	case p.Auto != nil && p.Auto.Queued:
		return "Pull request is already in the queue"
	case !p.Closed.IsZero():
		return "Pull request is closed"
	case sha != "" && sha != p.Head:
		return graphStale
	case r.queue(p) && r.hubReady(p):
		r.enqueue(p, login)
	case state == "clean", state == "unstable", state == "dirty", state == "draft":
		return "Pull request Pull request is in " + state + " status"
	default:
		r.ask(p, login, style)
		r.write(p, login, map[string]string{"squash": "auto_squash_enabled", "rebase": "auto_rebase_enabled"}[style], "")
		if last := &p.Events[len(p.Events)-1]; last.Kind == "" {
			last.Kind = "auto_merge_enabled"
		}
	}
	return ""
}

func (r *Repo) graphDisable(p *Pull, login string) (why string) {
	if p.Auto == nil || p.Auto.Queued || !p.Closed.IsZero() {
		return "Can't disable auto-merge for this pull request"
	}
	p.Auto = nil
	r.write(p, login, "auto_merge_disabled", "")
	return ""
}

// graphEnqueue puts in the queue what lacks nothing.
func (r *Repo) graphEnqueue(p *Pull, login, sha string) (why string) {
	blocked := r.hubBlocked(p)
	switch {
	case !r.queue(p):
		return noQueue(p.Base)
	case p.Auto != nil && p.Auto.Queued:
		return "Pull request is already in the queue"
	case !p.Closed.IsZero(), p.Draft:
		return "Pull request is not mergeable"
	case sha != "" && sha != p.Head:
		return graphStale
	case p.Conflict:
		return "Pull request has merge conflicts and Pull request not in mergeable state"
	case p.worst(r.Required[p.Base]) == red:
		return "Pull request has failing required statuses"
	case blocked != "":
		return "Pull request " + blocked
	}
	r.enqueue(p, login)
	return ""
}

func (r *Repo) graphDequeue(p *Pull, login string) (why string) {
	switch {
	case !r.queue(p):
		return noQueue(p.Base)
	case p.Auto == nil || !p.Auto.Queued:
		return "Pull request is not in the queue"
	}
	r.drop(p, login, "manual")
	return ""
}

func actor(login string) object {
	if login == "" {
		return nil
	}
	return object{"__typename": "User", "login": login}
}

func (r *Repo) graph(login string) object {
	return object{"__typename": "Repository", "id": "R_" + r.Name, "nameWithOwner": r.Name, "autoMergeAllowed": r.AutoMerge, "mergeCommitAllowed": true, "squashMergeAllowed": true, "rebaseMergeAllowed": true,
		"viewerPermission": pick(r.may(login), "WRITE", "READ"),
		"mergeQueue": func(args map[string]any) any {
			if branch, is := args["branch"].(string); is {
				return r.graphQueue(branch, login)
			}
			return r.graphQueue(r.Primary, login)
		},
		"pullRequest": func(args map[string]any) any {
			n, _ := args["number"].(float64)
			if r.Pulls[int(n)] == nil {
				return nil
			}
			return r.graphPull(int(n), login)
		}}
}

// graphState is OPEN, CLOSED or MERGED.
func graphState(p *Pull) string {
	return strings.ToUpper(pick(p.Merged && !p.Closed.IsZero(), "merged", state(&p.Issue)))
}

// graphMergeable says whether it conflicts.
func graphMergeable(p *Pull) string {
	return pick(p.Undecided || !p.Closed.IsZero(), "UNKNOWN", pick(p.Conflict, "CONFLICTING", "MERGEABLE"))
}

func (r *Repo) graphPull(n int, login string) object {
	p := r.Pulls[n]
	queued := p.Auto != nil && p.Auto.Queued
	can := r.may(login) && p.Closed.IsZero()
	return object{"__typename": "PullRequest", "id": r.node(n), "number": n, "title": p.Title, "url": r.s.URL + "/" + r.Name + "/pull/" + number(n), "state": graphState(p), "isDraft": p.Draft,
		"closed": !p.Closed.IsZero(), "closedAt": r.s.stamp(p.Closed), "merged": p.Merged, "mergedAt": r.s.stamp(pick(p.Merged, p.Closed, time.Time{})), "mergedBy": actor(p.MergedBy),
		"mergeCommit": oid(p.commit()), "headRefOid": p.Head, "headRefName": p.Branch, "baseRefName": p.Base, "mergeable": graphMergeable(p), "mergeStateStatus": strings.ToUpper(r.hubState(p)),
		"autoMergeRequest": r.graphAuto(n, login), "isInMergeQueue": queued, "isMergeQueueEnabled": r.queue(p), "mergeQueueEntry": func(map[string]any) any { return r.graphEntry(n, login) },
		"mergeQueue":               func(map[string]any) any { return r.graphQueue(p.Base, login) },
		"viewerCanEnableAutoMerge": can && r.AutoMerge && p.Auto == nil && r.hubState(p) == "blocked", "viewerCanDisableAutoMerge": can && p.Auto != nil && !queued,
		"createdAt": r.s.stamp(p.Created), "updatedAt": r.s.stamp(p.Updated), "timelineItems": func(args map[string]any) any { return r.graphTimeline(p, args) }}
}

func oid(sha any) object {
	if sha == nil {
		return nil
	}
	return object{"__typename": "Commit", "oid": sha}
}

func (r *Repo) graphAuto(n int, login string) object {
	p := r.Pulls[n]
	if p.Auto == nil || p.Auto.Queued {
		return nil
	}
	return object{"__typename": "AutoMergeRequest", "enabledBy": actor(p.Auto.By), "enabledAt": r.s.stamp(p.Auto.At), "mergeMethod": strings.ToUpper(p.Auto.Style), "commitHeadline": nil, "commitBody": nil, "authorEmail": nil,
		"pullRequest": func(map[string]any) any { return r.graphPull(n, login) }}
}

// queuedFor are those in the queue of a branch, the first one first.
func (r *Repo) queuedFor(branch string) (out []int) {
	for n, p := range r.Pulls {
		if p.Base == branch && p.Auto != nil && p.Auto.Queued {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		if c := r.Pulls[a].Auto.At.Compare(r.Pulls[b].Auto.At); c != 0 {
			return c
		}
		return a - b
	})
	return out
}

func (r *Repo) graphQueue(branch, login string) object {
	if !slices.Contains(r.Queues, branch) {
		return nil
	}
	return object{"__typename": "MergeQueue", "id": "MQ_" + branch, "url": r.s.URL + "/" + r.Name + "/queue/" + branch, "entries": func(map[string]any) any {
		var list []object
		for _, n := range r.queuedFor(branch) {
			list = append(list, r.graphEntry(n, login))
		}
		return connection(list)
	}}
}

func connection(list []object) object {
	return object{"totalCount": len(list), "nodes": list, "pageInfo": object{"hasNextPage": false, "hasPreviousPage": false, "endCursor": nil, "startCursor": nil}}
}

func (r *Repo) graphEntry(n int, login string) object {
	p := r.Pulls[n]
	if p.Auto == nil || !p.Auto.Queued {
		return nil
	}
	return object{"__typename": "MergeQueueEntry", "id": "MQE_" + number(n), "position": 1 + slices.Index(r.queuedFor(p.Base), n), "state": "AWAITING_CHECKS", "enqueuedAt": r.s.stamp(p.Auto.At), "enqueuer": actor(p.Auto.By),
		"estimatedTimeToMerge": nil, "jump": false, "solo": false, "baseCommit": nil, "headCommit": oid(digest("group " + p.Head)), "pullRequest": func(map[string]any) any { return r.graphPull(n, login) },
		"mergeQueue": func(map[string]any) any { return r.graphQueue(p.Base, login) }}
}

// graphTimeline is what happened, of the kinds that are asked for, the first or the last of it.
func (r *Repo) graphTimeline(p *Pull, args map[string]any) object {
	var list []object
	kinds, _ := args["itemTypes"].([]any)
	for n, e := range p.Events {
		kind := graphEvents[e.Kind]
		if kind == "" || len(kinds) > 0 && !slices.Contains(kinds, any(strings.ToUpper(e.Kind)+"_EVENT")) {
			continue
		}
		list = append(list, object{"__typename": kind, "id": fmt.Sprint("EV_", n), "actor": actor(e.By), "createdAt": r.s.stamp(e.At), "reason": orNull(e.Text), "reasonCode": nil, "enqueuer": actor(e.By), "beforeCommit": nil})
	}
	if first, is := args["first"].(float64); is {
		list = list[:min(max(int(first), 0), len(list))]
	}
	if last, is := args["last"].(float64); is {
		list = list[max(len(list)-max(int(last), 0), 0):]
	}
	return connection(list)
}
