package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"custos/formulas"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/rules"
	"custos/internal/server"
)

// formulaSettings is the section [formulas] of custos.toml.
type formulaSettings struct {
	// Dirs are folders of formulas, before ~/.config/custos/formulas.
	Dirs []string `toml:"dirs"`
	// Projects names folders: --project NAME, and project = "NAME" of a formula.
	Projects map[string]string `toml:"projects"`
	Agent    string            `toml:"agent"`     // kind of agent for formulas that name none; "claude"
	Argv     []string          `toml:"argv"`      // its command line; the kind's own by default
	Env      []string          `toml:"env"`       // names of variables that agents of formulas get
	Account  string            `toml:"account"`   // whose rate limit they share
	Factory  string            `toml:"factory"`   // FACTORY_ROOT of agents
	ForgeAPI string            `toml:"forge_api"` // FORGE_API of agents
	Active   string            `toml:"active"`    // folder of Disinto's switches: .NAME-active
	Replies  string            `toml:"replies"`   // folder where people reply to escalations; by default one of the state folder
}

// formulary finds formulas, reads them, and knows which are switched off. Of a
// formula that is only read, nothing is run.
type formulary struct {
	formulaSettings
	state string   // the state folder
	dirs  []string // all folders of formulas but those of projects, in order
	own   []string // those of dirs whose formulas run by their own schedules
	kinds []string // of agents
}

// newFormulary reads the section.
func newFormulary(cfg config.Config, kinds []string) (*formulary, error) {
	b := &formulary{state: cfg.StateDir, kinds: kinds}
	if err := cfg.Section("formulas", &b.formulaSettings); err != nil {
		return nil, err
	}
	wrong := func(key string, err error) error {
		return fmt.Errorf("cannot read %s:%d: [formulas] %s: %w", cfg.File, cfg.Line("formulas."+key), key, err)
	}
	for i, dir := range b.Dirs {
		path, err := cfg.Expand(dir)
		if err != nil {
			return nil, wrong("dirs", err)
		}
		b.Dirs[i] = path
	}
	for _, p := range []struct {
		key  string
		path *string
	}{{"factory", &b.Factory}, {"active", &b.Active}, {"replies", &b.Replies}} {
		if *p.path == "" {
			continue
		}
		path, err := cfg.Expand(*p.path)
		if err != nil {
			return nil, wrong(p.key, err)
		}
		*p.path = path
	}
	for name, dir := range b.Projects {
		path, err := cfg.Expand(dir)
		if err != nil {
			return nil, wrong("projects."+name, err)
		}
		b.Projects[name] = path
	}
	b.Replies = cmp.Or(b.Replies, filepath.Join(b.state, "replies"))
	b.Agent = cmp.Or(b.Agent, "claude")
	if !slices.Contains(kinds, b.Agent) {
		return nil, wrong("agent", fmt.Errorf("there is no kind %q; there are %s", fleet.Line(b.Agent, 40), strings.Join(kinds, ", ")))
	}
	b.own = slices.Concat(b.Dirs, []string{filepath.Join(filepath.Dir(cfg.File), "formulas")})
	b.dirs = b.own
	return b, nil
}

// project finds the folder of a project (raw): by its name, or as it is when it is
// a path. "" is none.
func (b *formulary) project(name string) (dir string, err error) {
	switch dir, named := b.Projects[name]; {
	case name == "":
		return "", nil
	case named:
		return dir, nil
	case filepath.IsAbs(name):
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			return "", fmt.Errorf("%w: there is no folder %s", ledger.ErrIllegal, fleet.Path(name))
		}
		return filepath.Clean(name), nil
	}
	return "", fmt.Errorf("%w: there is no project %q: name it in [formulas] projects, or give its folder", ledger.ErrIllegal, fleet.Line(name, 80))
}

var formulaName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// lookup returns where formulas are looked up for a project (its folder, "" for
// none), beside a file of formulas (its folder). What a project holds wins.
func (b *formulary) lookup(project, beside string) formula.Lookup {
	var dirs []string
	if beside != "" {
		dirs = append(dirs, beside)
	}
	if project != "" {
		dirs = append(dirs, filepath.Join(project, ".custos", "formulas"))
	}
	dirs = append(dirs, b.dirs...)
	return func(name string) ([]byte, string, bool) {
		if !formulaName.MatchString(name) {
			return nil, "", false
		}
		for _, dir := range dirs {
			for _, ending := range []string{".toml", ".formula.toml"} {
				file := filepath.Join(dir, name+ending)
				text, err := config.ReadFile(file, formula.MaxBytes+1)
				if err == nil {
					return text, file, true
				}
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
					return tooLarge(err), file, true
				}
			}
		}
		return formulas.Lookup(name)
	}
}

