package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// CVBook is what is on record of what agents did.
type CVBook struct {
	Records  fleet.Records        // of work and merge queues
	Agents   []fleet.Registration // the retired too
	Seen     []fleet.AgentRecord
	Costs    []fleet.Cost    // by fleet.CostByAgentModel
	Failures []fleet.Failure // of all agents
	Taken    []fleet.Event   // of work that was taken, oldest first
	Started  []fleet.Event   // of agents that were started
	LogSince fleet.Instant   // of Taken and Started: before it nothing is known
}

// Of CVs that are added up: the key of agents of which it is not known.
const cvUnknown = "unknown"

// CVBys is what CVs are added up by.
func CVBys() []string { return []string{"agent", "role", "kind", "model"} }

// deeds is a CV that is being added up.
type deeds struct {
	cv   api.CV
	took []time.Duration
	cost *fleet.Cost
	free bool // branches were merged of an agent of which no response of a model is on record
}

// CVs computes what is on record of every agent, added up by one of CVBys: in the order of their names.
func (b CVBook) CVs(by string) []api.CV {
	sums := map[string]*deeds{}
	for _, name := range b.names() {
		d := b.deedsOf(name)
		key := map[string]string{"agent": name, "role": d.cv.Role, "kind": d.cv.Kind, "model": d.cv.Model}[by]
		key = cmp.Or(key, cvUnknown)
		if sums[key] == nil {
			sums[key] = &d
			continue
		}
		sums[key].add(d)
	}
	out := []api.CV{}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, sums[key].shown(key, by))
	}
	return out
}

// IsEmpty says whether there is neither work nor a branch of a merge queue on record.
func (b CVBook) IsEmpty() bool { return len(b.Records.Work) == 0 && len(b.Records.Merges) == 0 }

// names are the agents on record, and those that had work or a branch and are on record no more.
func (b CVBook) names() []string {
	all := map[string]bool{}
	for _, r := range b.Agents {
		all[r.Name] = true
	}
	for _, w := range b.Records.Work {
		all[w.Agent] = all[w.Agent] || !w.Person
	}
	for _, i := range b.Records.Merges {
		all[i.Agent] = true
	}
	maps.DeleteFunc(all, func(name string, is bool) bool { return name == "" || !is })
	return slices.Sorted(maps.Keys(all))
}

func (b CVBook) deedsOf(name string) deeds {
	d := deeds{cv: api.CV{Agents: 1}}
	if len(b.Records.Merges) > 0 {
		d.cv.Merges = &api.CVMerges{}
	}
	d.cost, d.cv.Model = b.spent(name)
	if r := fleet.Find(b.Agents, func(r *fleet.Registration) bool { return r.Name == name }); r != nil {
		d.cv.Role, d.cv.Kind, d.cv.Project, d.cv.Retired = r.Role, r.Kind, r.Project, r.Desired == fleet.DesiredRetired
		d.cv.Deaths, d.cv.Restarts = b.deaths(name), b.restarts(*r)
	}
	for n, w := range b.Records.Work {
		if w.Agent == name && !w.Person {
			b.worked(&d, n)
		}
	}
	for _, i := range b.Records.Merges {
		if i.Agent == name {
			b.merged(d.cv.Merges, i)
		}
	}
	d.free = d.cost == nil && d.cv.Merges != nil && d.cv.Merges.Merged > 0
	for _, a := range b.Seen {
		if at := a.Moved.Wall.UTC(); a.Name == name && !a.Moved.IsZero() && (d.cv.Worked == nil || at.After(*d.cv.Worked)) {
			d.cv.Worked = &at
		}
	}
	return d
}

// spent is what models cost an agent, and which of them answered it most; nil where no response to it is on record.
func (b CVBook) spent(name string) (sum *fleet.Cost, model string) {
	most := int64(0)
	for _, c := range b.Costs {
		agent, by, told := strings.Cut(c.Key, fleet.CostKeyBreak)
		if !told || agent != name {
			continue
		}
		if sum == nil {
			sum = &fleet.Cost{}
		}
		sum.Add(c)
		if by != "" && c.Calls > most {
			most, model = c.Calls, by
		}
	}
	return sum, model
}

// worked adds a piece of work, by its place among the records. How long it took is known where the log has the last time that it was taken: one
// that a person gave from one agent to another counts from the first of the two.
func (b CVBook) worked(d *deeds, n int) {
	w := b.Records.Work[n]
	switch {
	case !w.Over():
		d.cv.Has++
		return
	case w.Outcome != "completed":
		d.cv.Otherwise++
		return
	}
	d.cv.Completed++
	var taken fleet.Instant
	for _, e := range b.Taken {
		if e.Subject.Name == w.ID && !w.Since.Before(e.At) {
			taken = e.At
		}
	}
	if !taken.IsZero() {
		d.took = append(d.took, w.Since.Since(taken))
	}
}

