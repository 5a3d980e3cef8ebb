package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// formulas are read by anyone, and switched by a person.
func formulas() Noun {
	return Noun{"formulas", []Verb{
		{Name: "list", Do: asks((*Control).formulas)},
		{Name: "read", Large: true, Do: given((*Control).formula)},
		{Name: "switch", Access: Person, Do: given((*Control).switchFormula)},
	}}
}

// schedules are looked at only: they are written in custos.toml.
func schedules() Noun {
	return Noun{"schedules", []Verb{{Name: "list", Do: asks((*Control).schedules)}}}
}

// schedules lists what runs by itself, when next, and why not.
func (c *Control) schedules(ctx context.Context, _ Call) (api.Schedules, error) {
	rows, err := c.Schedules(ctx)
	out := api.Schedules{At: c.Now().Wall.UTC(), Watched: c.Watched, Schedules: append([]api.ScheduleRow{}, rows...), Next: []api.Hint{}}
	if !c.Watched && len(rows) > 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos up", What: "no daemon runs now: no schedule starts anything"})
	}
	return out, err
}

func (c *Control) formulas(ctx context.Context, call Call) (api.Formulas, error) {
	rows, err := c.Formulas.Formulas(ctx)
	if err != nil {
		return api.Formulas{}, err
	}
	if rows == nil {
		rows = []api.FormulaRow{}
	}
	for i := range rows {
		rows[i].Broken = Reason(rows[i].Broken)
	}
	return api.Formulas{Formulas: rows, Next: []api.Hint{
		{Command: "custos formula show supervisor", What: "what one does"},
		{Command: "custos formula run supervisor", What: "run it once"},
		{Command: "custos schedule list", What: "what runs by itself"},
	}}, nil
}

// formula reads a formula; it runs nothing of it.
func (c *Control) formula(ctx context.Context, call Call, q api.FormulaQuery) (api.Formula, error) {
	if q.File != "" && !path.IsAbs(q.File) || (q.Name == "") == (q.File == "") {
		return api.Formula{}, api.AsBadInput(fmt.Errorf("cannot read a formula: give its name, or its file with an absolute path"))
	}
	f, err := c.read(ctx, q)
	if err != nil {
		return api.Formula{}, err
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
func (c *Control) read(ctx context.Context, q api.FormulaQuery) (api.Formula, error) {
	f, err := c.Formulas.Formula(ctx, q)
	switch {
	case errors.Is(err, fs.ErrNotExist) && q.File == "":
		return f, c.noFormula(ctx, q.Name)
	case err != nil:
		return f, Reasoned(err)
	}
	f.Broken = Reason(f.Broken)
	for i := range f.Problems {
		f.Problems[i].Text = Reason(f.Problems[i].Text)
	}
	return f, nil
}

// switchFormula switches a formula off or on.
func (c *Control) switchFormula(ctx context.Context, call Call, q api.FormulaSwitchRequest) (api.FormulaSwitch, error) {
	name, do := call.ID, call.Do
	if do != "disable" && do != "enable" {
		return api.FormulaSwitch{}, api.AsBadInput(fmt.Errorf("cannot %q a formula: want disable or enable", fleet.Line(do, 40)))
	}
	if err := c.mustKnow(ctx, name, q.Project); err != nil {
		return api.FormulaSwitch{}, err
	}
	out, err := c.Formulas.Switch(ctx, name, do == "enable", call.By)
	if err != nil {
		return api.FormulaSwitch{}, api.AsBadInput(Reasoned(err))
	}
	return out, nil
}

// mustKnow refuses the name of a formula that is nowhere: among those there are,
// in the project, in a schedule, in a run.
func (c *Control) mustKnow(ctx context.Context, name, project string) error {
	_, err := c.Formulas.Formula(ctx, api.FormulaQuery{Name: name, Project: project})
	if !errors.Is(err, fs.ErrNotExist) {
		return Reasoned(err)
	}
	if project != "" {
		return c.noFormula(ctx, name)
	}
	schedules, err := c.Schedules(ctx)
	if err != nil || slices.ContainsFunc(schedules, func(r api.ScheduleRow) bool { return r.Formula == name }) {
		return err
	}
	runs, err := c.Runs.Runs(ctx, fleet.RunFilter{Limit: runsShown})
	if err != nil || slices.ContainsFunc(runs, func(r fleet.Run) bool { return r.Formula == name }) {
		return err
	}
	return c.noFormula(ctx, name)
}

// noFormula says that there is none of that name, and which is meant where that
// can be guessed.
func (c *Control) noFormula(ctx context.Context, name string) error {
	var names []string
	if rows, err := c.Formulas.Formulas(ctx); err == nil {
		names = each(rows, func(r api.FormulaRow) string { return r.Name })
	}
	return missing("formula", name, names, "custos formula list")
}

// problemsShown is how many problems of a formula an error has.
const problemsShown = 20

// refused says why a formula cannot run: its errors, one a line.
func (c *Control) refused(ctx context.Context, r api.RunRequest, f api.Formula) error {
	var lines []string
	for _, p := range f.Problems {
		if p.Severity == "error" {
			lines = append(lines, placeOf(p)+": "+p.Text)
		}
	}
	if more := len(lines) - problemsShown; more > 0 {
		lines = append(lines[:problemsShown], fmt.Sprintf("and %d more", more))
	}
	spoken, do := cmp.Or(r.Name, r.File), "lint"
	if whole, err := c.read(ctx, api.FormulaQuery{Name: r.Name, File: r.File, Text: r.Text, Project: r.Project}); err == nil && !whole.Refused {
		do = "show" // only the values are wrong: it says which there are
	}
	return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot run formula %s:\n%s", cmp.Or(f.Name, spoken), strings.Join(lines, "\n")),
		Hint: api.Typed("custos", "formula", do, spoken)}
}

func placeOf(p api.FormulaProblem) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Formulas are the formulas there are. They are read, and nothing of them is run.
type Formulas interface {
	// Formulas lists them, by name.
	Formulas(ctx context.Context) ([]api.FormulaRow, error)
	// Formula reads one; what is wrong with it is in the answer. fs.ErrNotExist
	// when there is no such formula.
	Formula(ctx context.Context, q api.FormulaQuery) (api.Formula, error)
	// Start writes a run of one down and returns it as the first pass left it. The same ID
	// twice is one run. A formula that cannot run wraps ledger.ErrIllegal, one whose
	// place is taken by another run ledger.ErrTaken.
	Start(ctx context.Context, r api.RunRequest, by string) (fleet.Run, error)
	// Switch switches one on or off.
	Switch(ctx context.Context, name string, on bool, by string) (api.FormulaSwitch, error)
}
