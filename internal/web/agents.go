package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
)

// agentsData is the fleet: what is shown of it, and counted of just that.
type agentsData struct {
	Seen    api.PartSeen
	Rows    []api.AgentRow
	States  []stateCount
	State   string // only those; "" for all
	Beyond  string // whose agents are not counted
	Pending []api.Pending
}

// Unseen says why the agents are not known; "" when they are.
func (d agentsData) Unseen() string { return unseen(d.Seen) }

func unseen(part api.PartSeen) string {
	if part.Status == "unknown" || part.Status == "pending" {
		return strings.TrimSuffix("the agents are not seen now ("+part.Status+"): "+part.Why, ": ")
	}
	return ""
}

func (s *site) agents(ctx context.Context, r *http.Request) (page, error) {
	v, err := s.api.Agents(ctx)
	if err != nil {
		return page{}, err
	}
	session := sessionOf(r)
	d := agentsData{Seen: v.Seen, State: r.URL.Query().Get("state"), Pending: v.Pending}
	others, now := s.others(r, false), s.Now()
	shown := slices.DeleteFunc(withAgents(v.Agents, others, now), func(a api.AgentRow) bool { return !session.showsRow(a) })
	d.States, d.Beyond = states(shown), api.Beyond(others)
	if session.Project != "" {
		d.Pending = nil // whose they are is not told
	}
	for _, a := range shown {
		if d.State == "" || a.State == d.State {
			d.Rows = append(d.Rows, a)
		}
	}
	return page{Name: "agents", Title: "Agents", At: v.At, Banners: hostBanners(others, now), Data: d}, nil
}

// agentData is everything that is known of one agent.
type agentData struct {
	api.AgentDetail
	Screen   *api.Screen // nil: it is not shown
	NoScreen string      // why it cannot be
	Outcome  *api.Order  // of what was done just now
	OrderID  string      // of the next order: the same form sent twice is one order
}

// Path is where the forms of the agent go.
func (d agentData) Path() string { return rowPath(d.Agent) }

// There is what shows the terminal of an agent of another machine as it is; "" for one of
// this machine, whose page does.
func (d agentData) There() string {
	switch {
	case d.Agent.Host == "":
		return ""
	case d.Agent.Pane == "":
		return api.CommandOn(d.Agent.Host, "custos peek "+d.Agent.Own())
	}
	return api.CommandOn(d.Agent.Host, "custos attach "+d.Agent.Own())
}

// Ours says whether something may be done with it.
func (d agentData) Ours() bool { return d.Agent.Owner == "custos" || d.Agent.Owner == "adopted" }

// screenLines is how much of a terminal is shown.
const screenLines = 60

func (s *site) agent(ctx context.Context, r *http.Request) (page, error) {
	name, session := r.PathValue("name"), sessionOf(r)
	v, err := s.api.Agent(ctx, name)
	if err != nil {
		return page{}, err
	}
	if !session.showsRow(v.Agent) {
		return page{}, &api.Error{Kind: api.Forbidden, Message: "This link does not show that agent."}
	}
	d := agentData{AgentDetail: v, OrderID: s.shared.mark}
	if session.Link {
		d.Record, d.Messages, d.Orders = nil, nil, nil // what was asked of it is for those who may ask
	}
	if session.Terminal {
		d.Screen, d.NoScreen = s.screen(ctx, name)
	} else {
		d.Dialog = nil // it is read from the terminal, as other signals are of what it printed
		d.Signals = slices.DeleteFunc(slices.Clone(d.Signals), func(v api.AgentSignal) bool { return v.Source == "output" })
	}
	if id := r.URL.Query().Get("order"); id != "" && !session.Link {
		d.Outcome = s.outcome(ctx, id, name)
	}
	return page{Name: "agent", Title: name, At: v.At, Data: d}, nil
}

func (s *site) screen(ctx context.Context, name string) (*api.Screen, string) {
	v, err := s.api.Screen(ctx, name, screenLines)
	if err != nil {
		return nil, api.ErrorOf(err).Message
	}
	v.Text = strings.TrimRight(v.Text, "\n ")
	return &v, ""
}

// outcome is what became of an order of this agent; nil where there is no such one.
func (s *site) outcome(ctx context.Context, id, agent string) *api.Order {
	o, err := s.api.OrderState(ctx, id)
	if err != nil || o.Agent != agent {
		return nil
	}
	return &o
}

// stopAsked asks whether the agent is to be stopped.
func (s *site) stopAsked(ctx context.Context, r *http.Request) (page, error) {
	v, err := s.api.Agent(ctx, r.PathValue("name"))
	if err != nil {
		return page{}, err
	}
	return page{Name: "stop", Title: "Stop " + v.Agent.Name + "?", At: v.At, Data: agentData{AgentDetail: v, OrderID: s.shared.mark}}, nil
}

func (s *site) nudge(ctx context.Context, r *http.Request) (string, error) {
	text := strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n") // as forms are sent
	if strings.TrimSpace(text) == "" {
		return "", api.AsBadInput(fmt.Errorf("cannot send an empty message"))
	}
	return s.order(ctx, r, api.OrderRequest{Do: "nudge", Text: text})
}

func (s *site) answer(ctx context.Context, r *http.Request) (string, error) {
	return s.order(ctx, r, api.OrderRequest{Do: "answer", Text: r.PostForm.Get("choice"), Dialog: r.PostForm.Get("dialog")})
}

func (s *site) interrupt(ctx context.Context, r *http.Request) (string, error) {
	return s.order(ctx, r, api.OrderRequest{Do: "interrupt"})
}

func (s *site) stop(ctx context.Context, r *http.Request) (string, error) {
	return s.order(ctx, r, api.OrderRequest{Do: "stop", Text: r.PostForm.Get("why")})
}

// orderWait is how long the answer to a form waits for what becomes of its order. What
// takes longer the page tells when it is there.
const orderWait = 20 * time.Second

// order gives an order in the name of the person who asks, and says where to look what
// became of it.
func (s *site) order(ctx context.Context, r *http.Request, o api.OrderRequest) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, orderWait)
	defer cancel()
	var err error
	if o.ID, err = formID(r); err != nil {
		return "", err
	}
	o.Agent, o.Instance = r.PathValue("name"), r.PostForm.Get("instance")
	if _, err := s.api.Order(ctx, o); err != nil {
		return "", err
	}
	return agentPath(o.Agent) + "?order=" + url.QueryEscape(o.ID) + "#outcome", nil
}
