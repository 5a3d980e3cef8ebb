package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// Merges is what is known of merge queues beside their records.
type Merges interface {
	// Queues are those of custos.toml.
	Queues() []fleet.MergeQueue
	// OfMail is what mail of a type brings about, as custos.toml says.
	OfMail(of fleet.MailType) fleet.MailAction
	// Place is the repository that a folder is in, and the branch that is checked out there; "" for none.
	Place(dir string) (repo, branch string)
	// Tip is the commit that a branch stands at, in the repository of a queue, else in its remote,
	// and the first line of its message.
	Tip(ctx context.Context, q fleet.MergeQueue, branch string) (commit, title string, err error)
	// Diff is what an item changes of the target of its queue, as text.
	Diff(ctx context.Context, q fleet.MergeQueue, i fleet.MergeItem) (string, error)
}

// merges are added by anyone in their own name; held and released by a person only (ledger.HoldMerge).
func merges() Noun {
	return Noun{"merges", []Verb{
		{Name: "list", Do: asks((*Control).mergeList)},
		{Name: "add", Access: Author, Do: given((*Control).addMerge)},
		{Name: "show", Do: asks((*Control).mergeShown)},
		{Name: "change", Access: Author, Do: given((*Control).changeMerge)},
	}}
}

// noMergeQueue says how there comes to be one.
const noMergeQueue = "there is no merge queue: custos.toml has no [merge.NAME]"

// mergeBooks are the books of the queues, in their order.
func (c *Control) mergeBooks(ctx context.Context) (fleet.Past, []*ledger.MergeBook, error) {
	past, seen, err := c.Records.Seen(ctx)
	var books []*ledger.MergeBook
	for _, q := range c.Merges.Queues() {
		books = append(books, ledger.NewMergeBook(q, past, seen.At))
	}
	return past, books, err
}

func (c *Control) mergeList(ctx context.Context, call Call) (api.MergeList, error) {
	past, books, err := c.mergeBooks(ctx)
	if err != nil {
		return api.MergeList{}, err
	}
	only, all := call.Ask("queue"), call.Ask("all") != ""
	gone := ledger.GoneQueues(c.Merges.Queues(), past.Records)
	if only != "" && !slices.Contains(gone, only) && !slices.ContainsFunc(books, func(b *ledger.MergeBook) bool { return b.Queue.Name == only }) {
		return api.MergeList{}, c.noQueue(only)
	}
	out := api.MergeList{At: c.Now().Wall.UTC(), Merges: []api.Merge{}, Queues: []api.MergeQueue{}, Next: []api.Hint{}}
	for _, b := range books {
		if only == "" || b.Queue.Name == only {
			q := view.MergeQueue(b)
			repo, _ := c.Merges.Place(fleet.RawPath(q.Repo))
			q.Missing = repo == ""
			out.Queues = append(out.Queues, q)
		}
	}
	for _, name := range gone {
		if only == "" || name == only {
			out.Queues = append(out.Queues, view.GoneQueue(past, name))
		}
	}
	for i := range past.Records.Merges {
		m := &past.Records.Merges[i]
		if (only == "" || m.Queue == only) && (all || !m.Over()) {
			out.Merges = append(out.Merges, view.Merge(m, bookOf(books, m.Queue)))
		}
	}
	slices.SortStableFunc(out.Merges, func(x, y api.Merge) int { return placed(x) - placed(y) })
	out.Next = mergeNext(out)
	return out, nil
}

// placed puts those that wait first, in their order.
func placed(m api.Merge) int {
	if m.Position > 0 {
		return m.Position
	}
	return 1 << 30
}

func mergeNext(l api.MergeList) []api.Hint {
	next := []api.Hint{}
	for _, m := range l.Merges {
		if i := slices.IndexFunc(l.Queues, func(q api.MergeQueue) bool { return q.Gone && q.Name == m.Queue }); i >= 0 && m.State != string(fleet.MergeMerged) && m.State != string(fleet.MergeWithdrawn) {
			next = append(next, api.Hint{Command: "custos merge withdraw " + m.ID, What: "its queue " + m.Queue + " is not configured any more"})
			break
		}
	}
	for _, q := range l.Queues {
		if q.Held != "" {
			next = append(next, api.Hint{Command: "custos merge release " + q.Name, What: "it is held by " + q.HeldBy})
		}
	}
	if len(l.Queues) > 0 && len(l.Merges) == 0 && len(next) == 0 {
		next = append(next, api.Hint{Command: "custos merge add BRANCH", What: "have a branch merged"})
	}
	return next
}

func bookOf(books []*ledger.MergeBook, queue string) *ledger.MergeBook {
	if i := slices.IndexFunc(books, func(b *ledger.MergeBook) bool { return b.Queue.Name == queue }); i >= 0 {
		return books[i]
	}
	return nil
}

