package policy

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// What is read at all: more is opaque.
const (
	mostBytes   = 1 << 20
	mostOpeners = 4000    // of brackets and keywords, which nest
	mostDepth   = 16      // commands within texts within commands
	mostDeeds   = 20000   // of one call
	mostWords   = 64      // that one word with braces stands for
	mostWork    = 1 << 20 // besides twice the length of the command
)

// reader reads one command. What it holds is the state of the shell at the place that is read.
type reader struct {
	call  Call
	deeds *[]Deed
	shell
	depth int
	stdin *stdin
	last  *stdin // of the command that was read last
	left  *int   // of mostWork: bytes of words, statements and variables that are copied
}

// shell is what a subshell has a copy of.
type shell struct {
	cwd    string // "" is not known
	vars   map[string][]Word
	own    bool // vars is no other shell's: it may be changed
	funcs  map[string]*syntax.Stmt
	within []*syntax.Stmt // bodies of the functions that are being called: one may be declared anew in itself
}

// stdin is what a program reads: a text, or the paths below which some are listed.
type stdin struct {
	known bool
	text  string
	also  string // what it is where echo reads backslashes, as those of some shells do
	below []Word
	pipe  bool // another program writes it
}

func readShell(c Call) []Deed {
	deeds := make([]Deed, 0, 1+len(c.Command)/64)
	left := mostWork + 2*len(c.Command)
	r := reader{call: c, deeds: &deeds, left: &left, shell: shell{cwd: c.Cwd, vars: map[string][]Word{}, funcs: map[string]*syntax.Stmt{}}}
	if c.Cwd != "" {
		r.put("PWD", []Word{known(c.Cwd)})
	}
	if c.Places.Home != "" {
		r.put("HOME", []Word{known(c.Places.Home)})
	}
	r.script(c.Command)
	return deeds
}

func (r *reader) add(d Deed) {
	d.Tool = r.call.Tool
	if len(*r.deeds) < mostDeeds {
		*r.deeds = append(*r.deeds, d)
	} else if len(*r.deeds) == mostDeeds {
		*r.deeds = append(*r.deeds, Deed{Tool: d.Tool, Opaque: OpaqueSize})
	}
}

// spend says whether there is work left to do so much: functions that call each other, and
// values that double, would never end.
func (r *reader) spend(n int) bool {
	if *r.left < 0 {
		return false
	}
	if *r.left -= n; *r.left < 0 {
		r.opaque(OpaqueSize)
		return false
	}
	return true
}

func (r *reader) opaque(why string) { r.add(Deed{Opaque: why}) }

// script reads a text of commands.
func (r *reader) script(text string) {
	if len(text) > mostBytes || r.depth >= mostDepth || openers(text) > mostOpeners {
		r.opaque(OpaqueSize)
		return
	}
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		r.opaque(OpaqueSyntax) // and what of it can be read counts nevertheless
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	r.depth++
	defer func() { r.depth-- }()
	read, ok := parsed(text)
	r.stmts(read)
	if !ok {
		r.opaque(OpaqueSyntax)
		r.pieces(text)
	}
}

// pieces reads what is no command for the parser, piece by piece: a shell may take more than
// it does (! ! ls), and runs the lines before a fault. Where the shell refuses it, too, nothing
// is lost by a verdict.
func (r *reader) pieces(text string) {
	if plain := strings.ReplaceAll(text, "! ", " "); plain != text { // time ! ls
		if read, ok := parsed(plain); ok {
			r.stmts(read)
			return
		}
	}
	r.split(text, ";&|\n", func(piece string) { r.split(piece, "(){}!", func(string) {}) })
}

// split reads the pieces between some signs; those that are no command it hands on.
func (r *reader) split(text, at string, otherwise func(piece string)) {
	for _, piece := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(at, c) }) {
		if !r.spend(1 + len(piece)) {
			return
		}
		if read, ok := parsed(piece); ok {
			r.stmts(read)
		} else {
			otherwise(piece)
		}
	}
}

