// Package citest is a CI server for tests: Woodpecker, the Actions of Forgejo,
// Gitea or GitHub, or GitLab CI, built from their public API descriptions: pages, errors,
// conditional requests, rate limits, two kinds of numbers, logs that lie
// elsewhere. It has a clock of its own, and can be broken in every way that a
// server breaks.
package citest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Project is the one project of a fake unless it is made for another one, and
// Token what it wants to hear.
const (
	Project = "acme/widget"
	Token   = "citest-0123456789"
)

// Run is a pipeline. States are pending, running, success, failure, cancelled and
// blocked; each API has its own words for them.
type Run struct {
	Number   int64
	Workflow string // of Actions: its file
	Title    string
	Event    string // "push"
	Branch   string // "main"
	Head     string
	Pull     int
	State    string
	Word     string // the server's word, instead of that for State
	Attempt  int    // of Actions
	Parent   int64  // of woodpecker: the number of the one it repeats
	Created  time.Time
	Started  time.Time
	Ended    time.Time
	Changed  time.Time // of GitLab: when it was begun again
	Steps    []Step
	Error    string // of the whole, as when a worker was lost
	Child    string // of GitLab: the job that began another pipeline, which failed
	// Warnings and Misconfigured are what Woodpecker says of the configuration, GitLab the latter.
	Warnings      []string
	Misconfigured string
}

// Step is a step of a job.
type Step struct {
	Job, Name string
	State     string
	Exit      int
	Error     string // of woodpecker; of GitLab the reason of its job: script_failure
	Log       string
	NoLog     bool // the server has none of it
	Optional  bool // of GitLab: its job may fail
}

// Worker is an agent or a runner.
type Worker struct {
	Name    string
	Silent  time.Duration // of woodpecker: since it last spoke
	Offline bool          // of Actions and GitLab
	Paused  bool
	Shared  bool // of GitLab: it is the instance's
}

// Server is a running fake.
type Server struct {
	URL   string
	Again func(Run) // called of what is begun again, before anybody is answered; nil: nobody

	kind    string
	project string
	handler http.Handler

	mu       sync.Mutex
	runs     []*Run
	workers  []Worker
	skew     time.Duration
	faults   faults
	requests int
	fresh    int // answers that had to be sent whole
	posts    []string
	moved    int64 // the project's number, of woodpecker
	// parentsByID: as Woodpecker before 2.5
	parentsByID bool
}

type faults struct {
	down    int // status of every answer
	slow    bool
	limited int
	after   time.Duration
	half    bool
	endless bool
	deaf    bool
	forbid  map[string]int // by a part of the path
	body    string         // instead of every answer
}

// New starts a server of that kind, which ends with the test.
func New(t testing.TB, kind string) *Server {
	s := At("", kind, Project)
	hs := httptest.NewServer(s)
	t.Cleanup(hs.Close)
	s.URL = hs.URL
	return s
}

