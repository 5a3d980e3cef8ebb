package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// feedFlags choose what a feed shows.
type feedFlags struct {
	since  string
	limit  int
	follow bool
	some   func() bool // a limit is given
}

func (f *feedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.since, "since", "", "since which `MOMENT`: so long ago, like 90s, 2h or 1d, or a time like 2006-01-02T15:04:05Z")
	c.Flags().IntVarP(&f.limit, "limit", "n", 0, "the highest `COUNT` of things, the newest (default 200)")
	f.some = func() bool { return c.Flags().Changed("limit") }
}

func (f feedFlags) query(view, of string) (api.FeedQuery, error) {
	q := api.FeedQuery{View: view, Of: of, Limit: f.limit}
	if f.some() && f.limit < 1 {
		return q, usage("cannot show %d things: want one or more", f.limit)
	}
	if f.since == "" {
		return q, nil
	}
	if t, err := time.Parse(time.RFC3339, f.since); err == nil {
		q.Since = t
		return q, nil
	}
	d, err := config.Duration(f.since)
	if err != nil {
		return q, usage("cannot read --since: %v", err)
	}
	q.Since = time.Now().Add(-d)
	return q, nil
}

func (a *app) feedCommand() *cobra.Command {
	var f feedFlags
	c := &cobra.Command{
		Use:     "feed",
		Example: "  custos feed\n  custos feed --since 2h\n  custos feed -f",
		Short:   "What happens: Custos's own events and what agents report",
		Long: `feed shows what happened, in the order of time: alerts, orders, actions, starts
and ends, and what agents reported (prompts, tool calls with how long
they took, questions, failures). --follow goes on until Ctrl-C; with --json each
thing is then one line.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(api.FeedAll, "")
			if err != nil {
				return err
			}
			if f.follow {
				return a.followFeed(cmd.Context(), q)
			}
			return a.tell(cmd, q)
		},
	}
	f.add(c)
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until Ctrl-C")
	return c
}

// storyCommand is a feed that is cut out for a purpose.
func (a *app) storyCommand(use, view, short, long string) *cobra.Command {
	var f feedFlags
	example := "custos " + strings.Replace(use, "NAME", "builder", 1)
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: "  " + example + "\n  " + example + " --since 2h",
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(view, only(args))
			if err != nil {
				return err
			}
			return a.tell(cmd, q)
		},
	}
	f.add(c)
	return c
}

func (a *app) tell(cmd *cobra.Command, q api.FeedQuery) error {
	return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Feed, error) { return c.Feed(ctx, q) }, func(p *page, f api.Feed) {
		if len(f.Entries) == 0 {
			p.line("Nothing is written down.")
		}
		writeFeed(p, f.Entries)
	})
}

func writeFeed(p *page, list []api.FeedEntry) {
	p.table([]column{{paint: p.dim}, {shorten: middle}, {}, {shorten: cut}}, each(list, func(e api.FeedEntry) []string {
		return []string{e.At.UTC().Format("2006-01-02 15:04:05"), feedWho(p, e), feedKind(e), feedText(e)}
	}))
}

// feedLine is one thing by itself: what comes next, and how wide, is not known.
func feedLine(p *page, e api.FeedEntry) {
	who, kind := middle(feedWho(p, e), whoWide), feedKind(e)
	line := fmt.Sprintf("  %s  %s  %s  ", e.At.UTC().Format("2006-01-02 15:04:05"), pad(who, whoWide, false), pad(kind, kindWide, false))
	p.line("%s%s", line, cut(feedText(e), max(narrowest, p.width-runes(line))))
}

// How wide the columns of feedLine are.
const (
	whoWide  = 20
	kindWide = 16
)

func feedWho(p *page, e api.FeedEntry) string {
	if e.Agent == "" && e.About != "" {
		return p.subject(e.About)
	}
	return flat(e.Agent)
}

func feedKind(e api.FeedEntry) string {
	if e.Bad {
		return flat(e.Kind) + " !"
	}
	return flat(e.Kind)
}

func feedText(e api.FeedEntry) string {
	text := flat(e.Text)
	if e.Agent != "" && e.About != "" {
		text = flat(e.About) + ": " + text
	}
	if d, err := time.ParseDuration(e.Took); err == nil {
		text += fmt.Sprintf(" (%.1fs)", d.Seconds())
	}
	return text
}

// pollNews is how often what is followed is looked at; overlap is how far back a feed
// is looked at again, because an event may be written down after a newer one.
const (
	pollNews = time.Second
	overlap  = 30 * time.Second
	mostNew  = 2000 // between two looks
)

// follow asks again and again until ctx ends, and each time writes what is new. Where
// there is more at once it is asked without a pause.
func follow[T any](ctx context.Context, a *app, question func(context.Context, *api.Client) (T, error), news func(*page, T) (more bool, err error)) error {
	c, closer, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer closer()
	for {
		v, err := question(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		p := a.page()
		more, err := news(p, v)
		if err := errors.Join(err, p.flush()); err != nil {
			return err
		}
		if !more && sleep(ctx, pollNews) != nil {
			return nil
		}
	}
}

// oneLine writes a thing as one line: of JSON, or in words.
func (a *app) oneLine(p *page, v any, words func()) error {
	if !a.json {
		words()
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write JSON: %w", err)
	}
	p.buf.Write(append(b, '\n'))
	return nil
}

// followFeed shows what happens until ctx ends, each thing once.
func (a *app) followFeed(ctx context.Context, q api.FeedQuery) error {
	told := map[string]time.Time{}
	return follow(ctx, a, func(ctx context.Context, c *api.Client) (api.Feed, error) { return c.Feed(ctx, q) }, func(p *page, f api.Feed) (more bool, err error) {
		for _, e := range f.Entries {
			if _, known := told[e.ID]; !known {
				told[e.ID] = e.At
				err = errors.Join(err, a.oneLine(p, e, func() { feedLine(p, e) }))
			}
		}
		q.Limit = mostNew
		if n := len(f.Entries); n > 0 && f.Entries[n-1].At.Add(-overlap).After(q.Since) {
			q.Since = f.Entries[n-1].At.Add(-overlap)
		}
		forget(told, q.Since)
		return false, err
	})
}

func forget(told map[string]time.Time, before time.Time) {
	for id, at := range told {
		if at.Before(before) {
			delete(told, id)
		}
	}
}
