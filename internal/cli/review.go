package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) reviewCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "review",
		Short: "Read a branch before it is merged, and say what is wrong",
		Long: `A merge queue with a key review has each branch read, at one commit, by somebody who has not written it. A review is work
like other work, and ends with what was found: only a blocker keeps the branch from being merged. custos help roles.md`,
		Example: "  custos review list\n  custos review show w14\n  custos review give w14 --blocker 'up.go:31: the retry never ends'",
	}
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "The reviews that are not given", Args: cobra.NoArgs, Example: "  custos review list --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.ReviewList, error) { return c.Reviews(ctx, all) }, writeReviews)
		},
	}
	list.Flags().BoolVar(&all, "all", false, "those that were given within a month, too")
	c.AddCommand(list, a.reviewGive(), &cobra.Command{
		Use: "show REF", Short: "The task, the difference, and what was found in earlier rounds", Args: cobra.ExactArgs(1), Example: "  custos review show w14",
		RunE: asksOne(a, (*api.Client).Review, writeReview),
	})
	return c
}

func (a *app) reviewGive() *cobra.Command {
	var r api.ReviewGiven
	grades := []string{"blocker", "major", "nit"}
	found := make([][]string, len(grades))
	c := &cobra.Command{
		Use: "give REF", Short: "End a review: with what was found, or that nothing was", Args: cobra.ExactArgs(1),
		Long: `give ends a review, once. Each finding is 'FILE:LINE: what is wrong', or what is wrong alone. With a blocker the branch
goes back to its author, who is told of all of it; without one it is approved.`,
		Example: "  custos review give w14 --approve\n  custos review give w14 --blocker 'up.go:31: the retry never ends' --nit 'up.go:9: a typo'",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := r
			for n, g := range grades {
				for _, text := range found[n] {
					where, what := placeOf(text)
					r.Findings = append(r.Findings, api.Finding{Grade: g, Where: where, Text: what})
				}
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Review, error) { return c.GiveReview(ctx, args[0], r) },
				func(p *page, v api.Review) {
					p.line("%s is %s: %s (%s)", flat(v.Ref), flat(v.Verdict), flat(v.Source), flat(v.Item))
				})
		},
	}
	c.Flags().BoolVar(&r.Approve, "approve", false, "nothing keeps it from being merged")
	for n, g := range grades {
		c.Flags().StringArrayVar(&found[n], g, nil, "a `TEXT`, more than once for more")
	}
	return c
}

// placeOf takes the place off a finding: what stands before the first ": " where that is one word.
func placeOf(text string) (where, what string) {
	if before, after, ok := strings.Cut(text, ": "); ok && before != "" && !strings.ContainsAny(before, " \t\n") && strings.ContainsAny(before, "./:") {
		return before, after
	}
	return "", text
}

func writeReviews(p *page, v api.ReviewList) {
	list(p, "No review.", v.Reviews, []column{{head: "REF"}, {head: "STATE"}, {head: "AGENT", shorten: middle}, {head: "ITEM"}, {head: "ROUND"}, {head: "TITLE", shorten: cut}}, func(r api.Review) []string {
		state := r.State
		if r.Verdict != "" {
			state = r.Verdict
		}
		return []string{flat(r.Ref), flat(state), flat(r.Agent), flat(r.Item), fmt.Sprint(r.Round), flat(r.Title)}
	}, v.Next)
}

func writeReview(p *page, r api.Review) {
	p.head(flat(r.Ref)+": "+flat(r.Title), flat(r.State))
	p.known([][2]string{{"Branch", r.Source}, {"Commit", r.Commit}, {"Item", r.Item}, {"Author", r.Author}, {"Round", number(r.Round)}, {"Agent", r.Agent}, {"Verdict", r.Verdict}, {"Why", r.Why}})
	writeFindings(p, r.Findings)
	for _, e := range r.Earlier {
		p.line("\nRound %d (%s): %s", e.Round, flat(e.Ref), flat(e.Verdict))
		writeFindings(p, e.Findings)
	}
	if r.Task != "" {
		p.line("\nThe task:")
		p.text(2, r.Task)
	}
	switch {
	case r.Missing != "":
		p.line("\nThe difference cannot be shown: %s", flat(r.Missing))
	case r.Diff != "":
		p.line("\nThe difference:")
		p.text(0, r.Diff)
	}
	if r.Cut {
		p.line("(it is longer than what is shown)")
	}
	if r.State != "closed" {
		p.next([]api.Hint{{Command: "custos review give " + r.Ref, What: "say what is wrong: --blocker, --major, --nit; or --approve"}})
	}
}

func writeFindings(p *page, list []api.Finding) {
	for _, f := range list {
		p.text(2, flat(strings.TrimSpace(f.Grade+" "+f.Where)+": "+f.Text))
	}
}
