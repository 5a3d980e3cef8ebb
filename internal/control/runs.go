package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
	"custos/internal/view"
)

// runs are begun by a person; what an agent may change says reporter.
func runs() Noun {
	return Noun{"runs", []Verb{
		{Name: "list", Do: asks((*Control).runs)},
		{Name: "add", Access: Person, Large: true, Do: given((*Control).runFormula)},
		{Name: "show", Do: asks((*Control).run)},
		{Name: "change", Access: Author, Do: given((*Control).changeRun)},
	}}
}

// runFormula begins a run.
func (c *Control) runFormula(ctx context.Context, call Call, r api.RunRequest) (api.Run, error) {
	for _, p := range []string{r.File, r.Dir} {
		if p != "" && !path.IsAbs(p) {
			return api.Run{}, api.AsBadInput(fmt.Errorf("cannot run a formula: %q is no absolute path", fleet.Line(p, 200)))
		}
	}
	if (r.Name == "") == (r.File == "") {
		return api.Run{}, api.AsBadInput(fmt.Errorf("cannot run a formula: give its name, or its file"))
	}
	run, err := c.start(ctx, r, call.By)
	if err != nil {
		return api.Run{}, err
	}
	if c.Attend != nil && !r.Detach && !run.IsOver() {
		c.Attend()
	}
	return c.RunView(run), nil
}

// start reads the formula first, so that what is wrong with it is said line by line.
func (c *Control) start(ctx context.Context, r api.RunRequest, by string) (fleet.Run, error) {
	f, err := c.read(ctx, api.FormulaQuery{Name: r.Name, File: r.File, Text: r.Text, Project: r.Project, Vars: r.Vars, Render: true})
	if err != nil {
		return fleet.Run{}, err
	}
	if f.Refused {
		return fleet.Run{}, c.refused(ctx, r, f)
	}
	run, err := c.Formulas.Start(ctx, r, by)
	if errors.Is(err, ledger.ErrTaken) {
		return run, c.taken(ctx, f, err)
	}
	return run, Reasoned(err)
}

// taken says which run has the place that another one wants.
func (c *Control) taken(ctx context.Context, f api.Formula, err error) error {
	said := &api.Error{Kind: api.BadInput, Message: Reason(err.Error()), Hint: "custos formula ps"}
	open, unread := c.Runs.Runs(ctx, fleet.RunFilter{Open: true})
	if unread != nil {
		return said
	}
	for _, r := range open {
		if r.Formula == f.Name && r.Project == f.Project {
			said.Hint = api.Typed("custos", "formula", "show", r.ID)
		}
	}
	return said
}

// runsShown is how many runs a list has at most.
const runsShown = 200

func (c *Control) runs(ctx context.Context, call Call) (api.Runs, error) {
	all := call.Ask("all") == "true"
	list, err := c.Runs.Runs(ctx, fleet.RunFilter{Open: !all, Limit: runsShown})
	if err != nil {
		return api.Runs{}, err
	}
	out := api.Runs{At: c.Now().Wall.UTC(), Runs: make([]api.Run, 0, len(list)), Next: []api.Hint{}}
	for _, r := range list {
		out.Runs = append(out.Runs, c.RunView(r))
	}
	if len(list) == 0 && !all {
		out.Next = append(out.Next, api.Hint{Command: "custos formula ps --all", What: "the runs that ended"})
	}
	return out, nil
}

func (c *Control) run(ctx context.Context, call Call) (api.Run, error) {
	r, err := c.findRun(ctx, call.ID)
	if err != nil {
		return api.Run{}, err
	}
	return c.RunView(r), nil
}

