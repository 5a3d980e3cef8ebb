package policy

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple reads a simple command.
func (r *reader) simple(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		r.assign(c.Assigns)
		return
	}
	args := make([]Word, 0, len(c.Args))
	why := ""
	for _, w := range c.Args {
		if got := r.words(w); len(args) == 0 && len(got) > 0 {
			if !got[0].Known() {
				why = whyUnknown(w)
			}
			args = got
		} else {
			args = append(args, got...)
		}
	}
	if len(c.Assigns) == 0 {
		r.run(args, why)
		return
	}
	was := r.vars
	r.own = false
	r.assign(c.Assigns)
	for _, a := range c.Assigns {
		r.runsByVariable(a.Name.Value, r.vars[a.Name.Value])
	}
	r.run(args, why)
	for _, a := range c.Assigns {
		r.restore(was, a.Name.Value)
	}
}

// whyUnknown says by what a word is not known.
func whyUnknown(w *syntax.Word) (why string) {
	why = OpaqueGlob
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			why = OpaqueSubst
			return false
		case *syntax.ParamExp:
			why = OpaqueVariable
		}
		return true
	})
	return why
}

// run reads a command of which the words are there.
func (r *reader) run(args []Word, why string) {
	if len(args) == 0 || r.depth > mostDepth || len(*r.deeds) > mostDeeds {
		return
	}
	first := args[0]
	if !first.Known() {
		r.add(Deed{Program: path.Base(first.Text), Args: args[1:], Opaque: why})
		if strings.HasPrefix(first.Text, gap) { // it may be nothing at all, and then the next word is the program
			r.run(args[1:], why)
		}
		return
	}
	name := path.Base(first.Text)
	if body, ok := r.funcs[first.Text]; ok && !slices.Contains(r.within, body) {
		r.body(body, args[1:])
		return
	}
	r.program(name, args[1:])
}

func (r *reader) program(name string, args []Word) {
	if at := strings.IndexByte(name, '@'); at > 0 { // rimraf@5 is what npx calls a program of a version
		name = name[:at]
	}
	if strings.HasPrefix(name, "python") && len(args) > 1 && args[0].Text == "-m" && args[1].Known() {
		r.add(Deed{Program: name, Args: args})
		r.program(path.Base(args[1].Text), args[2:])
		return
	}
	if shells[name] {
		r.shellProgram(name, args)
		return
	}
	if read := ownWay(name); read != nil {
		read(r, name, args)
		return
	}
	if w, ok := wrappers[name]; ok {
		r.wrapped(name, w, args)
		return
	}
	if l, ok := launchers[name]; ok {
		r.launch(name, l, args)
		return
	}
	if name == "direnv" && len(args) > 1 && args[0].Text == "exec" {
		r.add(Deed{Program: name, Args: args})
		r.wrappedRest(wrapper{skip: 1}, args[1:])
		return
	}
	if subs, ok := subWrappers[name]; ok && len(args) > 0 && slices.Contains(subs, args[0].Text) {
		r.add(Deed{Program: name, Args: args})
		r.wrappedRest(wrapper{}, args[1:])
		return
	}
	r.plain(name, args)
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true, "fish": true, "rbash": true, "tcsh": true, "csh": true}

// ownWay is how a program is read that has a way of its own; nil for the others.
func ownWay(name string) func(*reader, string, []Word) {
	switch name {
	case "eval":
		return (*reader).eval
	case "cd", "pushd":
		return (*reader).chdir
	case "popd":
		return (*reader).popd
	case "source", ".":
		return (*reader).source
	case "trap":
		return (*reader).trap
	case "alias":
		return (*reader).alias
	case "unset", "read", "mapfile", "readarray", "getopts":
		return (*reader).unset
	case "set":
		return (*reader).set
	case "export", "declare", "readonly":
		return (*reader).export
	}
	return ownProgram(name)
}

