package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// runFormula begins a run. It takes a person: the route says so.
func (s *server) runFormula(req *http.Request, c Caller) (any, error) {
	var r api.RunRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	for _, p := range []string{r.File, r.Dir} {
		if p != "" && !path.IsAbs(p) {
			return nil, api.AsBadInput(fmt.Errorf("cannot run a formula: %q is no absolute path", fleet.Line(p, 200)))
		}
	}
	if (r.Name == "") == (r.File == "") {
		return nil, api.AsBadInput(fmt.Errorf("cannot run a formula: give its name, or its file"))
	}
	run, err := s.start(req.Context(), r, c.Name())
	if err != nil {
		return nil, err
	}
	if s.Attend != nil && !r.Detach && !run.IsOver() {
		s.Attend()
	}
	return s.runView(run), nil
}

// start reads the formula first, so that what is wrong with it is told line by line.
func (s *server) start(ctx context.Context, r api.RunRequest, by string) (fleet.Run, error) {
	f, err := s.read(ctx, api.FormulaQuery{Name: r.Name, File: r.File, Text: r.Text, Project: r.Project, Vars: r.Vars, Render: true})
	if err != nil {
		return fleet.Run{}, err
	}
	if f.Refused {
		return fleet.Run{}, s.refused(ctx, r, f)
	}
	run, err := s.Runs.Start(ctx, r, by)
	if errors.Is(err, ledger.ErrTaken) {
		return run, s.taken(ctx, f, err)
	}
	return run, control.Reasoned(err)
}

// taken says which run has the place that another one wants.
func (s *server) taken(ctx context.Context, f api.Formula, err error) error {
	said := &api.Error{Kind: api.BadInput, Message: control.Reason(err.Error()), Hint: "custos formula ps"}
	open, unread := s.Runs.Runs(ctx, RunFilter{Open: true})
	if unread != nil {
		return said
	}
	for _, r := range open {
		if r.Formula == f.Name && r.Project == f.Project {
			said.Hint = command("custos", "formula", "show", r.ID)
		}
	}
	return said
}

// runsShown is how many runs a list has at most.
const runsShown = 200

func (s *server) runs(req *http.Request, _ Caller) (any, error) {
	all := req.URL.Query().Get("all") == "true"
	list, err := s.Runs.Runs(req.Context(), RunFilter{Open: !all, Limit: runsShown})
	if err != nil {
		return nil, err
	}
	out := api.Runs{At: s.Now().Wall.UTC(), Runs: make([]api.Run, 0, len(list)), Next: []api.Hint{}}
	for _, r := range list {
		out.Runs = append(out.Runs, s.runView(r))
	}
	if len(list) == 0 && !all {
		out.Next = append(out.Next, api.Hint{Command: "custos formula ps --all", What: "the runs that ended"})
	}
	return out, nil
}

