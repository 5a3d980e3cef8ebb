package policy

import (
	"path"
	"slices"
	"strings"
)

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
	"ssh-agent": {short: "aEtPO"}, "gosu": {skip: 1}, "su-exec": {skip: 1}, "setpriv": {}, "capsh": {}, "proxychains": {short: "f"}, "proxychains4": {short: "f"}, "torsocks": {}, "rlwrap": {}, "faketime": {skip: 1}, "hyperfine": {}, "shx": {}, "cross-env": {assigns: true}, "choom": {short: "np", long: "adjust,pid"}, "chronic": {}, "cpulimit": {short: "lpePc", long: "limit,pid,exe,path"}, "run0": {short: "ugD", long: "user,group,chdir,unit,property,description,nice,setenv"}, "entr": {}, "chpst": {short: "ueomdfcrs/"}, "!": {},
}

var subWrappers = map[string][]string{"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "bundle": {"exec"}, "mise": {"exec", "x"}, "conda": {"run"}, "rtk": {"proxy"}, "op": {"run"}, "doppler": {"run"}, "dotenv": {"run"}}

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
	if name == "sg" && len(args) == 2 { // its word is a text, too
		r.apart(func() { r.text(args[1], OpaqueEval) })
		return
	}
	skip := map[string]int{"flock": 1}[name]
	if name == "script" {
		return
	}
	r.wrappedRest(wrapper{short: "uwEgs", skip: skip}, args)
}

// launcher is a program that fetches the one that its words name, and runs it.
type launcher struct {
	subs  []string // commands of its own that do so; none: it does by itself
	texts []string // options whose value a shell reads
	wrapper
}

var (
	npmOptions  = wrapper{short: "pwCF", long: "package,workspace,filter,dir,registry,cache,loglevel,prefix,userconfig,globalconfig,script-shell,node-options,from,with,python,index-url,index,spec"}
	npmTexts    = []string{"-c", "--call"}
	shellModeOf = []string{"-c", "--shell-mode"}
	launchers   = map[string]launcher{"npx": {nil, npmTexts, npmOptions}, "npm": {[]string{"exec", "x"}, npmTexts, npmOptions}, "pnpm": {[]string{"exec", "dlx"}, shellModeOf, npmOptions}, "pnpx": {nil, shellModeOf, npmOptions},
		"yarn": {[]string{"exec", "dlx"}, nil, npmOptions}, "bun": {[]string{"x"}, nil, npmOptions}, "bunx": {nil, nil, npmOptions}, "uvx": {nil, nil, npmOptions}, "pipx": {[]string{"run"}, nil, npmOptions},
		"nix-shell": {[]string{""}, []string{"--run", "--command"}, wrapper{short: "pA", long: "packages,attr"}}}
)

func (r *reader) launch(name string, l launcher, args []Word) {
	if len(l.subs) == 0 {
		r.add(Deed{Program: name, Args: args})
	} else {
		r.plain(name, args)
	}
	within := len(l.subs) == 0
	for len(args) > 0 && args[0].Text != "--" {
		a := args[0]
		option, _, given := strings.Cut(a.Text, "=")
		is := slices.Contains(l.texts, option) || len(l.texts) > 0 && l.texts[0] == "-c" && len(option) > 1 && option[0] == '-' && option[1] != '-' && strings.HasSuffix(option, "c")
		switch {
		case is && (given || len(args) > 1):
			text := tail(a, min(len(a.Text), len(option)+1))
			if !given {
				text = args[1]
			}
			r.apart(func() { r.text(text, OpaqueEval) })
			return
		case len(a.Text) > 1 && a.Text[0] == '-':
			args = args[min(len(args), 1+r.option(l.wrapper, args)):]
		case l.subs != nil && l.subs[0] == "": // its words are no program
			args = args[1:]
		case !within && !slices.Contains(l.subs, a.Text):
			return
		case !within:
			within, args = true, args[1:]
		default:
			r.run(args, OpaqueWrapper)
			return
		}
	}
	if within && len(args) > 0 {
		r.run(args[1:], OpaqueWrapper)
	}
}

// nix runs what stands behind -c.
func (r *reader) nix(name string, args []Word) {
	r.add(Deed{Program: name, Args: args})
	for i, a := range args {
		if a.Text == "-c" || a.Text == "--command" {
			r.run(args[i+1:], OpaqueWrapper)
			return
		}
	}
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