// parsed are the statements of a text, as far as it is one of bash. The loop is never left
// early: the parser may go on after a fault, and would panic.
func parsed(text string) (read []*syntax.Stmt, ok bool) {
	defer func() {
		if recover() != nil { // a fault of the parser is no verdict
			ok = false
		}
	}()
	ok = true
	for s, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			ok = false
		} else if s != nil && ok {
			read = append(read, s)
		}
	}
	return read, ok
}

// openers counts what may nest: a parser that goes down for each must not be led too deep.
func openers(text string) (n int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '`', '[', '!':
			n++
		}
	}
	for _, word := range []string{"if", "while", "until", "for", "case", "time", "coproc", "function", "select"} {
		n += strings.Count(text, word)
	}
	return n
}

func (r *reader) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

// apart reads what a subshell runs: what it sets, it takes with it.
func (r *reader) apart(read func()) {
	if !r.spend(1) {
		return
	}
	was := r.shell
	r.own = false
	read()
	r.shell = was
}

// maybe reads what may run or not: what it changes is not known afterwards.
func (r *reader) maybe(read func()) {
	if !r.spend(1) {
		return
	}
	cwd, vars, own := r.cwd, r.vars, r.own
	r.own = false
	read()
	if r.cwd != cwd {
		r.cwd = ""
		r.put("PWD", unknownValue())
	}
	if !r.own { // nothing was set
		r.own = own
		return
	}
	for name, v := range r.vars {
		if was, there := vars[name]; !there || !slices.Equal(was, v) {
			r.vars[name] = append(slices.Clone(was), v...)
			if len(r.vars[name]) > mostWords {
				r.vars[name] = unknownValue()
			}
		}
	}
}

// put sets a variable, of this shell alone.
func (r *reader) put(name string, v []Word) {
	r.owned()
	r.vars[name] = v
}

func (r *reader) drop(name string) {
	r.owned()
	delete(r.vars, name)
}

func (r *reader) owned() {
	if !r.own {
		r.spend(len(r.vars))
		r.vars, r.own = maps.Clone(r.vars), true
	}
}

// restore gives a variable back what it was.
func (r *reader) restore(was map[string][]Word, name string) {
	if v, ok := was[name]; ok {
		r.put(name, v)
		return
	}
	r.drop(name)
}

func unknownValue() []Word { return []Word{{gap, 0}} }

func (r *reader) stmt(s *syntax.Stmt) {
	if s == nil || !r.spend(1) {
		return
	}
	in := r.redirects(s.Redirs)
	was := r.stdin
	if in != nil {
		r.stdin = in
	}
	r.last = r.stdin
	if s.Background {
		r.apart(func() { r.command(s.Cmd) })
	} else {
		r.command(s.Cmd)
	}
	r.stdin = was
}

func (r *reader) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		r.simple(c)
	case *syntax.BinaryCmd:
		r.binary(c)
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.Subshell:
		r.apart(func() { r.stmts(c.Stmts) })
	case *syntax.FuncDecl:
		r.function(c)
	case *syntax.TimeClause:
		r.stmt(c.Stmt)
	case *syntax.CoprocClause:
		r.apart(func() { r.stmt(c.Stmt) })
	case *syntax.DeclClause:
		r.declare(c)
	default:
		r.compound(c)
	}
}

func (r *reader) compound(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.IfClause:
		r.ifClause(c)
	case *syntax.WhileClause:
		r.maybe(func() { r.stmts(c.Cond); r.stmts(c.Do) })
	case *syntax.ForClause:
		r.maybe(func() { r.loop(c.Loop); r.stmts(c.Do) })
	case *syntax.CaseClause:
		r.words(c.Word)
		for _, item := range c.Items {
			r.maybe(func() { r.stmts(item.Stmts) })
		}
	case nil:
	default: // arithmetic and tests run only what stands in their words
		r.substitutions(c)
	}
}

func (r *reader) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		r.stmts(c.Cond)
		r.maybe(func() { r.stmts(c.Then) })
	}
}

