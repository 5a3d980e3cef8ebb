package forgetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Repo is one repository.
type Repo struct {
	Name     string // OWNER/NAME
	Primary  string
	Labels   []string            // that there are
	Required map[string][]string // contexts, by branch
	Issues   map[int]*Issue
	Pulls    map[int]*Pull

	Shared     []string // labels of its organization, which its own list does not have
	Unseen     bool     // who asks may not look into it
	Assignable []string // who may be given its issues; nil: everybody
	Unlinked   bool     // its issues have no dependencies (Gitea: a switch of each repository)
	Free       bool     // of a GitLab: an issue has one assignee at most
	Old        bool     // of a GitLab: it does not list reviewers

	Mergers   []string // who may merge and push; nil: everybody
	Admins    []string // of a Gitea: who may cancel a merge that somebody else scheduled
	Lazy      bool     // what is green is merged when the test calls Settle, and not before
	AtOnce    bool     // of a Gitea of 2022: what is green already is merged at once, with 200
	AutoMerge bool     // of GitHub: "Allow auto-merge" is on, which it is not by default
	Queues    []string // of GitHub: branches that require its merge queue
	MustPass  bool     // of a GitLab: "Pipelines must succeed"
	Trains    string   // of a GitLab: whether it has merge trains; "": it is a Community Edition, which has none

	async map[string]*async // of GitHub, by UUID
	s     *Server
}

// Issue is one issue.
type Issue struct {
	Title, Body, Author string
	Labels, Assignees   []string
	Created, Updated    time.Time
	Closed              time.Time // zero while it is open
	DependsOn           []string  // "#2" or "acme/other#2"
	Comments            []Comment
	Events              []Event // what the forge wrote down of it, the first one first
}

// Comment is one comment.
type Comment struct{ Author, Body string }

// Pull is one pull request. As an issue it has the same number.
type Pull struct {
	Issue
	Base, Branch, Head string
	Draft, Conflict    bool
	Merged             bool     // when it was closed
	Undecided          bool     // the forge does not know yet whether it conflicts
	BranchGone         bool     // its branch was deleted
	Fork               string   // OWNER/NAME of where its branch is; "": the repository itself
	Requested          []string // reviewers
	Teams              []string // that are asked for a review
	Checks             []Check
	Reviews            []Review
	Committed          time.Time
	Auto               *Auto  // a merge that the forge was asked for; see Auto for when it goes away
	MergedBy           string // who merged it, or had the forge do so
	MergeError         string // of a GitLab: why the last merge that it tried failed
	Pipeline           string // of a GitLab: whose its head pipeline is; "": its head's, where it has checks
}

// Check is a result of one context; on a Gitea later ones of the same context may
// follow, and the last of them is the newest.
type Check struct {
	Context string
	State   string // pending, success, failure, error; warning and skipped on a Gitea
	At      time.Time
	Run     bool // a check run of GitHub, no commit status
}

// Review is one review.
type Review struct {
	Author, State string // APPROVED, REQUEST_CHANGES, COMMENT; Author "": an account that is gone
	Dismissed     bool
	At            time.Time
}

// Repo makes a repository, with the labels that are usual.
func (s *Server) Repo(name string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Repo{Name: name, Primary: "main", Labels: []string{"backlog", "in-progress", "blocked", "bug"},
		Required: map[string][]string{}, Issues: map[int]*Issue{}, Pulls: map[int]*Pull{}, async: map[string]*async{}, s: s}
	s.repos[name] = r
	return r
}

// Open puts an issue there, opened and changed so long ago.
func (r *Repo) Open(number int, age time.Duration, i Issue) *Issue {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	i.Created = r.s.Clock().Add(-age)
	i.Updated = i.Created
	r.Issues[number] = &i
	return &i
}

// Propose puts a pull request there, opened and changed so long ago.
func (r *Repo) Propose(number int, age time.Duration, p Pull) *Pull {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p.Created = r.s.Clock().Add(-age)
	p.Updated = p.Created
	if p.Committed.IsZero() {
		p.Committed = p.Created
	}
	r.Pulls[number] = &p
	return &p
}

