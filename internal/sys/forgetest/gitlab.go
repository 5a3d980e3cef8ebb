package forgetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GitLab's REST API, version 4, was written down from its public documentation and source
// (gitlabhq/gitlabhq, the mirror of gitlab-org/gitlab-foss) before there was a client for it:
//
//   - doc/api/rest/_index.md (017a6c1, 18.x): PRIVATE-TOKEN, projects by their encoded path,
//     offset pages of 20 and 100 at most with Link and x-next-page, x-total left out beyond
//     10,000; keyset pages of a project's issues since 18.3, which have nothing but Link.
//     lib/gitlab/pagination/offset_header_builder.rb (8b573c9): the order of Link, and that its
//     host is the configured one.
//   - doc/api/rest/troubleshooting.md (07a9524): 304, and 404 for what the token may not see.
//     Rails takes the ETag of the body alone, and a 304 has the headers of the page.
//   - doc/api/issues.md (017a6c1), lib/api/entities/{issuable_entity,issue_basic,issue}.rb:
//     iid, opened and closed, descriptions and authors that may be null; add_labels makes a label that
//     there is not; assignee_ids that may not be assigned are left out, and Free keeps one.
//   - lib/api/entities/{merge_request_basic,merge_request}.rb (09093c1, 28bc811): issues and
//     merge requests are counted apart; has_conflicts rests on merge_status, which is unchecked or
//     checking at first; head_pipeline is in a single one only.
//   - doc/api/issue_links.md (04d4cf8), lib/api/entities/related_issue.rb (41946e6): both ends
//     have a link, those that the account may not see are left out, and there are no pages.
//   - lib/api/entities/{merge_request_approvals,approvals,merge_request_reviewer}.rb (3acaaf7,
//     9874144, 55eb439): who approved and when; the state of each reviewer, without when.
//   - doc/api/commits.md (017a6c1): statuses of a commit, jobs among them, by pipeline_id.
//   - doc/api/notes.md (077b92f), lib/api/entities/note.rb (152f35d): system notes are among the
//     notes. doc/user/project/quick_actions.md: a line that begins with a slash is a command.
//   - doc/administration/settings/user_and_ip_rate_limits.md (0286e4c): 429, "Retry later".

// Throttled is what a GitLab answers that was asked too often.
func Throttled(after time.Duration, now time.Time) Fault {
	return Fault{Status: http.StatusTooManyRequests, Body: "Retry later\n", Header: http.Header{"Content-Type": {"text/plain"},
		"Retry-After": {strconv.Itoa(int(after / time.Second))}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {fmt.Sprint(now.Add(after).Unix())},
		"Ratelimit-Name": {"throttle_authenticated_api"}}}
}

func lab404(what string) reply {
	return reply{http.StatusNotFound, map[string]any{"message": "404 " + what + "Not Found"}, single}
}