// loop sets a loop's variable to all that it will be.
func (r *reader) loop(l syntax.Loop) {
	it, ok := l.(*syntax.WordIter)
	if !ok {
		r.substitutions(l)
		return
	}
	var values []Word
	for _, w := range it.Items {
		values = append(values, r.words(w)...)
	}
	if len(it.Items) == 0 || len(values) > mostWords {
		values = unknownValue()
	}
	r.put(it.Name.Value, values)
}

func (r *reader) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		was, from := r.stdin, len(*r.deeds)
		r.apart(func() { r.stmt(c.X) })
		r.stdin = r.output(c.X, from)
		r.apart(func() { r.stmt(c.Y) })
		r.stdin = was
	case syntax.AndStmt:
		r.stmt(c.X)
		r.stmt(c.Y)
	default: // what follows || has the state of before: whether the first half came about is not known
		r.stmt(c.X)
		r.maybe(func() { r.stmt(c.Y) })
	}
}

// output is what the last of the deeds since from writes, as far as that can be told.
func (r *reader) output(s *syntax.Stmt, from int) *stdin {
	if len(*r.deeds) <= from {
		return &stdin{pipe: true}
	}
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		s = b.Y
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); !ok || len(c.Args) == 0 {
		return &stdin{pipe: true}
	}
	d := (*r.deeds)[len(*r.deeds)-1]
	switch d.Program {
	case "echo", "printf":
		if text, ok := echoed(d); ok {
			return &stdin{known: true, text: text, also: ansi(text), pipe: true}
		}
	case "find", "ls", "fd", "tree":
		in := &stdin{pipe: true}
		for _, t := range d.Touches {
			if !t.Unknown {
				in.below = append(in.below, known(t.Path))
			}
		}
		return in
	case "cat", "tee":
		if r.last != nil && (d.Program == "tee" || len(d.Args) == 0) {
			return r.last
		}
	}
	return &stdin{pipe: true}
}

// echoed is the output of echo and printf, where it is known.
func echoed(d Deed) (string, bool) {
	var out []string
	read := false
	for i, w := range d.Args {
		if !w.Known() {
			return "", false
		}
		if i == 0 && d.Program == "echo" && (w.Text == "-n" || w.Text == "-e" || w.Text == "-ne" || w.Text == "-en") {
			read = strings.Contains(w.Text, "e")
			continue
		}
		out = append(out, w.Text)
	}
	if d.Program == "printf" && len(out) > 0 {
		return formatted(out[0], out[1:])
	}
	text := strings.Join(out, " ")
	if read {
		text = ansi(strings.ReplaceAll(text, `\'`, `\\'`)) // which stands for a sign in $'…' alone
	}
	return text, true
}

// formatted is what printf makes of its arguments where %s and %b are all that it is asked for.
func formatted(format string, args []string) (string, bool) {
	parts := strings.Split(strings.ReplaceAll(strings.ReplaceAll(ansi(format), "%b", "%s"), "%%", "\x00"), "%s")
	var b strings.Builder
	for i, p := range parts {
		if strings.Contains(p, "%") {
			return "", false
		}
		b.WriteString(p)
		if i < len(args) && i < len(parts)-1 {
			b.WriteString(args[i])
		}
	}
	return strings.ReplaceAll(b.String(), "\x00", "%"), len(args) <= len(parts)-1
}

// function keeps a function for when it is called, and reads it once, as if it were called
// with what is not known.
func (r *reader) function(f *syntax.FuncDecl) {
	if f.Name != nil {
		r.spend(len(r.funcs))
		r.funcs = maps.Clone(r.funcs) // other shells have theirs
		r.funcs[f.Name.Value] = f.Body
	}
	r.apart(func() { r.body(f.Body, []Word{{gap, 0}}) })
}

func (r *reader) body(body *syntax.Stmt, args []Word) {
	if len(r.within) > mostDepth || slices.Contains(r.within, body) || !r.spend(1) {
		return
	}
	was, within := r.vars, r.within
	r.own = false
	r.within = append(slices.Clone(within), body)
	r.positional(args)
	r.stmt(body)
	r.within = within
	for i := range 10 {
		r.restore(was, digit(i))
	}
	r.restore(was, "@")
}