// At is a server of that kind for a project, OWNER/NAME, that nobody listens for:
// in a bubble of synctest there are no sockets, and whoever asks hands requests for
// the URL to ServeHTTP.
func At(url, kind, project string) *Server {
	s := &Server{URL: url, kind: kind, project: project, moved: 1, faults: faults{forbid: map[string]int{}}}
	mux := http.NewServeMux()
	switch kind {
	case "woodpecker":
		s.woodpecker(mux)
	case "gitlab-ci":
		s.gitlab(mux)
	default:
		s.actions(mux)
	}
	s.handler = s.guard(mux)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Kind says which it is.
func (s *Server) Kind() string { return s.kind }

// Now is the server's clock.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Server) now() time.Time { return time.Now().Add(s.skew) }

func (s *Server) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

// Skew puts the server's clock ahead of ours.
func (s *Server) Skew(d time.Duration) { s.set(func() { s.skew = d }) }

// Down answers everything with that status; 0: up.
func (s *Server) Down(status int) { s.set(func() { s.faults.down = status }) }

// Slow lets every request wait until its client goes away.
func (s *Server) Slow(on bool) { s.set(func() { s.faults.slow = on }) }

// Limit refuses the next n requests, and says when to come back.
func (s *Server) Limit(n int, after time.Duration) {
	s.set(func() { s.faults.limited, s.faults.after = n, after })
}

// Half breaks every answer off in its middle.
func (s *Server) Half(on bool) { s.set(func() { s.faults.half = on }) }

// Endless has every page full, for ever.
func (s *Server) Endless(on bool) { s.set(func() { s.faults.endless = on }) }

// Deaf has the server take every order and do nothing.
func (s *Server) Deaf(on bool) { s.set(func() { s.faults.deaf = on }) }

// Forbid answers with that status whatever has part in its path; 0: no more.
func (s *Server) Forbid(part string, status int) {
	s.set(func() {
		if s.faults.forbid[part] = status; status == 0 {
			delete(s.faults.forbid, part)
		}
	})
}

// Say answers everything with that text; "": no more.
func (s *Server) Say(body string) { s.set(func() { s.faults.body = body }) }

// Move gives the project another number, as Woodpecker does when it is added anew.
func (s *Server) Move() { s.set(func() { s.moved++ }) }

// ParentsByID has a repetition name the one it repeats as Woodpecker did before 2.5.
func (s *Server) ParentsByID() { s.set(func() { s.parentsByID = true }) }

// Requests counts what was asked, and how many answers had to be sent whole.
func (s *Server) Requests() (asked, whole int) {
	s.set(func() { asked, whole = s.requests, s.fresh })
	return asked, whole
}

// Posts lists the paths that something was posted to.
func (s *Server) Posts() (out []string) {
	s.set(func() { out = slices.Clone(s.posts) })
	return out
}

// Add adds a pipeline, with its defaults filled in.
func (s *Server) Add(r Run) {
	s.set(func() {
		r.Event, r.Branch, r.State = cmp.Or(r.Event, "push"), cmp.Or(r.Branch, "main"), cmp.Or(r.State, "success")
		r.Workflow, r.Attempt = cmp.Or(r.Workflow, "ci.yml"), max(r.Attempt, 1)
		r.Head = cmp.Or(r.Head, fmt.Sprintf("%040x", r.Number))
		if r.Created.IsZero() {
			r.Created = s.now().Add(-time.Hour)
		}
		if r.Started.IsZero() && r.State != "pending" && r.State != "blocked" {
			r.Started = r.Created.Add(time.Minute)
		}
		if r.Ended.IsZero() && slices.Contains([]string{"success", "failure", "cancelled"}, r.State) {
			r.Ended = r.Started.Add(5 * time.Minute)
		}
		s.runs = append(s.runs, &r)
		slices.SortFunc(s.runs, func(a, b *Run) int { return cmp.Compare(b.Number, a.Number) })
	})
}

// Change changes a pipeline that is there.
func (s *Server) Change(number int64, f func(*Run)) {
	s.set(func() {
		if r := s.find(number); r != nil {
			f(r)
		}
	})
}

// Remove takes a pipeline away.
func (s *Server) Remove(number int64) {
	s.set(func() { s.runs = slices.DeleteFunc(s.runs, func(r *Run) bool { return r.Number == number }) })
}

// Run returns a pipeline, and whether it is there.
func (s *Server) Run(number int64) (out Run, ok bool) {
	s.set(func() {
		if r := s.find(number); r != nil {
			out, ok = *r, true
		}
	})
	return out, ok
}

// Staff says which workers there are.
func (s *Server) Staff(w ...Worker) { s.set(func() { s.workers = w }) }

// Text describes all pipelines, for tests that nothing was changed.
func (s *Server) Text() (out string) {
	s.set(func() {
		for _, r := range s.runs {
			out += fmt.Sprintf("%d.%d %s of %s\n", r.Number, r.Attempt, r.State, r.Head)
		}
	})
	return out
}

// ID is what the API asks for a pipeline by.
func (s *Server) ID(number int64) int64 {
	switch s.kind {
	case "woodpecker":
		return number
	case "github-actions":
		return 7_000_000_000 + number
	}
	return 1000 + number
}

func (s *Server) find(number int64) *Run {
	for _, r := range s.runs {
		if r.Number == number {
			return r
		}
	}
	return nil
}

// guard counts, breaks, and lets in who has the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var f faults
		s.set(func() {
			s.requests++
			f = s.faults
			if s.faults.limited > 0 {
				s.faults.limited--
			}
			w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
		})
		if f.slow {
			<-r.Context().Done()
			return
		}
		if s.breaks(w, r, f) {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/blob/") {
			next.ServeHTTP(w, r)
			return
		}
		word, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if own := r.Header.Get("PRIVATE-TOKEN"); own != "" && s.kind == "gitlab-ci" {
			word, token = "Bearer", own
		}
		want := map[string]string{"woodpecker": "Bearer", "github-actions": "Bearer", "gitlab-ci": "Bearer"}[s.kind]
		if token != Token || word != cmp.Or(want, "token") {
			s.refuse(w, http.StatusUnauthorized, "Bad credentials for "+token)
			return
		}
		if r.Method == http.MethodPost {
			s.set(func() { s.posts = append(s.posts, r.URL.Path) })
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) breaks(w http.ResponseWriter, r *http.Request, f faults) bool {
	for part, status := range f.forbid {
		if strings.Contains(r.URL.Path, part) {
			s.refuse(w, status, "not for you")
			return true
		}
	}
	switch {
	case f.down > 0:
		s.refuse(w, f.down, "<html>token=hunter2 is down</html>")
	case f.limited > 0 && s.kind == "github-actions":
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(s.Now().Add(f.after).Unix(), 10))
		s.refuse(w, http.StatusForbidden, "API rate limit exceeded")
	case f.limited > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds())))
		s.refuse(w, http.StatusTooManyRequests, "slow down")
	case f.body != "":
		_, _ = w.Write([]byte(f.body))
	default:
		return false
	}
	return true
}

