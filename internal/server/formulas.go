package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

func (s *server) formulas(req *http.Request, _ Caller) (any, error) {
	rows, err := s.Formulas.Formulas(req.Context())
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []api.FormulaRow{}
	}
	for i := range rows {
		rows[i].Broken = control.Reason(rows[i].Broken)
	}
	return api.Formulas{Formulas: rows, Next: []api.Hint{
		{Command: "custos formula show supervisor", What: "what one does"},
		{Command: "custos formula run supervisor", What: "run it once"},
		{Command: "custos schedule list", What: "what runs by itself"},
	}}, nil
}

// formula reads a formula; it runs nothing of it.
func (s *server) formula(req *http.Request, _ Caller) (any, error) {
	var q api.FormulaQuery
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if q.File != "" && !path.IsAbs(q.File) || (q.Name == "") == (q.File == "") {
		return nil, api.AsBadInput(fmt.Errorf("cannot read a formula: give its name, or its file with an absolute path"))
	}
	f, err := s.read(req.Context(), q)
	if err != nil {
		return nil, err
	}
	if f.Problems == nil {
		f.Problems = []api.FormulaProblem{}
	}
	if f.Vars == nil {
		f.Vars = []api.FormulaVar{}
	}
	if f.Plan == nil {
		f.Plan = []api.FormulaStep{}
	}
	return f, nil
}

// read reads a formula; one that is not there is named, with what may be meant.
func (s *server) read(ctx context.Context, q api.FormulaQuery) (api.Formula, error) {
	f, err := s.Formulas.Formula(ctx, q)
	switch {
	case errors.Is(err, fs.ErrNotExist) && q.File == "":
		return f, s.noFormula(ctx, q.Name)
	case err != nil:
		return f, control.Reasoned(err)
	}
	f.Broken = control.Reason(f.Broken)
	for i := range f.Problems {
		f.Problems[i].Text = control.Reason(f.Problems[i].Text)
	}
	return f, nil
}

// switchFormula switches a formula off or on.
func (s *server) switchFormula(req *http.Request, c Caller) (any, error) {
	name, do := req.PathValue("name"), req.PathValue("do")
	if do != "disable" && do != "enable" {
		return nil, api.AsBadInput(fmt.Errorf("cannot %q a formula: want disable or enable", fleet.Line(do, 40)))
	}
	var q api.FormulaSwitchRequest
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if err := s.mustKnow(req.Context(), name, q.Project); err != nil {
		return nil, err
	}
	out, err := s.Formulas.Switch(req.Context(), name, do == "enable", c.Name())
	if err != nil {
		return nil, api.AsBadInput(control.Reasoned(err))
	}
	return out, nil
}

// mustKnow refuses the name of a formula that is nowhere: among those there are,
// in the project, in a schedule, in a run.
func (s *server) mustKnow(ctx context.Context, name, project string) error {
	_, err := s.Formulas.Formula(ctx, api.FormulaQuery{Name: name, Project: project})
	if !errors.Is(err, fs.ErrNotExist) {
		return control.Reasoned(err)
	}
	if project != "" {
		return s.noFormula(ctx, name)
	}
	schedules, err := s.Schedules(ctx)
	if err != nil || slices.ContainsFunc(schedules, func(r api.ScheduleRow) bool { return r.Formula == name }) {
		return err
	}
	runs, err := s.Runs.Runs(ctx, RunFilter{Limit: runsShown})
	if err != nil || slices.ContainsFunc(runs, func(r fleet.Run) bool { return r.Formula == name }) {
		return err
	}
	return s.noFormula(ctx, name)
}

// noFormula says that there is none of that name, and which is meant where that
// can be guessed.
func (s *server) noFormula(ctx context.Context, name string) error {
	var names []string
	if rows, err := s.Formulas.Formulas(ctx); err == nil {
		names = each(rows, func(r api.FormulaRow) string { return r.Name })
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find formula %q%s", fleet.Line(name, 100), nearest.Hint(name, names)), Hint: "custos formula list"}
}

// problemsTold is how many problems of a formula an error tells.
const problemsTold = 20

// refused says why a formula cannot run: its errors, one a line.
func (s *server) refused(ctx context.Context, r api.RunRequest, f api.Formula) error {
	var lines []string
	for _, p := range f.Problems {
		if p.Severity == "error" {
			lines = append(lines, placeOf(p)+": "+p.Text)
		}
	}
	if more := len(lines) - problemsTold; more > 0 {
		lines = append(lines[:problemsTold], fmt.Sprintf("and %d more", more))
	}
	spoken, do := cmp.Or(r.Name, r.File), "lint"
	if whole, err := s.read(ctx, api.FormulaQuery{Name: r.Name, File: r.File, Text: r.Text, Project: r.Project}); err == nil && !whole.Refused {
		do = "show" // only the values are wrong: it says which there are
	}
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot run formula %s:\n%s", cmp.Or(f.Name, spoken), strings.Join(lines, "\n")),
		Hint: command("custos", "formula", do, spoken)}
}

func placeOf(p api.FormulaProblem) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