// ownProgram are those that are no builtins of the shell.
func ownProgram(name string) func(*reader, string, []Word) {
	switch name {
	case "command":
		return (*reader).commandBuiltin
	case "env":
		return (*reader).env
	case "find":
		return (*reader).find
	case "xargs":
		return (*reader).xargs
	case "parallel":
		return (*reader).parallel
	case "git":
		return (*reader).git
	case "su", "runuser", "script", "flock", "sg":
		return (*reader).withC
	case "nix":
		return (*reader).nix
	case "watch":
		return (*reader).watch
	case "ssh", "docker", "podman", "kubectl":
		return (*reader).remote
	case "dd":
		return (*reader).dd
	}
	return nil
}

// eval reads its words as a text.
func (r *reader) eval(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	r.text(joined(args), OpaqueEval)
}

func joined(args []Word) Word {
	var f field
	f.fixed = -1
	for i, w := range args {
		if i > 0 {
			f.put(known(" "))
		}
		f.put(w)
	}
	return f.word()
}

// text reads a word as commands: what is not known of it may be any others.
func (r *reader) text(w Word, why string) {
	text := w.Text
	if !w.Known() && strings.Contains(text, gap) {
		r.opaque(why)
		text = strings.ReplaceAll(text, gap, "${__not_known}")
	}
	r.script(text)
}

// chdir moves what follows.
func (r *reader) chdir(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	args = operands(args)
	to := ""
	switch {
	case len(args) == 0 && name == "cd":
		if v := r.vars["HOME"]; len(v) == 1 && v[0].Known() {
			to = v[0].Text
		}
	case len(args) > 0 && args[0].Known() && args[0].Text != "-":
		to = args[0].Text
		if !path.IsAbs(to) && r.cwd != "" {
			to = path.Join(r.cwd, to)
		}
	}
	r.moved(to)
}

func (r *reader) moved(to string) {
	if !path.IsAbs(to) {
		r.lost()
		return
	}
	r.cwd = path.Clean(to)
	r.put("PWD", []Word{known(r.cwd)})
}

func (r *reader) popd(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	r.lost()
}

// lost is a folder that is not known.
func (r *reader) lost() {
	r.cwd = ""
	r.put("PWD", unknownValue())
}

func (r *reader) source(name string, args []Word) {
	d := Deed{Program: name, Args: args, Opaque: OpaqueScript}
	if len(args) > 0 {
		d.Touches = []Touch{r.touch(Read, args[0], false)}
		if args[0].Text == "/dev/stdin" {
			r.fromStdin(name)
			return
		}
	}
	r.add(d)
}

func (r *reader) trap(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	if rest := operands(args); len(rest) > 1 {
		r.apart(func() { r.text(rest[0], OpaqueEval) })
	}
}

// alias counts as if it were called.
func (r *reader) alias(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for _, w := range args {
		if at := strings.IndexByte(w.Text, '='); at > 0 {
			r.apart(func() { r.text(tail(w, at+1), OpaqueEval) })
		}
	}
}

// tail is a word from a place on.
func tail(w Word, at int) Word { return Word{w.Text[at:], max(0, w.Fixed-at)} }

func (r *reader) unset(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for _, w := range operands(args) {
		if name == "unset" {
			r.drop(w.Text)
			r.funcs = maps.Clone(r.funcs)
			delete(r.funcs, w.Text)
			continue
		}
		r.put(w.Text, unknownValue())
	}
}

func (r *reader) set(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for i, w := range args {
		if w.Text == "--" {
			r.positional(args[i+1:])
		}
	}
}

// export is that of a wrapper: env export, command export.
func (r *reader) export(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for _, w := range args {
		r.assigned(w)
	}
}

// assigned takes NAME=VALUE.
func (r *reader) assigned(w Word) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	if !ok || !syntax.ValidName(name) || w.Fixed <= len(name) {
		return false
	}
	r.put(name, []Word{tail(w, len(name)+1)})
	r.runsByVariable(name, r.vars[name])
	return true
}

// runners are variables whose value is run by what is called with them.
var runners = map[string]bool{"GIT_SSH_COMMAND": true, "GIT_SSH": true, "GIT_EDITOR": true, "GIT_SEQUENCE_EDITOR": true, "EDITOR": true, "VISUAL": true, "PAGER": true, "GIT_PAGER": true, "MANPAGER": true,
	"GIT_EXTERNAL_DIFF": true, "GIT_ASKPASS": true, "SSH_ASKPASS": true, "PROMPT_COMMAND": true, "LESSOPEN": true, "BROWSER": true}

