package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) mergeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge",
		Short: "Branches that are merged once their gates have passed",
		Long: `A merge queue merges branches into a target, main as a rule, that only ever moves to a
commit that has itself passed the gates of [merge.NAME] in custos.toml. Branches are tested
several at once; what fails is found by halving. No checkout is touched. custos help merge.md`,
		Example: "  custos merge add --work w12\n  custos merge list\n  custos merge why mq3",
	}
	c.AddCommand(a.mergeAdd(), a.mergeList(), a.mergeShow(), a.mergeWhy(),
		a.mergeChange("hold ITEM|QUEUE", "Merge nothing of it until it is released; a person's word", "custos merge hold shop --why 'release day'", "hold"),
		a.mergeChange("release ITEM|QUEUE", "Let a queue, or an item that was held or failed, go on; a person's word", "custos merge release mq3", "release"),
		a.mergeChange("withdraw ITEM", "Take a branch back", "custos merge withdraw mq3 --why 'not wanted any more'", "withdraw"))
	return c
}

func (a *app) mergeAdd() *cobra.Command {
	var r api.MergeRequest
	c := &cobra.Command{
		Use: "add [BRANCH]", Short: "Have a branch merged, as it stands now", Args: cobra.MaximumNArgs(1),
		Long: `add puts a branch into a merge queue, pinned to the commit it stands at: by default the
branch that is checked out here. A branch that is in the queue already is taken at its new
commit; what was found of the old one counts no more. Work that --work names is closed
once it is merged, in the tracker that keeps it: w12, shop#12, bd:hq-a1, shop!7. Instead of a
branch, shop!7 names that of a pull request, which is closed with it.`,
		Example: "  custos merge add\n  custos merge add retry --work w12 --work shop#12 --queue shop\n  custos merge add shop!7\n  custos merge add retry-2 --needs mq3 --priority P1",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r := r
			r.Branch = only(args)
			if r.Dir, err = os.Getwd(); err != nil {
				return fmt.Errorf("cannot find out where this is: %w", err)
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Merge, error) { return c.AddMerge(ctx, r) }, writeAdded)
		},
	}
	f := c.Flags()
	f.StringVar(&r.Queue, "queue", "", "the `QUEUE` (default: that of the repository this is in)")
	f.StringVar(&r.Title, "title", "", "a `TITLE` (default: the first line of its newest commit)")
	f.StringArrayVar(&r.Work, "work", nil, "`REF` of work that is closed once it is merged; repeat for more")
	f.StringArrayVar(&r.Needs, "needs", nil, "an `ITEM` that is merged before it; repeat for more")
	f.StringVar(&r.Priority, "priority", "", "its `PRIORITY`, P0 to P4 (default P3)")
	return c
}

func writeMergeLine(p *page, m api.Merge) {
	p.text(0, fmt.Sprintf("%s: %s at %s into %s: %s", flat(m.ID), flat(m.Source), short(m.Commit), flat(m.Queue), flat(joined(m.State, m.Why))))
}

// writeAdded says of a branch that is where it has failed already what tries it again.
func writeAdded(p *page, m api.Merge) {
	writeMergeLine(p, m)
	if m.State == "failed" || m.State == "conflict" {
		p.next([]api.Hint{{Command: "custos merge release " + m.ID, What: "try this very commit again, as a person; another commit is tried by itself"}})
	}
}

func short(commit string) string { return flat(commit[:min(12, len(commit))]) }

// joined is a state, and why it is so where that is known.
func joined(state, why string) string { return strings.TrimSuffix(state+": "+why, ": ") }

func (a *app) mergeList() *cobra.Command {
	var queue string
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "The merge queues, what is in them, and why each is not merged yet", Args: cobra.NoArgs,
		Example: "  custos merge list\n  custos merge list --queue shop --all",
		RunE: asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.MergeList, error) {
			return c.Merges(ctx, queue, all)
		}, writeMerges),
	}
	c.Flags().StringVar(&queue, "queue", "", "this `QUEUE` only")
	c.Flags().BoolVar(&all, "all", false, "what was merged or withdrawn within a month, too")
	return c
}

