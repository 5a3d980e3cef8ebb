package library

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
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
	"custos/internal/ledger/cron"
	"custos/internal/rules"
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

// Formulas finds formulas, reads them, and knows which are switched off. Of a
// formula that is only read, nothing is run.
type Formulas struct {
	formulaSettings
	state string   // the state folder
	dirs  []string // all folders of formulas but those of projects, in order
	kinds []string // of agents
	code  *Code
	// grants names the variables that a formula or plugin of a project may be given,
	// by PROJECT/NAME and PROJECT/plugin:NAME.
	grants map[string][]string
}

// newFormulas reads the sections.
func newFormulas(cfg config.Config, kinds []string, code *Code) (*Formulas, error) {
	b := &Formulas{state: cfg.StateDir, kinds: kinds, code: code}
	if err := cfg.Section("formulas", &b.formulaSettings); err != nil {
		return nil, err
	}
	if err := cfg.Section("grants", &b.grants); err != nil {
		return nil, err
	}
	if err := b.expand(cfg); err != nil {
		return nil, err
	}
	for _, name := range keys(b.Shadows) {
		if _, named := b.Projects[name]; !named {
			return nil, mistake(cfg, "formulas", "shadows", fmt.Errorf("there is no project %q in [formulas] projects", fleet.Line(name, 80)))
		}
	}
	b.Replies = cmp.Or(b.Replies, filepath.Join(b.state, "replies"))
	b.Agent = cmp.Or(b.Agent, "claude")
	if !slices.Contains(kinds, b.Agent) {
		return nil, mistake(cfg, "formulas", "agent", fmt.Errorf("there is no kind %q; there are %s", fleet.Line(b.Agent, 40), strings.Join(kinds, ", ")))
	}
	b.dirs = slices.Concat(b.Dirs, []string{filepath.Join(filepath.Dir(cfg.File), "formulas")})
	return b, nil
}

// expand has the paths of the section begin at the root.
func (b *Formulas) expand(cfg config.Config) error {
	for i := range b.Dirs {
		if err := expand(cfg, "formulas", "dirs", &b.Dirs[i]); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		key  string
		path *string
	}{{"factory", &b.Factory}, {"active", &b.Active}, {"replies", &b.Replies}} {
		if *p.path == "" {
			continue
		}
		if err := expand(cfg, "formulas", p.key, p.path); err != nil {
			return err
		}
	}
	for _, name := range keys(b.Projects) {
		dir := b.Projects[name]
		if err := expand(cfg, "formulas", "projects."+name, &dir); err != nil {
			return err
		}
		b.Projects[name] = dir
	}
	return nil
}

