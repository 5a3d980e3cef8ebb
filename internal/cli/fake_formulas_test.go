package cli_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// book is the formulas and runs of a world: one formula, nightly, whose runs end
// as $RUN says, at the second look.
type book struct {
	w    *world
	runs map[string]*fleet.Run
}

func (b *book) Formulas(ctx context.Context) ([]api.FormulaRow, error) {
	f, err := b.Formula(ctx, api.FormulaQuery{Name: "nightly"})
	return []api.FormulaRow{f.FormulaRow}, err
}

func (b *book) Formula(_ context.Context, q api.FormulaQuery) (api.Formula, error) {
	if q.Name != "nightly" && q.Name != "taken" && q.Text == "" {
		return api.Formula{}, fmt.Errorf("no: %w", fs.ErrNotExist)
	}
	f := api.Formula{FormulaRow: api.FormulaRow{Name: "nightly", Mode: "session", Source: "/home/n.toml", Steps: 2, Description: "Build\x1b[31m and tell.", Schedules: []string{"cron 0 3 * * *"}},
		Text: "Build and tell.", Graph: "1\n└─ build  ← " + strings.Repeat("x", 40) + ", " + strings.Repeat("y", 40) + ", " + strings.Repeat("z", 40) + "\n", DOT: "digraph {}\n",
		Vars: []api.FormulaVar{{Name: "branch", Required: true, Pattern: "[a-z]+"}},
		Plan: []api.FormulaStep{{ID: "build", Do: "run", Argv: []string{"make", "a b"}, Wave: 1}, {ID: "judge", Do: "prose", Text: "Read it.", Needs: []string{"build"}, Wave: 2}}}
	if strings.Contains(q.Text, "broken") {
		f.Refused = true
		f.Problems = append(f.Problems, api.FormulaProblem{File: q.File, Line: 3, Column: 1, Severity: "error", Text: "the steps wait for each other: a → b → a"})
	}
	if q.Lint {
		f.Problems = append(f.Problems, api.FormulaProblem{File: f.Source, Line: 9, Column: 1, Severity: "warning", Text: "step build names the command frob, which is not on this machine"})
	}
	if q.Render && q.Name == "nightly" && q.Vars["branch"] == "" {
		f.Refused = true
		f.Problems = append(f.Problems, api.FormulaProblem{File: f.Source, Severity: "error", Text: `variable "branch" has no value`})
	}
	return f, nil
}

func (b *book) Switch(_ context.Context, name string, on bool, by string) (api.FormulaSwitch, error) {
	out := api.FormulaSwitch{Formula: name}
	if !on {
		out.Disabled = "disabled by me"
	}
	return out, nil
}

func (b *book) Start(_ context.Context, r api.RunRequest, by string) (fleet.Run, error) {
	if r.Name == "taken" {
		return fleet.Run{}, fmt.Errorf("cannot run formula taken: its place is %w: run taken-1 is running", ledger.ErrTaken)
	}
	if !filepath.IsAbs(r.Dir) {
		return fleet.Run{}, fmt.Errorf("no folder")
	}
	return *b.known("nightly-1"), nil
}

// known makes the run nightly-1, and nightly-2, which is over, when they are first asked for.
func (b *book) known(id string) *fleet.Run {
	if b.runs == nil {
		b.runs = map[string]*fleet.Run{}
	}
	if b.runs[id] == nil && strings.HasPrefix(id, "nightly-") {
		at := b.w.pass.Snapshot.At
		b.runs[id] = &fleet.Run{ID: id, Formula: "nightly", By: "me", At: at.Add(-time.Minute), Mode: fleet.RunInTmux, State: fleet.RunOpen, Dir: "/runs/" + id,
			Session: &fleet.RunSession{Agent: id, Kind: "claude"},
			Steps: []fleet.RunStep{{ID: "build", Do: fleet.StepRun, Argv: []string{"make"}, State: fleet.StepRunning, Since: at, Attempt: 1},
				{ID: "judge", Do: fleet.StepProse, State: fleet.StepWaiting, Needs: []string{"build"}}}}
	}
	return b.runs[id]
}

