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
	case "su", "runuser", "script", "flock":
		return (*reader).withC
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
			r.configured(w)
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

// wrapper is a program that runs the one that its words name.
type wrapper struct {
	short   string // letters of options with a value
	long    string // and long ones
	skip    int    // words before the program
	assigns bool   // NAME=VALUE before the program
	chdir   string // the letter of the option that names the folder
}

var wrappers = map[string]wrapper{
	"sudo": {short: "ugpChRrTtDU", long: "user,group,prompt,chdir,host,chroot,role,type,command-timeout,close-from,other-user", assigns: true, chdir: "D"}, "doas": {short: "uC"},
	"nice": {short: "n", long: "adjustment"}, "nohup": {}, "timeout": {short: "ks", long: "kill-after,signal", skip: 1}, "gtimeout": {short: "ks", long: "kill-after,signal", skip: 1},
	"builtin": {}, "exec": {short: "a"}, "time": {short: "fo", long: "format,output"}, "stdbuf": {short: "ioe", long: "input,output,error"},
	"setsid": {}, "ionice": {short: "cnpPu", long: "class,classdata"}, "chrt": {short: "TPD", skip: 1}, "taskset": {skip: 1}, "chroot": {skip: 1}, "unbuffer": {},
	"strace": {short: "eopPsSuEabIOX"}, "ltrace": {short: "eopsSunlaAF"}, "gdb": {}, "valgrind": {}, "perf": {skip: 1}, "busybox": {}, "toybox": {},
	"unshare": {short: "SGR", long: "setuid,setgid,root,wd"}, "nsenter": {short: "tSGrw", long: "target,setuid,setgid"}, "systemd-run": {short: "pMuEHPS", long: "property,unit,slice,setenv,working-directory,uid,gid,description"},
	"systemd-inhibit": {}, "dbus-run-session": {}, "xvfb-run": {short: "nsefpw"}, "firejail": {}, "bwrap": {}, "catchsegv": {}, "prlimit": {}, "numactl": {short: "CmNip"}, "cgexec": {short: "g"}, "fakeroot": {short: "lisub"},
	"ssh-agent": {short: "aEtPO"}, "gosu": {skip: 1}, "su-exec": {skip: 1}, "setpriv": {}, "capsh": {}, "proxychains": {short: "f"}, "proxychains4": {short: "f"}, "torsocks": {}, "rlwrap": {}, "faketime": {skip: 1}, "hyperfine": {}, "entr": {}, "chpst": {short: "ueomdfcrs/"}, "!": {},
}

var subWrappers = map[string][]string{"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "bundle": {"exec"}, "npm": {"exec", "x"}, "pnpm": {"exec"}, "yarn": {"exec"}, "mise": {"exec", "x"}, "direnv": {"exec"}, "conda": {"run"}, "rtk": {"proxy"}, "op": {"run"}, "doppler": {"run"}, "dotenv": {"run"}}

func (r *reader) wrapped(name string, w wrapper, args []Word) {
	r.add(Deed{Program: name, Args: args})
	r.wrappedRest(w, args)
}

func (r *reader) wrappedRest(w wrapper, args []Word) {
	skip := w.skip
	for len(args) > 0 {
		a := args[0]
		switch {
		case a.Text == "--" && a.Known():
			r.run(args[min(1+skip, len(args)):], OpaqueWrapper)
			return
		case len(a.Text) > 1 && a.Text[0] == '-':
			args = args[min(len(args), 1+r.option(w, args)):]
		case w.assigns && r.assigned(a):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		default:
			r.run(args, OpaqueWrapper)
			return
		}
	}
}

// option says how many words are the value of an option, and does what it says of the folder.
func (r *reader) option(w wrapper, args []Word) int {
	o := args[0].Text
	if long, ok := strings.CutPrefix(o, "--"); ok {
		name, value, given := strings.Cut(long, "=")
		if w.chdir != "" && name == "chdir" {
			if !given && len(args) > 1 {
				value = args[1].Text
			}
			r.chdir("cd", []Word{known(value)})
		}
		if !given && slices.Contains(strings.Split(w.long, ","), name) {
			return 1
		}
		return 0
	}
	for i := 1; i < len(o); i++ {
		if strings.IndexByte(w.short, o[i]) < 0 {
			continue
		}
		value := o[i+1:]
		if value == "" && len(args) > 1 {
			value = args[1].Text
		}
		if w.chdir == string(o[i]) {
			r.chdir("cd", []Word{known(value)})
		}
		if i == len(o)-1 {
			return 1
		}
		return 0
	}
	return 0
}

// withC are programs with -c TEXT: su, script, flock.
func (r *reader) withC(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for i, a := range args {
		if text, ok := strings.CutPrefix(a.Text, "--command="); ok {
			r.apart(func() { r.text(tail(a, len(a.Text)-len(text)), OpaqueEval) })
			return
		}
		if i+1 < len(args) && (a.Text == "--command" || len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.HasSuffix(a.Text, "c")) {
			r.apart(func() { r.text(args[i+1], OpaqueEval) })
			return
		}
	}
	skip := map[string]int{"flock": 1}[name]
	if name == "script" {
		return
	}
	r.wrappedRest(wrapper{short: "uwEgs", skip: skip}, args)
}

// watch joins its words, and a shell reads them.
func (r *reader) watch(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[min(len(args), 1+r.option(wrapper{short: "nqs", long: "interval"}, args)):]
	}
	r.apart(func() { r.text(joined(args), OpaqueEval) })
}