func writeMerges(p *page, v api.MergeList) {
	if len(v.Queues) == 0 && len(v.Merges) == 0 {
		p.text(0, "No merge queue: custos.toml has no [merge.NAME]. custos help merge.md")
		return
	}
	for _, q := range v.Queues {
		p.head(strings.TrimSuffix(flat(q.Name)+": "+flat(strings.TrimSpace(q.Target+" "+ofRemote(q.Remote))), ": "), queueWord(q))
	}
	list(p, "Nothing is waiting to be merged.", v.Merges, []column{{head: "ITEM"}, {head: "QUEUE"}, {head: "STATE"}, {head: "NR", right: true}, {head: "BRANCH", shorten: cut}, {head: "AUTHOR", shorten: cut}, {head: "WHY", shorten: cut}},
		func(m api.Merge) []string {
			return []string{flat(m.ID), flat(m.Queue), flat(m.State), number(m.Position), flat(m.Source), flat(strings.TrimPrefix(m.By, "agent/")), flat(m.Why)}
		}, v.Next)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func ofRemote(remote string) string {
	if remote == "" {
		return ""
	}
	return "of " + remote
}

// queueWord is how a queue is, in a few words.
func queueWord(q api.MergeQueue) string {
	switch {
	case q.Gone:
		return flat(goneWord(q))
	case q.Missing:
		return "there is no repository in " + flat(q.Repo)
	case q.Held != "":
		return flat("held by " + q.HeldBy + ": " + q.Held)
	case q.Broken != "":
		return "its gates fail on " + flat(q.Target) + " itself, at " + short(q.Broken)
	case q.Group != "":
		return flat(fmt.Sprintf("%s, %s is under way", queued(q), q.Group))
	}
	return queued(q)
}

func queued(q api.MergeQueue) string {
	text := fmt.Sprintf("%d waiting", q.Waiting)
	if q.Unready > 0 {
		text += fmt.Sprintf(", %d not ready", q.Unready)
	}
	switch q.Mode {
	case "forge":
		return text + "; its forge merges"
	case "watch":
		return text + "; it is watched only"
	}
	return text
}

// goneWord is how a queue is that custos.toml does not have any more.
func goneWord(q api.MergeQueue) string {
	text := fmt.Sprintf("custos.toml has no [merge.%s] any more; %d not merged", q.Name, q.Waiting)
	switch {
	case len(q.Left) == 0:
		return text
	case q.Repo == "":
		return text + "; of which repository these worktrees are is not known any more: " + strings.Join(q.Left, ", ")
	}
	return text + "; to be cleared: " + strings.Join(q.Left, ", ")
}

func (a *app) mergeShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ITEM", Short: "One item of a merge queue, or the newest one of a branch, and each group it was tested in", Args: cobra.ExactArgs(1),
		Example: "  custos merge show mq3",
		RunE:    asksOne(a, (*api.Client).Merge, writeMerge),
	}
}

func writeMerge(p *page, m api.Merge) {
	p.head(flat(m.ID)+": "+flat(m.Source), flat(m.State))
	p.known([][2]string{{"Title", m.Title}, {"Queue", m.Queue}, {"Commit", m.Commit}, {"Author", strings.TrimPrefix(m.By, "agent/")}, {"Priority", m.Priority}, {"Number", number(m.Position)},
		{"Why", m.Why}, {"Conflicts in", strings.Join(m.Files, ", ")}, {"Made anew", settled(m, madeAnew)}, {"Resolved as recorded", settled(m, asRecorded)}, {"Needs", strings.Join(m.Needs, ", ")}, {"Closes", strings.Join(m.Work, ", ")}, {"Merged as", m.Merged},
		{"Added", moment(m.At)}, {"So since", moment(m.Since)}})
	writeGroups(p, m.Groups)
}

