package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// largestFormula is how many bytes a formula may have.
const largestFormula = 1 << 20

func (a *app) formulaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "formula",
		Short: "Workflows in TOML: read them, run them, see how far they are",
		Long: `A formula is a workflow of named steps: commands, built-ins, and prose that an
agent works on. custos help formulas.md has the language. A formula is named by its name
or by its file (a name with a slash, or ending in .toml). Names are looked up in
the project's .custos/formulas, the folders of [formulas], ~/.config/custos/formulas,
and among those that come with Custos.`,
		Example: "  custos formula list\n  custos formula run supervisor",
	}
	c.AddCommand(a.formulaList(), a.formulaLint(), a.formulaShow(), a.formulaGraph(), a.formulaRender(),
		a.formulaRun(), a.formulaPs(), a.formulaCancel(), a.formulaResume(), a.formulaStep(),
		a.formulaSwitch("disable", "Let a formula not run any more, by hand or by schedule",
			"disable holds until custos formula enable: it is a file below the state folder, and\nsurvives everything. A run that has begun goes on. A formula that only a project has,\nand that never ran, is found with --project."),
		a.formulaSwitch("enable", "Let a formula run again", "enable undoes custos formula disable."))
	return c
}

func (a *app) formulaList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The formulas there are", Example: "  custos formula list",
		RunE: asksFor(a, (*api.Client).Formulas, writeFormulas),
	}
}

func writeFormulas(p *page, v api.Formulas) {
	rows := each(v.Formulas, func(f api.FormulaRow) []string {
		return []string{strings.TrimPrefix(flat(f.Project)+"/"+flat(f.Name), "/"), flat(f.Mode), fmt.Sprint(f.Steps), exact(strings.Join(f.Schedules, "; ")), p.source(f.Source), formulaNews(f)}
	})
	p.table([]column{{head: "NAME", shorten: middle}, {head: "MODE"}, {head: "STEPS", right: true}, {head: "SCHEDULE", shorten: cut},
		{head: "SOURCE", shorten: middle, spare: true}, {head: "WHAT", shorten: cut, keep: 30}}, rows)
	p.next(v.Next)
}

// source is where a formula is from.
func (p *page) source(s string) string {
	if !filepath.IsAbs(s) {
		return "comes with Custos"
	}
	return p.path(s)
}

// formulaNews is what is most worth saying of a formula.
func formulaNews(f api.FormulaRow) string {
	switch {
	case f.Broken != "":
		return "broken: " + flat(f.Broken)
	case f.Disabled != "":
		return notBy(f.Disabled)
	}
	return flat(f.Description)
}

// notBy is why a formula is switched off, with that word once.
func notBy(why string) string {
	if why = flat(why); strings.HasPrefix(why, "disabled") {
		return why
	}
	return "disabled: " + why
}

// formulaFlags are the flags that commands about one formula share.
type formulaFlags struct {
	project string
	vars    []string
}

func (f *formulaFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.project, "project", "", "`PROJECT`: a name of [formulas] projects, or a folder")
}

func (f *formulaFlags) addVars(c *cobra.Command) {
	f.add(c)
	c.Flags().StringArrayVar(&f.vars, "var", nil, "a variable's value, `NAME=VALUE`; may be given several times")
}

// folder is the project as the daemon understands it: a folder that is meant from
// here is named from the root.
func (f *formulaFlags) folder() (string, error) {
	if !strings.ContainsRune(f.project, '/') && f.project != "." && f.project != ".." {
		return f.project, nil
	}
	abs, err := filepath.Abs(f.project)
	if err != nil {
		return "", usage("cannot find the project: %v", err)
	}
	return abs, nil
}

// named is the question about a formula that a person named.
func (a *app) named(what string, f formulaFlags) (api.FormulaQuery, error) {
	q := api.FormulaQuery{Vars: map[string]string{}}
	for _, kv := range f.vars {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return q, usage("cannot use --var %q: want NAME=VALUE, as in --var %s=VALUE", flat(kv), flat(cmp.Or(name, "branch")))
		}
		q.Vars[name] = value
	}
	var err error
	if q.Project, err = f.folder(); err != nil {
		return q, err
	}
	if !strings.ContainsRune(what, '/') && !strings.HasSuffix(what, ".toml") {
		q.Name = what
		return q, nil
	}
	text, err := a.input(what, "formula", largestFormula)
	if err != nil {
		return q, shorten(err)
	}
	if q.File, err = filepath.Abs(what); err != nil {
		return q, usage("cannot find the formula: %v", err)
	}
	q.Text = string(text)
	return q, nil
}

// shorten says what to do about a file that is too large.
func shorten(err error) error {
	if strings.Contains(err.Error(), "is larger than") {
		return usage("%v: put long texts in files of their own, and name them in context", err)
	}
	return err
}