// remote is what runs elsewhere.
func (r *reader) remote(name string, args []Word) {
	d := Deed{Program: name, Args: args}
	if name != "ssh" {
		if len(args) > 0 && (args[0].Text == "run" || args[0].Text == "exec" || args[0].Text == "compose") {
			d.Opaque = OpaqueRemote
		}
		r.add(d)
		return
	}
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[min(len(args), 1+r.option(wrapper{short: "BbcDEeFIiJLlmOoPpQRSWw"}, args)):]
	}
	if len(args) > 0 {
		d.Hosts = []string{strings.ToLower(args[0].Text[strings.LastIndexByte(args[0].Text, '@')+1:])}
	}
	if len(args) > 1 {
		d.Opaque = OpaqueRemote
	}
	r.add(d)
}

// find deletes, writes and runs.
func (r *reader) find(name string, args []Word) {
	d := Deed{Program: name, Args: args}
	i := 0
	for i < len(args) && (slices.Contains([]string{"-H", "-L", "-P"}, args[i].Text) || strings.HasPrefix(args[i].Text, "-O")) {
		i++
	}
	var roots []Word
	for ; i < len(args) && !strings.HasPrefix(args[i].Text, "-") && args[i].Text != "(" && args[i].Text != "!"; i++ {
		roots = append(roots, args[i])
	}
	if len(roots) == 0 {
		roots = []Word{known(".")}
	}
	access := Read
	for _, a := range args[i:] {
		if a.Text == "-delete" {
			access = Delete
		}
	}
	for _, w := range roots {
		t := r.touch(access, w, access == Delete)
		if access == Delete && !t.Below && !t.Unknown { // what is there, or some of it
			t.Below, t.Start = true, strings.TrimSuffix(t.Path, "/")+"/"
		}
		d.Touches = append(d.Touches, t)
	}
	for j := i; j+1 < len(args); j++ {
		if strings.HasPrefix(args[j].Text, "-fprint") || args[j].Text == "-fls" {
			d.Touches = append(d.Touches, r.touch(Write, args[j+1], false))
		}
	}
	r.add(d)
	r.findRuns(args[i:], roots)
}

func (r *reader) findRuns(args, roots []Word) {
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i].Text) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end].Text != ";" && args[end].Text != "+" {
			end++
		}
		r.run(filled(args[i+1:end], "{}", found(roots)), OpaqueWrapper)
		i = end
	}
}

// found are the paths that are below others, one for each.
func found(roots []Word) (out []Word) {
	for _, w := range roots {
		if w.Known() {
			w = Word{strings.TrimSuffix(w.Text, "/") + "/" + gap, len(strings.TrimSuffix(w.Text, "/")) + 1}
		}
		out = append(out, w)
	}
	return out
}

// filled are words in which a mark stands for others.
func filled(args []Word, mark string, with []Word) (out []Word) {
	for _, a := range args {
		switch {
		case a.Text == mark:
			out = append(out, with...)
		case strings.Contains(a.Text, mark):
			at := strings.Index(a.Text, mark)
			out = append(out, Word{strings.ReplaceAll(a.Text, mark, gap), min(at, a.Fixed)})
		default:
			out = append(out, a)
		}
	}
	return out
}

// xargs runs a program with what it reads behind the words of its own.
func (r *reader) xargs(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	mark := ""
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' && args[0].Text != "--" {
		o := args[0].Text
		n := r.option(wrapper{short: "IEdLnPsa", long: "arg-file,delimiter,max-args,max-lines,max-procs,max-chars,replace"}, args)
		switch {
		case o == "-I" && len(args) > 1:
			mark = args[1].Text
		case strings.HasPrefix(o, "-I"), strings.HasPrefix(o, "-i") && len(o) > 2:
			mark = o[2:]
		case o == "-i":
			mark = "{}"
		}
		args = args[min(len(args), 1+n):]
	}
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	r.piped(mark, args)
}

// piped is a program with what standard input lists.
func (r *reader) piped(mark string, args []Word) {
	items := unknownValue()
	if r.stdin != nil && r.stdin.known {
		items = nil
		for _, f := range strings.Fields(r.stdin.text) {
			items = append(items, known(f))
		}
	} else if r.stdin != nil && len(r.stdin.below) > 0 {
		items = found(r.stdin.below)
	}
	if len(args) > 0 && shells[path.Base(args[0].Text)] && len(args) == 1 {
		r.opaque(OpaqueStdin)
	}
	was := r.stdin
	r.stdin = nil
	defer func() { r.stdin = was }()
	if mark != "" {
		r.run(filled(args, mark, items), OpaqueWrapper)
		return
	}
	r.run(append(append([]Word{}, args...), items...), OpaqueWrapper)
}

// parallel is xargs with words of its own behind :::.
func (r *reader) parallel(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[min(len(args), 1+r.option(wrapper{short: "jIanNLds", long: "jobs,arg-file,max-args,delay,timeout,joblog"}, args)):]
	}
	var items []Word
	for i, a := range args {
		if strings.HasPrefix(a.Text, ":::") {
			items = args[i+1:]
			args = args[:i]
			break
		}
	}
	if items == nil {
		r.piped("{}", append(append([]Word{}, args...), known("{}")))
		return
	}
	if len(args) == 0 {
		for _, w := range items {
			r.apart(func() { r.text(w, OpaqueEval) })
		}
		return
	}
	if len(args) == 1 && strings.Contains(args[0].Text, " ") {
		r.apart(func() { r.text(args[0], OpaqueEval) })
		return
	}
	all := filled(args, "{}", items)
	if len(all) == len(args) {
		all = append(all, items...)
	}
	r.run(all, OpaqueWrapper)
}
