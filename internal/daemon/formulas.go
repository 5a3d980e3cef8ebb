package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/rules"
	"custos/internal/server"
)

// formulaSettings is the section [formulas] of custos.toml.
type formulaSettings struct {
	// Dirs are folders of formulas, before ~/.config/custos/formulas.
	Dirs []string `toml:"dirs" is:"path"`
	// Projects names folders: --project NAME, and project = "NAME" of a formula.
	Projects map[string]string `toml:"projects" is:"path"`
	Agent    string            `toml:"agent"`             // kind of agent for formulas that name none; "claude"
	Argv     []string          `toml:"argv"`              // its command line; the kind's own by default
	Env      []string          `toml:"env" is:"name"`     // names of variables that agents of formulas get
	Account  string            `toml:"account"`           // whose rate limit they share
	Factory  string            `toml:"factory" is:"path"` // FACTORY_ROOT of agents
	ForgeAPI string            `toml:"forge_api"`         // FORGE_API of agents
	Active   string            `toml:"active" is:"path"`  // folder of Disinto's switches: .NAME-active
	Replies  string            `toml:"replies" is:"path"` // folder where people reply to escalations; by default one of the state folder
	// Shadows names, by project, formulas of it that are run instead of those of the
	// same name that are a person's own or come with Custos.
	Shadows map[string][]string `toml:"shadows"`
}

// formulary finds formulas, reads them, and knows which are switched off. Of a
// formula that is only read, nothing is run.
type formulary struct {
	formulaSettings
	state string   // the state folder
	dirs  []string // all folders of formulas but those of projects, in order
	own   []string // those of dirs whose formulas run by their own schedules
	kinds []string // of agents
	code  *codeShelf
	// grants names the variables that a formula or plugin of a project may be given,
	// by PROJECT/NAME and PROJECT/plugin:NAME.
	grants map[string][]string
}