// findRun finds a run by its ID.
func (c *Control) findRun(ctx context.Context, id string) (fleet.Run, error) {
	list, err := c.Runs.Runs(ctx, fleet.RunFilter{ID: id, Limit: 1})
	if err == nil && len(list) == 0 {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fleet.Run{}, c.noRun(ctx, id)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return list[0], nil
}

// noRun says that there is no such run, and which is meant where that can be
// guessed: who names a formula means its newest run.
func (c *Control) noRun(ctx context.Context, id string) error {
	said := &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find run %q", fleet.Line(id, 100)), Hint: "custos formula ps --all"}
	known, err := c.Runs.Runs(ctx, fleet.RunFilter{Limit: runsShown})
	if err != nil {
		return said
	}
	newest := ""
	for _, r := range known { // the newest last
		if r.Formula == id {
			newest = fmt.Sprintf(", did you mean %q?", r.ID)
		}
	}
	said.Message += cmp.Or(newest, nearest.Hint(id, each(known, func(r fleet.Run) string { return r.ID })))
	return said
}

// changeRun cancels or resumes a run, or reports a step of it. An agent reports
// steps of the run it works on, and nothing else.
func (c *Control) changeRun(ctx context.Context, call Call, r api.RunChange) (api.Run, error) {
	if err := reporter(call, r.Do); err != nil {
		return api.Run{}, err
	}
	run, err := c.findRun(ctx, call.ID)
	if err != nil {
		return api.Run{}, err
	}
	if r.Reply != "" {
		return c.replied(c.replyToRun(ctx, run, r, call.By))
	}
	change, err := changeOf(r, call.By, c.Now)
	if err != nil {
		return api.Run{}, api.AsBadInput(err)
	}
	var refusal error // the ledger's own words, which say all
	changed, err := c.Runs.Change(ctx, run.ID, func(all []fleet.Run, run fleet.Run) (fleet.Run, error) {
		run, refusal = change(all, run)
		return run, refusal
	})
	if err != nil {
		return api.Run{}, Reasoned(cmp.Or(refusal, err))
	}
	if c.Attend != nil && (r.Do == "cancel" || r.Do == "resume") {
		c.Attend()
	}
	return c.RunView(changed), nil
}

// reporter refuses who may not change a run. Whether an agent may report the step is for
// the ledger to say: it knows whose run it is.
func reporter(call Call, do string) error {
	if agent, is := fleet.AgentOf(call.By); is && agent != Unnamed && (do == "done" || do == "fail") {
		return nil
	}
	return call.Barred
}

// Marked stands before the name of an agent that only its marker names. No name of
// an agent, and of a session, can begin so.
const Marked = "marked\x00"

// RunsChange says what becomes of a run; all are the runs that are known.
type RunsChange func(all []fleet.Run, run fleet.Run) (fleet.Run, error)

func changeOf(r api.RunChange, by string, now func() fleet.Instant) (RunsChange, error) {
	report := func(to fleet.StepState) RunsChange {
		return func(_ []fleet.Run, run fleet.Run) (fleet.Run, error) {
			return ledger.ReportStep(run, r.Step, to, r.Note, by, now())
		}
	}
	switch r.Do {
	case "cancel":
		return func(_ []fleet.Run, run fleet.Run) (fleet.Run, error) { return ledger.CancelRun(run, by, now()) }, nil
	case "resume":
		as := r.As
		if as == "" {
			as = ledger.ResumeAgain
		}
		return func(all []fleet.Run, run fleet.Run) (fleet.Run, error) {
			if run.State == fleet.RunOpen && r.Step == "" {
				return run, nil // nothing of it waits for an answer: it only goes on
			}
			return ledger.ResumeRun(all, run, r.Step, as, by, now())
		}, nil
	case "done":
		return report(fleet.StepDone), nil
	case "fail":
		return report(fleet.StepFailed), nil
	}
	return nil, fmt.Errorf("cannot %q a run: want cancel, resume, done or fail", fleet.Line(r.Do, 40))
}

// runView is a run for people and machines.
func (c *Control) RunView(r fleet.Run) api.Run {
	at := c.Now()
	until := at
	if !r.EndedAt.IsZero() {
		until = r.EndedAt
	}
	out := api.Run{ID: r.ID, Formula: r.Formula, Project: r.Project, By: r.By, At: r.At.Wall.UTC(), For: view.Since(until, r.At), Mode: string(r.Mode),
		State: string(r.State), Over: r.IsOver(), Why: fleet.Text(r.Why), Steps: make([]api.RunStep, 0, len(r.Steps)), Schedule: r.Schedule,
		Dir: r.Dir, Work: r.Work, Source: r.Source, EndedAt: view.Moment(r.EndedAt), Tokens: r.Tokens, Dollars: view.Dollars(r.MicroUSD),
		Watched: c.Watched, Locks: r.IsOver() && r.Holding != ""}
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		out.Vars = append(out.Vars, fleet.Redact(name+"="+fleet.Line(r.Vars[name], 200)))
	}
	if n := r.Session; n != nil && n.Order != "" {
		out.Agent, out.Stop, out.Phase = n.Agent, n.Stop, strings.TrimSpace(n.Phase+" "+n.PhaseWhy)
		if n.Keep != "" && n.Worktree != "" {
			out.Kept = n.Worktree + ": " + n.Keep
		}
	}
	for _, step := range r.Steps {
		if step.State == fleet.StepDone {
			out.Done++
		}
		out.Steps = append(out.Steps, stepView(step, at))
	}
	out.Next = runHints(r, c.Watched)
	return out
}

