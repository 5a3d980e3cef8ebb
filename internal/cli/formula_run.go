package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// pollRun is how often a run is looked at that is waited for: to begin with, and
// again after each change; up to a second otherwise.
const pollRun = 100 * time.Millisecond

// cancelled is how long cancel waits for the end of what runs.
const cancelled = 30 * time.Second

func (a *app) formulaRun() *cobra.Command {
	f, w := formulaFlags{}, runFlags{}
	c := &cobra.Command{
		Use: "run NAME|FILE", Short: "Carry a formula out",
		Long: `run begins a run. With a daemon it returns at once and says what to type next;
--wait follows the run to its end. Without a daemon it carries the run out itself,
to its end or until it is interrupted: what is then still open is said, and goes on
with custos up or custos formula resume. --detach only writes the run down.

Exit codes: 0 done, or held back by a guard (which is said) · 1 failed, cancelled,
or a person is needed · 2 bad input.`,
		Example: "  custos formula run supervisor --wait\n  custos formula run nightly --project app --var branch=main",
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.named(args[0], f)
			if err != nil {
				return err
			}
			r := api.RunRequest{ID: newID()[:8], Name: q.Name, File: q.File, Text: q.Text, Project: q.Project, Vars: q.Vars, Detach: w.detach}
			if r.Dir, err = os.Getwd(); err != nil {
				return usage("cannot find the working folder: %v", err)
			}
			return a.carryOut(cmd.Context(), w, func(ctx context.Context, c *api.Client) (api.Run, error) { return c.RunFormula(ctx, r) })
		},
	}
	f.addVars(c)
	w.add(c)
	return c
}

// runFlags say how far a run is followed that begins.
type runFlags struct{ wait, detach bool }

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.wait, "wait", false, "follow the run to its end")
	c.Flags().BoolVar(&f.detach, "detach", false, "only write the run down; a daemon carries it out")
	c.MarkFlagsMutuallyExclusive("wait", "detach")
}

// carryOut begins a run, or has one go on, and follows it where no daemon does,
// or where it is asked for.
func (a *app) carryOut(ctx context.Context, f runFlags, begin func(context.Context, *api.Client) (api.Run, error)) error {
	l, err := a.listener(ctx)
	if err != nil {
		return err
	}
	defer func() { l.close() }()
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	run, err := answer(asking, l, a.goesOn, begin)
	if err != nil {
		return err
	}
	if !run.Over && (f.wait || !run.Watched && !f.detach) {
		if run, err = a.followRun(ctx, l.c, run, 0); err != nil {
			return a.interruptedRun(run, err)
		}
		if err := a.endsSession(ctx, l.c, run); err != nil {
			return err
		}
	}
	if err := a.show(run, func(p *page) { writeRun(p, run) }); err != nil {
		return err
	}
	return outcome(run)
}

// sessionEnds is how long a command stays for the end of a session: it is ended only
// once its agent is still.
const sessionEnds = 10 * time.Minute

// endsSession stays until the agent of a run that is over has been ended, where no
// daemon does it.
func (a *app) endsSession(ctx context.Context, c *api.Client, run api.Run) error {
	if run.Watched {
		return nil
	}
	if err := a.givesLockBack(ctx, c, run); err != nil || run.Stop == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sessionEnds)
	defer cancel()
	for told := ""; ; {
		o, err := c.OrderState(ctx, run.Stop)
		if isNotFound(err) || err == nil && (o.State == "done" || o.State == "refused") { // refused: there is no such agent
			return nil
		}
		if err == nil && o.Over {
			err = errors.New(flat(o.Why))
		}
		if err == nil {
			told = a.tellStop(run, o, told)
			err = sleep(ctx, pollRun)
		}
		if err != nil {
			return &api.Error{Kind: api.CannotLook, Message: fmt.Sprintf("run %s: %s; its agent %s was not ended, and may run on: %v", run.ID, run.State, run.Agent, err),
				Hint: "custos stop " + run.Agent}
		}
	}
}

// lockEnds is how long a command stays until the factory's lock is given back. A lock
// that is left names a process that has ended: it holds nothing up.
const lockEnds = 10 * time.Second

// givesLockBack stays until the factory's own lock, held for a run that is over, is given back.
func (a *app) givesLockBack(ctx context.Context, c *api.Client, run api.Run) (err error) {
	for end := time.Now().Add(lockEnds); run.Locks && err == nil && time.Now().Before(end); {
		if err = sleep(ctx, pollRun); err == nil {
			run, err = c.Run(ctx, run.ID)
		}
	}
	return err
}

// tellStop says once what the end of a session waits for.
func (a *app) tellStop(run api.Run, o api.Order, told string) string {
	line := "ends agent " + flat(run.Agent) + prefixed(": ", flat(o.Why))
	if !a.json && line != told {
		fmt.Fprintln(a.Stdout, cut(time.Now().UTC().Format("15:04:05 UTC")+"  "+line, max(a.Width, 60)))
	}
	return line
}