// tooLarge stands for the text of a file that cannot be read: Parse refuses it by
// its size, or as what it is.
func tooLarge(err error) []byte {
	if strings.Contains(err.Error(), "larger than") {
		return make([]byte, formula.MaxBytes+1)
	}
	return []byte("this file cannot be read: " + fleet.Line(err.Error(), 200))
}

// reading is a formula as far as it could be read.
type reading struct {
	f        formula.Formula // with Values when it was rendered
	plain    formula.Formula // before it was rendered
	dir      string          // of the project (raw)
	project  string          // as it was named
	problems []formula.Problem
}

func (r reading) refused() bool { return formula.Refused(r.problems) }

// read reads a formula, brings in what it builds on, checks it, and renders it.
func (b *formulary) read(q api.FormulaQuery) (r reading, err error) {
	r.project = q.Project
	if r.dir, err = b.project(q.Project); err != nil {
		return r, err
	}
	text, file, beside := []byte(q.Text), q.File, ""
	if q.File != "" {
		beside = filepath.Dir(q.File)
	} else {
		var ok bool
		if text, file, ok = b.lookup(r.dir, "")(q.Name); !ok {
			return r, fmt.Errorf("cannot find formula %q: %w", fleet.Line(q.Name, 80), fs.ErrNotExist)
		}
	}
	r.f, r.problems = formula.Parse(file, text)
	if r.project == "" && r.f.Project != "" && q.File == "" {
		if dir, named := b.Projects[r.f.Project]; named {
			r.project, r.dir = r.f.Project, dir
		}
	}
	if !r.refused() {
		var more []formula.Problem
		r.f, more = formula.Resolve(r.f, b.lookup(r.dir, beside))
		r.problems = append(r.problems, more...)
	}
	if !r.refused() {
		r.problems = append(r.problems, formula.Check(r.f, b.checks())...)
	}
	r.plain = r.f
	if !r.refused() {
		rendered, more := formula.Render(r.f, q.Vars)
		if q.Render {
			r.problems = append(r.problems, more...)
		}
		if q.Render || !formula.Refused(more) {
			r.f = rendered
		}
	}
	return r, nil
}

func (b *formulary) checks() formula.Checks {
	return formula.Checks{Uses: ledger.Uses(), Agents: b.kinds,
		Cron: func(expr string) error { return ledger.CheckCron(expr, "") },
		When: func(expr string) error { _, err := rules.CompileCondition(expr); return err },
		Gate: func(g formula.Gate) error { return ledger.CheckStepGate(gateOf(g)) }}
}

// names lists every formula that may be named without a project.
func (b *formulary) names() []string {
	out := formulas.Names()
	for _, dir := range b.dirs {
		out = append(out, formulasIn(dir)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func formulasIn(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a folder that is not there holds none
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".toml")
		name = strings.TrimSuffix(name, ".formula")
		if ok && !strings.HasSuffix(name, ".overlay") && formulaName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// switchFile is the file whose presence switches a formula off.
func (b *formulary) switchFile(name string) string {
	return filepath.Join(b.state, "disabled", url.PathEscape(name))
}

// disabled says why a formula does not run; "" when it may.
func (b *formulary) disabled(name string) string {
	if off := b.switchedOff(name); off != "" || b.Active == "" {
		return off
	}
	role := "." + strings.TrimPrefix(name, "run-") + "-active"
	if _, err := os.Lstat(filepath.Join(b.Active, role)); err != nil {
		return "the factory has no " + fleet.Path(filepath.Join(b.Active, role))
	}
	return ""
}

// switchedOff says why a formula, or a plugin, was switched off; "" when it was not.
// What cannot be told does not run.
func (b *formulary) switchedOff(name string) string {
	text, err := config.ReadFile(b.switchFile(name), 4<<10)
	switch {
	case err == nil:
		return cmp.Or(fleet.Line(string(text), 200), "switched off")
	case errors.Is(err, fs.ErrNotExist):
		return ""
	}
	return "it cannot be told whether it is switched off: " + fleet.Line(err.Error(), 200)
}

// switchTo switches a formula off or on.
func (b *formulary) switchTo(name string, on bool, by string) error {
	if name == "" || strings.Trim(name, ".") == "" || len(name) > 200 {
		return fmt.Errorf("%w: %q is no name of a formula", ledger.ErrIllegal, fleet.Line(name, 80))
	}
	file := b.switchFile(name)
	if on {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot enable formula %s: %w", name, err)
		}
		return nil
	}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte("disabled by "+fleet.Line(by, 80)+"\n"), 0o600)
	}
	if _, there := os.Lstat(file); err != nil && there != nil { // without room for its text it is there all the same
		return fmt.Errorf("cannot disable formula %s: %w", name, err)
	}
	return nil
}