func (r *reader) runsByVariable(name string, v []Word) {
	switch {
	case runners[name]:
		for _, w := range v {
			r.apart(func() { r.text(w, OpaqueVariable) })
		}
	case name == "BASH_ENV" || name == "ENV" || name == "LD_PRELOAD":
		r.opaque(OpaqueScript)
	case strings.HasPrefix(name, "GIT_CONFIG_"):
		for _, w := range v {
			r.configured(name, w)
		}
	}
}

// commandBuiltin is command and its -v, which runs nothing.
func (r *reader) commandBuiltin(name string, args []Word) {
	if len(args) > 0 && strings.HasPrefix(args[0].Text, "-") && strings.ContainsAny(args[0].Text, "vV") {
		r.add(Deed{Program: name, Args: args})
		return
	}
	r.wrapped(name, wrapper{}, args)
}

// env is a wrapper with -S, which splits a text, and -C, which changes the folder.
func (r *reader) env(name string, args []Word) {
	for i, w := range args {
		text, ok := strings.CutPrefix(w.Text, "--split-string=")
		if !ok && strings.HasPrefix(w.Text, "-S") {
			text, ok = w.Text[2:], true
		}
		if !ok && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.HasSuffix(w.Text, "S") || w.Text == "--split-string" {
			text, ok = "", true
		}
		if !ok && !strings.HasPrefix(w.Text, "-") && !strings.Contains(w.Text, "=") {
			break
		}
		if ok {
			rest := args[i+1:]
			if text != "" {
				rest = append([]Word{tail(w, len(w.Text)-len(text))}, rest...)
			}
			r.add(Deed{Program: name, Args: args})
			r.apart(func() { r.text(joined(rest), OpaqueEval) })
			return
		}
	}
	r.apart(func() { r.wrapped(name, wrapper{short: "uC", long: "unset,chdir", assigns: true, chdir: "C"}, args) })
}

// operands are the words that are no options.
func operands(args []Word) (out []Word) {
	for i, w := range args {
		if w.Text == "--" && w.Known() {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(w.Text, "-") || w.Text == "-" {
			out = append(out, w)
		}
	}
	return out
}

// shellProgram is a shell: with a text, a file, or what it reads.
func (r *reader) shellProgram(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	command, stdin, rest := false, false, args
	for len(rest) > 0 && len(rest[0].Text) > 1 && strings.ContainsRune("-+", rune(rest[0].Text[0])) {
		o := rest[0].Text
		rest = rest[1:]
		if o == "--" {
			break
		}
		if long := strings.HasPrefix(o, "--"); o == "--command" || !long && strings.ContainsRune(o, 'c') {
			command = true
		} else if !long && strings.ContainsRune(o, 's') {
			stdin = true
		}
		if o == "--rcfile" || o == "--init-file" || !strings.HasPrefix(o, "--") && (strings.HasSuffix(o, "o") || strings.HasSuffix(o, "O")) {
			rest = rest[min(1, len(rest)):]
		}
	}
	switch {
	case command && len(rest) > 0:
		r.apart(func() {
			r.positional(rest[min(2, len(rest)):])
			if len(rest) > 1 {
				r.put("0", rest[1:2])
			}
			r.text(rest[0], OpaqueEval)
		})
	case !stdin && len(rest) > 0 && rest[0].Text != "/dev/stdin" && rest[0].Text != "-":
		r.source(name, rest)
	default:
		r.fromStdin(name)
	}
}

// fromStdin is an interpreter of shell that reads its standard input.
func (r *reader) fromStdin(name string) {
	switch {
	case r.stdin == nil:
	case r.stdin.known:
		in := r.stdin
		r.stdin = nil
		r.apart(func() { r.script(in.text) })
		if in.also != "" && in.also != in.text {
			r.apart(func() { r.script(in.also) })
		}
		r.stdin = in
	case strings.Contains(r.stdin.text, gap):
		text := r.stdin.text
		r.apart(func() { r.text(Word{text, 0}, OpaqueStdin) })
	default:
		r.add(Deed{Program: name, Opaque: OpaqueStdin})
	}
}