// readFormula asks about a formula, and says every error of it on the standard
// error; with --json they are in the answer.
func (a *app) readFormula(cmd *cobra.Command, what string, f formulaFlags, ask func(*api.FormulaQuery), write func(*page, api.Formula)) error {
	q, err := a.named(what, f)
	if err != nil {
		return err
	}
	if ask != nil {
		ask(&q)
	}
	v, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Formula, error) { return c.Formula(ctx, q) })
	if err != nil {
		return err
	}
	if !v.Refused || a.json {
		err = a.show(v, func(p *page) { write(p, v) })
	}
	if err != nil {
		return err
	}
	if v.Refused {
		return &ended{message: refusal(v), hint: seeAlso(cmd.Name(), what)}
	}
	return nil
}

// refusal is everything that is wrong with a formula, one a line.
func refusal(v api.Formula) string {
	var out []string
	for _, p := range v.Problems {
		out = append(out, problemText(p))
	}
	return "cannot use formula " + flat(cmp.Or(v.Name, v.Source)) + ":\n" + strings.Join(out, "\n")
}

// seeAlso is what to type when a command could not use a formula.
func seeAlso(command, formula string) string {
	switch command {
	case "lint":
		return "" // it has said all
	case "render":
		return shell([]string{"custos", "formula", "show", formula})
	}
	return shell([]string{"custos", "formula", "lint", formula})
}

func problemText(p api.FormulaProblem) string {
	at := flat(p.File)
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, p.Line, p.Column)
	}
	return at + ": " + p.Severity + ": " + flat(p.Text)
}

func (a *app) formulaLint() *cobra.Command {
	f := formulaFlags{}
	c := &cobra.Command{
		Use: "lint FILE|NAME", Short: "Say everything that is wrong with a formula, and what nothing acts on",
		Long: `lint reads a formula strictly: errors refuse it (exit code 2), warnings do not. It
also looks whether the commands that its scripts and shell blocks name are on this
machine. Nothing of it is run.`,
		Example: "  custos formula lint nightly.toml\n  custos formula lint supervisor",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.readFormula(cmd, args[0], f, func(q *api.FormulaQuery) { q.Lint = true }, func(p *page, v api.Formula) {
				for _, w := range v.Problems {
					p.line("%s", problemText(w))
				}
				p.line("%s is good: %s, %s.", flat(v.Name), plural(v.Steps, "step"), plural(len(v.Problems), "warning"))
			})
		},
	}
	f.add(c)
	return c
}

func (a *app) formulaShow() *cobra.Command {
	f := formulaFlags{}
	c := &cobra.Command{
		Use: "show NAME|FILE|RUN", Short: "A formula with its steps, or a run with how far each is",
		Example: "  custos formula show supervisor\n  custos formula show supervisor-3f2a91c0",
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Run, error) { return c.Run(ctx, args[0]) })
			switch {
			case err == nil:
				return a.show(run, func(p *page) { writeRun(p, run) })
			case !isNotFound(err):
				return err
			}
			return a.readFormula(cmd, args[0], f, nil, writeFormula)
		},
	}
	f.add(c)
	return c
}

func writeFormula(p *page, v api.Formula) {
	p.line("%s  %s", p.paint(bold, flat(v.Name)), p.dim(strings.TrimSpace(flat(v.Mode)+" · "+p.source(v.Source))))
	if v.Text != "" {
		p.text(0, v.Text)
	}
	if v.Disabled != "" {
		p.text(0, "It does not run: "+notBy(v.Disabled)+".")
	}
	for _, s := range v.Schedules {
		p.line("Schedule: %s", exact(s))
	}
	writeVars(p, v.Vars)
	writeFormulaPlan(p, v.Plan)
}

func writeVars(p *page, vars []api.FormulaVar) {
	titled(p, "VARIABLES", "", vars, []column{{}, {shorten: cut}, {shorten: cut}, {shorten: cut}}, func(v api.FormulaVar) []string {
		is := "optional"
		switch {
		case v.Required:
			is = "required"
		case v.Default != nil:
			is = "default " + flat(*v.Default)
		}
		return []string{flat(v.Name), is, flat(strings.Join(v.Enum, ", ") + v.Pattern), flat(v.Description)}
	})
}

func writeFormulaPlan(p *page, plan []api.FormulaStep) {
	p.head("STEPS", "")
	p.table([]column{{head: "WAVE", right: true}, {head: "STEP", shorten: middle}, {head: "NEEDS", shorten: cut}, {head: "DOES", shorten: cut}, {head: "TITLE", shorten: cut}}, each(plan, func(s api.FormulaStep) []string {
		return []string{fmt.Sprint(s.Wave), flat(s.ID), flat(strings.Join(s.Needs, ", ")), stepWork(s), flat(s.Title)}
	}))
}

