package top

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// custos is a Custos in memory: it answers what it is told to, and notes what it is asked.
type custos struct {
	mu      sync.Mutex
	answers map[string]any // by "GET /v1/look", without the query
	asked   []string
	bodies  map[string]string
	hangs   bool
}

func newCustos() *custos {
	return &custos{bodies: map[string]string{}, answers: map[string]any{
		"GET /v1/look":   small(),
		"GET /v1/status": api.Status{Daemon: true},
		"GET /v1/agents/builder": api.AgentDetail{Agent: small().Agents[0], Dialog: &api.AgentDialog{ID: "permission", Says: "a permission", Question: "Run make?", Tool: "Bash", Args: "make", Hash: "abcd",
			Choices: []api.AgentChoice{{Name: "yes", Label: "Yes"}, {Name: "no", Label: "No, and tell it why"}}}},
		"GET /v1/agents/builder/screen": api.Screen{Agent: "builder", Text: "● Bash(make)\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n"},
		"GET /v1/alerts":                api.Alerts{Alerts: []api.Alert{{Number: 3, Rule: "dead-lock", Subject: "lock//home/me/locks/dev-agent.lock", Priority: "P2", Status: "firing", Summary: "is held by a process that is gone", For: "26h0m0s"}}},
		"GET /v1/alerts/3/offer":        api.Offer{Number: 3, Hash: "h1", Deeds: []api.Deed{{Do: "remove-lock", Subject: "lock//home/me/locks/dev-agent.lock", Commands: []api.Command{{Argv: []string{"rm", "/home/me/locks/dev-agent.lock"}}}}}},
		"POST /v1/alerts/3/approve":     api.Approved{Number: 3, By: "me", Actions: []api.ApprovedThing{{ID: "a1", Do: "remove-lock", Subject: "lock//home/me/locks/dev-agent.lock"}}},
		"POST /v1/alerts/3/deny":        api.Approved{Number: 3, By: "me", Actions: []api.ApprovedThing{{ID: "a1", Do: "reject-vault-item", Subject: "vault/x"}}},
		"POST /v1/alerts/3/ack":         api.Alert{Number: 3, AckedBy: "me", Rule: "dead-lock"},
		"POST /v1/silences":             api.Silenced{Until: noon.Add(2 * time.Hour)},
		"POST /v1/orders":               api.Order{ID: "o1", Do: "it", State: "done", Over: true},
		"GET /v1/story":                 api.Story{Subject: "agent/builder", Facts: []string{"it waits", "for a person"}},
		"GET /v1/feed":                  api.Feed{Entries: []api.FeedEntry{{ID: "1", At: noon, Kind: "tool-end", Agent: "builder", Text: "make"}}},
		"GET /v1/work":                  api.WorkList{Work: []api.Work{{Ref: "w1", Title: "Mend the tests", State: "open", Ready: true}}},
	}}
}

// ServeHTTP answers; what it has no answer for is not found.
func (c *custos) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := req.Method + " " + req.URL.Path
	body, _ := io.ReadAll(req.Body)
	c.mu.Lock()
	c.asked = append(c.asked, name)
	c.bodies[name] = string(body)
	v, ok := c.answers[name]
	hangs := c.hangs
	c.mu.Unlock()
	if hangs {
		<-req.Context().Done()
		return
	}
	if e, isError := v.(*api.Error); isError || !ok {
		if !ok {
			e = &api.Error{Kind: api.NotFound, Message: "there is no " + name}
		}
		w.WriteHeader(e.HTTPStatus())
		v = e
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (c *custos) set(name string, v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[name] = v
}

// changed are the questions that change something.
func (c *custos) changed() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.asked {
		if !strings.HasPrefix(name, "GET ") {
			out = append(out, name)
		}
	}
	return out
}

func (c *custos) count(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asked {
		if a == name {
			n++
		}
	}
	return n
}

func (c *custos) body(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies[name]
}

// play is a screen that runs, in time that passes only where it is waited for.
type play struct {
	*testing.T
	m    Model
	c    *custos
	msgs chan tea.Msg
	over chan struct{}
}

// playing runs a test with a screen of 80×24 that has looked once.
func playing(t *testing.T, test func(*play)) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{T: t, c: newCustos(), msgs: make(chan tea.Msg), over: make(chan struct{})}
		defer p.end()
		p.m = New(Options{Words: words(), Home: "/home/me", Ask: func(context.Context, string) (*api.Client, func(), error) {
			return api.NewClient(api.InProcess(p.c)), func() {}, nil
		}})
		p.run(p.m.Init())
		p.wait(100 * time.Millisecond)
		test(p)
	})
}

// run runs a command beside the screen, as bubbletea does.
func (p *play) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				p.run(c)
			}
		default:
			select {
			case p.msgs <- msg:
			case <-p.over:
			}
		}
	}()
}

// end lets all that still waits end, too.
func (p *play) end() {
	close(p.over)
	time.Sleep(2 * patienceWithOrders)
}

// wait lets time pass.
func (p *play) wait(d time.Duration) {
	for until := time.After(d); ; {
		select {
		case msg := <-p.msgs:
			p.tell(msg)
		case <-until:
			synctest.Wait()
			return
		}
	}
}

func (p *play) tell(msg tea.Msg) {
	next, cmd := p.m.Update(msg)
	p.m = next.(Model)
	p.run(cmd)
	fits(p, p.m)
}

// keys presses keys, and waits a moment after each.
func (p *play) keys(names ...string) {
	for _, n := range names {
		p.tell(press(n))
		p.wait(200 * time.Millisecond)
	}
}

// wants says which texts are not on the screen.
func (p *play) wants(texts ...string) {
	p.Helper()
	screen := p.m.frame()
	for _, want := range texts {
		if !strings.Contains(strings.Join(strings.Fields(screen), " "), want) {
			p.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
}

// choose goes to the row of an agent.
func (p *play) choose(agent string) {
	p.Helper()
	p.keys("2", "home")
	for range 10 {
		if p.m.row().agent == agent {
			return
		}
		p.keys("down")
	}
	p.Fatalf("%s is not there", agent)
}

// hang says whether questions are answered from now on.
func (p *play) hang(is bool) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.hangs = is
}