// outcome is the exit code of a run: of one that goes on it is good.
func outcome(r api.Run) error {
	switch r.State {
	case "failed", "needs a person", "cancelled":
		return errFailed
	}
	return nil
}

// interruptedRun says what stays open when it is not waited for any more.
func (a *app) interruptedRun(r api.Run, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	var open []string
	for _, s := range r.Steps {
		if s.State == "running" {
			open = append(open, s.ID)
		}
	}
	what := "no step of it is running"
	if len(open) > 0 {
		what = "running: " + strings.Join(open, ", ")
	}
	message, hint := fmt.Sprintf("run %s is left open (%s)", r.ID, what), "custos formula show "+r.ID
	if !r.Watched {
		message, hint = message+": custos up goes on with it, or custos formula resume "+r.ID, "custos formula resume "+r.ID
	}
	return &api.Error{Kind: api.CannotLook, Message: message, Hint: hint}
}

// followRun looks at a run until it is over or waits for a person, or for so long (0:
// without end), and prints a line for each step that changed.
func (a *app) followRun(ctx context.Context, c *api.Client, run api.Run, limit time.Duration) (api.Run, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	was := map[string]string{}
	for pause := pollRun; ; pause = min(pause*3/2, time.Second) {
		if a.tellRun(run, was) {
			pause = pollRun
		}
		if run.Over || run.State == "needs a person" {
			return run, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return run, err
		}
		now, err := c.Run(ctx, run.ID)
		if err != nil {
			return run, err
		}
		run = now
	}
}

// tellRun prints what changed since was, and says whether anything did.
func (a *app) tellRun(run api.Run, was map[string]string) (changed bool) {
	wide := 0
	for _, s := range run.Steps {
		wide = max(wide, min(runes(flat(s.ID)), 40))
	}
	for _, s := range run.Steps {
		is := strings.TrimSpace(fmt.Sprintf("%s %d", s.State, s.Attempt))
		if was[s.ID] == is {
			continue
		}
		began := was[s.ID] != ""
		was[s.ID], changed = is, true
		if a.json || s.State == "waiting" && !began {
			continue
		}
		line := fmt.Sprintf("%s  %s  %s", time.Now().UTC().Format("15:04:05 UTC"), pad(flat(s.ID), wide, false), flat(s.State))
		if s.Why != "" {
			line += ": " + flat(s.Why)
		}
		fmt.Fprintln(a.Stdout, cut(line, max(a.Width, 60)))
	}
	return changed
}

func writeRun(p *page, r api.Run) {
	p.line("Run %s of formula %s: %s, %d of %s done, %s", p.paint(bold, flat(r.ID)), flat(r.Formula), p.runState(flat(r.State)), r.Done, plural(len(r.Steps), "step"), api.Span(r.For))
	if r.Why != "" {
		p.text(0, r.Why)
	}
	rows := each(r.Steps, func(s api.RunStep) []string {
		try := ""
		if s.Attempt > 1 {
			try = fmt.Sprint(s.Attempt)
		}
		length := ""
		if s.For != "" {
			length = api.Span(s.For)
		}
		return []string{flat(s.ID), flat(s.Do), flat(s.State), length, try, flat(s.News(r.Why))}
	})
	p.table([]column{{head: "STEP", shorten: middle}, {head: "DO"}, {head: "STATE", paint: p.runState}, {head: "FOR", right: true}, {head: "TRY", right: true},
		{head: "WHY", shorten: cut, keep: 30}}, rows)
	if hasOutput(r) {
		p.line("What its commands wrote: %s", p.path(flat(filepath.Join(r.Dir, "steps"))))
	}
	if r.Agent != "" {
		p.line("Agent %s%s", flat(r.Agent), prefixed(", phase ", flat(r.Phase)))
	}
	if r.Kept != "" {
		p.text(0, "Worktree kept: "+r.Kept)
	}
	if r.Tokens > 0 || r.Dollars > 0 {
		p.line("%s, %s", plural(int(r.Tokens), "token"), cmp.Or(api.Dollars(r.Dollars), "$0"))
	}
	p.next(r.Next)
}

// hasOutput says whether a command of the run was begun.
func hasOutput(r api.Run) bool {
	return slices.ContainsFunc(r.Steps, func(s api.RunStep) bool { return s.Do == "run" && s.Attempt > 0 })
}

func prefixed(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// runState paints the state of a run or a step.
func (p *page) runState(s string) string {
	return p.paint(map[string]string{"failed": red, "needs a person": yellow, "running": cyan, "done": green, "cancelled": yellow}[s], s)
}

func (a *app) formulaPs() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "ps", Short: "The runs that are not over; with --all, those that ended too",
		Example: "  custos formula ps --all",
		RunE:    asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.Runs, error) { return c.Runs(ctx, all) }, writeRuns),
	}
	c.Flags().BoolVar(&all, "all", false, "those that ended too")
	return c
}