func stepView(s fleet.RunStep, at fleet.Instant) api.RunStep {
	out := api.RunStep{ID: s.ID, Title: fleet.Line(s.Title, 200), Do: string(s.Do), Needs: s.Needs, State: string(s.State), Why: fleet.Text(s.Why),
		Since: view.Moment(s.Since), Attempt: s.Attempt, Exit: s.Exit, Output: fleet.Text(s.Output), Note: fleet.Text(s.Note), By: s.By}
	if s.State == fleet.StepRunning && !s.Since.IsZero() {
		out.For = view.Since(at, s.Since)
	}
	return out
}

// hintsOfSteps is how many commands about single steps are shown.
const hintsOfSteps = 4

// runHints are the commands that may come next.
func runHints(r fleet.Run, watched bool) []api.Hint {
	out := []api.Hint{}
	for _, s := range r.Steps {
		if len(out) < hintsOfSteps {
			out = append(out, stepHints(r, s)...)
		}
	}
	add := func(command, what string) { out = append(out, api.Hint{Command: command, What: what}) }
	switch {
	case r.State == fleet.RunFailed:
		add(api.Typed("custos", "formula", "resume", r.ID), "try again what failed")
	case r.State == fleet.RunSkipped && strings.HasSuffix(r.Why, " is disabled"):
		add(api.Typed("custos", "formula", "enable", r.Formula), "let it run again")
	case r.State == fleet.RunSkipped && r.Schedule == "" && r.Project == "" && len(r.Vars) == 0:
		add(api.Typed("custos", "formula", "run", spoken(r)), "when nothing holds it back; nothing of it was begun")
	case r.IsOver():
	case !watched:
		add("custos up", "no daemon runs now: the run waits for it")
	case r.State == fleet.RunOpen:
		add(api.Typed("custos", "formula", "show", r.ID), "how far it is")
		add(api.Typed("custos", "formula", "cancel", r.ID), "end it")
	}
	return out
}

// spoken is what to call the formula of a run: its file, or the name of a shipped one.
func spoken(r fleet.Run) string {
	if path.IsAbs(r.Source) {
		return r.Source
	}
	return r.Formula
}

// stepHints are the commands about one step: to read what it wrote, and to answer
// for it.
func stepHints(r fleet.Run, s fleet.RunStep) (out []api.Hint) {
	add := func(what string, argv ...string) {
		out = append(out, api.Hint{Command: api.Typed(argv...), What: what})
	}
	if s.Do == fleet.StepRun && s.Output != "" && r.Cancel == "" && (s.State == fleet.StepFailed || s.State == fleet.StepPerson) {
		add("what "+s.ID+" complained of; stdout.log is beside it", "less", path.Join(path.Dir(s.Output), "stderr.log"))
	}
	switch {
	case s.State == fleet.StepPerson && s.Do == fleet.StepProse && r.Session == nil:
		add("when you have done it", "custos", "formula", "step", "done", r.ID, s.ID)
	case s.State == fleet.StepPerson && s.Do == fleet.StepProse:
		add("answer what its agent asks", "custos", "formula", "resume", r.ID, "--reply", "TEXT")
		add("when you have done it", "custos", "formula", "resume", r.ID, "--step", s.ID, "--as", "done")
	case s.State == fleet.StepPerson:
		add("when it was done", "custos", "formula", "resume", r.ID, "--step", s.ID, "--as", "done")
		add("when it was not", "custos", "formula", "resume", r.ID, "--step", s.ID, "--as", "again")
	}
	return out
}

// Runs is the book of runs of formulas.
type Runs interface {
	// Runs lists the runs that match, by the time they began: the newest Limit.
	Runs(ctx context.Context, f fleet.RunFilter) ([]fleet.Run, error)
	// Change changes one run, in one transaction, and has a pass carry it on.
	Change(ctx context.Context, id string, change RunsChange) (fleet.Run, error)
}
