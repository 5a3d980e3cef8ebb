package control

import (
	"context"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// teams are looked at by anyone; work is given to one, and taken from it, by a person, and by an agent that has it or wrote it down.
func teams() Noun {
	return Noun{"teams", []Verb{
		{Name: "list", Do: asks((*Control).teamList)},
		{Name: "add", Access: Author, Do: given((*Control).runTeam)},
		{Name: "show", Do: asks((*Control).teamShown)},
		{Name: "change", Access: Author, Do: given((*Control).stopTeam)},
	}}
}

func (c *Control) teamNames() []string {
	return each(c.Teams, func(t fleet.Team) string { return t.Name })
}

func (c *Control) teamList(ctx context.Context, call Call) (api.TeamList, error) {
	past, seen, err := c.Records.Seen(ctx)
	out := api.TeamList{At: c.Now().Wall.UTC(), Teams: []api.Team{}, Work: []api.TeamWork{}, Next: []api.Hint{}}
	for _, t := range c.Teams {
		out.Teams = append(out.Teams, api.Team{Name: t.Name, What: t.What, Roles: t.Roles})
	}
	for _, w := range past.Records.Work {
		if w.Team != "" && w.Part == "" && (call.Ask("all") != "" || w.State != fleet.WorkClosed) {
			out.Work = append(out.Work, c.teamWork(past, seen, w))
		}
	}
	if len(c.Teams) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos help roles.md", What: "how a team is configured"})
	}
	return out, err
}

// teamWork is work that a team brings to its end, with its parts.
func (c *Control) teamWork(past fleet.Past, seen fleet.Snapshot, w fleet.WorkItem) api.TeamWork {
	refs := []fleet.Ref{w.Ref()}
	for _, p := range past.Records.Work {
		if p.Part == w.Ref() {
			refs = append(refs, p.Ref())
		}
	}
	facts := ledger.WorkOf(past, seen, refs)
	out := api.TeamWork{Team: w.Team, Work: workView(past.Records, &w, facts[0]), Parts: []api.Work{}}
	for n, r := range refs[1:] {
		out.Parts = append(out.Parts, workView(past.Records, ledger.Work(past.Records, r), facts[n+1]))
	}
	for _, i := range past.Records.Merges {
		if !i.Over() && slices.ContainsFunc(i.Work, func(r fleet.Ref) bool { return slices.Contains(refs, r) }) {
			q := fleet.Find(c.Merges.Queues(), func(q *fleet.MergeQueue) bool { return q.Name == i.Queue })
			if q != nil {
				out.Merges = append(out.Merges, view.Merge(&i, ledger.NewMergeBook(*q, past, seen.At)))
			}
		}
	}
	return out
}

func (c *Control) teamShown(ctx context.Context, call Call) (api.TeamWork, error) {
	past, seen, err := c.Records.Seen(ctx)
	if err != nil {
		return api.TeamWork{}, err
	}
	w := ledger.Work(past.Records, fleet.Ref(call.ID))
	if w == nil || w.Team == "" {
		return api.TeamWork{}, missing("work of a team", call.ID, c.worked(past), "custos team list")
	}
	return c.teamWork(past, seen, *w), nil
}

func (c *Control) worked(past fleet.Past) (list []string) {
	for _, w := range past.Records.Work {
		if w.Team != "" {
			list = append(list, w.ID)
		}
	}
	return list
}

// runTeam gives a piece of work to a team: who is next follows from the records.
func (c *Control) runTeam(ctx context.Context, call Call, r api.TeamRequest) (api.TeamWork, error) {
	t := fleet.Find(c.Teams, func(t *fleet.Team) bool { return t.Name == r.Team })
	if t == nil {
		return api.TeamWork{}, missing("team", r.Team, c.teamNames(), "custos team list")
	}
	if err := c.mayStart(ctx, call.By, t.Roles...); err != nil {
		return api.TeamWork{}, Illegal(err)
	}
	return c.teamed(ctx, call, r.Work, func(all fleet.Records, w fleet.WorkItem) (fleet.WorkItem, error) {
		return ledger.GiveTeam(w, *t, call.By)
	})
}

func (c *Control) stopTeam(ctx context.Context, call Call, r api.TeamChange) (api.TeamWork, error) {
	if r.Do != "stop" {
		return api.TeamWork{}, api.AsBadInput(fmt.Errorf("cannot change work of a team: nothing is called %q", fleet.Line(r.Do, 40)))
	}
	return c.teamed(ctx, call, call.ID, func(all fleet.Records, w fleet.WorkItem) (fleet.WorkItem, error) {
		return ledger.LeaveTeam(w, call.By)
	})
}

func (c *Control) teamed(ctx context.Context, call Call, ref string, change func(fleet.Records, fleet.WorkItem) (fleet.WorkItem, error)) (api.TeamWork, error) {
	_, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		w := ledger.Work(all, fleet.Ref(ref))
		if w == nil {
			return fleet.Records{}, missing("work", ref, each(all.Work, func(w fleet.WorkItem) string { return w.ID }), "custos work list")
		}
		out := fleet.Records{}
		now, err := change(all, *w)
		for _, p := range all.Work { // what it consists of goes with it
			if p.Part == w.Ref() && p.State != fleet.WorkClosed && p.Team != now.Team && err == nil {
				p.Team = now.Team
				out.Work = append(out.Work, p)
			}
		}
		out.Work = append(out.Work, now)
		return out, err
	})
	if err != nil {
		return api.TeamWork{}, err
	}
	past, seen, err := c.Records.Seen(ctx)
	if w := ledger.Work(past.Records, fleet.Ref(ref)); err == nil && w != nil {
		return c.teamWork(past, seen, *w), nil
	}
	return api.TeamWork{}, err
}