func (b *book) Runs(_ context.Context, f fleet.RunFilter) ([]fleet.Run, error) {
	r := b.known(f.ID)
	if f.ID == "" {
		r = b.known("nightly-1")
	}
	if r == nil {
		return nil, nil
	}
	if f.ID != "" && b.w.asked > 0 { // the second look
		b.finish(r)
	}
	b.w.asked++
	return []fleet.Run{*r}, nil
}

func (b *book) finish(r *fleet.Run) {
	switch os.Getenv("RUN") {
	case "":
		r.State, r.Steps[0].State, r.Steps[1].State = fleet.RunDone, fleet.StepDone, fleet.StepDone
	case "person":
		r.State, r.Steps[0].State, r.Steps[0].Why = fleet.RunPerson, fleet.StepPerson, "in doubt: nobody saw how it ended"
	case "skipped":
		r.State, r.Why = fleet.RunSkipped, "less than 2000 MiB of memory are available"
	case "failed":
		exit := 3
		r.State, r.Steps[0].State, r.Steps[0].Why, r.Steps[0].Exit = fleet.RunFailed, fleet.StepFailed, "it ended with exit status 3", &exit
		r.Steps[0].Output = "/runs/nightly-1/steps/build.1/stdout.log"
	}
}

func (b *book) Change(_ context.Context, id string, change control.RunsChange) (fleet.Run, error) {
	r := b.known(id)
	changed, err := change(nil, *r)
	if err == nil {
		*r = changed
	}
	return changed, err
}

func (w *world) schedules(context.Context) ([]api.ScheduleRow, error) {
	at := w.pass.Snapshot.At.Wall.UTC()
	return []api.ScheduleRow{{Name: "night", Formula: "nightly", Project: "app", When: "cron 0 3 * * *", Enabled: true, NextAt: []time.Time{at.Add(time.Hour)}, LastRun: "nightly-0", LastAt: &at, LastDone: "done"},
		{Name: "full", Formula: "tidy", When: "when host.x", NextAt: []time.Time{}, WhyNot: "disabled: by me"}}, nil
}

func (w *world) prices() api.Prices {
	usd := func(v float64) *float64 { return &v }
	return api.Prices{Date: "2026-11-19", Prices: []api.ModelPrice{{Models: []string{"ours"}, Input: usd(0.5), Output: usd(2), Table: "custos.toml"},
		{Models: []string{"gpt-x", "gpt-y"}, Since: "2026-10-07", Above: 272_000, Input: usd(2.5), CacheRead: usd(0.25), Output: usd(15), Table: "2026-11-19"}}}
}

func (w *world) usageFaults(context.Context, fleet.Instant) ([]fleet.UsageFault, error) {
	if w.never {
		return nil, nil
	}
	return []fleet.UsageFault{{Kind: "claude", Why: "a line of its conversations could not be read", At: w.pass.Snapshot.At.Wall, Key: "/home/ann/.claude/projects/p/s.jsonl", More: []string{"/p/r", "/p/q", "/p/o", "/p/n", "/p/m"}}}, nil
}

func (w *world) costs(_ context.Context, _ fleet.Instant, by string) ([]fleet.Cost, error) {
	if w.never {
		return nil, nil
	}
	if by == "day" {
		return []fleet.Cost{{Key: "2026-11-20", Calls: 5, Tokens: 1_241_200, Cached: 1_200_000, Output: 40_000, Told: 1_500_000, Table: 250_000, Unpriced: 1}}, nil
	}
	return []fleet.Cost{{Calls: 1, Tokens: 1_240_000, Cached: 1_200_000, Output: 40_000, Table: 250_000},
		{Key: "nightly", Calls: 4, Tokens: 1200, Told: 1_500_000, Unpriced: 1}}, nil
}
