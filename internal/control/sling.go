package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// sling hands work out: that it is taken, and that its agent is to begin, is one row, and one
// transaction.
func (c *Control) sling(ctx context.Context, call Call, r api.SlingRequest) (api.Slung, error) {
	past, seen, err := c.Records.Seen(ctx)
	if err != nil {
		return api.Slung{}, err
	}
	if agent, _ := fleet.AgentOf(call.By); call.Barred != nil && (call.Marked || agent == Unnamed) {
		return api.Slung{}, call.Barred
	}
	w, err := c.toSling(past, seen, r)
	if err != nil {
		return api.Slung{}, err
	}
	if same := slungBefore(w, r, past.Registrations); same {
		return c.slung(ctx, *w)
	}
	begin, err := c.beginning(past, call, *w, r)
	if err != nil {
		return api.Slung{}, Illegal(err)
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		now := ledger.Work(all, w.Ref())
		if now == nil {
			return fleet.Records{}, ledger.Unfit("hand out work", "%s is gone", w.ID)
		}
		if q := begin[0].Spawn; q != nil { // another may have been quicker
			if err := c.roleAllows(api.SpawnRequest{Role: q.Role, Parent: q.Parent}, past.Registrations, all.Work); err != nil {
				return fleet.Records{}, err
			}
		}
		if q := begin[0].Spawn; q != nil {
			now.Ends = c.role(q.Role).Ends
		}
		done, err := ledger.SlingWork(*now, begin, call.By, c.Now())
		return fleet.Records{Work: []fleet.WorkItem{done}}, err
	})
	if err != nil {
		return api.Slung{}, err
	}
	for range 2 { // one pass gives the order, the next one answers it
		if err := c.Orders.Settle(ctx, "work "+w.ID+" was handed out"); err != nil {
			return api.Slung{}, fmt.Errorf("%s is handed out, but cannot be judged yet: %w", w.ID, err)
		}
	}
	return c.slung(ctx, made.Work[0])
}

// slungBefore says whether work was handed out just so already.
func slungBefore(w *fleet.WorkItem, r api.SlingRequest, all []fleet.Registration) bool {
	if w.State != fleet.WorkTaken || w.Person {
		return false
	}
	if r.To != "" {
		return w.Agent == r.To
	}
	role := cmp.Or(r.Role, w.Role)
	if len(w.Begin) > 0 {
		return w.Begin[0].Spawn != nil && w.Begin[0].Spawn.Role == role
	}
	reg := ledger.Registration(all, w.Agent)
	return reg != nil && reg.Task == w.ID && reg.Role == role && role != ""
}

// toSling finds work that may be handed out now.
func (c *Control) toSling(past fleet.Past, seen fleet.Snapshot, r api.SlingRequest) (*fleet.WorkItem, error) {
	bad := func(format string, args ...any) error {
		return api.AsBadInput(fmt.Errorf("cannot hand out %s: %s", fleet.Line(r.Work, 80), fmt.Sprintf(format, args...)))
	}
	w := ledger.Work(past.Records, fleet.Ref(r.Work))
	if w == nil {
		if t := fleet.Ref(r.Work).Tracker(); t != fleet.TrackerOwn && t != fleet.TrackerUnknown {
			return nil, bad("it is taken where it is kept, and not here")
		}
		return nil, missing("work", r.Work, each(past.Records.Work, func(w fleet.WorkItem) string { return w.ID }), "custos work list")
	}
	if r.Role != "" && r.To != "" {
		return nil, bad("a role begins with a new agent, and %s is one that there is: say --role or --to", fleet.Line(r.To, 80))
	}
	if slungBefore(w, r, past.Registrations) {
		return w, nil
	}
	if pause, is := fleet.PausedProjects(past.Silences)[w.Project]; is && w.Project != "" {
		return nil, bad("project %s is paused by %s", w.Project, pause.By)
	}
	f := fleet.Find(ledger.Facts(past, seen).Value.Work, func(f *fleet.WorkFacts) bool { return f.Ref == w.Ref() })
	switch {
	case w.State == fleet.WorkClosed:
		return nil, bad("it is closed: custos work reopen %s", w.ID)
	case w.State == fleet.WorkTaken:
		return nil, bad("%s has it: custos work release %s", w.Agent, w.ID)
	case f == nil || len(f.BlockedBy) > 0:
		return nil, bad("it waits for %s", blockers(f))
	case !f.Ready.Or(false):
		return nil, bad("it is not ready: %s", cmp.Or(f.Ready.Why(), f.Held, "its state is not known"))
	}
	return w, nil
}

func blockers(f *fleet.WorkFacts) string {
	if f == nil {
		return "what is not known"
	}
	return strings.Join(texts(f.BlockedBy), ", ")
}

