// Package forgetest is a forge for tests: the part of the REST APIs of Gitea (and
// Forgejo), of GitHub and of GitLab that Custos speaks, made from their public descriptions
// and sources, the first two checked by their real SDKs. It pages as they do, answers
// conditionally, counts what it is asked, and fails in every way a forge fails.
//
// What a Gitea sends with a page is from the sources of go-gitea/gitea, in
// routers/api/v1/repo: status.go (at 020f7fd), like issue.go and pull.go, sets Link
// and X-Total-Count; label.go (00d39b6) and pull_review.go (000762f) X-Total-Count
// only; issue_dependency.go (093150d) neither; issue_comment.go gives all at once. A
// page holds [api] MAX_RESPONSE_ITEMS at most (models/db/list.go), and 30 where nobody
// says how many ([api] DEFAULT_PAGING_NUM); GitHub's hold 30 and 100 at most. A status
// has as its id its index among those of the commit (services/convert/status.go, 083e0ba).
//
// Links begin with what the forge takes for its own address ([server] ROOT_URL, in
// services/context/api.go, 01d0442), in one header, in the order next, last, first, prev.
// Times carry the offset of the server's time zone (modules/timeutil, AsTime), where
// GitHub's end in Z. services/convert/issue.go (040b8bd): who is assigned to nothing is
// null; services/convert/pull.go (0518d0d): the head of a pull request is
// refs/pull/N/head once its branch is gone, and label keeps the branch;
// services/convert/pull_review.go (0e49627): who was asked for a review is in the list of
// reviews, a team with no user.
//
// GitHub's are from docs.github.com/en/rest, version 2022-11-28; GitLab's are named in gitlab.go.
//
// What a forge does that is asked to merge is in merge.go, and in merge_tea.go, merge_hub.go,
// merge_graph.go and merge_lab.go, where the sources are named.
package forgetest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is one forge.
type Server struct {
	URL  string // as people open it
	Kind string // gitea, forgejo, github or gitlab

	NoTags   bool             // it answers nothing conditionally, as a Gitea does
	NoLink   bool             // a proxy before it strips the header Link
	NoCount  bool             // and X-Total-Count; of a GitLab: its list is longer than it counts
	NoNext   bool             // and X-Next-Page and its like
	NoKeyset bool             // it is a GitLab before 18.3
	PageSize int              // the most it puts on one page
	Root     string           // what it takes for its own URL; "": URL
	Zone     *time.Location   // of the times that a Gitea tells
	Skew     time.Duration    // its clock minus Now
	Now      func() time.Time // time.Now

	mu       sync.Mutex
	accounts map[string]string // by token
	repos    map[string]*Repo
	logins   []string // of a GitLab, in the order of their numbers
	faults   []*Fault
	requests []string // METHOD path?query
	same     int      // answered 304
}

// New starts a forge of a kind, which ends with the test.
func New(t testing.TB, kind string) *Server {
	t.Helper()
	s := At("", kind)
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// At is a forge that nobody listens for: in a bubble of synctest there are no
// sockets, and whoever asks hands requests for the URL to ServeHTTP.
func At(url, kind string) *Server {
	s := &Server{URL: url, Kind: kind, PageSize: 50, Zone: time.FixedZone("", 2*60*60), Now: time.Now, accounts: map[string]string{}, repos: map[string]*Repo{}}
	if kind == "github" || kind == "gitlab" {
		s.PageSize = 100
	}
	return s
}

// Account makes an account and returns its token.
func (s *Server) Account(login string) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token = "forgetesttoken" + strings.ReplaceAll(login, "-", "") + strconv.Itoa(len(s.accounts))
	s.accounts[token] = login
	return token
}

// Clock is what time the forge says it is.
func (s *Server) Clock() time.Time { return s.Now().Add(s.Skew).UTC().Truncate(time.Second) }

// Requests lists what was asked since the last Forget: METHOD path?query.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Same counts the requests that were answered with 304 since the last Forget.
func (s *Server) Same() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.same
}

// Forget forgets what was asked.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.same = nil, 0
}

// Change changes what the forge holds, safely.
func (s *Server) Change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
}

// reply is one answer, before it is paged, tagged and sent.
type reply struct {
	status int
	body   any
	list   paging
}

// paging is how a list is given out, or that an answer is none.
type paging int