func writeRuns(p *page, v api.Runs) {
	list(p, "No run.", v.Runs, []column{{head: "RUN", shorten: middle}, {head: "PROJECT", shorten: middle}, {head: "STATE", paint: p.runState}, {head: "STEPS", right: true}, {head: "BEGAN"},
		{head: "FOR", right: true}, {head: "BY", spare: true}, {head: "NOW", shorten: cut, keep: 20}},
		func(r api.Run) []string {
			return []string{flat(r.ID), flat(r.Project), flat(r.State), fmt.Sprintf("%d/%d", r.Done, len(r.Steps)), clock(r.At, v.At), api.Span(r.For), flat(r.By), flat(r.News())}
		}, v.Next)
}

func (a *app) formulaCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "End a run",
		Long:    "cancel skips what was not begun, ends what runs with every process it started, and\nasks the agent that works on the run to stop.",
		Example: "  custos formula cancel nightly-3f2a91c0",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, closer, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer closer()
			run, err := c.ChangeRun(cmd.Context(), args[0], api.RunChange{Do: "cancel"})
			if err != nil {
				return err
			}
			if now, err := a.followRun(cmd.Context(), c, run, cancelled); err == nil || now.ID != "" {
				run = now
			}
			if err := a.endsSession(cmd.Context(), c, run); err != nil {
				return err
			}
			return a.show(run, func(p *page) { writeRun(p, run) })
		},
	}
}

func (a *app) formulaResume() *cobra.Command {
	var r api.RunChange
	var w runFlags
	c := &cobra.Command{
		Use: "resume RUN", Short: "Answer for a step that failed or is in doubt, and go on",
		Long: `resume begins what failed again (--as again, the default), or takes it as done
(--as done): one step, or all that failed or wait for a person. A step is in doubt
when it is not known whether it ran to its end; it is never repeated unasked. Where
no daemon runs, resume also goes on with a run that was left open.

--reply answers what the run's agent asked by PHASE:escalate: the next session gets
it, in your words. With - the text is read from the standard input.`,
		Example: "  custos formula resume nightly-3f2a91c0 --step deploy --as done\n  custos formula resume nightly-3f2a91c0 --reply 'Take the branch next.'",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Do = "resume"
			if cmd.Flags().Changed("reply") {
				if err := a.replyOf(cmd, &r); err != nil {
					return err
				}
			}
			return a.carryOut(cmd.Context(), w, func(ctx context.Context, c *api.Client) (api.Run, error) { return c.ChangeRun(ctx, args[0], r) })
		},
	}
	c.Flags().StringVar(&r.Step, "step", "", "one `STEP`")
	c.Flags().StringVar(&r.As, "as", "again", "the `OUTCOME` of the step: done, or again to repeat it")
	c.Flags().StringVar(&r.Reply, "reply", "", "`TEXT` for the agent that asked; - reads it from the standard input")
	c.Flags().BoolVar(&w.wait, "wait", false, "follow the run to its end")
	return c
}

// replyOf reads a reply that is to come from the standard input, and refuses what
// does not go with one.
func (a *app) replyOf(cmd *cobra.Command, r *api.RunChange) (err error) {
	if r.Step != "" || cmd.Flags().Changed("as") {
		return usage("cannot resume: --reply answers the run's agent, and does not go with --step or --as")
	}
	r.As = ""
	if r.Reply, err = a.textOf(r.Reply); err != nil {
		return err
	}
	if strings.TrimSpace(r.Reply) == "" {
		return usage("cannot resume: the reply is empty")
	}
	return nil
}

func (a *app) formulaStep() *cobra.Command {
	c := &cobra.Command{
		Use: "step", Short: "Report a step of prose: for the agent that works on it, or a person",
		Example: "  custos formula step done nightly-3f2a91c0 judge --note 'two tests broke'",
	}
	c.AddCommand(a.stepCommand("done", "Say that a step is done"), a.stepCommand("fail", "Say that a step cannot be done"))
	return c
}

func (a *app) stepCommand(do, short string) *cobra.Command {
	var note string
	c := &cobra.Command{
		Use: do + " RUN STEP", Short: short,
		Long:    "An agent may report the steps of the run that it works on; a person, those of any.",
		Example: "  custos formula step " + do + " nightly-3f2a91c0 judge --note 'what came of it'",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := api.RunChange{Do: do, Step: args[1], Note: note}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Run, error) { return c.ChangeRun(ctx, args[0], r) }, func(p *page, r api.Run) {
				p.line("Run %s: step %s is reported; %d of %s done.", flat(r.ID), flat(args[1]), r.Done, plural(len(r.Steps), "step"))
			})
		},
	}
	c.Flags().StringVar(&note, "note", "", "what came of it, as `TEXT`")
	return c
}
