package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// nightly is a run with a command that is running, and prose for agent "n".
func nightly(id string) fleet.Run {
	return fleet.Run{ID: id, Formula: "nightly", By: "me", At: instant(-time.Minute), Mode: fleet.RunInTmux, Dir: "/runs/" + id, State: fleet.RunOpen,
		Vars: map[string]string{"token": "abc"}, Session: &fleet.RunSession{Agent: "n", Kind: "claude", Order: "o"},
		Steps: []fleet.RunStep{{ID: "build", Do: fleet.StepRun, Argv: []string{"make"}, State: fleet.StepRunning, Since: instant(-30 * time.Second), Attempt: 1},
			{ID: "judge", Do: fleet.StepProse, State: fleet.StepRunning}}}
}

// formulasOf and runsOf are fakes of the ports.
type (
	formulasOf struct{ w *world }
	runsOf     struct{ w *world }
)

func (formulasOf) Formulas(context.Context) ([]api.FormulaRow, error) {
	return []api.FormulaRow{{Name: "nightly", Source: "/n.toml", Steps: 2}}, nil
}

func (formulasOf) Formula(_ context.Context, q api.FormulaQuery) (api.Formula, error) {
	if q.Name == "nosuch" || q.Name == "old" {
		return api.Formula{}, fmt.Errorf("cannot find it: %w", fs.ErrNotExist)
	}
	if q.Project == "nowhere" {
		return api.Formula{}, &api.Error{Kind: api.BadInput, Message: "cannot read the formula: not allowed: there is no project"}
	}
	f := api.Formula{FormulaRow: api.FormulaRow{Name: q.Name, Source: q.File}}
	if q.Name == "broken" {
		f.Refused, f.Problems = true, []api.FormulaProblem{{File: "/b.toml", Line: 3, Column: 4, Severity: "error", Text: "cron: not allowed: is none"}}
	}
	return f, nil
}

func (formulasOf) Switch(_ context.Context, name string, on bool, by string) (api.FormulaSwitch, error) {
	return api.FormulaSwitch{Formula: name, Disabled: "by " + by}, nil
}

func (f formulasOf) Start(_ context.Context, r api.RunRequest, by string) (fleet.Run, error) {
	if r.Name == "nosuch" {
		return fleet.Run{}, fs.ErrNotExist
	}
	if r.Name == "taken" {
		return fleet.Run{}, fmt.Errorf("cannot run formula taken: its place is %w", ledger.ErrTaken)
	}
	run := nightly(r.Name + "-1")
	run.By = by
	f.w.runs = append(f.w.runs, run)
	return run, nil
}