// project finds the folder of a project (raw): by its name, or as it is when it is
// a path. "" is none.
func (b *Formulas) project(name string) (dir string, err error) {
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

// IsName says whether a formula, or a run of one, may be called so.
func IsName(s string) bool { return formulaName.MatchString(s) }

var formulaName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Known says whether there is a formula of a name outside of projects.
func (b *Formulas) Known(name string) bool {
	_, _, known := b.lookup("", "", "")(name)
	return known
}

// lookup returns where formulas are looked up for a project (its name and folder, ""
// for none), beside a file of formulas (its folder). A project's own formula, and one
// that lies beside a file, is never taken for a person's own or a shipped one of that
// name, unless custos.toml says that it may. Overlays are what projects are asked for.
func (b *Formulas) lookup(name, project, beside string) formula.Lookup {
	return func(want string) ([]byte, string, bool) {
		if !IsName(want) {
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
func (b *Formulas) within(dir, name string) (text []byte, file string, ok bool) {
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
func (b *Formulas) pinned(tree *codeTree, below, name string) (text []byte, file, why string) {
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
func (b *Formulas) untrusted(name, project, want string) (why string) {
	if !IsName(want) {
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

// Reading is a formula as far as it could be read.
type Reading struct {
	Formula  formula.Formula // with Values when it was rendered
	Plain    formula.Formula // before it was rendered
	Dir      string          // of the project (raw)
	Project  string          // as it was named
	Problems []formula.Problem
}

// Refused says whether it cannot be run.
func (r Reading) Refused() bool { return formula.Refused(r.Problems) }

// Errors is what it is refused for, on one line.
func (r Reading) Errors() string {
	var out []string
	for _, p := range r.Problems {
		if p.Severity == formula.Error {
			out = append(out, p.String())
		}
	}
	return fleet.Line(strings.Join(out, "; "), 2000)
}

// Schedules lists its own, without their runs.
func (r Reading) Schedules() (out []fleet.Schedule) {
	for _, s := range r.Formula.Schedules {
		out = append(out, scheduleOf(s))
	}
	return out
}

// Read reads a formula, brings in what it builds on, checks it, and renders it. What is
// wrong with its text is in the Reading, whatever Lint says. One that is not there is fs.ErrNotExist, one that
// may not be run ledger.ErrIllegal.
func (b *Formulas) Read(q api.FormulaQuery) (r Reading, err error) {
	r.Project = q.Project
	if r.Dir, err = b.project(q.Project); err != nil {
		return r, err
	}
	text, file, err := b.find(q, r.Dir)
	if err != nil {
		return r, err
	}
	r.Formula, r.Problems = formula.Parse(file, text)
	if dir, named := b.Projects[r.Formula.Project]; named && r.Formula.Project != "" && r.Project == "" && q.File == "" {
		r.Project, r.Dir = r.Formula.Project, dir
	}
	b.resolve(&r, q.File)
	b.render(&r, q)
	return r, nil
}

// find returns the text that is meant, and where it is from.
func (b *Formulas) find(q api.FormulaQuery, project string) (text []byte, file string, err error) {
	if q.File != "" {
		return []byte(q.Text), q.File, nil
	}
	text, file, ok := b.lookup(q.Project, project, "")(q.Name)
	if ok {
		return text, file, nil
	}
	if why := b.untrusted(q.Project, project, q.Name); why != "" {
		return nil, "", fmt.Errorf("%w: %s", ledger.ErrIllegal, why)
	}
	return nil, "", fmt.Errorf("cannot find formula %q: %w", fleet.Line(q.Name, 80), fs.ErrNotExist)
}

// resolve brings in what a formula builds on, and checks what comes of it.
func (b *Formulas) resolve(r *Reading, file string) {
	beside := ""
	if file != "" {
		beside = filepath.Dir(file)
	}
	if !r.Refused() {
		var more []formula.Problem
		r.Formula, more = formula.Resolve(r.Formula, b.lookup(r.Project, r.Dir, beside))
		r.Problems = append(append(r.Problems, more...), b.passedOver(*r)...)
	}
	if !r.Refused() {
		r.Problems = append(r.Problems, formula.Check(r.Formula, b.checks())...)
	}
	r.Plain = r.Formula
}

// render puts the values in. Where they were not asked for, those that are missing leave
// the formula as it is.
func (b *Formulas) render(r *Reading, q api.FormulaQuery) {
	if r.Refused() {
		return
	}
	rendered, more := formula.Render(r.Formula, q.Vars)
	if q.Render {
		r.Problems = append(r.Problems, more...)
	}
	if q.Render || !formula.Refused(more) {
		r.Formula = rendered
	}
	r.Problems = append(r.Problems, b.ungranted(*r, q.Name)...)
}

// passedOver warns of an overlay that is not laid over the formula, since nobody
// trusts it, and of a formula of the project that another one of its name is run for.
func (b *Formulas) passedOver(r Reading) (out []formula.Problem) {
	if r.Dir == "" || !IsName(r.Formula.Name) {
		return nil
	}
	tree := b.code.ofProject(r.Dir, r.Project)
	warn := func(format string, args ...any) {
		out = append(out, formula.Problem{File: r.Formula.File, Line: 1, Column: 1, Severity: formula.Warning, Text: fmt.Sprintf(format, args...)})
	}
	if _, _, why := b.pinned(tree, "formulas/", r.Formula.Name+".overlay"); why != "" {
		warn("the project's overlay is left out: %s", why)
	}
	text, file, why := b.pinned(tree, "formulas/", r.Formula.Name)
	if (text != nil || why != "") && file != r.Formula.File {
		warn("the project has a formula of this name, which is not the one that is run: say [formulas] shadows = { %s = [%q] } to have it run", r.Project, r.Formula.Name)
	}
	return out
}

// ungranted refuses what a formula asks to be given that only custos.toml can give.
func (b *Formulas) ungranted(r Reading, name string) (out []formula.Problem) {
	grant := strings.TrimPrefix(r.Project+"/"+cmp.Or(name, r.Formula.Name), "/")
	for _, s := range r.Formula.Steps {
		at := s.Places["env"]
		file := cmp.Or(at.File, r.Formula.File)
		for _, v := range b.missing(file, grant, s.Env) {
			out = append(out, formula.Problem{File: file, Line: max(at.Line, 1), Column: max(at.Column, 1), Severity: formula.Error,
				Text: fmt.Sprintf("step %q asks for %s, which only custos.toml can grant: [grants] %q = [%q]", s.ID, v, grant, v)})
		}
	}
	return out
}

// missing lists the variables that a file asks for, and was not granted.
func (b *Formulas) missing(file, grant string, env []string) (out []string) {
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

func (b *Formulas) checks() formula.Checks {
	return formula.Checks{Uses: runs.Uses(), Agents: b.kinds,
		Cron: func(expr string) error { return cron.Check(expr, "") },
		When: func(expr string) error { _, err := rules.CompileCondition(expr); return err },
		Gate: func(g formula.Gate) error { return ledger.CheckStepGate(gateOf(g)) }}
}

// Names lists every formula that may be named without a project.
func (b *Formulas) Names() []string {
	out := formulas.Names()
	for _, dir := range b.dirs {
		out = append(out, b.formulasIn(dir)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// formulasIn lists the formulas of a folder, whether or not they may be run.
func (b *Formulas) formulasIn(dir string) []string {
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

// InProject is the folder of a project's formulas (raw).
func (b *Formulas) InProject(name string) string {
	return filepath.Join(b.Projects[name], codeFolder, "formulas")
}

// OfProject lists the formulas of a project, whether or not they may be run.
func (b *Formulas) OfProject(name string) []string {
	return formulaNames(b.code.names(b.code.ofProject(b.Projects[name], name), "formulas/"))
}

// formulaNames are those that files are of.
func formulaNames(files []string) (names []string) {
	for _, file := range files {
		name, ok := strings.CutSuffix(file, ".toml")
		name = strings.TrimSuffix(name, ".formula")
		if ok && !strings.HasSuffix(name, ".overlay") && IsName(name) {
			names = append(names, name)
		}
	}
	return names
}

// switchFile is the file whose presence switches a formula off.
func (b *Formulas) switchFile(name string) string {
	return filepath.Join(b.state, "disabled", url.PathEscape(name))
}

// Disabled says why a formula, or a plugin, does not run; "" when it may. The switches of
// a factory are for formulas.
func (b *Formulas) Disabled(name string) string {
	off := b.switchedOff(name)
	if _, plugin := fleet.PluginOf(name); plugin || off != "" || b.Active == "" {
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
func (b *Formulas) switchedOff(name string) string {
	text, err := config.ReadFile(b.switchFile(name), 4<<10)
	switch {
	case err == nil:
		return cmp.Or(fleet.Line(string(text), 200), "switched off")
	case errors.Is(err, fs.ErrNotExist):
		return ""
	}
	return "it cannot be told whether it is switched off: " + fleet.Line(err.Error(), 200)
}

// SwitchTo switches a formula off or on.
func (b *Formulas) SwitchTo(name string, on bool, by string) error {
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