func (s *server) run(req *http.Request, _ Caller) (any, error) {
	r, err := s.findRun(req.Context(), req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.runView(r), nil
}

// findRun finds a run by its ID.
func (s *server) findRun(ctx context.Context, id string) (fleet.Run, error) {
	list, err := s.Runs.Runs(ctx, RunFilter{ID: id, Limit: 1})
	if err == nil && len(list) == 0 {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fleet.Run{}, s.noRun(ctx, id)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return list[0], nil
}

// noRun says that there is no such run, and which is meant where that can be
// guessed: who names a formula means its newest run.
func (s *server) noRun(ctx context.Context, id string) error {
	said := &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find run %q", fleet.Line(id, 100)), Hint: "custos formula ps --all"}
	known, err := s.Runs.Runs(ctx, RunFilter{Limit: runsShown})
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
func (s *server) changeRun(req *http.Request, c Caller) (any, error) {
	var r api.RunChange
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.reporter(req.Context(), c, r.Do)
	if err != nil {
		return nil, err
	}
	run, err := s.findRun(req.Context(), req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if r.Reply != "" {
		return s.replied(s.replyToRun(req.Context(), run, r, by))
	}
	change, err := changeOf(r, by, s.Now)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	var refusal error // the ledger's own words, which say all
	changed, err := s.Runs.Change(req.Context(), run.ID, func(all []fleet.Run, run fleet.Run) (fleet.Run, error) {
		run, refusal = change(all, run)
		return run, refusal
	})
	if err != nil {
		return nil, control.Reasoned(cmp.Or(refusal, err))
	}
	if s.Attend != nil && (r.Do == "cancel" || r.Do == "resume") {
		s.Attend()
	}
	return s.runView(changed), nil
}

// reporter is who changes a run. Whether an agent may report the step is for the
// ledger to say: it knows whose run it is.
func (s *server) reporter(ctx context.Context, c Caller, do string) (string, error) {
	if s.AgentOf == nil {
		return c.Name(), nil
	}
	agent, err := s.AgentOf(ctx, c)
	switch {
	case err == nil && agent == "":
		return c.Name(), nil
	case err != nil || do != "done" && do != "fail":
		return "", barred(c, agent, err)
	}
	return fleet.ByAgent(strings.TrimPrefix(agent, Marked)), nil
}

// Marked stands before the name of an agent that was told by its marker alone.
const Marked = "marked "

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
func (s *server) runView(r fleet.Run) api.Run {
	at := s.Now()
	until := at
	if !r.EndedAt.IsZero() {
		until = r.EndedAt
	}
	out := api.Run{ID: r.ID, Formula: r.Formula, Project: r.Project, By: r.By, At: r.At.Wall.UTC(), For: since(until, r.At), Mode: string(r.Mode),
		State: string(r.State), Over: r.IsOver(), Why: fleet.Text(r.Why), Steps: make([]api.RunStep, 0, len(r.Steps)), Schedule: r.Schedule,
		Dir: r.Dir, Work: r.Work, Source: r.Source, EndedAt: moment(r.EndedAt), Tokens: r.Tokens, Dollars: dollars(r.MicroUSD),
		Watched: !s.InProcess, Locks: r.IsOver() && r.Holding != ""}
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
	out.Next = runHints(r, !s.InProcess)
	return out
}

func stepView(s fleet.RunStep, at fleet.Instant) api.RunStep {
	out := api.RunStep{ID: s.ID, Title: fleet.Line(s.Title, 200), Do: string(s.Do), Needs: s.Needs, State: string(s.State), Why: fleet.Text(s.Why),
		Since: moment(s.Since), Attempt: s.Attempt, Exit: s.Exit, Output: fleet.Text(s.Output), Note: fleet.Text(s.Note), By: s.By}
	if s.State == fleet.StepRunning && !s.Since.IsZero() {
		out.For = since(at, s.Since)
	}
	return out
}

// hintsOfSteps is how many commands about single steps are told.
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
		add(command("custos", "formula", "resume", r.ID), "try again what failed")
	case r.State == fleet.RunSkipped && strings.HasSuffix(r.Why, " is disabled"):
		add(command("custos", "formula", "enable", r.Formula), "let it run again")
	case r.State == fleet.RunSkipped && r.Schedule == "" && r.Project == "" && len(r.Vars) == 0:
		add(command("custos", "formula", "run", spoken(r)), "when nothing holds it back; nothing of it was begun")
	case r.IsOver():
	case !watched:
		add("custos up", "nobody watches now: the run waits for it")
	case r.State == fleet.RunOpen:
		add(command("custos", "formula", "show", r.ID), "how far it is")
		add(command("custos", "formula", "cancel", r.ID), "end it")
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
	add := func(what string, argv ...string) { out = append(out, api.Hint{Command: command(argv...), What: what}) }
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

// dollars turns millionths of a dollar into dollars.
func dollars(micro int64) float64 { return float64(micro) / 1e6 }