const (
	single  paging = iota // no list
	linked                // pages, with Link, and X-Total-Count on a Gitea
	counted               // pages, with X-Total-Count only
	plain                 // pages, and no header tells of others
	inside                // pages of a list that is a field of the answer, as GitHub's statuses
	keyset                // pages, each of what is behind the one before, as GitLab has them
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	fault := s.fault(r)
	s.mu.Unlock()
	if fault != nil && fault.Met != nil {
		fault.Met()
	}
	if fault != nil && fault.Wait != nil {
		select {
		case <-fault.Wait:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", s.Clock().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if fault != nil && fault.answer(w) {
		return
	}
	if s.Kind == "gitlab" {
		s.send(w, r, s.lab(r), fault)
		return
	}
	s.send(w, r, s.answer(r), fault)
}

func (s *Server) answer(r *http.Request) reply {
	login, ok := s.login(r)
	if !ok {
		return s.refusal(http.StatusUnauthorized, "token is required")
	}
	if s.Kind == "github" && r.URL.Path == "/api/graphql" && r.Method == http.MethodPost {
		return s.graphQL(r, login)
	}
	prefix := "/api/v1/"
	if s.Kind == "github" {
		prefix = "/api/v3/"
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	if !ok {
		return s.refusal(http.StatusNotFound, "Not Found")
	}
	if path == "user" && r.Method == http.MethodGet {
		return reply{200, s.user(login), single}
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	if len(parts) == 3 && parts[0] == "orgs" && parts[2] == "labels" && s.Kind != "github" {
		return s.shared(parts[1])
	}
	if len(parts) < 3 || parts[0] != "repos" || s.repos[parts[1]+"/"+parts[2]] == nil {
		return s.refusal(http.StatusNotFound, "Not Found")
	}
	return s.repos[parts[1]+"/"+parts[2]].answer(r, login, parts[3:])
}

// shared are the labels of an organization (routers/api/v1/org/label.go); who is no
// organization has none: 404.
func (s *Server) shared(org string) reply {
	var out []any
	for name, r := range s.repos {
		if owner, _, _ := strings.Cut(name, "/"); owner == org {
			for _, l := range r.Shared {
				out = append(out, r.label(l))
			}
		}
	}
	if out == nil {
		return s.refusal(http.StatusNotFound, "user redirect does not exist")
	}
	return reply{200, out, counted}
}

// login finds the account of a request; each kind has its own word before the token.
func (s *Server) login(r *http.Request) (string, bool) {
	word := "token "
	if s.Kind == "github" {
		word = "Bearer "
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), word)
	login, known := s.accounts[token]
	return login, ok && known
}

func (s *Server) refusal(status int, message string) reply {
	return reply{status: status, body: map[string]any{"message": message, "url": s.URL + "/api/swagger"}}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, a reply, f *Fault) {
	if list, ok := a.body.([]any); ok && a.list != single {
		a.body = s.page(w, r, a, list, f)
	}
	if whole, ok := a.body.(map[string]any); ok && a.list == inside {
		for name, list := range whole {
			if list, ok := list.([]any); ok {
				whole[name] = s.page(w, r, a, list, f)
			}
		}
	}
	body, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	tagged := append(body[:len(body):len(body)], w.Header().Get("Link")...)
	if s.Kind == "gitlab" {
		tagged = body
	}
	tag := sha256.Sum256(tagged)
	etag := `W/"` + hex.EncodeToString(tag[:8]) + `"`
	half := f != nil && f.Half
	if r.Method == http.MethodGet && a.status == 200 && !s.NoTags && !half {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			s.same++
			if s.Kind != "gitlab" { // RFC 9110, 15.4.5: only what a cache needs
				w.Header().Del("Link")
				w.Header().Del("X-Total-Count")
			}
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if half { // promises more than it sends
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.status)
		_, _ = w.Write(body[:len(body)/2])
		return
	}
	w.WriteHeader(a.status)
	_, _ = bytes.NewReader(body).WriteTo(w)
}

// usual is how many a page holds where nobody says how many.
const usual = 30

// page cuts one page out of a list and links to the others.
func (s *Server) page(w http.ResponseWriter, r *http.Request, a reply, list []any, f *Fault) []any {
	if s.Kind == "gitlab" {
		return s.labPage(w, r, a, list, f)
	}
	page, size := s.asked(r)
	if f != nil && f.Endless && len(list) > 0 {
		s.link(w, r, page, page+1)
		return list[:1]
	}
	if s.Kind != "github" && a.list != plain && !s.NoCount {
		w.Header().Set("X-Total-Count", strconv.Itoa(len(list)))
	}
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if (a.list == linked || s.Kind == "github") && !s.NoLink {
		s.link(w, r, page, (len(list)+size-1)/size)
	}
	return append([]any{}, list[from:to]...)
}

// asked is which page a request wants, and how many on it: each kind has its own word.
func (s *Server) asked(r *http.Request) (page, size int) {
	word := "limit"
	if s.Kind == "github" {
		word = "per_page"
	}
	page, size = max(atoi(r.URL.Query().Get("page")), 1), atoi(r.URL.Query().Get(word))
	if size <= 0 {
		size = min(usual, s.PageSize)
	}
	return page, min(size, s.PageSize)
}

// link says in one header where the other pages are.
func (s *Server) link(w http.ResponseWriter, r *http.Request, page, last int) {
	var out []string
	to := func(n int, rel string) {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		out = append(out, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, cmp.Or(s.Root, s.URL), r.URL.Path, q.Encode(), rel))
	}
	if page < last {
		to(page+1, "next")
		to(last, "last")
	}
	if page > 1 {
		to(1, "first")
		to(page-1, "prev")
	}
	if len(out) > 0 {
		w.Header().Set("Link", strings.Join(out, ", "))
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