// stepWork says in short what does a step.
func stepWork(s api.FormulaStep) string {
	switch {
	case len(s.Argv) > 0:
		return flat(shell(s.Argv))
	case s.Do == "run":
		first, _, _ := strings.Cut(strings.TrimSpace(s.Script), "\n")
		return "script: " + flat(first)
	case s.Uses != "":
		return "uses " + flat(s.Uses)
	}
	return "an agent"
}

func (a *app) formulaGraph() *cobra.Command {
	f, dot := formulaFlags{}, false
	c := &cobra.Command{
		Use: "graph NAME|FILE", Short: "Which step waits for which",
		Example: "  custos formula graph patrol\n  custos formula graph patrol --dot | dot -Tsvg > patrol.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.readFormula(cmd, args[0], f, nil, func(p *page, v api.Formula) {
				drawing := v.Graph
				if dot {
					drawing = v.DOT
				}
				if dot || !a.Terminal {
					p.buf.WriteString(clean(drawing))
					return
				}
				p.drawing(drawing)
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&dot, "dot", false, "for Graphviz")
	return c
}

// drawing writes a drawing of steps as wide as the terminal: what does not fit goes
// on below the step's own words.
func (p *page) drawing(text string) {
	for _, l := range strings.Split(strings.TrimRight(clean(text), "\n"), "\n") {
		lead := ""
		for _, branch := range []string{"├─ ", "└─ "} {
			if strings.HasPrefix(l, branch) {
				lead = map[string]string{"├─ ": "│    ", "└─ ": "     "}[branch]
			}
		}
		for i, part := range wrapKept(l, p.width, p.width-runes(lead)) {
			if i > 0 {
				part = lead + part
			}
			p.line("%s", part)
		}
	}
}

// wrapKept breaks a line at spaces, the first part at most first long, the others
// rest; inside of a part its spaces are kept.
func wrapKept(s string, first, rest int) (out []string) {
	for limit := first; runes(s) > limit; limit = rest {
		r := []rune(s)
		at := strings.LastIndex(string(r[:limit+1]), " ")
		if strings.TrimSpace(s[:max(at, 0)]) == "" {
			break
		}
		out, s = append(out, strings.TrimRight(s[:at], " ")), strings.TrimLeft(s[at:], " ")
	}
	return append(out, s)
}

func (a *app) formulaRender() *cobra.Command {
	f := formulaFlags{}
	c := &cobra.Command{
		Use: "render NAME|FILE", Short: "What would run, with the values of the variables",
		Example: "  custos formula render nightly --var branch=main",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.readFormula(cmd, args[0], f, func(q *api.FormulaQuery) { q.Render = true }, writeRendered)
		},
	}
	f.addVars(c)
	return c
}

// writeRendered prints each step whole: scripts and prose as they are, line by line.
func writeRendered(p *page, v api.Formula) {
	p.line("%s", p.paint(bold, flat(v.Name)))
	for _, name := range slices.Sorted(maps.Keys(v.Values)) {
		p.line("  %s = %s", flat(name), clean(quote(v.Values[name])))
	}
	for _, s := range v.Plan {
		p.head(flat(s.ID), flat(s.Title))
		if len(s.Needs) > 0 {
			p.line("  %s", p.dim("after "+flat(strings.Join(s.Needs, ", "))))
		}
		switch {
		case len(s.Argv) > 0:
			p.whole(shell(s.Argv))
		case s.Do == "run":
			p.whole(s.Script)
		case s.Uses != "":
			p.line("  uses %s", flat(s.Uses))
		default:
			p.whole(s.Text)
		}
	}
}

// whole writes a text with its own lines and blanks, two in.
func (p *page) whole(text string) {
	for _, l := range strings.Split(strings.Trim(clean(text), "\n"), "\n") {
		p.line("  %s", l)
	}
}

func (a *app) formulaSwitch(do, short, long string) *cobra.Command {
	f := formulaFlags{}
	c := &cobra.Command{
		Use: do + " NAME", Short: short, Long: long, Example: "  custos formula " + do + " nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := f.folder()
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.FormulaSwitch, error) {
				return c.SwitchFormula(ctx, args[0], do, api.FormulaSwitchRequest{Project: project})
			}, func(p *page, v api.FormulaSwitch) {
				line := "Formula " + flat(v.Formula) + " may run."
				if v.Disabled != "" {
					line = "Formula " + flat(v.Formula) + " does not run: " + flat(v.Disabled) + "."
				}
				p.text(0, line+" "+v.Note)
			})
		},
	}
	f.add(c)
	return c
}