// settled names files of an item's conflicts that were settled when it was merged last.
func settled(m api.Merge, how func(api.MergeSettled) []string) string {
	for n := len(m.Groups) - 1; n >= 0; n-- {
		if m.Groups[n].Commit == "" {
			continue
		}
		for _, s := range m.Groups[n].Settled {
			if s.Item == m.ID {
				return strings.Join(how(s), ", ")
			}
		}
		break
	}
	return ""
}

func madeAnew(s api.MergeSettled) []string   { return s.Again }
func asRecorded(s api.MergeSettled) []string { return s.Recorded }

func writeGroups(p *page, groups []api.MergeGroup) {
	if len(groups) == 0 {
		return
	}
	p.table([]column{{head: "GROUP"}, {head: "STATE"}, {head: "ITEMS", shorten: cut}, {head: "RUNS", right: true}, {head: "FLAKY"}, {head: "WHY", shorten: cut}}, each(groups, func(g api.MergeGroup) []string {
		return []string{flat(g.ID), flat(g.State), flat(strings.Join(g.Items, " ")), strconv.Itoa(g.Runs), flat(strings.Join(g.Flaky, " ")), flat(g.Why)}
	}))
	writeTests(p, groups)
}

// shownTests is how many tests of a group are shown; --json has all.
const shownTests = 20

// writeTests shows which tests failed in each group, and what is to be said of reports; nothing where no gate has one.
func writeTests(p *page, groups []api.MergeGroup) {
	var rows [][]string
	for _, g := range groups {
		for _, t := range g.Tests[:min(len(g.Tests), shownTests)] {
			rows = append(rows, []string{flat(g.ID), flat(t.Gate), flat(t.Name), testWord(t)})
		}
		if more := g.More + max(0, len(g.Tests)-shownTests); more > 0 {
			rows = append(rows, []string{flat(g.ID), "", fmt.Sprintf("and %d more", more), ""})
		}
	}
	p.table([]column{{head: "GROUP"}, {head: "GATE"}, {head: "FAILED TEST", shorten: cut}, {head: "RUNS"}}, rows)
	for _, g := range groups {
		for _, n := range g.Notes {
			p.text(0, flat(g.ID+": gate "+n))
		}
	}
}

// testWord says in how many runs a test failed, and that it passed on the same tree.
func testWord(t api.MergeTest) string {
	word := strconv.Itoa(t.Reds)
	if t.Reds == 0 {
		word = "1" // and passed in the same
	}
	if t.Flaky {
		word += ", flaky"
	}
	return word
}

func (a *app) mergeWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why ITEM", Short: "Why an item, or the newest one of a branch, is not merged yet", Args: cobra.ExactArgs(1),
		Example: "  custos merge why mq3\n  custos merge why retry",
		RunE: asksOne(a, (*api.Client).Merge, func(p *page, m api.Merge) {
			writeMergeLine(p, m)
			if n := len(m.Groups); n > 0 && m.Groups[n-1].Run != "" {
				p.next([]api.Hint{{Command: "custos formula show " + m.Groups[n-1].Run, What: "what its gates did last"}})
			}
		}),
	}
}

func (a *app) mergeChange(use, what, example, do string) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: use, Short: what, Args: cobra.ExactArgs(1), Example: "  " + example,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.MergeChanged, error) {
			return c.ChangeMerge(ctx, args[0], api.MergeChange{Do: do, Why: why})
		}, func(p *page, v api.MergeChanged) {
			if v.Merge != nil {
				writeMergeLine(p, *v.Merge)
			}
			if v.Queue != nil {
				p.line("%s: %s", flat(v.Queue.Name), queueWord(*v.Queue))
			}
		}),
	}
	c.Flags().StringVar(&why, "why", "", "the `REASON`")
	return c
}
