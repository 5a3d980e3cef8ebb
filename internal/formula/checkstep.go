package formula

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"custos/internal/nearest"
)

// idRE: an agent types ids on a command line, so nothing a shell would read.
var idRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

var holeRE = regexp.MustCompile(`\{\{\s*[A-Za-z_][\w.-]*\s*\}\}|\{[A-Za-z_][\w.]*\}`)

// id checks an id; what is still to be put in counts as a letter.
func (k *checker) id(at Place, id, what string) {
	if !idRE.MatchString(holeRE.ReplaceAllString(id, "x")) {
		k.wrong(at, "id %q of a %s: want letters, digits, dots, dashes and underscores, not more than 128", id, what)
	}
}

var envRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (k *checker) step(s Step, scope []string) {
	k.id(s.Places.of("id"), s.ID, "step")
	k.work(s)
	k.texts(s, scope)
	if s.Repeat != "" {
		k.oneOf(s.Places.of("repeat"), "repeat", string(s.Repeat), []string{string(repeatSafe)})
	}
	if s.Retries > 100 {
		k.wrong(s.Places.of("retries"), "retries is %d, want at most 100", s.Retries)
	}
	for _, e := range s.Env {
		if !envRE.MatchString(e) {
			k.wrong(s.Places.of("env"), "env %q is no name of an environment variable: a value is given by a variable of the formula", e)
		}
	}
	k.condition(s, scope)
	k.gate(s)
	k.agentOnly(s)
}

func (k *checker) work(s Step) {
	at := s.Places.of("uses")
	if s.Run != nil && s.Uses != "" {
		k.wrong(at, "step %q has run and uses: it is one or the other", s.ID)
	}
	if s.Uses != "" && k.checks.Uses != nil {
		k.oneOf(at, "uses", s.Uses, k.checks.Uses)
	}
	if s.Run == nil {
		return
	}
	at = s.Places.of("run")
	switch {
	case s.Run.Argv == nil && strings.TrimSpace(s.Run.Script) == "", s.Run.Argv != nil && (len(s.Run.Argv) == 0 || s.Run.Argv[0] == ""):
		k.wrong(at, "step %q runs nothing", s.ID)
	case s.Run.Argv == nil:
		k.script(at, s.Run.Script)
	default:
		k.argv(at, s.Run.Argv)
	}
}

// script refuses holes in a script: what is put into a shell's text is run.
func (k *checker) script(at Place, script string) {
	t, err := readTemplate(script, false)
	if err != nil {
		return // blocks without end are the script's own
	}
	for _, name := range t.names() {
		k.wrong(at, `a script may not contain {{%s}}: its value would become part of the shell's text; write "$%s"`, name, EnvName(name))
	}
}

var codeFlag = regexp.MustCompile(`^(-[A-Za-z]*[ceE]|--(eval|exec|execute|command|print|code|run)(=.*)?)$`)

// interpreters run an argument as program text, remoteShells join theirs into
// one line for a shell.
func interpreters() []string {
	return strings.Fields("sh bash dash ash zsh ksh mksh fish csh tcsh busybox python python2 python3 perl ruby node nodejs deno bun php lua Rscript tclsh pwsh su script watch flock")
}

func remoteShells() []string {
	return strings.Fields("ssh eval mosh awk gawk mawk sed xargs parallel tmux screen")
}

// argv refuses holes where an argument would be read as a program.
func (k *checker) argv(at Place, argv []string) {
	if holes(argv[0]) {
		k.wrong(at, "the program %q depends on a variable: which program runs must be fixed", argv[0])
	}
	interprets, code := false, false
	for i, a := range argv {
		name := path.Base(a)
		switch {
		case holes(a) && code:
			k.wrong(at, `argument %d, %q, is run as a program: write "$%s" in it`, i, a, EnvName(firstHole(a)))
		case i < len(argv)-1 && !holes(a) && slices.Contains(remoteShells(), name):
			k.noHoles(at, name, argv[i+1:])
			return
		}
		code = interprets && codeFlag.MatchString(a)
		interprets = interprets || slices.Contains(interpreters(), strings.TrimRight(name, "0123456789."))
		interprets = interprets || slices.Contains(interpreters(), name)
	}
}

