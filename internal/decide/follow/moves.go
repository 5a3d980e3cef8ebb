package follow

import (
	"cmp"
	"slices"

	"custos/internal/fleet"
)

// moves says in words what a plan changes in records, from the rows themselves: what
// is shown is what is committed.
func moves(p fleet.Pass) []fleet.Move {
	f, past := p.Plan.Follows, p.Past
	var out []fleet.Move
	out = append(out, moved(past.Orders, p.Plan.Orders, orderState)...)
	out = append(out, moved(past.Orders, newOrders(past.Orders, f.Given), orderState)...)
	out = append(out, moved(past.Registrations, f.Registrations, registrationState)...)
	out = append(out, runMoves(past.Runs, f.Runs)...)
	was, is := past.Records, f.Records
	out = append(out, moved(was.Work, is.Work, workState)...)
	out = append(out, moved(was.Dependencies, is.Dependencies, dependencyState)...)
	out = append(out, moved(was.Gates, is.Gates, gateState)...)
	out = append(out, moved(was.Convoys, is.Convoys, convoyState)...)
	out = append(out, moved(was.Triggers, is.Triggers, triggerState)...)
	out = append(out, moved(was.Merges, is.Merges, mergeState)...)
	out = append(out, moved(was.MergeGroups, is.MergeGroups, groupState)...)
	out = append(out, moved(was.MergeHolds, is.MergeHolds, holdState)...)
	out = append(out, mailMoves(was.Mails, is.Mails)...)
	tell(out, is.Mails)
	return out
}

// newOrders are those that are not known by their ID: the others stay as they are.
func newOrders(known, given []fleet.Order) []fleet.Order {
	return slices.DeleteFunc(slices.Clone(given), func(o fleet.Order) bool {
		return slices.ContainsFunc(known, func(k fleet.Order) bool { return k.ID == o.ID })
	})
}

// tell says of each move who is told of it.
func tell(list []fleet.Move, mails []fleet.Mail) {
	for i := range list {
		for _, m := range mails {
			if m.Revision == 0 && m.About == list[i].Record.Name {
				list[i].Told = append(list[i].Told, m.To...)
			}
		}
	}
}

// state is where a record is, as a move tells it.
type state struct {
	record     fleet.Subject
	state, why string
}

// moved compares records with what they were.
func moved[T any](was, is []T, read func(*T) state) []fleet.Move {
	if len(is) == 0 {
		return nil
	}
	out, at := make([]fleet.Move, len(is)), make(map[fleet.Subject]int, len(is))
	for i := range is {
		s := read(&is[i])
		out[i], at[s.record] = fleet.Move{Record: s.record, To: s.state, Why: s.why}, i
	}
	for i := range was {
		s := read(&was[i])
		if j, changes := at[s.record]; changes {
			out[j].From = s.state
		}
	}
	return out
}

func orderState(o *fleet.Order) state {
	what := string(o.Do) + " " + cmp.Or(o.Agent, o.Account)
	if o.Why != "" {
		what += ": " + o.Why
	}
	return state{fleet.Subject{Kind: fleet.KindOrder, Name: o.ID}, string(o.State), what}
}

func registrationState(r *fleet.Registration) state {
	s := state{fleet.Subject{Kind: fleet.KindAgent, Name: r.Name}, "wanted " + string(r.Desired), r.Failed}
	if r.Failed != "" {
		s.state += ", given up"
	}
	if h := r.Handoff; h != nil && h.Stage != fleet.HandoffDone && (h.Instance == r.Instance || h.Stage == fleet.HandoffStarting) {
		s.state, s.why = s.state+", hand-off "+string(h.Stage), cmp.Or(s.why, h.Why)
	}
	return s
}

func workState(w *fleet.WorkItem) state {
	return state{fleet.Subject{Kind: fleet.KindWork, Name: w.ID}, string(w.State), cmp.Or(w.Why, w.Title)}
}

func dependencyState(d *fleet.Dependency) state {
	return state{fleet.Subject{Kind: fleet.KindWork, Name: fleet.DependencyKey(d.Of, d.Needs)}, string(d.State), d.Why}
}

