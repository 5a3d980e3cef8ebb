package forgetest

import (
	"encoding/json"
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

	s *Server
}

// Issue is one issue.
type Issue struct {
	Title, Body, Author string
	Labels, Assignees   []string
	Created, Updated    time.Time
	Closed              time.Time // zero while it is open
	DependsOn           []string  // "#2" or "acme/other#2"
	Comments            []Comment
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
	Requested          []string // reviewers
	Checks             []Check
	Reviews            []Review
	Committed          time.Time
}

// Check is the newest result of one context.
type Check struct {
	Context string
	State   string // pending, success, failure
	At      time.Time
	Run     bool // a check run of GitHub, no commit status
}

// Review is one review.
type Review struct {
	Author, State string // APPROVED, REQUEST_CHANGES, COMMENT
	Dismissed     bool
	At            time.Time
}

// Repo makes a repository, with the labels that are usual.
func (s *Server) Repo(name string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Repo{Name: name, Primary: "main", Labels: []string{"backlog", "in-progress", "blocked", "bug"},
		Required: map[string][]string{}, Issues: map[int]*Issue{}, Pulls: map[int]*Pull{}, s: s}
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
		return reply{200, map[string]any{"full_name": r.Name, "default_branch": r.Primary}, false}
	case len(path) == 0:
	case path[0] == "issues":
		return r.issues(req, login, path[1:])
	case path[0] == "pulls" && get:
		return r.pulls(req, path[1:])
	case path[0] == "commits" && len(path) == 3 && get:
		return r.commit(path[1], path[2])
	case path[0] == "git" && len(path) == 3 && path[1] == "commits" && get:
		return r.gitCommit(path[2])
	case path[0] == "branches" && len(path) > 1 && get:
		return r.branch(strings.Join(path[1:], "/"))
	case path[0] == "rules" && get && r.s.Kind == "github":
		return reply{200, []any{}, true}
	case path[0] == "labels" && get:
		return r.labels(path[1:])
	}
	return r.s.refusal(http.StatusNotFound, "Not Found")
}

func (r *Repo) labels(path []string) reply {
	if len(path) == 1 { // of GitHub: by name
		if !slices.Contains(r.Labels, path[0]) {
			return r.s.refusal(http.StatusNotFound, "Not Found")
		}
		return reply{200, r.label(path[0]), false}
	}
	var out []any
	for _, l := range r.Labels {
		out = append(out, r.label(l))
	}
	return reply{200, out, true}
}

func (r *Repo) label(name string) map[string]any {
	return map[string]any{"id": slices.Index(r.Labels, name) + 1, "name": name, "color": "ededed"}
}