func (c *Control) mergeShown(ctx context.Context, call Call) (api.Merge, error) {
	return c.findMerge(ctx, call.ID)
}

func (c *Control) findMerge(ctx context.Context, id string) (api.Merge, error) {
	past, books, err := c.mergeBooks(ctx)
	if err != nil {
		return api.Merge{}, err
	}
	m := ledger.Merge(past.Records, id)
	for n := range past.Records.Merges { // or the newest one of a branch
		if i := &past.Records.Merges[n]; (m == nil || m.Source == id) && i.Source == id {
			m = i
		}
	}
	if m == nil {
		return api.Merge{}, noMerge(id, past.Records)
	}
	v := view.Merge(m, bookOf(books, m.Queue))
	for _, g := range past.Records.MergeGroups {
		if slices.ContainsFunc(g.Items, func(o fleet.MergeMember) bool { return o.ID == m.ID }) {
			v.Groups = append(v.Groups, view.MergeGroup(g))
		}
	}
	return v, nil
}

func noMerge(id string, all fleet.Records) error {
	return missing("item of a merge queue", id, each(all.Merges, func(m fleet.MergeItem) string { return m.ID }), "custos merge list --all")
}

func (c *Control) noQueue(name string) error {
	queues := c.Merges.Queues()
	if len(queues) == 0 {
		return &api.Error{Kind: api.NotFound, Message: "cannot find merge queue " + fleet.Line(name, 60) + ": " + noMergeQueue, Hint: "custos help merge.md"}
	}
	return missing("merge queue", name, each(queues, func(q fleet.MergeQueue) string { return q.Name }), "custos merge list")
}

// addMerge adds a branch, at the commit that it stands at now.
func (c *Control) addMerge(ctx context.Context, call Call, r api.MergeRequest) (api.Merge, error) {
	item, err := c.mergeItem(ctx, call.By, r)
	if err != nil {
		return api.Merge{}, err
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		i, err := ledger.AddMerge(all, item, call.By, c.Now())
		return fleet.Records{Merges: []fleet.MergeItem{i}}, err
	})
	if err != nil {
		return api.Merge{}, err
	}
	return c.findMerge(ctx, made.Merges[0].ID)
}

// mergeItem is the item that a request means, at the commit that its branch stands at now.
func (c *Control) mergeItem(ctx context.Context, by string, r api.MergeRequest) (item fleet.MergeItem, err error) {
	past, seen, err := c.Records.Seen(ctx)
	if err != nil {
		return item, err
	}
	var pull *fleet.PullRequest
	if fleet.Ref(r.Branch).Tracker() == fleet.TrackerPull {
		if pull, err = c.pullAsked(&r, past, seen); err != nil {
			return item, err
		}
	}
	q, branch, err := c.mergeAsked(r)
	if err != nil {
		return item, err
	}
	commit, title, err := c.Merges.Tip(ctx, q, branch)
	if err = ofPull(pull, q, commit, err); err != nil {
		return item, api.AsBadInput(fmt.Errorf("cannot add %s to merge queue %s: %w", fleet.Line(branch, 100), q.Name, err))
	}
	item = fleet.MergeItem{Queue: q.Name, Project: q.Project, Source: branch, Commit: commit, Title: cmp.Or(r.Title, title), Needs: r.Needs, Priority: fleet.Priority(r.Priority)}
	for _, w := range r.Work {
		item.Work = append(item.Work, fleet.Ref(w))
	}
	if pull != nil { // of what an agent adds itself it is the author
		item.Agent = pull.Agent
	}
	return item, errors.Join(branchOfAnother(past.Registrations, branch, by), ledger.MayCloseByMerge(past, seen, item.Work, by))
}

// branchOfAnother refuses an agent the branch of another one, that is not retired: it would be its author.
func branchOfAnother(all []fleet.Registration, branch, by string) error {
	self, isAgent := fleet.AgentOf(by)
	r := fleet.Find(all, func(r *fleet.Registration) bool { return r.Branch == branch && r.Desired != fleet.DesiredRetired })
	if !isAgent || r == nil || r.Name == self {
		return nil
	}
	return ledger.Unfit("add to the merge queue", "%s is the branch of agent %s, which hands it in itself", fleet.Line(branch, 100), r.Name)
}