func (k *checker) noHoles(at Place, program string, args []string) {
	for _, a := range args {
		if holes(a) {
			k.wrong(at, `%q may be read as a program by %s: write a script with "$%s"`, a, program, EnvName(firstHole(a)))
		}
	}
}

func holes(s string) bool { return firstHole(s) != "" }

// firstHole names the first variable in a text.
func firstHole(s string) string {
	if t, err := readTemplate(s, false); err == nil && len(t.names()) > 0 {
		return t.names()[0]
	}
	return ""
}

// texts looks for variables that are not defined.
func (k *checker) texts(s Step, scope []string) {
	s = copyStep(s)
	s.mapTexts(func(key, text string) string {
		if key != "condition" {
			k.defined(s.Places.of(key), key, text, scope)
		}
		return text
	})
}

func (k *checker) defined(at Place, key, text string, scope []string) {
	t, err := readTemplate(text, k.f.Type == convoy)
	if err != nil {
		k.wrong(at, "%v", err)
		return
	}
	for _, name := range t.names() {
		if k.knows(name) || slices.Contains(scope, name) {
			continue
		}
		switch {
		case isTold(key):
			k.warn(at, "{{%s}} is no variable of the formula%s: it is left as it is, for the agent", name, nearest.Hint(name, k.names()))
		case strings.Contains(name, "."):
			k.warn(at, "%q is not defined here: it must be given for a run", name)
		default:
			k.wrong(at, "undefined variable %q%s", name, nearest.Hint(name, k.names()))
		}
	}
}

func (k *checker) names() (out []string) {
	for _, v := range k.all() {
		out = append(out, v.Name)
	}
	return out
}

func (k *checker) knows(name string) bool {
	if k.f.Type == expansion || k.f.Type == aspect {
		return true // these are filled in by the formula that uses them
	}
	_, ok := k.f.variable(name)
	return ok || name == "preset" && len(k.f.Presets) > 0
}

func (k *checker) condition(s Step, scope []string) {
	if s.Condition == "" {
		return
	}
	known := func(n string) bool { return k.knows(n) || slices.Contains(scope, n) }
	if _, ok := readCondition(s.Condition, known); ok {
		return
	}
	at := s.Places.of("condition")
	if hasCommands([]Step{s}) {
		k.wrong(at, "condition %q is not known before the run: it may hold variables of the formula, ! == != && and ||", s.Condition)
	} else {
		k.warn(at, "condition %q is not about variables: the agent is told, and judges it", s.Condition)
	}
}

func (k *checker) gate(s Step) {
	g := s.Gate
	if g == nil {
		return
	}
	all := strings.Fields("timer event condition gh:run gh:pr human mail")
	switch {
	case g.Type == "conditional":
		k.warn(g.Places.of("condition"), "gate condition %q is not acted on: the agent is told, and judges it", g.Condition)
		if hasCommands([]Step{s}) {
			k.wrong(g.Places.of("type"), "a conditional gate can only be judged by an agent, and step %q has a command", s.ID)
		}
	default:
		k.oneOf(g.Places.of("type"), "gate", g.Type, all)
	}
	text := g.ID + g.From + g.To + g.Subject
	switch {
	case !slices.Contains(all, g.Type):
	case g.Type == "timer" && g.Timeout == 0:
		k.wrong(g.Places[""], "a timer gate needs a timeout")
	case g.Type == "condition" && strings.Contains(g.Condition, "{{"):
		k.wrong(g.Places.of("condition"), "the condition of a gate is an expression, and a value would become part of it: it may hold no variable")
	case k.checks.Gate == nil || holeRE.MatchString(text): // what a value makes of it is seen when it is made
	default:
		if err := k.checks.Gate(*g); err != nil {
			k.wrong(g.Places.of("type"), "gate: %v", err)
		}
	}
}

// agentOnly warns of what only an agent can do.
func (k *checker) agentOnly(s Step) {
	if o := s.OnComplete; o != nil {
		k.warn(s.Places.of("on_complete"), "on_complete is not acted on: the agent is told to do %q for each of %s", o.Bond, o.ForEach)
	}
	if s.WaitsFor.Children == "any-children" {
		k.warn(s.Places.of("waits_for"), "any-children is taken for all-children: the step comes later, never too early")
	}
	if s.Loop != nil && s.Loop.Until != "" {
		k.warn(s.Loop.Places.of("until"), "until is not acted on: the agent is told, and judges it")
	}
}
