package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/library"
)

// Formulas lists the formulas, with the schedules that they run by: those, and only
// those, that custos schedule list has.
func (d OnDisk) Formulas(ctx context.Context) (rows []api.FormulaRow, err error) {
	b := d.Library.Formulas
	for _, name := range b.Names() {
		rows = append(rows, d.row(ctx, name, ""))
	}
	for _, project := range slices.Sorted(maps.Keys(b.Projects)) {
		for _, name := range slices.Compact(b.OfProject(project)) {
			rows = append(rows, d.row(ctx, name, project))
		}
	}
	for i := range rows {
		rows[i].Schedules = nil
	}
	for _, s := range d.Library.Schedules.All(ctx) {
		i := slices.IndexFunc(rows, func(r api.FormulaRow) bool {
			return r.Name == s.Run.Formula && (r.Source == s.Run.Source || s.Run.Source == "" && r.Project == s.Run.Project)
		})
		if i < 0 {
			rows = append(rows, api.FormulaRow{Name: s.Run.Formula, Project: s.Run.Project, Source: s.Run.Source, Broken: s.Broken})
			i = len(rows) - 1
		}
		rows[i].Schedules = append(rows[i].Schedules, s.Words())
	}
	return rows, ctx.Err()
}

// row is a formula in the list; a project's own says why it is not the one that is
// run under its name.
func (d OnDisk) row(ctx context.Context, name, project string) api.FormulaRow {
	f, err := d.Formula(ctx, api.FormulaQuery{Name: name, Project: project})
	source := fleet.Path(d.Library.Formulas.InProject(project))
	switch {
	case err != nil:
		f.FormulaRow = api.FormulaRow{Name: name, Project: project, Broken: fleet.Line(err.Error(), 300)}
	case project != "" && !strings.HasPrefix(f.Source, source+"/"):
		return api.FormulaRow{Name: name, Project: project, Source: source, Broken: fmt.Sprintf("not run: %s is, unless it is trusted and [formulas] shadows = { %s = [%q] }", f.Source, project, name)}
	}
	if project != "" && f.Source == "" {
		f.Source = source
	}
	return f.FormulaRow
}

// Formula reads one formula.
func (d OnDisk) Formula(_ context.Context, q api.FormulaQuery) (api.Formula, error) {
	r, err := d.Library.Formulas.Read(q)
	if errors.Is(err, ledger.ErrIllegal) {
		return api.Formula{}, &api.Error{Kind: api.BadInput, Message: "cannot read the formula: " + err.Error()}
	}
	if err != nil {
		return api.Formula{}, err
	}
	if q.Lint {
		r.Problems = append(r.Problems, missingCommands(r.Plain)...)
	}
	return formulaView(r, d.Library.Formulas.Disabled(r.Formula.Name)), nil
}

// Switch switches a formula off or on.
func (d OnDisk) Switch(_ context.Context, name string, on bool, by string) (api.FormulaSwitch, error) {
	b := d.Library.Formulas
	if err := b.SwitchTo(name, on, by); err != nil {
		return api.FormulaSwitch{}, err
	}
	out := api.FormulaSwitch{Formula: name, Disabled: b.Disabled(name)}
	if !b.Known(name) {
		out.Note = "(There is no formula of that name outside of projects.)"
	}
	return out, nil
}

// missingCommands warns of commands that a formula names and this machine has not got.
func missingCommands(f formula.Formula) (out []formula.Problem) {
	for _, c := range formula.Commands(f) {
		if _, err := exec.LookPath(c.Name); err != nil && !slices.Contains([]string{ToolSend, "gt", "bd"}, c.Name) {
			out = append(out, formula.Problem{File: f.File, Line: c.Line, Column: 1, Severity: formula.Warning,
				Text: fmt.Sprintf("step %s names the command %s, which is not on this machine", c.Step, c.Name)})
		}
	}
	return out
}

// formulaView is a formula for people and machines.
func formulaView(r library.Reading, disabled string) api.Formula {
	f := r.Formula
	first, _, _ := strings.Cut(strings.TrimSpace(f.Description), "\n")
	out := api.Formula{FormulaRow: api.FormulaRow{Name: fleet.Line(f.Name, 100), Description: fleet.Line(first, 200), Type: string(f.Type), Mode: string(f.Mode),
		Project: r.Project, Source: fleet.Path(f.File), Disabled: disabled},
		Text: fleet.Text(f.Description), Values: f.Values, Refused: r.Refused()}
	for _, s := range r.Schedules() {
		out.Schedules = append(out.Schedules, s.Words())
	}
	for _, v := range slices.Concat(r.Plain.Vars, r.Plain.Inputs) {
		out.Vars = append(out.Vars, api.FormulaVar{Name: v.Name, Description: fleet.Line(v.Description, 300), Default: v.Default, Required: v.Required, Enum: v.Enum, Pattern: v.Pattern})
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, api.FormulaProblem{File: fleet.Path(p.File), Line: p.Line, Column: p.Column, Severity: string(p.Severity), Text: fleet.Line(p.Text, 500)})
		if p.Severity == formula.Error && out.Broken == "" {
			out.Broken = fleet.Line(p.String(), 300)
		}
	}
	for i, wave := range formula.Waves(f) {
		for _, s := range wave {
			out.Plan = append(out.Plan, planStep(s, i+1))
		}
	}
	out.Steps, out.Graph, out.DOT = len(out.Plan), fleet.Text(formula.Text(f)), fleet.Text(formula.DOT(f))
	return out
}

func planStep(s formula.Step, wave int) api.FormulaStep {
	is := library.StepOf(s)
	out := api.FormulaStep{ID: is.ID, Title: fleet.Line(is.Title, 200), Needs: is.Needs, Do: string(is.Do), Argv: is.Argv, Script: fleet.Text(is.Script),
		Uses: is.Uses, With: is.With, Text: fleet.Text(is.Text), Retries: is.Retries, Safe: is.Safe, Wave: wave}
	if is.Timeout > 0 {
		out.Timeout = is.Timeout.String()
	}
	return out
}

// Start reads and renders a formula, and begins a run of it.
func (d OnDisk) Start(ctx context.Context, q api.RunRequest, by string) (fleet.Run, error) {
	b := d.Library.Formulas
	read, err := b.Read(api.FormulaQuery{Name: q.Name, File: q.File, Text: q.Text, Project: q.Project, Vars: q.Vars, Render: true})
	if err != nil {
		return fleet.Run{}, err
	}
	if read.Refused() {
		return fleet.Run{}, fmt.Errorf("%w: %s", ledger.ErrIllegal, read.Errors())
	}
	work := cmp.Or(read.Dir, q.Dir)
	if work == "" {
		work, _ = os.UserHomeDir() // checked before anything is begun there
	}
	run := b.Template(ctx, read, work)
	run.ID = library.RunID(run.Formula, q.ID)
	run.Dir, run.By = fleet.Path(filepath.Join(b.RunsDir(), run.ID)), by
	if !read.Plain.SingleFlight { // it may run beside itself: each run is a flight of its own
		run.Project = strings.TrimSpace(run.Project + " #" + run.ID)
	}
	return d.Take(ctx, run, q.Detach)
}