// mergeAsked is the queue, and the branch, that a request means.
func (c *Control) mergeAsked(r api.MergeRequest) (q fleet.MergeQueue, branch string, err error) {
	repo, here := "", ""
	if r.Dir != "" {
		repo, here = c.Merges.Place(r.Dir)
	}
	if q, err = c.queueAsked(r.Queue, repo); err != nil {
		return q, "", err
	}
	if branch = r.Branch; branch == "" {
		branch = here
	}
	switch {
	case branch == "":
		err = fmt.Errorf("cannot add to merge queue %s: say which branch: none is checked out here", q.Name)
	case branch == q.Target:
		err = fmt.Errorf("cannot add %s to merge queue %s: it is what is merged into", branch, q.Name)
	case strings.HasPrefix(branch, "-") || fleet.Line(branch, 200) != branch:
		err = fmt.Errorf("cannot add %q to merge queue %s: it is no name of a branch", fleet.Line(branch, 100), q.Name)
	}
	if err != nil {
		err = api.AsBadInput(err)
	}
	return q, branch, err
}

// queueAsked is the queue of that name, else the one of the repository, else the only one.
func (c *Control) queueAsked(name, repo string) (fleet.MergeQueue, error) {
	queues := c.Merges.Queues()
	of := slices.DeleteFunc(slices.Clone(queues), func(q fleet.MergeQueue) bool {
		if name != "" {
			return q.Name != name
		}
		at, _ := c.Merges.Place(fleet.RawPath(q.Repo))
		return repo == "" || at != repo
	})
	switch {
	case len(of) == 1:
		return of[0], nil
	case len(queues) == 0:
		return fleet.MergeQueue{}, &api.Error{Kind: api.BadInput, Message: "cannot add to a merge queue: " + noMergeQueue, Hint: "custos help merge.md"}
	case name != "":
		return fleet.MergeQueue{}, c.noQueue(name)
	case len(queues) == 1 && repo == "":
		return queues[0], nil
	case len(of) == 0:
		return fleet.MergeQueue{}, &api.Error{Kind: api.BadInput, Message: "cannot add to a merge queue: none is of the repository that this folder is in", Hint: "custos merge add BRANCH --queue " + queues[0].Name}
	}
	return fleet.MergeQueue{}, &api.Error{Kind: api.BadInput, Message: "cannot add to a merge queue: there are several: " + strings.Join(each(of, func(q fleet.MergeQueue) string { return q.Name }), ", "),
		Hint: "custos merge add BRANCH --queue " + of[0].Name}
}

// changeMerge holds, releases or withdraws an item; holds or releases a queue.
func (c *Control) changeMerge(ctx context.Context, call Call, r api.MergeChange) (out api.MergeChanged, err error) {
	why := fleet.Redact(r.Why)
	if i := slices.IndexFunc(c.Merges.Queues(), func(q fleet.MergeQueue) bool { return q.Name == call.ID }); i >= 0 {
		return c.changeQueue(ctx, call, c.Merges.Queues()[i], r.Do, why)
	}
	_, err = c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		m := ledger.Merge(all, call.ID)
		if m == nil {
			return fleet.Records{}, noMerge(call.ID, all)
		}
		i, err := changedMerge(*m, r.Do, why, call.By, c.Now())
		return fleet.Records{Merges: []fleet.MergeItem{i}}, err
	})
	if err != nil {
		return out, err
	}
	v, err := c.findMerge(ctx, call.ID)
	return api.MergeChanged{Merge: &v}, err
}

func changedMerge(m fleet.MergeItem, do, why, by string, at fleet.Instant) (fleet.MergeItem, error) {
	switch do {
	case "hold":
		return ledger.HoldMerge(m, why, by, at)
	case "release":
		return ledger.ReleaseMerge(m, by, at)
	case "withdraw":
		return ledger.WithdrawMerge(m, why, by, at)
	}
	return m, api.AsBadInput(fmt.Errorf("cannot change %s: nothing is called %q", m.ID, fleet.Line(do, 40)))
}

func (c *Control) changeQueue(ctx context.Context, call Call, q fleet.MergeQueue, do, why string) (out api.MergeChanged, err error) {
	past, _, err := c.mergeBooks(ctx)
	if err != nil {
		return out, err
	}
	red := ledger.NewMergeBook(q, past, c.Now()).Red()
	_, err = c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		h, err := ledger.HoldQueue(all, q.Name, why, call.By, c.Now())
		switch do {
		case "hold":
		case "release":
			h, err = ledger.ReleaseQueue(all, q.Name, call.By, red, c.Now())
		default:
			err = api.AsBadInput(fmt.Errorf("cannot %s merge queue %s: it is held and released, and each item by itself withdrawn", fleet.Line(do, 40), q.Name))
		}
		return fleet.Records{MergeHolds: []fleet.MergeHold{h}}, err
	})
	if err != nil {
		return out, err
	}
	_, books, err := c.mergeBooks(ctx)
	if b := bookOf(books, q.Name); b != nil {
		v := view.MergeQueue(b)
		out.Queue = &v
	}
	return out, err
}