func gateState(g *fleet.Gate) state {
	return state{fleet.Subject{Kind: fleet.KindGate, Name: cmp.Or(g.ID, g.Key)}, string(g.State), cmp.Or(g.Why, g.Title)}
}

func convoyState(c *fleet.Convoy) state {
	return state{fleet.Subject{Kind: fleet.KindConvoy, Name: c.ID}, string(c.State), cmp.Or(c.Why, c.Title)}
}

func triggerState(t *fleet.Trigger) state {
	return state{fleet.Subject{Kind: fleet.KindTrigger, Name: t.Name}, "happened", t.Text}
}

func mergeState(i *fleet.MergeItem) state {
	return state{fleet.Subject{Kind: fleet.KindMerge, Name: i.ID}, string(i.State), cmp.Or(i.Why, i.Source)}
}

func groupState(g *fleet.MergeGroup) state {
	return state{fleet.Subject{Kind: fleet.KindMerge, Name: cmp.Or(g.ID, g.Queue+"/new")}, string(g.State), cmp.Or(g.Why, fleet.MergeNames(g.Items), "the target itself")}
}

func holdState(h *fleet.MergeHold) state {
	s := state{fleet.Subject{Kind: fleet.KindMerge, Name: h.Queue}, "released", h.By}
	if h.Held {
		s.state, s.why = "held", h.Why
	}
	return s
}

// runMoves tells of runs, and of each of their steps that moves.
func runMoves(was, is []fleet.Run) (out []fleet.Move) {
	for i, m := range moved(was, is, runState) {
		steps := stepMoves(was, &is[i])
		if !m.Noted() || len(steps) == 0 {
			out = append(out, m)
		}
		out = append(out, steps...)
	}
	return out
}

func runState(r *fleet.Run) state {
	return state{fleet.Subject{Kind: fleet.KindRun, Name: r.ID}, string(r.State), cmp.Or(r.Why, r.Formula)}
}

func stepMoves(was []fleet.Run, r *fleet.Run) []fleet.Move {
	i := slices.IndexFunc(was, func(w fleet.Run) bool { return w.ID == r.ID })
	if i < 0 {
		return nil
	}
	read := func(s *fleet.RunStep) state {
		is := state{fleet.Subject{Kind: fleet.KindRun, Name: r.ID + "/" + s.ID}, string(s.State), cmp.Or(s.Why, s.End, s.Title)}
		if s.State == fleet.StepRunning && s.End != "" { // it is overdue, cancelled, or left processes behind
			is.state += ", being ended"
		}
		return is
	}
	return slices.DeleteFunc(moved(was[i].Steps, r.Steps, read), fleet.Move.Noted)
}

// mailMoves tells of mail by its readers: one that is new has none yet.
func mailMoves(was, is []fleet.Mail) (out []fleet.Move) {
	old := make(map[string]*fleet.Mail, len(is))
	for i := range is {
		old[is[i].ID] = nil
	}
	for i := range was {
		if _, changes := old[was[i].ID]; changes {
			old[was[i].ID] = &was[i]
		}
	}
	for i := range is {
		out = append(out, copyMoves(old[is[i].ID], &is[i])...)
	}
	return out
}

func copyMoves(was, is *fleet.Mail) []fleet.Move {
	record := fleet.Subject{Kind: fleet.KindMail, Name: cmp.Or(is.ID, is.Key)}
	if was == nil || is.ID == "" {
		return []fleet.Move{{Record: record, To: "new", Why: string(is.Type), Told: is.To}}
	}
	read := func(c *fleet.MailCopy) state {
		return state{fleet.Subject{Kind: fleet.KindMail, Name: c.To}, string(c.State), cmp.Or(c.Why, string(is.Type))}
	}
	out := slices.DeleteFunc(moved(was.Copies, is.Copies, read), fleet.Move.Noted)
	for i := range out {
		out[i].Told, out[i].Record = []string{out[i].Record.Name}, record
	}
	if len(out) == 0 {
		out = []fleet.Move{{Record: record, From: "known", To: "known", Why: is.Why}}
	}
	return out
}