// newFormulary reads the section.
func newFormulary(cfg config.Config, kinds []string, code *codeShelf) (*formulary, error) {
	b := &formulary{state: cfg.StateDir, kinds: kinds, code: code}
	if err := cfg.Section("formulas", &b.formulaSettings); err != nil {
		return nil, err
	}
	wrong := func(key string, err error) error {
		return fmt.Errorf("cannot read %s:%d: [formulas] %s: %w", cfg.File, cfg.Line("formulas."+key), key, err)
	}
	if err := cfg.Section("grants", &b.grants); err != nil {
		return nil, err
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
	for name := range b.Shadows {
		if _, named := b.Projects[name]; !named {
			return nil, wrong("shadows", fmt.Errorf("there is no project %q in [formulas] projects", fleet.Line(name, 80)))
		}
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

// lookup returns where formulas are looked up for a project (its name and folder, ""
// for none), beside a file of formulas (its folder). A project's own formula, and one
// that lies beside a file, is never taken for a person's own or a shipped one of that
// name, unless custos.toml says that it may. Overlays are what projects are asked for.
func (b *formulary) lookup(name, project, beside string) formula.Lookup {
	return func(want string) ([]byte, string, bool) {
		if !formulaName.MatchString(want) {
			return nil, "", false
		}
		if project != "" && slices.Contains(b.Shadows[name], want) {
			if text, file, _ := b.pinned(b.code.ofProject(project, name), "formulas/", want); text != nil {
				return text, file, true
			}
		}
		for _, dir := range b.dirs {
			if text, file, ok := b.within(dir, want); ok {
				return text, file, true
			}
		}
		if text, file, ok := formulas.Lookup(want); ok {
			return text, file, true
		}
		if project != "" {
			if text, file, _ := b.pinned(b.code.ofProject(project, name), "formulas/", want); text != nil {
				return text, file, true
			}
		}
		if beside != "" {
			return fileIn(beside, want)
		}
		return nil, "", false
	}
}

// within finds a formula in a folder of custos.toml, or of a person's own.
func (b *formulary) within(dir, name string) (text []byte, file string, ok bool) {
	if tree := b.code.ofFolder(dir, false); tree != nil {
		text, file, _ = b.pinned(tree, "", name)
		return text, file, text != nil
	}
	return fileIn(dir, name)
}

// endings are how files of formulas may end.
func endings() []string { return []string{".toml", ".formula.toml"} }

// pinned finds a formula that a person trusts; why says why there is none, though
// there is one of that name.
func (b *formulary) pinned(tree *codeTree, below, name string) (text []byte, file, why string) {
	for _, ending := range endings() {
		text, not := b.code.text(tree, below+name+ending)
		if text != nil {
			return text, filepath.Join(tree.dir, below+name+ending), ""
		}
		why = cmp.Or(why, not)
	}
	return nil, "", why
}

func fileIn(dir, name string) ([]byte, string, bool) {
	for _, ending := range endings() {
		file := filepath.Join(dir, name+ending)
		text, err := config.ReadFile(file, formula.MaxBytes+1)
		if err == nil {
			return text, file, true
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return tooLarge(err), file, true
		}
	}
	return nil, "", false
}

// untrusted says why a formula that there is was not found; "" when there is none.
func (b *formulary) untrusted(name, project, want string) (why string) {
	if !formulaName.MatchString(want) {
		return ""
	}
	for _, dir := range b.dirs {
		if tree := b.code.ofFolder(dir, false); tree != nil && why == "" {
			_, _, why = b.pinned(tree, "", want)
		}
	}
	if project != "" && why == "" {
		_, _, why = b.pinned(b.code.ofProject(project, name), "formulas/", want)
	}
	return why
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
		if text, file, ok = b.lookup(r.project, r.dir, "")(q.Name); !ok {
			if why := b.untrusted(r.project, r.dir, q.Name); why != "" {
				return r, fmt.Errorf("%w: %s", ledger.ErrIllegal, why)
			}
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
		r.f, more = formula.Resolve(r.f, b.lookup(r.project, r.dir, beside))
		r.problems = append(append(r.problems, more...), b.passedOver(r)...)
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
		r.problems = append(r.problems, b.ungranted(r, q.Name)...)
	}
	return r, nil
}

// passedOver warns of an overlay that is not laid over the formula, since nobody
// trusts it, and of a formula of the project that another one of its name is run for.
func (b *formulary) passedOver(r reading) (out []formula.Problem) {
	if r.dir == "" || !formulaName.MatchString(r.f.Name) {
		return nil
	}
	tree := b.code.ofProject(r.dir, r.project)
	warn := func(format string, args ...any) {
		out = append(out, formula.Problem{File: r.f.File, Line: 1, Column: 1, Severity: formula.Warning, Text: fmt.Sprintf(format, args...)})
	}
	if _, _, why := b.pinned(tree, "formulas/", r.f.Name+".overlay"); why != "" {
		warn("the project's overlay is left out: %s", why)
	}
	text, file, why := b.pinned(tree, "formulas/", r.f.Name)
	if (text != nil || why != "") && file != r.f.File {
		warn("the project has a formula of this name, which is not the one that is run: say [formulas] shadows = { %s = [%q] } to have it run", r.project, r.f.Name)
	}
	return out
}

// ungranted refuses what a formula asks to be given that only custos.toml can give.
func (b *formulary) ungranted(r reading, name string) (out []formula.Problem) {
	grant := strings.TrimPrefix(r.project+"/"+cmp.Or(name, r.f.Name), "/")
	for _, s := range r.f.Steps {
		at := s.Places["env"]
		file := cmp.Or(at.File, r.f.File)
		for _, v := range b.missing(file, grant, s.Env) {
			out = append(out, formula.Problem{File: file, Line: max(at.Line, 1), Column: max(at.Column, 1), Severity: formula.Error,
				Text: fmt.Sprintf("step %q asks for %s, which only custos.toml can grant: [grants] %q = [%q]", s.ID, v, grant, v)})
		}
	}
	return out
}

// missing lists the variables that a file asks for, and was not granted.
func (b *formulary) missing(file, grant string, env []string) (out []string) {
	if b.code.theirs(file) {
		return nil
	}
	for _, v := range env {
		if !slices.Contains(b.grants[grant], v) {
			out = append(out, v)
		}
	}
	return out
}

func (b *formulary) checks() formula.Checks {
	return formula.Checks{Uses: runs.Uses(), Agents: b.kinds,
		Cron: func(expr string) error { return ledger.CheckCron(expr, "") },
		When: func(expr string) error { _, err := rules.CompileCondition(expr); return err },
		Gate: func(g formula.Gate) error { return ledger.CheckStepGate(gateOf(g)) }}
}

// names lists every formula that may be named without a project.
func (b *formulary) names() []string {
	out := formulas.Names()
	for _, dir := range b.dirs {
		out = append(out, b.formulasIn(dir)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// formulasIn lists the formulas of a folder, whether or not they may be run.
func (b *formulary) formulasIn(dir string) []string {
	if tree := b.code.ofFolder(dir, false); tree != nil {
		return formulaNames(b.code.names(tree, ""))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a folder that is not there holds none
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	return formulaNames(files)
}

// ofProject lists the formulas of a project, whether or not they may be run.
func (b *formulary) ofProject(name string) []string {
	return formulaNames(b.code.names(b.code.ofProject(b.Projects[name], name), "formulas/"))
}

// formulaNames are those that files are of.
func formulaNames(files []string) (names []string) {
	for _, file := range files {
		name, ok := strings.CutSuffix(file, ".toml")
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

// Formulas lists the formulas, with the schedules that they run by: those, and only
// those, that custos schedule list has.
func (l library) Formulas(ctx context.Context) (rows []api.FormulaRow, err error) {
	b := l.s.formulas
	for _, name := range b.names() {
		rows = append(rows, l.row(ctx, name, ""))
	}
	for _, project := range slices.Sorted(maps.Keys(b.Projects)) {
		for _, name := range slices.Compact(b.ofProject(project)) {
			rows = append(rows, l.row(ctx, name, project))
		}
	}
	for i := range rows {
		rows[i].Schedules = nil
	}
	for _, s := range l.s.timetable.schedules(ctx) {
		i := slices.IndexFunc(rows, func(r api.FormulaRow) bool {
			return r.Name == s.Run.Formula && (r.Source == s.Run.Source || s.Run.Source == "" && r.Project == s.Run.Project)
		})
		if i < 0 {
			rows = append(rows, api.FormulaRow{Name: s.Run.Formula, Project: s.Run.Project, Source: s.Run.Source, Broken: s.Broken})
			i = len(rows) - 1
		}
		rows[i].Schedules = append(rows[i].Schedules, scheduleWords(s))
	}
	return rows, ctx.Err()
}

// row is a formula in the list; a project's own says why it is not the one that is
// run under its name.
func (l library) row(ctx context.Context, name, project string) api.FormulaRow {
	f, err := l.Formula(ctx, api.FormulaQuery{Name: name, Project: project})
	source := fleet.Path(filepath.Join(l.s.formulas.Projects[project], codeFolder, "formulas"))
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
	if _, _, known := b.lookup("", "", "")(name); !known {
		out.Note = "(There is no formula of that name outside of projects.)"
	}
	return out, nil
}

// missingCommands warns of commands that a formula names and this machine has not got.
func missingCommands(f formula.Formula) (out []formula.Problem) {
	for _, c := range formula.Commands(f) {
		if _, err := exec.LookPath(c.Name); err != nil && !slices.Contains([]string{toolSend, "gt", "bd"}, c.Name) {
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