func (f runsOf) Runs(_ context.Context, q fleet.RunFilter) (out []fleet.Run, err error) {
	for _, r := range f.w.runs {
		if (q.ID == "" || r.ID == q.ID) && (!q.Open || !r.IsOver()) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f runsOf) Change(_ context.Context, id string, change control.RunsChange) (run fleet.Run, err error) {
	for i := range f.w.runs {
		if f.w.runs[i].ID == id {
			run, err = change(f.w.runs, f.w.runs[i])
			f.w.runs[i] = run
		}
	}
	return run, err
}

func (w *world) Schedules(context.Context) ([]api.ScheduleRow, error) { return nil, nil }

func (w *world) Costs(_ context.Context, _ fleet.Instant, by string) ([]fleet.Cost, error) {
	if by == "day" {
		return []fleet.Cost{{Key: "2026-11-19", Calls: 2, Tokens: 10, Told: 5000, Unpriced: 1}, {Key: "2026-11-20", Calls: 2, Tokens: 7, Told: 200000, Table: 50000}}, nil
	}
	return []fleet.Cost{{Calls: 1, Tokens: 3}, {Key: "b", Calls: 2, Tokens: 7}, {Key: "nightly", Calls: 1, Tokens: 7, Told: 200000, Table: 50000}}, nil
}

func (w *world) UsageFaults(context.Context, fleet.Instant) ([]fleet.UsageFault, error) {
	return []fleet.UsageFault{{Kind: "claude", Why: "it told fewer than no tokens", At: w.pass.Snapshot.At.Wall, Key: "claude:msg_1"}}, nil
}

func TestFormulaRoutesRefuse(t *testing.T) {
	w := newWorld()
	c, ctx := client(w), t.Context()
	_, err := c.Formula(ctx, api.FormulaQuery{Name: "nosuch"})
	wantError(t, err, api.NotFound, `formula "nosuch"`)
	_, err = c.Formula(ctx, api.FormulaQuery{File: "n.toml", Text: "x"})
	wantError(t, err, api.BadInput, "absolute path")
	_, err = c.Formula(ctx, api.FormulaQuery{})
	wantError(t, err, api.BadInput, "give its name")
	_, err = c.SwitchFormula(ctx, "nightly", "explode", api.FormulaSwitchRequest{})
	wantError(t, err, api.BadInput, "want disable or enable")
	_, err = c.RunFormula(ctx, api.RunRequest{})
	wantError(t, err, api.BadInput, "give its name")
	_, err = c.RunFormula(ctx, api.RunRequest{Name: "nosuch"})
	wantError(t, err, api.NotFound, `formula "nosuch"`)
	_, err = c.RunFormula(ctx, api.RunRequest{Name: "n", Dir: "here"})
	wantError(t, err, api.BadInput, "absolute path")
	_, err = c.Run(ctx, "nosuch")
	wantError(t, err, api.NotFound, `run "nosuch"`)
	_, err = c.Costs(ctx, "yesterday", "day")
	wantError(t, err, api.BadInput, "a time like 7d")
	_, err = c.Costs(ctx, "7d", "hour")
	wantError(t, err, api.BadInput, "want day, agent, role, project")
	w.runs = []fleet.Run{nightly("n-1")}
	for _, r := range []api.RunChange{{Do: "explode"}, {Do: "done", Step: "nosuch"}, {Do: "done", Step: "build"}, {Do: "resume", Step: "judge", As: "maybe"}} {
		_, err := c.ChangeRun(ctx, "n-1", r)
		wantError(t, err, api.BadInput, "cannot")
	}
}

// Who may say what of a run: a person anything, an agent the steps of its own run.
func TestWhoMayChangeARun(t *testing.T) {
	for _, x := range []struct {
		agent   string
		unknown bool
		do      string
		kind    string // of the refusal; "": none
	}{
		{"", false, "done", ""}, {"", false, "cancel", ""}, {"", false, "resume", ""},
		{"n", false, "done", ""}, {"n", false, "fail", ""}, {control.Marked + "n", false, "done", ""},
		{"other", false, "done", api.BadInput}, {control.Marked + "other", false, "fail", api.BadInput},
		{"n", false, "cancel", api.Forbidden}, {"n", false, "resume", api.Forbidden}, {"", true, "done", api.Forbidden},
	} {
		w := newWorld()
		w.runs, w.agent = []fleet.Run{nightly("n-1")}, x.agent
		if x.unknown {
			w.agentErr = errors.New("it cannot be told")
		}
		run, err := client(w).ChangeRun(t.Context(), "n-1", api.RunChange{Do: x.do, Step: map[string]string{"done": "judge", "fail": "judge"}[x.do], Note: "so"})
		var e *api.Error
		if x.kind == "" && err != nil || x.kind != "" && (!errors.As(err, &e) || e.Kind != x.kind) {
			t.Errorf("%+v: %v", x, err)
		}
		if by := fleet.ByAgent("n"); err == nil && x.agent != "" && run.Steps[1].By != by {
			t.Errorf("%+v: reported by %q, want %q", x, run.Steps[1].By, by)
		}
	}
	w := newWorld()
	w.agent = "n"
	_, err := client(w).RunFormula(t.Context(), api.RunRequest{Name: "nightly", Dir: "/"})
	wantError(t, err, api.Forbidden, "it takes a person")
	_, err = client(w).SwitchFormula(t.Context(), "nightly", "disable", api.FormulaSwitchRequest{})
	wantError(t, err, api.Forbidden, "it takes a person")
}

func TestRunView(t *testing.T) {
	w := newWorld()
	w.runs = []fleet.Run{nightly("n-1")}
	w.runs[0].Steps[0].State, w.runs[0].State = fleet.StepPerson, fleet.RunPerson
	run, err := client(w).Run(t.Context(), "n-1")
	if err != nil {
		t.Fatal(err)
	}
	if run.Agent != "n" || run.For != "1m0s" || len(run.Next) == 0 || !strings.Contains(run.Next[0].Command, "custos formula resume n-1 --step build --as done") {
		t.Errorf("%+v", run)
	}
	if strings.Contains(strings.Join(run.Vars, ""), "abc") {
		t.Errorf("a secret is shown: %v", run.Vars)
	}
	list, err := client(w).Runs(t.Context(), false)
	if err != nil || len(list.Runs) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A switch is for what is there: a formula, or what a schedule or a run names.
func TestSwitchOfNothing(t *testing.T) {
	w := newWorld()
	w.runs = []fleet.Run{{ID: "old-1", Formula: "old", State: fleet.RunDone}}
	for _, x := range []struct{ name, project, want string }{
		{"nightly", "", ""}, {"nosuch", "", `cannot find formula "nosuch"`}, {"old", "", ""}, {"nosuch", "app", `cannot find formula "nosuch"`},
	} {
		for _, do := range []string{"disable", "enable"} {
			_, err := client(w).SwitchFormula(t.Context(), x.name, do, api.FormulaSwitchRequest{Project: x.project})
			if x.want == "" && err != nil {
				t.Errorf("%s %+v: %v", do, x, err)
			}
			if x.want != "" {
				wantError(t, err, api.NotFound, x.want)
			}
		}
	}
}

// What a person hears names what is meant, once, and what to type next.
func TestRefusalsOfRuns(t *testing.T) {
	w := newWorld()
	w.runs = []fleet.Run{nightly("nightly-1"), nightly("nightly-2")}
	for _, x := range []struct {
		ask        func(*api.Client) error
		text, hint string
	}{
		{func(c *api.Client) error {
			_, err := c.RunFormula(t.Context(), api.RunRequest{Name: "taken"})
			return err
		},
			"cannot run formula taken: its place is taken", "custos formula ps"},
		{func(c *api.Client) error {
			_, err := c.RunFormula(t.Context(), api.RunRequest{Name: "broken"})
			return err
		},
			"cannot run formula broken:\n/b.toml:3:4: cron: is none", "custos formula lint broken"},
		{func(c *api.Client) error {
			_, err := c.RunFormula(t.Context(), api.RunRequest{Name: "n", Project: "nowhere"})
			return err
		}, "cannot read the formula: there is no project", ""},
		{func(c *api.Client) error { _, err := c.Run(t.Context(), "nightly"); return err },
			`cannot find run "nightly", did you mean "nightly-2"?`, "custos formula ps --all"},
		{func(c *api.Client) error { _, err := c.Run(t.Context(), "nigthly-1"); return err },
			`cannot find run "nigthly-1", did you mean "nightly-1"?`, "custos formula ps --all"},
		{func(c *api.Client) error {
			_, err := c.ChangeRun(t.Context(), "nightly-1", api.RunChange{Do: "done", Step: "nosuch"})
			return err
		}, "cannot report step nosuch of run nightly-1: there is no such step", ""},
	} {
		var e *api.Error
		if err := x.ask(client(w)); !errors.As(err, &e) || e.Message != x.text || e.Hint != x.hint {
			t.Errorf("got %+v, want %q and %q", e, x.text, x.hint)
		}
	}
	w.runs[1].Formula = "taken"
	_, err := client(w).RunFormula(t.Context(), api.RunRequest{Name: "taken"})
	var e *api.Error
	if !errors.As(err, &e) || e.Hint != "custos formula show nightly-2" {
		t.Errorf("got %+v", e)
	}
}

// Of a run that a switch held back it is said how to switch it on: the words are the ledger's.
func TestHintsOfRuns(t *testing.T) {
	hints := func(r fleet.Run, watched bool) string {
		c := control.Control{Watched: watched, Now: func() fleet.Instant { return instant(0) }}
		return strings.Join(view.Each(c.RunView(r).Next, func(h api.Hint) string { return h.Command }), "; ")
	}
	asked := fleet.Run{ID: "n-1", Formula: "n", By: "me", Dir: "/runs/n-1", Source: "/f/n.toml", Mode: fleet.RunSteps,
		Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}}}}
	off, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{Disabled: []string{"n"}}, asked, instant(0))
	if err != nil {
		t.Fatal(err)
	}
	held, failed, kept := off, nightly("n-2"), nightly("n-3")
	ended := nightly("n-4")
	ended.State, ended.Cancel, ended.Steps[0].State, ended.Steps[0].Output = fleet.RunCancelled, "me", fleet.StepFailed, "/runs/n-4/steps/build.1/stdout.log"
	held.Why = "less than 2000 MiB of memory are available"
	failed.State, failed.Steps[0].State, failed.Steps[0].Output = fleet.RunFailed, fleet.StepFailed, "/runs/a b/steps/build.1/stdout.log"
	kept.Session.Keep = "it failed"
	for _, x := range []struct{ got, want string }{
		{hints(off, true), "custos formula enable n"},
		{hints(ended, true), ""}, // nothing went wrong
		{hints(held, true), "custos formula run /f/n.toml"},
		{hints(failed, true), "less '/runs/a b/steps/build.1/stderr.log'; custos formula resume n-2"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
	w := newWorld()
	w.runs = []fleet.Run{kept}
	run, err := client(w).Run(t.Context(), "n-3")
	if err != nil || run.Kept != "" {
		t.Errorf("without a worktree it kept %q, %v", run.Kept, err)
	}
}

func TestPrices(t *testing.T) {
	p, err := client(newWorld()).Prices(t.Context(), "")
	if err != nil || p.Date != "2026-11-20" || len(p.Unpriced) != 0 || p.Since.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = client(newWorld()).Prices(t.Context(), "soon")
	wantError(t, err, api.BadInput, "cannot look back to")
}

func TestCosts(t *testing.T) {
	for by, want := range map[string]string{
		"day":   "[{2026-11-19 2 10 0 0 0.005 0.005 0 1} {2026-11-20 2 7 0 0 0.25 0.2 0.05 0}]",
		"agent": "[{nightly 1 7 0 0 0.25 0.2 0.05 0} {b 2 7 0 0 0 0 0 0} {(none) 1 3 0 0 0 0 0 0}]",
	} {
		c, err := client(newWorld()).Costs(t.Context(), "7d", by)
		if got := fmt.Sprint(c.Rows); err != nil || got != want || c.Total.Calls != 4 || c.Since.Day() != 13 {
			t.Errorf("by %s: %s, %+v, %v", by, got, c, err)
		}
	}
	c, err := client(newWorld()).Costs(t.Context(), "2026-11-18", "")
	if err != nil || c.Since.Format(time.DateTime) != "2026-11-18 00:00:00" || c.By != "day" {
		t.Errorf("%+v, %v", c, err)
	}
	if len(c.Faults) != 1 || c.Faults[0].Kind != "claude" || c.Faults[0].Why != "it told fewer than no tokens" || c.Faults[0].Key != "claude:msg_1" {
		t.Errorf("what could not be counted is not said: %+v", c.Faults)
	}
}
