package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// convoys may be made by anyone in their own name; what an agent may change says the ledger.
func convoys() Noun {
	return Noun{"convoys", []Verb{
		{Name: "list", Do: asks((*Control).convoyList)},
		{Name: "add", Access: Author, Do: given((*Control).addConvoy)},
		{Name: "show", Do: asks((*Control).convoyShown)},
		{Name: "change", Access: Author, Do: given((*Control).changeConvoy)},
	}}
}

// convoyList lists the convoys that are open, or were done within a day; or all.
func (c *Control) convoyList(ctx context.Context, call Call) (api.ConvoyList, error) {
	all, facts, err := c.records(ctx)
	out := api.ConvoyList{At: c.Now().Wall.UTC(), Convoys: []api.Convoy{}, Next: []api.Hint{}}
	for _, v := range all.Convoys {
		i := slices.IndexFunc(facts.Convoys, func(f fleet.ConvoyFacts) bool { return f.ID == v.ID })
		switch {
		case i >= 0:
			out.Convoys = append(out.Convoys, convoyView(v, &facts.Convoys[i]))
		case call.Ask("all") != "":
			out.Convoys = append(out.Convoys, convoyView(v, nil))
		}
	}
	if len(all.Convoys) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos convoy create 'TITLE' REF...", What: "track work together"})
	}
	return out, err
}

func convoyView(v fleet.Convoy, f *fleet.ConvoyFacts) api.Convoy {
	out := api.Convoy{ID: v.ID, Title: v.Title, State: string(v.State), Why: v.Why, Members: []api.Member{}, Notify: append([]string{}, v.Notify...), Times: v.Times,
		Due: v.Due.Wall.UTC(), By: v.By, At: v.At.Wall.UTC(), Since: v.Since.Wall.UTC()}
	for _, m := range v.Members {
		out.Members = append(out.Members, api.Member{Ref: string(m.Ref), Title: m.Title, State: cmp.Or(string(m.State), "unknown"), Outcome: m.Outcome, SeenAt: m.SeenAt.Wall.UTC()})
		if m.State == fleet.WorkClosed {
			out.Closed++
		}
	}
	if f == nil {
		return out
	}
	out.Closed, out.Unseen, out.Ready, out.Taken = f.Closed, f.Unseen, leafNumber(f.Ready), leafNumber(f.Taken)
	if f.Overdue > 0 {
		out.Overdue = f.Overdue.String()
	}
	return out
}

func leafNumber(l fleet.Leaf[int]) *int {
	n, known := l.Get()
	if !known {
		return nil
	}
	return &n
}

func (c *Control) convoyShown(ctx context.Context, call Call) (api.Convoy, error) {
	return c.findConvoy(ctx, call.ID)
}

func (c *Control) findConvoy(ctx context.Context, id string) (api.Convoy, error) {
	all, facts, err := c.records(ctx)
	if err != nil {
		return api.Convoy{}, err
	}
	v := ledger.Convoy(all, id)
	if v == nil {
		return api.Convoy{}, noConvoy(all, id)
	}
	if i := slices.IndexFunc(facts.Convoys, func(f fleet.ConvoyFacts) bool { return f.ID == id }); i >= 0 {
		return convoyView(*v, &facts.Convoys[i]), nil
	}
	return convoyView(*v, nil), nil
}

func noConvoy(all fleet.Records, id string) error {
	return missing("convoy", id, each(all.Convoys, func(v fleet.Convoy) string { return v.ID }), "custos convoy list --all")
}

// addConvoy makes a convoy.
func (c *Control) addConvoy(ctx context.Context, call Call, r api.ConvoyRequest) (api.Convoy, error) {
	now := c.Now()
	due, err := momentOf("due", r.Due, r.DueIn, now)
	if err != nil {
		return api.Convoy{}, api.AsBadInput(fmt.Errorf("cannot make a convoy: %w", err))
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		v := fleet.Convoy{Head: fleet.Head{Key: OwnKey(r.Key)}, Title: r.Title, Notify: r.Notify, Due: due}
		v, err := ledger.AddConvoy(all, v, refsOf(r.Members), call.By, now)
		return fleet.Records{Convoys: []fleet.Convoy{v}}, err
	})
	if err != nil {
		return api.Convoy{}, err
	}
	return c.findConvoy(ctx, made.Convoys[0].ID)
}

func refsOf(list []string) (out []fleet.Ref) {
	for _, r := range list {
		out = append(out, fleet.Ref(r))
	}
	return out
}

// changeConvoy changes one convoy.
func (c *Control) changeConvoy(ctx context.Context, call Call, r api.ConvoyChange) (api.Convoy, error) {
	id := call.ID
	_, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		v := ledger.Convoy(all, id)
		if v == nil {
			return fleet.Records{}, noConvoy(all, id)
		}
		changed, err := c.convoyChanged(all, *v, r, call.By)
		return fleet.Records{Convoys: []fleet.Convoy{changed}}, err
	})
	if err != nil {
		return api.Convoy{}, err
	}
	return c.findConvoy(ctx, id)
}

func (c *Control) convoyChanged(all fleet.Records, v fleet.Convoy, r api.ConvoyChange, by string) (fleet.Convoy, error) {
	switch r.Do {
	case "add":
		return ledger.JoinConvoy(all, v, refsOf(r.Members))
	case "remove":
		return ledger.LeaveConvoy(v, refsOf(r.Members))
	case "close":
		return ledger.CloseConvoy(v, r.Why, by, c.Now())
	case "reopen":
		return ledger.ReopenConvoy(v, r.Why, c.Now())
	}
	return v, api.AsBadInput(fmt.Errorf("cannot change a convoy: nothing is called %q", fleet.Line(r.Do, 40)))
}