// Close closes an issue or a pull request, so long ago.
func (r *Repo) Close(number int, ago time.Duration) { r.setClosed(number, r.s.Clock().Add(-ago)) }

// Merge merges a pull request, so long ago.
func (r *Repo) Merge(number int, ago time.Duration) {
	r.s.Change(func() { r.Pulls[number].Merged = true })
	r.Close(number, ago)
}

// Reopen opens it again, now.
func (r *Repo) Reopen(number int) { r.setClosed(number, time.Time{}) }

func (r *Repo) setClosed(number int, at time.Time) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	i := r.find(number)
	i.Closed, i.Updated = at, at
	if at.IsZero() {
		i.Updated = r.s.Clock()
	}
}

func (r *Repo) find(number int) *Issue {
	if p := r.Pulls[number]; p != nil {
		return &p.Issue
	}
	return r.Issues[number]
}

func (r *Repo) answer(req *http.Request, login string, path []string) reply {
	get := req.Method == http.MethodGet
	switch {
	case len(path) == 0 && get:
		return reply{200, r.about(), single}
	case len(path) == 0:
	case path[0] == "issues":
		return r.issues(req, login, path[1:])
	case path[0] == "pulls" && (get || len(path) > 2):
		return r.pulls(req, login, path[1:])
	case path[0] == "commits" && len(path) == 3 && get:
		return r.commit(path[1], path[2])
	case path[0] == "git" && len(path) == 3 && path[1] == "commits" && get:
		return r.gitCommit(path[2])
	case path[0] == "branches" && len(path) > 1 && get:
		return r.branch(strings.Join(path[1:], "/"))
	case path[0] == "rules" && len(path) > 2 && get && r.s.Kind == "github":
		return reply{200, r.rules(strings.Join(path[2:], "/")), linked}
	case path[0] == "labels" && get:
		return r.labels(path[1:])
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

// about is what a repository says of itself.
func (r *Repo) about() map[string]any {
	out := map[string]any{"full_name": r.Name, "default_branch": r.Primary}
	if r.s.Kind == "github" {
		out["allow_auto_merge"] = r.AutoMerge
	}
	return out
}

func (r *Repo) labels(path []string) reply {
	if len(path) == 1 { // of GitHub: by name
		name, ok := r.named(path[0])
		if !ok {
			return r.s.refusal(http.StatusNotFound, "Not Found")
		}
		return reply{200, r.label(name), single}
	}
	var out []any
	for _, l := range r.Labels {
		out = append(out, r.label(l))
	}
	return reply{200, out, counted}
}

// named finds a label by its name, in which GitHub does not tell A from a.
func (r *Repo) named(name string) (string, bool) {
	i := slices.IndexFunc(r.Labels, func(l string) bool {
		return l == name || r.s.Kind == "github" && strings.EqualFold(l, name)
	})
	if i < 0 {
		return name, false
	}
	return r.Labels[i], true
}

const shared = 1000 // labels of the organization are numbered from here

func (r *Repo) label(name string) map[string]any {
	id := slices.Index(r.Labels, name) + 1
	if i := slices.Index(r.Shared, name); i >= 0 {
		id = shared + i
	}
	return map[string]any{"id": id, "name": name, "color": "ededed"}
}

// numbered is the name of a label of that number, of the repository or its organization.
func (r *Repo) numbered(id int) (string, bool) {
	switch {
	case id > 0 && id <= len(r.Labels):
		return r.Labels[id-1], true
	case id >= shared && id < shared+len(r.Shared):
		return r.Shared[id-shared], true
	}
	return "", false
}

func (r *Repo) issues(req *http.Request, login string, path []string) reply {
	if len(path) == 0 {
		return reply{200, r.listIssues(req), linked}
	}
	number := atoi(path[0])
	i := r.find(number)
	if i == nil {
		return r.s.refusal(http.StatusNotFound, "issue does not exist")
	}
	switch rest := strings.Join(path[1:], "/"); {
	case rest == "" && req.Method == http.MethodGet:
		return reply{200, r.issue(number, i), single}
	case rest == "" && req.Method == http.MethodPatch:
		return r.edit(req, number, i)
	case rest == "dependencies" && r.s.Kind != "github", rest == "dependencies/blocked_by" && r.s.Kind == "github":
		if r.Unlinked {
			return r.s.refusal(http.StatusNotFound, "not found")
		}
		return r.dependencies(i)
	case rest == "comments":
		return r.comments(req, login, i)
	case rest == "timeline" && req.Method == http.MethodGet:
		return reply{200, r.timeline(i), linked}
	case strings.HasPrefix(rest, "labels"):
		return r.label4(req, i, strings.TrimPrefix(strings.TrimPrefix(rest, "labels"), "/"))
	case rest == "assignees" && r.s.Kind == "github":
		return r.assignees(req, number, i)
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

func (r *Repo) listIssues(req *http.Request) []any {
	q := req.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("since"))
	var out []any
	// GitHub's type is another thing: its issue lists always have pull requests in them.
	for _, n := range r.numbers(r.s.Kind == "github" || q.Get("type") != "issues") {
		i := r.find(n)
		if state := q.Get("state"); state != "all" && (state == "closed") == i.Closed.IsZero() {
			continue
		}
		if !i.Updated.Before(since) {
			out = append(out, r.issue(n, i))
		}
	}
	return out
}

// numbers lists issues, newest first, and pull requests where they count as such.
func (r *Repo) numbers(pulls bool) (out []int) {
	for n := range r.Issues {
		out = append(out, n)
	}
	for n := range r.Pulls {
		if pulls {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// dependencies lists what an issue waits for. Of what lies where the asker may not look
// a Gitea says only that there is something (issue_dependency.go, 093150d). What GitHub
// does then is not documented: here it leaves it out.
func (r *Repo) dependencies(i *Issue) reply {
	var out []any
	for _, d := range i.DependsOn {
		other, n := r.dependency(d)
		switch {
		case other == nil || other.find(n) == nil:
		case !other.Unseen:
			out = append(out, other.issue(n, other.find(n)))
		case r.s.Kind != "github":
			out = append(out, hidden())
		}
	}
	return reply{200, out, plain}
}

// dependency is the issue that "#2" or "acme/other#2" means.
func (r *Repo) dependency(d string) (*Repo, int) {
	name, n, _ := strings.Cut(d, "#")
	return r.s.repos[cmp.Or(name, r.Name)], atoi(n)
}

// hidden is an issue that nobody may see, as a Gitea has it: all zero but a title.
func hidden() map[string]any {
	epoch := time.Unix(0, 0).UTC().Format(time.RFC3339)
	return map[string]any{"id": 0, "number": 0, "title": "HIDDEN", "body": "", "user": map[string]any{"id": -1, "login": "Ghost"}, "state": "open", "html_url": "",
		"labels": nil, "assignees": nil, "created_at": epoch, "updated_at": epoch, "closed_at": nil, "pull_request": nil, "repository": nil, "comments": 0}
}

// waits says whether an issue waits for another one that is open.
func (r *Repo) waits(i *Issue) bool {
	return slices.ContainsFunc(i.DependsOn, func(d string) bool {
		other, n := r.dependency(d)
		return other != nil && other.find(n) != nil && other.find(n).Closed.IsZero()
	})
}

func (r *Repo) comments(req *http.Request, login string, i *Issue) reply {
	if req.Method == http.MethodPost {
		var in struct{ Body string }
		if json.NewDecoder(req.Body).Decode(&in) != nil || in.Body == "" {
			return r.s.refusal(http.StatusUnprocessableEntity, "body is empty")
		}
		i.Comments = append(i.Comments, Comment{login, in.Body})
		i.Updated = r.s.Clock()
		return reply{201, map[string]any{"id": len(i.Comments), "body": in.Body, "user": r.s.user(login)}, single}
	}
	out := []any{}
	for n, c := range i.Comments {
		out = append(out, map[string]any{"id": n + 1, "body": c.Body, "user": r.s.user(c.Author), "created_at": r.s.stamp(i.Created), "updated_at": r.s.stamp(i.Updated)})
	}
	return reply{200, out, pick(r.s.Kind == "github", linked, single)}
}

// label4 puts labels on an issue and takes them off: by number on a Gitea, by name
// on GitHub.
func (r *Repo) label4(req *http.Request, i *Issue, which string) reply {
	if req.Method == http.MethodDelete && r.s.Kind == "github" {
		return r.unlabel(i, which)
	}
	if req.Method == http.MethodDelete {
		return r.unlabelID(i, atoi(which))
	}
	for _, l := range r.wanted(req) {
		if !slices.Contains(i.Labels, l) {
			i.Labels = append(i.Labels, l)
		}
	}
	i.Updated = r.s.Clock()
	return reply{200, r.labelled(i), single}
}

func (r *Repo) unlabel(i *Issue, name string) reply {
	name, _ = r.named(name)
	if !slices.Contains(i.Labels, name) {
		return r.s.refusal(http.StatusNotFound, "Label does not exist")
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == name })
	return reply{200, r.labelled(i), single}
}

// unlabelID takes a label off as a Gitea does (issue_label.go, 000762f): one that is not
// on the issue is no error, one that is not at all is.
func (r *Repo) unlabelID(i *Issue, id int) reply {
	name, ok := r.numbered(id)
	if !ok {
		return r.s.refusal(http.StatusUnprocessableEntity, fmt.Sprintf("label does not exist [label_id: %d]", id))
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == name })
	return reply{204, nil, single}
}

// wanted are the labels that a request names.
func (r *Repo) wanted(req *http.Request) (out []string) {
	if r.s.Kind == "github" {
		_ = json.NewDecoder(req.Body).Decode(&out)
		for i := range out {
			out[i], _ = r.named(out[i])
		}
		return out
	}
	var in struct{ Labels []int }
	_ = json.NewDecoder(req.Body).Decode(&in)
	for _, id := range in.Labels {
		if name, ok := r.numbered(id); ok {
			out = append(out, name)
		}
	}
	return out
}

func (r *Repo) edit(req *http.Request, number int, i *Issue) reply {
	var in struct {
		Assignees *[]string
		State     *string
	}
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		return r.s.refusal(http.StatusUnprocessableEntity, err.Error())
	}
	if in.State != nil && *in.State == "closed" && r.s.Kind != "github" && r.waits(i) {
		return r.s.refusal(http.StatusPreconditionFailed, "cannot close this issue because it still has open dependencies")
	}
	if p := r.Pulls[number]; in.State != nil && p != nil && p.Merged && r.s.Kind != "github" { // Gitea 1.18, routers/api/v1/repo/issue.go, EditIssue
		return r.s.refusal(http.StatusPreconditionFailed, "cannot change state of this pull request, it was already merged")
	}
	if in.Assignees != nil {
		if slices.ContainsFunc(*in.Assignees, r.stranger) {
			return r.s.refusal(http.StatusUnprocessableEntity, "Assignee does not exist")
		}
		i.Assignees = *in.Assignees
	}
	i.Updated = r.s.Clock()
	if in.State != nil && (*in.State == "closed") == i.Closed.IsZero() {
		i.Closed = time.Time{}
		if *in.State == "closed" {
			i.Closed = i.Updated
		}
	}
	return reply{pick(r.s.Kind == "github", 200, 201), r.issue(number, i), single}
}

// stranger is who may not be given an issue. A Gitea refuses them with 422; GitHub leaves
// them out without a word ("If they don't have access … the request is silently ignored").
func (r *Repo) stranger(login string) bool {
	return r.Assignable != nil && !slices.Contains(r.Assignable, login)
}

func (r *Repo) assignees(req *http.Request, number int, i *Issue) reply {
	var in struct{ Assignees []string }
	_ = json.NewDecoder(req.Body).Decode(&in)
	i.Assignees = slices.DeleteFunc(i.Assignees, func(a string) bool { return slices.Contains(in.Assignees, a) })
	if req.Method == http.MethodPost {
		i.Assignees = append(i.Assignees, slices.DeleteFunc(in.Assignees, r.stranger)...)
	}
	return reply{pick(req.Method == http.MethodPost, 201, 200), r.issue(number, i), single}
}

func (r *Repo) pulls(req *http.Request, login string, path []string) reply {
	if len(path) == 0 {
		return reply{200, r.listPulls(req), linked}
	}
	n, get := atoi(path[0]), req.Method == http.MethodGet
	p := r.Pulls[n]
	switch {
	case p == nil:
		return r.s.refusal(http.StatusNotFound, "pull request does not exist")
	case len(path) == 1:
		return reply{200, r.pull(n, p, true), single}
	case path[1] == "merge-async" && r.s.Kind == "github":
		return r.hubAsync(req, login, n, path[2:])
	case len(path) == 2 && path[1] == "merge" && r.s.Kind == "github":
		return r.hubMerge(req, login, n)
	case len(path) == 2 && path[1] == "merge":
		return r.teaMerge(req, login, n)
	case len(path) == 2 && path[1] == "reviews" && get:
		return reply{200, r.reviews(p), counted}
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

// listPulls lists those that are open, newest first, or those that are closed,
// the one that changed last first.
func (r *Repo) listPulls(req *http.Request) (out []any) {
	closed := req.URL.Query().Get("state") == "closed"
	var numbers []int
	for _, n := range r.numbers(true) {
		if p := r.Pulls[n]; p != nil && closed != p.Closed.IsZero() {
			numbers = append(numbers, n)
		}
	}
	if closed && slices.Contains([]string{"recentupdate", "updated"}, req.URL.Query().Get("sort")) {
		slices.SortStableFunc(numbers, func(a, b int) int { return r.Pulls[b].Updated.Compare(r.Pulls[a].Updated) })
		// GitHub: direction is desc only where sort is created, or nothing.
		if r.s.Kind == "github" && req.URL.Query().Get("direction") != "desc" {
			slices.Reverse(numbers)
		}
	}
	for _, n := range numbers {
		out = append(out, r.pull(n, r.Pulls[n], false))
	}
	return out
}

func (r *Repo) branch(name string) reply {
	contexts := r.Required[name]
	if r.s.Kind == "github" {
		return reply{200, map[string]any{"name": name, "protected": contexts != nil,
			"protection": map[string]any{"enabled": contexts != nil, "required_status_checks": map[string]any{"contexts": contexts}}}, single}
	}
	return reply{200, map[string]any{"name": name, "protected": contexts != nil, "enable_status_check": contexts != nil, "status_check_contexts": contexts}, single}
}

// at finds the pull request whose head a commit is.
func (r *Repo) at(commit string) *Pull {
	for _, n := range r.numbers(true) {
		if p := r.Pulls[n]; p != nil && p.Head == commit {
			return p
		}
	}
	return nil
}

// gitCommit is a commit; the committer of a Gitea is an account, of GitHub who the commit says.
func (r *Repo) gitCommit(sha string) reply {
	p := r.at(sha)
	if p == nil {
		return r.s.refusal(http.StatusNotFound, "Not Found")
	}
	who := map[string]any{"name": p.Author, "date": r.s.stamp(p.Committed)}
	if r.s.Kind == "github" {
		return reply{200, map[string]any{"sha": sha, "committer": who}, single}
	}
	return reply{200, map[string]any{"sha": sha, "committer": nil, "commit": map[string]any{"committer": who}}, single}
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func (s *Server) user(login string) map[string]any {
	return map[string]any{"id": len(login), "login": login, "username": login}
}

// users are accounts; a Gitea says null where there are none.
func (s *Server) users(logins []string) []any {
	if len(logins) == 0 && s.Kind != "github" {
		return nil
	}
	out := []any{}
	for _, l := range logins {
		out = append(out, s.user(l))
	}
	return out
}

func (s *Server) stamp(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case s.Kind != "github" && s.Zone != nil:
		return t.In(s.Zone).Format(time.RFC3339)
	}
	return t.UTC().Format(time.RFC3339)
}

func number(n int) string { return strconv.Itoa(n) }
