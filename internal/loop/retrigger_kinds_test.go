package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet/fleettest"
	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
	"custos/internal/sys/httpcache"
)

// ciServers are the servers there are, by how they number what is run again: the same
// number with another attempt, or a new one that names the one it repeats by its number or
// by its ID.
func ciServers() map[string]*citest.Server {
	out := map[string]*citest.Server{}
	for _, kind := range citest.Kinds() {
		out[kind] = citest.At("http://ci.test", kind, citest.Project)
	}
	old := citest.At("http://ci.test", "woodpecker", citest.Project)
	old.ParentsByID()
	out["woodpecker before 2.5"] = old
	return out
}

// ciScript is a day on a real kind of server, where all that fails fails by its machinery.
// It has the repetitions that were asked for, and is itself the hand that asks.
type ciScript struct {
	rand   *rand.Rand
	server *citest.Server
	at     time.Time
	hand   *ci.Writer
	again  map[commitRun]int
	last   int64

	workflows, branches, commits []string
}

// Again implements retrigger.Writer: an answer that breaks off was heard all the same.
func (s *ciScript) Again(ctx context.Context, p ci.Pipeline) error {
	s.again[commitRunOf(p)]++
	if err := s.hand.Again(ctx, p); err != nil {
		return err
	}
	if s.rand.IntN(4) == 0 {
		return errors.New("its answer broke off")
	}
	return nil
}

// RoundTrip implements http.RoundTripper, without a socket.
func (s *ciScript) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Clone(req.Context())
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	s.server.ServeHTTP(answer, sent)
	return answer.Result(), nil
}

func newCIScript(t *rapid.T, server *citest.Server, seed uint64) (*ciScript, *ci.Reader) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &ciScript{rand: r, server: server, at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), again: map[commitRun]int{},
		workflows: someOf(r, []string{"ci.yml", "night.yml", "2.yml"}), branches: someOf(r, []string{"main", "main/1", "fix"}), commits: someOf(r, []string{"1", "2", "abc"})}
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: server.URL, PerHour: 100000, Now: func() time.Time { return s.at }, Base: s})
	if err != nil {
		t.Fatal(err)
	}
	o := ci.Options{Kind: citest.Kind(server.Kind()), URL: server.URL, Project: citest.Project, Clock: host.Clock, Elsewhere: &http.Client{Transport: s},
		HTTP: httpcache.NewTransport(host, citest.Kind(server.Kind()).Scheme, func(context.Context) (string, error) { return citest.Token, nil }).Client()}
	reader, err := ci.NewReader(o)
	if err == nil {
		s.hand, err = ci.NewWriter(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, reader
}

// pass lets twelve minutes go by: what was begun fails, somebody pushes, somebody repeats,
// what is old is cleared away, and the server is down at times.
func (s *ciScript) pass() {
	s.at = s.at.Add(12 * time.Minute)
	s.server.Skew(time.Until(s.at))
	for n := range s.last + 20 {
		s.server.Change(n, s.fail)
	}
	s.last = s.newest()
	switch s.rand.IntN(8) {
	case 0, 1, 2:
		s.push(citest.Run{Workflow: oneOf(s.rand, s.workflows), Branch: oneOf(s.rand, s.branches), Head: oneOf(s.rand, s.commits)})
	case 3:
		s.repeat(1 + s.rand.Int64N(s.last+1))
	case 4:
		s.server.Remove(1 + s.rand.Int64N(s.last+1))
	}
	s.server.Down(map[bool]int{true: 502}[s.rand.IntN(20) == 0])
}

func (s *ciScript) newest() (n int64) {
	for n = s.last; ; n++ {
		if _, ok := s.server.Run(n + 1); !ok {
			return n
		}
	}
}

// fail ends what was begun, now and then well.
func (s *ciScript) fail(r *citest.Run) {
	if r.State != ci.Pending {
		return
	}
	ended := s.at.Add(-time.Minute)
	r.State, r.Started, r.Ended = ci.Failure, ended, ended
	r.Steps = []citest.Step{{Job: "build", Name: "push", State: ci.Failure, Exit: 137, Log: "write /x: no space left on device"}}
	if s.rand.IntN(8) == 0 {
		r.State, r.Steps = ci.Success, nil
	}
}

func (s *ciScript) push(r citest.Run) {
	s.last++
	r.Number, r.State, r.Created = s.last, ci.Pending, s.at
	s.server.Add(r)
}

// repeat is a person who runs something again.
func (s *ciScript) repeat(n int64) {
	was, ok := s.server.Run(n)
	switch {
	case !ok || was.State != ci.Failure:
	case s.server.Kind() == "woodpecker":
		s.push(citest.Run{Workflow: was.Workflow, Branch: was.Branch, Head: was.Head, Parent: n})
	default:
		s.server.Change(n, func(r *citest.Run) { r.Attempt, r.State, r.Created = r.Attempt+1, ci.Pending, s.at })
	}
}

// TestNoServerIsRunAgainForEver: the same bound on each kind of server, by the reader and
// the writer that know it.
func TestNoServerIsRunAgainForEver(t *testing.T) {
	set := builtinRules(t)
	for name := range ciServers() {
		t.Run(name, func(t *testing.T) {
			fleettest.Checks(t, 6) // of half a day each
			full := false
			rapid.Check(t, func(rt *rapid.T) {
				s, reader := newCIScript(rt, ciServers()[name], rapid.Uint64().Draw(rt, "day"))
				d := newCIDay(rt, set, reader, s)
				for range 60 {
					s.pass()
					d.round(rt.Context(), s.at)
				}
				for what, n := range s.again {
					if n > 2 {
						rt.Errorf("%+v was run again %d times", what, n)
					}
					full = full || n == 2
				}
			})
			if !t.Failed() && !full {
				t.Error("nothing was run again as often as may be: the days show nothing")
			}
		})
	}
}