// library is the formulary as the server's port wants it.
type library struct{ s *system }

var _ server.Formulas = library{}

// Formulas lists the formulas.
func (l library) Formulas(ctx context.Context) (rows []api.FormulaRow, err error) {
	for _, name := range l.s.formulas.names() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := l.Formula(ctx, api.FormulaQuery{Name: name})
		if err != nil {
			f.FormulaRow = api.FormulaRow{Name: name, Broken: fleet.Line(err.Error(), 300)}
		}
		rows = append(rows, f.FormulaRow)
	}
	return rows, nil
}

// Formula reads one formula.
func (l library) Formula(_ context.Context, q api.FormulaQuery) (api.Formula, error) {
	r, err := l.s.formulas.read(q)
	if errors.Is(err, ledger.ErrIllegal) {
		return api.Formula{}, &api.Error{Kind: api.BadInput, Message: "cannot read the formula: " + err.Error()}
	}
	if err != nil {
		return api.Formula{}, err
	}
	if q.Lint {
		r.problems = append(r.problems, missingCommands(r.plain)...)
	}
	return formulaView(r, l.s.formulas), nil
}

// Switch switches a formula off or on.
func (l library) Switch(_ context.Context, name string, on bool, by string) (api.FormulaSwitch, error) {
	b := l.s.formulas
	if err := b.switchTo(name, on, by); err != nil {
		return api.FormulaSwitch{}, err
	}
	out := api.FormulaSwitch{Formula: name, Disabled: b.disabled(name)}
	if _, _, known := b.lookup("", "")(name); !known {
		out.Note = "(There is no formula of that name outside of projects.)"
	}
	return out, nil
}

// missingCommands warns of commands that a formula names and this machine has not got.
func missingCommands(f formula.Formula) (out []formula.Problem) {
	for _, c := range formula.Commands(f) {
		if _, err := exec.LookPath(c.Name); err != nil && c.Name != toolSend {
			out = append(out, formula.Problem{File: f.File, Line: c.Line, Column: 1, Severity: formula.Warning,
				Text: fmt.Sprintf("step %s names the command %s, which is not on this machine", c.Step, c.Name)})
		}
	}
	return out
}

// formulaView is a formula for people and machines.
func formulaView(r reading, b *formulary) api.Formula {
	f := r.f
	first, _, _ := strings.Cut(strings.TrimSpace(f.Description), "\n")
	out := api.Formula{FormulaRow: api.FormulaRow{Name: fleet.Line(f.Name, 100), Description: fleet.Line(first, 200), Type: string(f.Type), Mode: string(f.Mode),
		Project: r.project, Source: fleet.Path(f.File), Disabled: b.disabled(f.Name)},
		Text: fleet.Text(f.Description), Values: f.Values, Refused: r.refused()}
	for _, s := range f.Schedules {
		out.Schedules = append(out.Schedules, scheduleWords(scheduleOf(s)))
	}
	for _, v := range slices.Concat(r.plain.Vars, r.plain.Inputs) {
		out.Vars = append(out.Vars, api.FormulaVar{Name: v.Name, Description: fleet.Line(v.Description, 300), Default: v.Default, Required: v.Required, Enum: v.Enum, Pattern: v.Pattern})
	}
	for _, p := range r.problems {
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
	is := stepOf(s)
	out := api.FormulaStep{ID: is.ID, Title: fleet.Line(is.Title, 200), Needs: is.Needs, Do: string(is.Do), Argv: is.Argv, Script: fleet.Text(is.Script),
		Uses: is.Uses, With: is.With, Text: fleet.Text(is.Text), Retries: is.Retries, Safe: is.Safe, Wave: wave}
	if is.Timeout > 0 {
		out.Timeout = is.Timeout.String()
	}
	return out
}