func (r *Repo) issues(req *http.Request, login string, path []string) reply {
	if len(path) == 0 {
		return reply{200, r.listIssues(req), true}
	}
	number := atoi(path[0])
	i := r.find(number)
	if i == nil {
		return r.s.refusal(http.StatusNotFound, "issue does not exist")
	}
	switch rest := strings.Join(path[1:], "/"); {
	case rest == "" && req.Method == http.MethodGet:
		return reply{200, r.issue(number, i), false}
	case rest == "" && req.Method == http.MethodPatch:
		return r.edit(req, number, i)
	case rest == "dependencies" && r.s.Kind != "github", rest == "dependencies/blocked_by" && r.s.Kind == "github":
		return r.dependencies(i)
	case rest == "comments":
		return r.comments(req, login, i)
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
	for _, n := range r.numbers(q.Get("type") != "issues") {
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

func (r *Repo) dependencies(i *Issue) reply {
	var out []any
	for _, d := range i.DependsOn {
		name, n, _ := strings.Cut(d, "#")
		if name == "" {
			name = r.Name
		}
		if other := r.s.repos[name]; other != nil && other.find(atoi(n)) != nil {
			out = append(out, other.issue(atoi(n), other.find(atoi(n))))
		}
	}
	return reply{200, out, true}
}

func (r *Repo) comments(req *http.Request, login string, i *Issue) reply {
	if req.Method == http.MethodPost {
		var in struct{ Body string }
		if json.NewDecoder(req.Body).Decode(&in) != nil || in.Body == "" {
			return r.s.refusal(http.StatusUnprocessableEntity, "body is empty")
		}
		i.Comments = append(i.Comments, Comment{login, in.Body})
		i.Updated = r.s.Clock()
		return reply{201, map[string]any{"id": len(i.Comments), "body": in.Body, "user": r.s.user(login)}, false}
	}
	out := []any{}
	for n, c := range i.Comments {
		out = append(out, map[string]any{"id": n + 1, "body": c.Body, "user": r.s.user(c.Author)})
	}
	return reply{200, out, true}
}

// label4 puts labels on an issue and takes them off: by number on a Gitea, by name
// on GitHub.
func (r *Repo) label4(req *http.Request, i *Issue, which string) reply {
	if req.Method == http.MethodDelete {
		if r.s.Kind != "github" && atoi(which) > 0 && atoi(which) <= len(r.Labels) {
			which = r.Labels[atoi(which)-1]
		}
		if !slices.Contains(i.Labels, which) {
			return r.s.refusal(http.StatusNotFound, "Label does not exist")
		}
		i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == which })
		if r.s.Kind == "github" {
			return reply{200, []any{}, false}
		}
		return reply{204, nil, false}
	}
	for _, l := range r.wanted(req) {
		if !slices.Contains(i.Labels, l) {
			i.Labels = append(i.Labels, l)
		}
	}
	i.Updated = r.s.Clock()
	return reply{200, []any{}, false}
}

// wanted are the labels that a request names.
func (r *Repo) wanted(req *http.Request) (out []string) {
	if r.s.Kind == "github" {
		_ = json.NewDecoder(req.Body).Decode(&out)
		return out
	}
	var in struct{ Labels []int }
	_ = json.NewDecoder(req.Body).Decode(&in)
	for _, id := range in.Labels {
		if id > 0 && id <= len(r.Labels) {
			out = append(out, r.Labels[id-1])
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
	if in.Assignees != nil {
		i.Assignees = *in.Assignees
	}
	i.Updated = r.s.Clock()
	if in.State != nil && (*in.State == "closed") == i.Closed.IsZero() {
		i.Closed = time.Time{}
		if *in.State == "closed" {
			i.Closed = i.Updated
		}
	}
	return reply{201, r.issue(number, i), false}
}

func (r *Repo) assignees(req *http.Request, number int, i *Issue) reply {
	var in struct{ Assignees []string }
	_ = json.NewDecoder(req.Body).Decode(&in)
	i.Assignees = slices.DeleteFunc(i.Assignees, func(a string) bool { return slices.Contains(in.Assignees, a) })
	if req.Method == http.MethodPost {
		i.Assignees = append(i.Assignees, in.Assignees...)
	}
	return reply{201, r.issue(number, i), false}
}

func (r *Repo) pulls(req *http.Request, path []string) reply {
	if len(path) == 0 {
		return reply{200, r.listPulls(req), true}
	}
	p := r.Pulls[atoi(path[0])]
	switch {
	case p == nil:
		return r.s.refusal(http.StatusNotFound, "pull request does not exist")
	case len(path) == 1:
		return reply{200, r.pull(atoi(path[0]), p, true), false}
	case len(path) == 2 && path[1] == "reviews":
		return reply{200, r.reviews(p), true}
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
			"protection": map[string]any{"enabled": contexts != nil, "required_status_checks": map[string]any{"contexts": contexts}}}, false}
	}
	return reply{200, map[string]any{"name": name, "protected": contexts != nil, "enable_status_check": contexts != nil, "status_check_contexts": contexts}, false}
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

func (r *Repo) gitCommit(sha string) reply {
	p := r.at(sha)
	if p == nil {
		return r.s.refusal(http.StatusNotFound, "Not Found")
	}
	who := map[string]any{"name": p.Author, "date": p.Committed.Format(time.RFC3339)}
	return reply{200, map[string]any{"sha": sha, "committer": pick(r.s.Kind == "github", any(who), any(r.s.user(p.Author))),
		"commit": map[string]any{"committer": who}}, false}
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

func (s *Server) users(logins []string) []any {
	out := []any{}
	for _, l := range logins {
		out = append(out, s.user(l))
	}
	return out
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func number(n int) string { return strconv.Itoa(n) }