func (s *Server) refuse(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	if s.kind == "woodpecker" {
		_, _ = w.Write([]byte(why))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"message": why, "documentation_url": "https://docs.example.org"})
}

// answer sends JSON. GitHub and GitLab name the version of each answer, the others do not.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a fault of the fake
	}
	var half bool
	s.set(func() { half = s.faults.half })
	if s.kind == "github-actions" || s.kind == "gitlab-ci" && r.Method == http.MethodGet {
		sum := sha256.Sum256(body)
		tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.set(func() { s.fresh++ })
	w.Header().Set("Content-Type", "application/json")
	if half {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	}
	_, _ = w.Write(body)
}

// page cuts one page out. size 0: the whole list, as Forgejo has it without a page.
func (s *Server) page(r *http.Request, param string, limit int) (out []*Run) {
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get(param))
	if n, size = max(n, 1), min(size, limit); size < 1 {
		size = limit
	}
	s.set(func() {
		all := s.runs
		if s.faults.endless {
			all = s.endless(n * size)
		}
		for _, r := range all[min(len(all), (n-1)*size):min(len(all), n*size)] {
			c := *r
			out = append(out, &c)
		}
	})
	return out
}

// endless is a list that is longer than what was asked for.
func (s *Server) endless(size int) []*Run {
	out := slices.Clone(s.runs)
	for i := int64(1); len(out) <= size; i++ {
		out = append(out, &Run{Number: 1_000_000 - i, Workflow: "ci.yml", Event: "push", Branch: fmt.Sprintf("b%d", i), State: "success", Attempt: 1,
			Head: "e", Created: s.now().Add(-time.Hour), Started: s.now().Add(-time.Hour), Ended: s.now().Add(-time.Minute)})
	}
	return out
}

// again runs a run again, as the API does, and returns it, or nil.
func (s *Server) again(number int64) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(number)
	if r == nil || s.faults.deaf {
		return r
	}
	r = s.begin(r)
	if s.Again != nil {
		s.Again(*r)
	}
	return r
}

// begin begins the next attempt of a run.
func (s *Server) begin(r *Run) *Run {
	if s.kind == "gitlab-ci" { // when it was made, and began first, stays
		r.Attempt++
		r.State, r.Changed, r.Ended = "pending", s.now(), time.Time{}
		return r
	}
	if s.kind != "woodpecker" {
		r.Attempt++
		r.State, r.Created, r.Started, r.Ended = "pending", s.now(), time.Time{}, time.Time{}
		return r
	}
	c := *r
	c.Number, c.Parent, c.State = s.runs[0].Number+1, r.Number, "pending"
	c.Created, c.Started, c.Ended, c.Steps = s.now(), time.Time{}, time.Time{}, nil
	s.runs = append([]*Run{&c}, s.runs...)
	return &c
}

// cancel ends a run, and says whether it could.
func (s *Server) cancel(number int64) (there, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(number)
	if r == nil {
		return false, false
	}
	open = r.State == "pending" || r.State == "running" || r.State == "blocked"
	if open && !s.faults.deaf {
		r.State, r.Ended = "cancelled", s.now()
	}
	return true, open
}
