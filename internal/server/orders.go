package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

func (s *server) order(req *http.Request, c Caller) (any, error) {
	var r api.OrderRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.orderer(req.Context(), c, &r)
	if err != nil {
		return nil, err
	}
	o, err := s.orderOf(req.Context(), r, by)
	if err != nil {
		return nil, control.Illegal(err)
	}
	taken, err := s.Orders.Take(req.Context(), o)
	if err != nil {
		return nil, control.Illegal(err)
	}
	return orderView(taken, !s.InProcess), nil
}

func (s *server) orderState(req *http.Request, _ Caller) (any, error) {
	id := req.PathValue("id")
	o, err := s.Orders.Order(req.Context(), id)
	return s.orderFound(id, o, err)
}

// orderFound is the answer about one order that was asked for by its ID.
func (s *server) orderFound(id string, o fleet.Order, err error) (any, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find order %q", fleet.Line(id, 100)), Hint: "custos orders"}
	}
	if err != nil {
		return nil, control.Illegal(err)
	}
	return orderView(o, !s.InProcess), nil
}

// openOrders lists what was ordered and is not over.
func (s *server) openOrders(req *http.Request, _ Caller) (any, error) {
	open, err := s.Orders.Open(req.Context())
	if err != nil {
		return nil, err
	}
	out := api.Orders{At: s.Now().Wall.UTC(), Orders: make([]api.Order, 0, len(open))}
	for _, o := range open {
		out.Orders = append(out.Orders, orderView(o, !s.InProcess))
	}
	return out, nil
}

func (s *server) cancelOrder(req *http.Request, c Caller) (any, error) {
	id := req.PathValue("id")
	o, err := s.Orders.Cancel(req.Context(), id, c.Name())
	return s.orderFound(id, o, err)
}

// orderer is who gives an order. A person may give any; an agent may ask for a
// checkpoint of itself, and spawn an agent below itself; whoever cannot be shown
// to be a person or an agent may nothing.
func (s *server) orderer(ctx context.Context, c Caller, r *api.OrderRequest) (string, error) {
	if s.AgentOf == nil {
		return c.Name(), nil
	}
	agent, err := s.AgentOf(ctx, c)
	switch {
	case err == nil && agent == "":
		return c.Name(), nil
	case err != nil || !ownAffair(agent, r):
		return "", barred(c, agent, err)
	}
	return fleet.ByAgent(agent), nil
}

// ownAffair says whether an order is one that an agent may give. A spawn without
// a parent becomes the agent's own child.
func ownAffair(agent string, r *api.OrderRequest) bool {
	switch fleet.OrderDo(r.Do) {
	case fleet.OrderBackup:
		return r.Agent == agent
	case fleet.OrderSpawn:
		if r.Spawn != nil && r.Spawn.Parent == "" {
			r.Spawn.Parent = agent
		}
		return r.Spawn != nil && r.Spawn.Parent == agent
	}
	return false
}

// orderOf turns a request into an order that makes sense by itself.
func (s *server) orderOf(ctx context.Context, r api.OrderRequest, by string) (fleet.Order, error) {
	now := s.Now()
	o := fleet.Order{ID: r.ID, Do: fleet.OrderDo(r.Do), Agent: r.Agent, Account: r.Account, By: by, At: now, Text: r.Text, Dialog: r.Dialog}
	if o.ID == "" {
		o.ID = newOrderID()
	}
	if o.Do == fleet.OrderStop {
		o.Text = fleet.Line(r.Text, 400)
	}
	if r.TTL != "" {
		d, err := time.ParseDuration(r.TTL)
		if err != nil || d <= 0 || d > longestTTL {
			return o, api.AsBadInput(fmt.Errorf("cannot keep an order for %q: want a time up to %s, like 10m", fleet.Line(r.TTL, 40), longestTTL))
		}
		o.Expires = now.Add(d)
	}
	if r.Spawn != nil && o.Do == fleet.OrderSpawn {
		all, err := s.Registry.Registrations(ctx)
		if err != nil {
			return o, err
		}
		if o.Spawn, err = spawnOf(*r.Spawn, r.Agent, all, s.kindOf()); err != nil {
			return o, api.AsBadInput(err)
		}
	}
	return o, control.CheckOrder(o, Caller{UID: os.Getuid()}.Name(), Caller{}.Name())
}

// kindOf names the kind that a command line starts; by the name of its program
// where nobody knows better.
func (s *server) kindOf() func([]string) string {
	if s.KindOf != nil {
		return s.KindOf
	}
	return func(argv []string) string { return path.Base(argv[0]) }
}

// longestTTL keeps an order from being carried out when everybody has forgotten
// it.
const longestTTL = 7 * 24 * time.Hour

func newOrderID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// orderView is an order for whoever gave it, with what to type next.
func orderView(o fleet.Order, watched bool) api.Order {
	out := api.Order{ID: o.ID, Do: string(o.Do), Agent: o.Agent, Account: o.Account, By: o.By, At: o.At.Wall.UTC(), Expires: control.Moment(o.Expires),
		State: string(o.State), Over: o.IsOver(), Guard: string(o.Guard), Why: o.Why, Until: control.Moment(o.Until), Hint: o.Hint,
		Action: o.Action, Watched: watched, Next: []api.Hint{}}
	out.Next = orderHints(o, watched)
	return out
}

func orderHints(o fleet.Order, watched bool) []api.Hint {
	out := []api.Hint{}
	if o.Hint != "" {
		out = append(out, api.Hint{Command: o.Hint, What: "what it waits for"})
	}
	if !watched && !o.IsOver() {
		out = append(out, nobodyWatches())
	}
	starts := o.Do == fleet.OrderSpawn || o.Do == fleet.OrderRecover
	switch {
	case o.State == fleet.OrderDone && starts && !watched:
		out = append(out, api.Hint{Command: "custos up", What: "nobody watches it now"})
	case o.State == fleet.OrderDone && starts:
		out = append(out, api.Hint{Command: api.Typed("custos", "show", o.Agent), What: "how it does"})
	case !o.IsOver():
		out = append(out, api.Hint{Command: api.Typed("custos", "orders", "cancel", o.ID), What: "take it back"})
	case o.State != fleet.OrderDone && o.Agent != "":
		out = append(out, api.Hint{Command: api.Typed("custos", "why", fleet.Subject{Kind: fleet.KindAgent, Name: o.Agent}.String()), What: "why"})
	}
	return out
}