func (r *reader) positional(args []Word) {
	for i := 1; i < 10; i++ {
		r.drop(digit(i))
		if i <= len(args) {
			r.put(digit(i), args[i-1:i])
		}
	}
	r.put("@", args)
}

func digit(i int) string { return string(rune('0' + i)) }

// declare is export, local and their like.
func (r *reader) declare(d *syntax.DeclClause) {
	r.assign(d.Args)
	for _, a := range d.Args {
		if a.Name != nil && d.Variant.Value == "export" {
			r.runsByVariable(a.Name.Value, r.vars[a.Name.Value])
		}
	}
}

func (r *reader) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Index != nil {
			r.substitutions(a.Index)
		}
		switch {
		case a.Name == nil || a.Naked:
			if a.Value != nil {
				r.words(a.Value)
			}
		case a.Array != nil:
			var all []Word
			for _, e := range a.Array.Elems {
				if e.Value != nil {
					all = append(all, r.words(e.Value)...)
				}
			}
			r.put(a.Name.Value, all)
		case a.Append:
			r.substitutions(a)
			r.put(a.Name.Value, []Word{join(r.vars[a.Name.Value], r.one(a.Value))})
		default:
			r.put(a.Name.Value, []Word{r.one(a.Value)})
		}
	}
}

// join is a value with something behind it.
func join(was []Word, more Word) Word {
	if len(was) == 0 {
		return Word{gap + more.Text, 0}
	}
	if len(was) > 1 || !was[0].Known() {
		return Word{was[0].Text + more.Text, min(was[0].Fixed, len(was[0].Text))}
	}
	return Word{was[0].Text + more.Text, was[0].Fixed + more.Fixed}
}

// redirects are writes and reads; what comes of them as standard input is handed back.
func (r *reader) redirects(list []*syntax.Redirect) (in *stdin) {
	for _, x := range list {
		switch x.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			body := x.Hdoc
			if x.Op == syntax.WordHdoc {
				body = x.Word
			}
			w := r.one(body)
			in = &stdin{known: w.Known(), text: w.Text}
		case syntax.RdrIn:
			in = &stdin{}
			r.redirect(Read, x.Word)
		case syntax.DplIn:
			in = &stdin{}
		case syntax.DplOut:
			if w := r.one(x.Word); strings.Trim(w.Text, "0123456789-") != "" {
				r.touched(Write, []Word{w})
			}
		default:
			r.redirect(Write, x.Word)
		}
	}
	return in
}

func (r *reader) redirect(a Access, w *syntax.Word) { r.touched(a, r.words(w)) }

func (r *reader) touched(a Access, words []Word) {
	d := Deed{}
	for _, w := range words {
		if t := r.touch(a, w, false); !nowhere(t) {
			d.Touches = append(d.Touches, t)
		}
	}
	if len(d.Touches) > 0 {
		r.add(d)
	}
}

// nowhere are the devices that keep nothing.
func nowhere(t Touch) bool {
	switch t.Path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom":
		return !t.Below
	}
	return strings.HasPrefix(t.Path, "/dev/fd/")
}

// touch is a word as a path, seen from where the shell is.
func (r *reader) touch(a Access, w Word, recursive bool) Touch {
	t := Touch{Access: a, Recursive: recursive}
	text := w.Text[:min(w.Fixed, len(w.Text))]
	last := ""
	if !w.Known() {
		t.Below = true
		cut := strings.LastIndexByte(text, '/') + 1
		text, last = text[:cut], text[cut:]
		if text == "" && last == "" && strings.HasPrefix(w.Text, gap) {
			return Touch{Access: a, Recursive: recursive, Unknown: true}
		}
	}
	if !path.IsAbs(text) {
		if r.cwd == "" {
			return Touch{Access: a, Recursive: recursive, Unknown: true}
		}
		text = r.cwd + "/" + text
	}
	if t.Path = text; strings.Contains(text, ".") || strings.Contains(text, "//") || strings.HasSuffix(text, "/") {
		t.Path = path.Clean(text)
	}
	if t.Below {
		t.Start = strings.TrimSuffix(t.Path, "/") + "/" + last
	}
	return t
}
