// Package forgetest is a forge for tests: the part of the REST APIs of Gitea (and
// Forgejo) and of GitHub that Custos speaks, made from their public descriptions
// and checked by their real SDKs. It pages with Link headers, answers
// conditionally, counts what it is asked, and fails in every way a forge fails.
package forgetest

import (
	"bytes"
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
	Kind string // gitea, forgejo or github

	NoTags   bool             // it answers nothing conditionally, as a Gitea does
	PageSize int              // the most it puts on one page
	Skew     time.Duration    // its clock minus Now
	Now      func() time.Time // time.Now

	mu       sync.Mutex
	accounts map[string]string // by token
	repos    map[string]*Repo
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
	s := &Server{URL: url, Kind: kind, PageSize: 50, Now: time.Now, accounts: map[string]string{}, repos: map[string]*Repo{}}
	if kind == "github" {
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
	list   bool // body is a list, to be paged
}

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
	s.send(w, r, s.answer(r), fault)
}

func (s *Server) answer(r *http.Request) reply {
	login, ok := s.login(r)
	if !ok {
		return s.refusal(http.StatusUnauthorized, "token is required")
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
		return reply{200, s.user(login), false}
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	if len(parts) < 3 || parts[0] != "repos" || s.repos[parts[1]+"/"+parts[2]] == nil {
		return s.refusal(http.StatusNotFound, "Not Found")
	}
	return s.repos[parts[1]+"/"+parts[2]].answer(r, login, parts[3:])
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
	if list, ok := a.body.([]any); ok && a.list {
		a.body = s.page(w, r, list, f)
	}
	body, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	if a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	tag := sha256.Sum256(append(body, w.Header().Get("Link")...))
	etag := `W/"` + hex.EncodeToString(tag[:8]) + `"`
	half := f != nil && f.Half
	if r.Method == http.MethodGet && a.status == 200 && !s.NoTags && !half {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			s.same++
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

// page cuts one page out of a list and links to the others.
func (s *Server) page(w http.ResponseWriter, r *http.Request, list []any, f *Fault) []any {
	q := r.URL.Query()
	page, size := max(atoi(q.Get("page")), 1), atoi(q.Get("limit")+q.Get("per_page"))
	if size <= 0 || size > s.PageSize {
		size = s.PageSize
	}
	if f != nil && f.Endless && len(list) > 0 {
		s.link(w, r, page+1, "next")
		return list[:1]
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(list)))
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if to < len(list) {
		s.link(w, r, page+1, "next")
	}
	return append([]any{}, list[from:to]...)
}

func (s *Server) link(w http.ResponseWriter, r *http.Request, page int, rel string) {
	q := r.URL.Query()
	q.Set("page", strconv.Itoa(page))
	w.Header().Add("Link", fmt.Sprintf(`<%s%s?%s>; rel="%s"`, s.URL, r.URL.Path, q.Encode(), rel))
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