// beginning are the orders by which an agent begins with work: a start, or words to one that there is.
func (c *Control) beginning(past fleet.Past, call Call, w fleet.WorkItem, r api.SlingRequest) ([]fleet.Order, error) {
	if r.To != "" {
		return c.handTo(past, call, w, r.To, ledger.SlingID(w))
	}
	role := cmp.Or(r.Role, w.Role)
	switch {
	case role == "":
		return nil, ledger.Unfit("hand out "+w.ID, "it is for no role: say --role, or --to an agent")
	case c.role(role) == nil:
		return nil, ledger.Unfit("hand out "+w.ID, "custos.toml has no [role.%s]", fleet.Line(role, 60))
	}
	return c.starting(past, call, w, *c.role(role), r.Files)
}

// starting are the orders by which a new agent of a role begins with work, below the agent that asks.
func (c *Control) starting(past fleet.Past, call Call, w fleet.WorkItem, r fleet.Role, files []string) ([]fleet.Order, error) {
	var parent *fleet.Registration
	q := api.SpawnRequest{Role: r.Name}
	if self, is := fleet.AgentOf(call.By); is {
		q.Parent, parent = self, ledger.Registration(past.Registrations, self)
		if parent == nil || parent.Desired == fleet.DesiredRetired {
			return nil, ledger.Unfit("hand out "+w.ID, "agent %s is not registered", fleet.Line(self, 80))
		}
		if err := ledger.WroteIt(w, self, past.Registrations); err != nil {
			return nil, err // whom it starts is its own
		}
	}
	if err := errors.Join(ledger.RoleLacks(r), checkFiles(files), c.roleAllows(q, past.Registrations, past.Records.Work)); err != nil {
		return nil, err
	}
	return ledger.RoleOrders(r, ledger.RoleStart(r, &w, parent, files, past), ledger.SlingID(w), call.By, c.Now())
}

// handTo are the words by which an agent that there is begins with work. A person's matter: an agent
// types nothing to another.
func (c *Control) handTo(past fleet.Past, call Call, w fleet.WorkItem, to, id string) ([]fleet.Order, error) {
	reg := ledger.Registration(past.Registrations, to)
	switch {
	case call.Barred != nil:
		return nil, call.Barred
	case ledger.MayReview(w, to, past.Registrations) != nil:
		return nil, ledger.MayReview(w, to, past.Registrations)
	case reg == nil || reg.Desired == fleet.DesiredRetired:
		return nil, missing("agent", to, each(past.Registrations, func(r fleet.Registration) string { return r.Name }), "custos ps")
	}
	if w.Review != nil {
		return c.toldTo(call, to, id, fmt.Sprintf("Your work is a review, %s: %s\n\nRead it: custos review show %s\nSay what is wrong, all together and once: custos review give %s --blocker 'FILE:LINE: what' (--major, --nit); with no blocker it is approved.", w.ID, w.Title, w.ID, w.ID))
	}
	return c.toldTo(call, to, id, fmt.Sprintf("Your work is %s: %s\n\n%s\n\nIt is yours already. When it is done: custos work close %s --why HOW; when it has to be merged: custos merge add --work %s", w.ID, w.Title, w.Body, w.ID, w.ID))
}

// toldTo is the order by which an agent that there is is told of its work.
func (c *Control) toldTo(call Call, to, id, text string) ([]fleet.Order, error) {
	o := fleet.Order{ID: id, Do: fleet.OrderNudge, Agent: to, By: call.By, At: c.Now(), Text: strings.TrimSpace(fleet.Text(text))}
	if err := errors.Join(checkWords(o), checkOrder(o, c.People...)); err != nil {
		return nil, err
	}
	return c.Orders.Drafted(o)
}

// slung is work that was handed out, with its order as a pass has answered it, where one has.
func (c *Control) slung(ctx context.Context, w fleet.WorkItem) (api.Slung, error) {
	past, seen, err := c.Records.Seen(ctx)
	out := api.Slung{Agent: w.Agent}
	if now := ledger.Work(past.Records, w.Ref()); now != nil && now.State == fleet.WorkOpen && err == nil {
		return out, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot hand out %s, and nobody has it: %s", w.ID, now.Why), Hint: "custos why work/" + w.ID}
	}
	for _, v := range workViews(past.Records, ledger.AllWork(past, seen)) {
		if v.Ref == w.ID {
			out.Work = v
		}
	}
	if err != nil || len(w.Begin) == 0 {
		return out, err
	}
	o, err := c.Orders.Order(ctx, w.Begin[0].ID)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil // the next pass gives it
	}
	if err == nil {
		v := view.Order(o, c.Watched)
		out.Order = &v
	}
	return out, err
}