// lab answers as a GitLab does.
func (s *Server) lab(r *http.Request) reply {
	login, ok := s.accounts[cmp.Or(r.Header.Get("PRIVATE-TOKEN"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))]
	if !ok {
		return reply{http.StatusUnauthorized, map[string]any{"message": "401 Unauthorized"}, single}
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/")
	if !ok {
		return lab404("")
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	switch {
	case path == "user":
		return reply{200, s.labUser(login), single}
	case path == "users":
		return reply{200, []any{s.labUser(r.URL.Query().Get("username"))}, linked}
	case parts[0] != "projects" || len(parts) < 2 || s.repos[parts[1]] == nil || s.repos[parts[1]].Unseen:
		return lab404("Project ")
	}
	return s.repos[parts[1]].lab(r, login, parts[2:])
}

// labID numbers accounts.
func (s *Server) labID(login string) int {
	if !slices.Contains(s.logins, login) {
		s.logins = append(s.logins, login)
	}
	return slices.Index(s.logins, login) + 1
}

func (s *Server) labUser(login string) any {
	if login == "" {
		return nil
	}
	return map[string]any{"id": s.labID(login), "username": login, "name": login, "state": "active", "locked": false, "avatar_url": nil, "web_url": s.URL + "/" + login}
}

func (s *Server) labUsers(logins []string) []any {
	out := []any{}
	for _, l := range logins {
		out = append(out, s.labUser(l))
	}
	return out
}

func labTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (r *Repo) lab(req *http.Request, login string, path []string) reply {
	get := req.Method == http.MethodGet
	switch {
	case len(path) == 0 && get:
		return reply{200, map[string]any{"id": r.labProject(), "path_with_namespace": r.Name, "default_branch": r.Primary, "web_url": r.s.URL + "/" + r.Name}, single}
	case len(path) == 0:
	case path[0] == "issues":
		return r.labIssues(req, login, path[1:])
	case path[0] == "merge_requests":
		return r.labMerges(req, login, path[1:])
	case path[0] == "merge_trains":
		return r.labTrain(req, login, path[1:])
	case path[0] == "labels" && len(path) == 2 && get:
		for _, l := range append(slices.Clone(r.Labels), r.Shared...) {
			if l == path[1] {
				return reply{200, map[string]any{"id": 1 + len(l), "name": l, "is_project_label": slices.Contains(r.Labels, l)}, single}
			}
		}
		return lab404("Label ")
	case path[0] == "repository" && len(path) >= 3 && path[1] == "commits" && get:
		return r.labCommit(req, path[2:])
	}
	return lab404("")
}

// labProject is the number of the project.
func (r *Repo) labProject() int {
	return 1 + slices.Index(slices.Sorted(maps.Keys(r.s.repos)), r.Name)
}

func (r *Repo) labIssues(req *http.Request, login string, path []string) reply {
	if len(path) == 0 {
		return r.labList(req)
	}
	n := atoi(path[0])
	i := r.Issues[n]
	if i == nil {
		return lab404("Issue ")
	}
	if len(path) == 2 && path[1] == "links" {
		return r.labLinks(n, i)
	}
	return r.labThing(req, login, i, path[1:], func() any { return r.labIssue(n, i) })
}

// labThing is what issues and merge requests have in common.
func (r *Repo) labThing(req *http.Request, login string, i *Issue, path []string, it func() any) reply {
	switch rest := strings.Join(path, "/"); {
	case rest == "" && req.Method == http.MethodGet:
		return reply{200, it(), single}
	case rest == "" && req.Method == http.MethodPut:
		if bad := r.labEdit(req, i); bad != nil {
			return *bad
		}
		return reply{200, it(), single}
	case rest == "notes" && req.Method == http.MethodGet:
		return reply{200, r.labNotes(req, i), linked}
	case rest == "notes" && req.Method == http.MethodPost:
		return r.labNote(req, login, i)
	}
	return lab404("")
}

// labList lists issues, the one that was made last first, unless it is asked otherwise.
func (r *Repo) labList(req *http.Request) reply {
	q := req.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("updated_after"))
	out := []any{}
	for _, n := range r.labOrder(slices.Collect(maps.Keys(r.Issues)), q) {
		i := r.Issues[n]
		if state := q.Get("state"); (state == "opened") != i.Closed.IsZero() && state != "" && state != "all" {
			continue
		}
		if !i.Updated.Before(since) {
			out = append(out, r.labIssue(n, i))
		}
	}
	if q.Get("pagination") == "keyset" && !r.s.NoKeyset {
		return reply{200, out, keyset}
	}
	return reply{200, out, linked}
}

func (r *Repo) labOrder(numbers []int, q url.Values) []int {
	at := func(n int) time.Time {
		if q.Get("order_by") == "updated_at" {
			return r.find(n).Updated
		}
		return r.find(n).Created
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Or(at(b).Compare(at(a)), cmp.Compare(b, a)) })
	if q.Get("sort") == "asc" {
		slices.Reverse(numbers)
	}
	return numbers
}

func labState(i *Issue) string { return pick(i.Closed.IsZero(), "opened", "closed") }

func (r *Repo) labIssue(n int, i *Issue) map[string]any {
	out := r.labIssuable(n, i, "#", "issues")
	maps.Copy(out, map[string]any{"type": "ISSUE", "issue_type": "issue", "severity": "UNKNOWN", "moved_to_id": nil, "due_date": nil, "confidential": false, "has_tasks": false,
		"closed_by": nil, "task_completion_status": map[string]any{"count": 0, "completed_count": 0}})
	return out
}

// labIssuable is what an issue and a merge request tell alike.
func (r *Repo) labIssuable(n int, i *Issue, mark, folder string) map[string]any {
	labels := slices.Clone(i.Labels)
	slices.Sort(labels)
	out := map[string]any{"id": 9000 + n, "iid": n, "project_id": r.labProject(), "title": i.Title, "description": i.Body, "state": labState(i), "created_at": labTime(i.Created),
		"updated_at": labTime(i.Updated), "closed_at": labTime(i.Closed), "labels": append([]string{}, labels...), "milestone": nil, "assignees": r.s.labUsers(i.Assignees), "author": r.s.labUser(i.Author),
		"assignee": nil, "user_notes_count": len(i.Comments), "upvotes": 0, "downvotes": 0, "discussion_locked": nil, "web_url": fmt.Sprintf("%s/%s/-/%s/%d", r.s.URL, r.Name, folder, n),
		"references": map[string]any{"short": mark + number(n), "relative": mark + number(n), "full": r.Name + mark + number(n)}}
	if i.Body == "" {
		out["description"] = nil
	}
	if len(i.Assignees) > 0 {
		out["assignee"] = r.s.labUser(i.Assignees[0])
	}
	return out
}