// merged adds what became of a branch.
func (b CVBook) merged(m *api.CVMerges, i fleet.MergeItem) {
	switch i.State {
	case fleet.MergeMerged:
		m.Merged++
	case fleet.MergeFailed:
		m.Failed++
	case fleet.MergeConflict:
		m.Conflict++
	case fleet.MergeWithdrawn:
		m.Withdrawn++
	default:
		m.Waiting++
	}
	switch first, failed := b.firstTest(i); {
	case failed:
		m.Tested, m.FailedAt = m.Tested+1, m.FailedAt+1
	case first != "" && (i.State == fleet.MergeMerged || i.Commit != first):
		m.Tested++
		if i.State == fleet.MergeMerged && i.Commit == first {
			m.First++
		}
	}
}

// firstTest is the first commit of a branch that gates were run with, "" where none is on record; and whether it
// failed: red with it alone, never landed, and neither red without it nor waiting to be tested again.
func (b CVBook) firstTest(i fleet.MergeItem) (commit string, failed bool) {
	for _, g := range b.Records.MergeGroups {
		at := slices.IndexFunc(g.Items, func(m fleet.MergeMember) bool { return m.ID == i.ID })
		switch {
		case at < 0 || g.State == fleet.GroupDropped || commit != "" && g.Items[at].Commit != commit:
			continue
		case g.State == fleet.GroupLanded:
			return g.Items[at].Commit, false
		}
		commit = g.Items[at].Commit
		failed = failed || g.State == fleet.GroupRed && len(g.Items) == 1 && !b.redWithout(g)
	}
	return commit, failed && (i.State == fleet.MergeFailed || i.Commit != commit)
}

// redWithout says whether the gates fail on the very commit that a group is built on.
func (b CVBook) redWithout(of fleet.MergeGroup) bool {
	return slices.ContainsFunc(b.Records.MergeGroups, func(g fleet.MergeGroup) bool {
		return g.Queue == of.Queue && len(g.Items) == 0 && g.State == fleet.GroupRed && g.Base == of.Base
	})
}

func (b CVBook) deaths(name string) *int {
	n := 0
	for _, f := range b.Failures {
		if f.Agent == name && f.Verdict == "crashed" {
			n++
		}
	}
	return &n
}

// restarts are the starts of an agent that the log has; the very first one is none.
func (b CVBook) restarts(r fleet.Registration) *int {
	n := 0
	for _, e := range b.Started {
		if e.Subject.Name == r.Name && !e.At.Before(r.CreatedAt) {
			n++
		}
	}
	if n > 0 && !r.CreatedAt.Before(b.LogSince) {
		n--
	}
	return &n
}

// add adds what another agent did.
func (d *deeds) add(o deeds) {
	d.cv.Agents += o.cv.Agents
	d.cv.Has += o.cv.Has
	d.cv.Completed += o.cv.Completed
	d.cv.Otherwise += o.cv.Otherwise
	d.free = d.free || o.free
	d.took = append(d.took, o.took...)
	if o.cv.Merges != nil { // that of all, or of none
		*d.cv.Merges = addMerges(*d.cv.Merges, *o.cv.Merges)
	}
	d.cv.Deaths, d.cv.Restarts = addCount(d.cv.Deaths, o.cv.Deaths), addCount(d.cv.Restarts, o.cv.Restarts)
	if o.cost != nil {
		d.cost = cmp.Or(d.cost, &fleet.Cost{})
		d.cost.Add(*o.cost)
	}
	if o.cv.Worked != nil && (d.cv.Worked == nil || o.cv.Worked.After(*d.cv.Worked)) {
		d.cv.Worked = o.cv.Worked
	}
}

func addMerges(a, b api.CVMerges) api.CVMerges {
	return api.CVMerges{Waiting: a.Waiting + b.Waiting, Merged: a.Merged + b.Merged, Failed: a.Failed + b.Failed, Conflict: a.Conflict + b.Conflict,
		Withdrawn: a.Withdrawn + b.Withdrawn, Tested: a.Tested + b.Tested, First: a.First + b.First, FailedAt: a.FailedAt + b.FailedAt}
}

func addCount(a, b *int) *int {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	n := *a + *b
	return &n
}

// shown is the whole of one key. Of several agents it does not say what is one agent's.
func (d *deeds) shown(key, by string) api.CV {
	v := d.cv
	v.Key = fleet.Line(key, 200)
	if by != "agent" {
		v.Role, v.Kind, v.Model, v.Project, v.Retired = "", "", "", "", false
	}
	if v.TookOf = len(d.took); v.TookOf > 0 {
		v.Took = fleet.Duration(median(d.took)).String()
	}
	if d.cost == nil {
		return v
	}
	row := Cost(*d.cost)
	v.Cost = &row
	if money, known := d.cost.Money().Get(); known && !d.free && v.Merges != nil && v.Merges.Merged > 0 {
		each := Dollars(money) / float64(v.Merges.Merged)
		v.PerMerge = &each
	}
	return v
}

// median is the middle one of some; of an even number the mean of the two.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}
