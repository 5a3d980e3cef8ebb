package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) gateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "gate",
		Short: "What is waited for: a moment, an event, a pipeline, a person's decision",
		Long: `A gate holds back those that wait for it until one thing has happened. It is closed
once, with a reason, and each waiter is notified once, by mail. What cannot be seen closes
no gate. custos help gates.md has the types.`,
		Example: "  custos gate add human 'The release notes are approved' --waiter builder --due 2d\n  custos gate list\n  custos gate close g1 --why 'read and approved'",
	}
	c.AddCommand(a.gateAdd(), a.gateList(), a.gateShow(), a.gateClose())
	return c
}

func (a *app) gateAdd() *cobra.Command {
	var r api.GateRequest
	var until, due, timeout string
	c := &cobra.Command{
		Use: "add TYPE TITLE [-- PROGRAM ARGS...]", Short: "Wait for something", Args: cobra.MinimumNArgs(2),
		Long: `add writes a gate down. TYPE is
  timer      --until a moment, or so long from now
  event      --on alert:RULE, run:FORMULA:STATE, work:REF:closed, convoy:ID:done or trigger:NAME
  condition  --when an expression, as rules have them, or a command that is to end with 0
             behind --; only a person may give one
  gh:run     --run SYSTEM/PROJECT#NUMBER, a pipeline of any CI
  gh:pr      --of PROJECT!NUMBER, a pull request of any forge
  human      a person's decision: custos gate close
  mail       --from, --to, --subject, as the mail has them`,
		Example: `  custos gate add timer 'The rate limit is over' --until 2h --waiter builder
  custos gate add event 'The nightly build is done' --on run:nightly:done
  custos gate add condition 'There is room' --when 'mounts.all(m, m.used_percent < 50.0)'
  custos gate add condition 'The site is up' --timeout 20s -- curl -fsS https://example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := r
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, r.Check = args[:at], args[at:]
			}
			if len(args) < 2 {
				return usage("cannot add a gate: say its type and its title")
			}
			r.Type, r.Title = args[0], strings.Join(args[1:], " ")
			if err := a.gateTimes(&r, until, due, timeout); err != nil {
				return err
			}
			r.Key = keyOr(r.Key)
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Gate, error) { return c.AddGate(ctx, r) },
				func(p *page, g api.Gate) { p.line("%s (%s): %s", flat(g.ID), flat(g.Type), flat(g.Title)) })
		},
	}
	f := c.Flags()
	f.StringVar(&until, "until", "", "timer: its `MOMENT`: so long from now (2h, 3d), or a time (2026-11-23T08:00:00Z)")
	f.StringVar(&r.On, "on", "", "event: the `EVENT`")
	f.StringVar(&r.When, "when", "", "condition: an `EXPRESSION` over facts")
	f.StringVar(&timeout, "timeout", "", "condition: the longest `DURATION` of the command, a minute at most (default 10s)")
	f.StringVar(&r.Of, "of", "", "gh:pr: `REF` of the pull request")
	f.StringVar(&r.Run, "run", "", "gh:run: `NAME` of the pipeline")
	f.StringVar(&r.From, "from", "", "mail: `NAME` of who writes it; overseer: any person (default: anyone)")
	f.StringVar(&r.To, "to", "", "mail: `ADDRESS` it is for")
	f.StringVar(&r.Subject, "subject", "", "mail: what its subject begins with, a `TEXT`")
	f.StringVar(&r.Project, "project", "", "its `PROJECT`")
	f.StringArrayVar(&r.Waiters, "waiter", nil, "an `ADDRESS` to notify; repeat for more (default: the agent that asks)")
	f.StringVar(&due, "due", "", "the `MOMENT` from which it is overdue: so long from now, like 2d, or a time")
	f.StringVar(&r.Key, "key", "", "a `KEY` of yours: the same one again is the same gate")
	return c
}

// gateTimes reads what people write for moments and spans.
func (a *app) gateTimes(r *api.GateRequest, until, due, timeout string) (err error) {
	if r.Until, r.For, err = momentOf("until", until); err != nil {
		return err
	}
	if r.Due, r.DueIn, err = momentOf("due", due); err != nil {
		return err
	}
	if timeout == "" {
		return nil
	}
	d, err := config.Duration(timeout)
	if err != nil {
		return usage("cannot read --timeout: %v", err)
	}
	r.Timeout = d.String()
	return nil
}

// momentOf reads a moment, or how long from now one is.
func momentOf(flag, text string) (at time.Time, in string, err error) {
	if text == "" {
		return at, "", nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, "", nil
	}
	d, err := config.Duration(text)
	if err != nil {
		return at, "", usage("cannot read --%s: %q is neither a duration (2h, 3d) nor a moment (2026-11-23T08:00:00Z)", flag, clean(text))
	}
	return at, d.String(), nil
}

func (a *app) gateList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "Gates that are open, and what keeps each from closing",
		Example: "  custos gate list\n  custos gate list --all",
		RunE:    asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.GateList, error) { return c.Gates(ctx, all) }, writeGates),
	}
	c.Flags().BoolVar(&all, "all", false, "those closed within a month, too")
	return c
}

func writeGates(p *page, v api.GateList) {
	list(p, "No gate.", v.Gates, []column{{head: "GATE"}, {head: "TYPE"}, {head: "STATE"}, {head: "WAITERS", shorten: cut}, {head: "TITLE", shorten: cut}, {head: "WHY", shorten: cut}},
		func(g api.Gate) []string {
			return []string{flat(g.ID), flat(g.Type), flat(g.StateWord()), flat(strings.Join(g.Waiters, " ")), flat(g.Title), flat(g.Why)}
		}, v.Next)
}

func (a *app) gateShow() *cobra.Command {
	return &cobra.Command{
		Use: "show GATE", Short: "One gate",
		Example: "  custos gate show g1",
		RunE:    asksOne(a, (*api.Client).Gate, writeGate),
	}
}

func writeGate(p *page, g api.Gate) {
	p.head(flat(g.ID)+": "+flat(g.Title), flat(g.StateWord()))
	p.known([][2]string{{"Type", g.Type}, {"Project", g.Project}, {"Until", moment(g.Until)}, {"On", g.On}, {"When", g.When}, {"Command", strings.Join(g.Check, " ")},
		{"Its time", g.Timeout}, {"Pull request", g.Of}, {"Pipeline", g.Run}, {"From", g.From}, {"To", g.To}, {"Subject", g.Subject}, {"Step", g.Step},
		{"Waiters", strings.Join(g.Waiters, ", ")}, {"Due", moment(g.Due)}, {"Overdue for", g.Overdue}, {"Why", g.Why}, {"Made", moment(g.At) + " by " + g.By}, {"Closed", closedLine(g)}})
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func closedLine(g api.Gate) string {
	if g.ClosedAt.IsZero() {
		return ""
	}
	return moment(g.ClosedAt) + " by " + g.ClosedBy
}

func (a *app) gateClose() *cobra.Command {
	var r api.GateClosing
	c := &cobra.Command{
		Use: "close GATE", Short: "Close a gate; those that wait for it are notified, once",
		Long:    "close takes a person, on a gate of any type. An agent may cancel a gate that it made.",
		Example: "  custos gate close g1 --why 'read and approved'\n  custos gate close g2 --why 'not needed any more' --as cancelled",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Gate, error) {
			return c.CloseGate(ctx, args[0], r)
		}, func(p *page, g api.Gate) { p.line("%s %s: %s", flat(g.ID), flat(g.Outcome), flat(g.Title)) }),
	}
	c.Flags().StringVar(&r.As, "as", "passed", "the `OUTCOME`: passed, failed, cancelled")
	c.Flags().StringVar(&r.Why, "why", "", "the `REASON`, for those that wait")
	_ = c.MarkFlagRequired("why")
	return c
}