// labLinks lists both what an issue waits for, and what waits for it.
func (r *Repo) labLinks(n int, i *Issue) reply {
	out := []any{}
	add := func(other *Repo, m int, kind string) {
		if other == nil || other.Unseen || other.Issues[m] == nil {
			return
		}
		link := other.labIssue(m, other.Issues[m])
		link["issue_link_id"], link["link_type"], link["link_created_at"] = 100+len(out), kind, labTime(i.Created)
		out = append(out, link)
	}
	for _, d := range i.DependsOn {
		other, m := r.dependency(d)
		add(other, m, "is_blocked_by")
	}
	for _, m := range slices.Sorted(maps.Keys(r.Issues)) {
		if slices.Contains(r.Issues[m].DependsOn, "#"+number(n)) {
			add(r, m, "blocks")
		}
	}
	return reply{200, out, single}
}

// labNotes lists what was said, the newest first unless it is asked otherwise; what GitLab
// itself wrote down is among it.
func (r *Repo) labNotes(req *http.Request, i *Issue) []any {
	out := []any{map[string]any{"id": 1, "body": "changed the description", "system": true, "author": r.s.labUser(i.Author), "created_at": labTime(i.Created)}}
	for n, c := range i.Comments {
		out = append(out, map[string]any{"id": 2 + n, "body": c.Body, "system": false, "author": r.s.labUser(c.Author), "created_at": labTime(i.Created), "internal": false, "resolvable": false})
	}
	for n, e := range i.Events {
		out = append(out, map[string]any{"id": 4000 + n, "body": e.Text, "system": true, "author": r.s.labUser(e.By), "created_at": labTime(e.At)})
	}
	if req.URL.Query().Get("sort") != "asc" {
		slices.Reverse(out)
	}
	return out
}

// labNote takes a note. Lines that begin with a slash are done, and not kept.
func (r *Repo) labNote(req *http.Request, login string, i *Issue) reply {
	var in struct{ Body string }
	if json.NewDecoder(req.Body).Decode(&in) != nil || in.Body == "" {
		return reply{http.StatusBadRequest, map[string]any{"error": "body is missing"}, single}
	}
	var kept []string
	for line := range strings.SplitSeq(in.Body, "\n") {
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "/") {
			kept = append(kept, line)
		} else if strings.Contains(line, "/close") {
			i.Closed = r.s.Clock()
		}
	}
	i.Updated = r.s.Clock()
	text := strings.TrimSpace(strings.Join(kept, "\n"))
	if text == "" {
		return reply{http.StatusAccepted, map[string]any{"commands_changes": map[string]any{}, "summary": []string{"Commands applied"}}, single}
	}
	i.Comments = append(i.Comments, Comment{login, text})
	return reply{http.StatusCreated, map[string]any{"id": 1 + len(i.Comments), "body": text, "system": false, "author": r.s.labUser(login)}, single}
}

// labEdit changes labels, assignees and the state.
func (r *Repo) labEdit(req *http.Request, i *Issue) *reply {
	var in struct {
		Add       string `json:"add_labels"`
		Remove    string `json:"remove_labels"`
		Assignees *[]int `json:"assignee_ids"`
		Event     string `json:"state_event"`
	}
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil || in.Add+in.Remove+in.Event == "" && in.Assignees == nil {
		return &reply{http.StatusBadRequest, map[string]any{"error": "assignee_ids, add_labels, remove_labels, state_event are missing, at least one parameter must be provided"}, single}
	}
	for _, l := range strings.Split(in.Add, ",") {
		if l != "" && !slices.Contains(i.Labels, l) {
			i.Labels = append(i.Labels, l)
		}
		if l != "" && !slices.Contains(r.Labels, l) && !slices.Contains(r.Shared, l) {
			r.Labels = append(r.Labels, l)
		}
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return slices.Contains(strings.Split(in.Remove, ","), l) })
	if in.Assignees != nil {
		r.labAssign(i, *in.Assignees)
	}
	switch i.Updated = r.s.Clock(); {
	case in.Event == "close" && i.Closed.IsZero():
		i.Closed = i.Updated
	case in.Event == "reopen":
		i.Closed = time.Time{}
	}
	return nil
}

func (r *Repo) labAssign(i *Issue, ids []int) {
	i.Assignees = nil
	for _, id := range ids {
		if id < 1 || id > len(r.s.logins) || r.stranger(r.s.logins[id-1]) || r.Free && len(i.Assignees) > 0 {
			continue
		}
		i.Assignees = append(i.Assignees, r.s.logins[id-1])
	}
}
