package policy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// field is a word that is being put together.
type field struct {
	text  strings.Builder
	fixed int  // -1 while all of it is certain
	there bool // it is a word even when it is empty
}

func (b *builder) put(w Word) {
	if !b.spend(1 + len(w.Text)) {
		w = Word{gap, 0}
	}
	b.now.put(w)
}

func (f *field) put(w Word) {
	if f.fixed < 0 && !w.Known() {
		f.fixed = f.text.Len() + w.Fixed
	}
	f.text.WriteString(w.Text)
	f.there = f.there || w.Text != ""
}

func (f *field) word() Word {
	w := Word{Text: f.text.String(), Fixed: f.fixed}
	if f.fixed < 0 {
		w.Fixed = len(w.Text)
	}
	return w
}

// words are the words that a word of the text becomes.
func (r *reader) words(w *syntax.Word) (out []Word) {
	if w == nil {
		return nil
	}
	if lit := w.Lit(); lit != "" && !strings.ContainsAny(lit, "\\~{*?[") {
		return []Word{known(lit)}
	}
	for _, parts := range braces(w) {
		b := builder{reader: r}
		b.fresh()
		for i, p := range parts {
			b.part(p, i == 0)
		}
		b.close()
		out = append(out, b.done...)
	}
	return out
}

// one is a word where the shell neither splits nor finds files.
func (r *reader) one(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	b := builder{reader: r, whole: true}
	b.fresh()
	for i, p := range w.Parts {
		b.part(p, i == 0)
	}
	return b.now.word()
}

// braces are the words that {a,b} stands for.
func braces(w *syntax.Word) [][]syntax.WordPart {
	plain := [][]syntax.WordPart{w.Parts}
	has := false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.ContainsRune(lit.Value, '{') {
			has = true
		}
	}
	if !has {
		return plain
	}
	split := &syntax.Word{Parts: append([]syntax.WordPart{}, w.Parts...)}
	if !syntax.SplitBraces(split) {
		return plain
	}
	return spread(split.Parts)
}

func spread(parts []syntax.WordPart) [][]syntax.WordPart {
	all := [][]syntax.WordPart{nil}
	for _, p := range parts {
		choices := [][]syntax.WordPart{{p}}
		if b, ok := p.(*syntax.BraceExp); ok && b.Sequence {
			choices = sequence(b)
		} else if ok {
			choices = nil
			for _, e := range b.Elems {
				choices = append(choices, spread(e.Parts)...)
			}
		}
		if len(all)*len(choices) > mostWords {
			choices = [][]syntax.WordPart{{&syntax.ParamExp{}}} // not known
		}
		var next [][]syntax.WordPart
		for _, a := range all {
			for _, c := range choices {
				next = append(next, append(append([]syntax.WordPart{}, a...), c...))
			}
		}
		all = next
	}
	return all
}

// sequence is what {1..3} and {a..e..2} stand for: not known where that is more than is told one by one.
func sequence(b *syntax.BraceExp) (all [][]syntax.WordPart) {
	var at [3]int
	letters, width := false, 0
	for i, e := range b.Elems[:min(len(b.Elems), len(at))] {
		text := e.Lit()
		n, err := strconv.Atoi(text)
		if err != nil && i < 2 && len(text) == 1 {
			n, letters = int(text[0]), true
		} else if err != nil {
			return [][]syntax.WordPart{{&syntax.ParamExp{}}}
		}
		if digits := strings.TrimPrefix(text, "-"); i < 2 && len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(text))
		}
		at[i] = n
	}
	from, to, step := at[0], at[1], max(at[2], -at[2], 1)
	steps := max(from-to, to-from) / step
	if steps < 0 || steps >= mostWords {
		return [][]syntax.WordPart{{&syntax.ParamExp{}}}
	}
	if to < from {
		step = -step
	}
	for i := range steps + 1 {
		text := fmt.Sprintf("%0*d", width, from+i*step)
		if letters {
			text = string(rune(from + i*step))
		}
		all = append(all, []syntax.WordPart{&syntax.Lit{Value: text}})
	}
	return all
}

// builder makes the fields of one word.
type builder struct {
	*reader
	now   *field
	done  []Word
	whole bool // nothing is split, and no files are found
}

func (b *builder) fresh() { b.now = &field{fixed: -1} }

func (b *builder) close() {
	if b.now.there {
		b.done = append(b.done, b.now.word())
	}
	b.fresh()
}

func (b *builder) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.literal(p.Value, first)
	case *syntax.SglQuoted:
		b.now.there = true
		if p.Dollar {
			b.put(known(ansi(p.Value)))
			return
		}
		b.put(known(p.Value))
	case *syntax.DblQuoted:
		b.now.there = true
		for _, q := range p.Parts {
			b.quoted(q, len(p.Parts) == 1)
		}
	case *syntax.ParamExp:
		b.values(b.param(p))
	case *syntax.CmdSubst:
		b.values(b.substituted(p))
	case *syntax.ProcSubst:
		b.apart(func() { b.stmts(p.Stmts) })
		b.put(Word{gap, 0})
	case *syntax.ExtGlob:
		b.put(Word{"*", 0})
	default: // arithmetic, and a sequence in braces
		b.reader.substitutions(p)
		b.put(Word{gap, 0})
	}
}

// quoted is a part within double quotes.
func (b *builder) quoted(p syntax.WordPart, alone bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.put(known(unescaped(p.Value, "$`\"\\")))
	case *syntax.ParamExp:
		b.joined(b.param(p), alone && (p.Param != nil && p.Param.Value == "@" || p.Index != nil))
	case *syntax.CmdSubst:
		b.joined(b.substituted(p), false)
	default:
		b.part(p, false)
	}
}

// joined are values that stay one word, but for "$@".
func (b *builder) joined(values []Word, apart bool) {
	for i, v := range values {
		if i > 0 && (apart || !b.whole) {
			b.now.there = true
			b.close()
		} else if i > 0 {
			b.put(known(" "))
		}
		b.put(v)
	}
}

// values are put in where the shell splits them at blanks.
func (b *builder) values(values []Word) {
	for i, v := range values {
		if b.whole {
			if i > 0 {
				b.put(known(" "))
			}
			b.put(v)
			continue
		}
		if i > 0 {
			b.close()
		}
		b.splitted(v)
	}
}

func (b *builder) splitted(v Word) {
	if !v.Known() {
		b.put(v)
		return
	}
	if _, own := b.vars["IFS"]; own && v.Text != "" {
		b.put(Word{v.Text, 0})
		return
	}
	fields := strings.Fields(v.Text)
	if strings.TrimLeft(v.Text, " \t\n") != v.Text {
		b.close()
	}
	for i, f := range fields {
		if i > 0 {
			b.close()
		}
		b.pattern(f)
	}
	if len(fields) > 0 && strings.TrimRight(v.Text, " \t\n") != v.Text {
		b.close()
	}
}

// pattern puts a text in whose * ? [ find files.
func (b *builder) pattern(s string) {
	if at := strings.IndexAny(s, "*?["); at >= 0 && !b.whole {
		b.put(Word{s, at})
		return
	}
	b.put(known(s))
}

// literal is what stands in the text without quotes.
func (b *builder) literal(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		s = b.tilde(s)
	} else if at := strings.Index(s, "=~"); at > 0 && !first {
		s = s[:at+1] + b.home(s[at+1:])
	}
	for s != "" {
		at := strings.IndexAny(s, "\\*?[")
		if at < 0 {
			b.put(known(s))
			return
		}
		b.put(known(s[:at]))
		switch {
		case s[at] == '\\' && at+1 < len(s):
			b.put(known(s[at+1 : at+2]))
			s = s[at+2:]
		case s[at] == '\\' || b.whole || s == "[":
			b.put(known(s[at : at+1]))
			s = s[at+1:]
		default:
			b.put(Word{s[at : at+1], 0})
			s = s[at+1:]
		}
	}
}

// tilde puts the home in, and hands back what is left.
func (b *builder) tilde(s string) string {
	name, rest := s, ""
	if at := strings.IndexByte(s, '/'); at >= 0 {
		name, rest = s[:at], s[at:]
	}
	switch {
	case name == "~":
		b.value(b.vars["HOME"])
	case name == "~+":
		b.value(b.vars["PWD"])
	case name == "~root":
		b.put(known("/root"))
	default:
		b.put(Word{gap, 0})
	}
	return rest
}

func (b *builder) value(v []Word) {
	if len(v) != 1 {
		v = unknownValue()
	}
	b.put(v[0])
}

// home is a text whose leading ~ is the home.
func (b *builder) home(s string) string {
	if v := b.vars["HOME"]; len(v) == 1 && v[0].Known() && (s == "~" || strings.HasPrefix(s, "~/")) {
		return v[0].Text + s[1:]
	}
	return s
}

// param is what a parameter stands for: several words for a list, and for what may be one of several.
func (b *builder) param(p *syntax.ParamExp) []Word {
	b.reader.runsWithin(p)
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.NestedParam != nil {
		return unknownValue()
	}
	name := p.Param.Value
	if name == "*" {
		name = "@"
	}
	v, there := b.vars[name]
	if name == "IFS" && !there {
		return []Word{known(" \t\n")}
	}
	if p.Exp != nil {
		return b.expansion(p.Exp, v, there)
	}
	if !there || p.Index != nil && !wholeArray(p.Index) && len(v) > 1 {
		if there {
			return v // one of them
		}
		return unknownValue()
	}
	return v
}

func wholeArray(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// revParsed is what git rev-parse says of where the agent's own repository lies; "" where that is not known.
func (r *reader) revParsed(args []Word, cwd string) string {
	l := r.call.Places
	if len(args) < 2 || args[0].Text != "rev-parse" || l.Worktree == "" || !below(cwd, l.Worktree) {
		return ""
	}
	switch what := args[1].Text; {
	case len(args) == 2 && what == "--show-toplevel":
		return l.Worktree
	case len(args) == 2 && what == "--git-common-dir":
		return l.Common
	case len(args) == 2 && (what == "--git-dir" || what == "--absolute-git-dir"):
		return l.GitDir
	case len(args) == 3 && what == "--git-path" && l.Common != "" && args[2].Known() && slices.Contains([]string{"hooks", "config", "info"}, strings.Split(args[2].Text, "/")[0]):
		return path.Join(l.Common, args[2].Text)
	}
	return ""
}

// expansion is ${X:-Y} and its like.
func (b *builder) expansion(e *syntax.Expansion, v []Word, there bool) []Word {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if there {
			return v
		}
		if e.Word == nil {
			return unknownValue()
		}
		return []Word{b.reader.one(e.Word)}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if there {
			return v
		}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if e.Word != nil {
			return []Word{b.reader.one(e.Word)}
		}
	}
	return unknownValue()
}

// runsWithin reads what a parameter runs within itself: ${X:-$(rm -rf ~)}.
func (r *reader) runsWithin(p *syntax.ParamExp) {
	if p.Exp == nil && p.Index == nil && p.Slice == nil && p.Repl == nil {
		return
	}
	r.substitutions(p)
}

// substitutions reads the commands that run within anything.
func (r *reader) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.apart(func() { r.stmts(n.Stmts) })
			return false
		case *syntax.ProcSubst:
			r.apart(func() { r.stmts(n.Stmts) })
			return false
		}
		return true
	})
}

// substituted reads what a substitution runs, and is what it writes, where that is certain.
func (b *builder) substituted(c *syntax.CmdSubst) []Word {
	from := len(*b.deeds)
	cwd := b.cwd
	b.apart(func() {
		b.stmts(c.Stmts)
		cwd = b.cwd
	})
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || len(*b.deeds) <= from {
		return unknownValue()
	}
	last := (*b.deeds)[len(*b.deeds)-1] // what is before it is of substitutions among its words
	if len(*b.deeds) > from+1 && !b.calls(c.Stmts[0], last.Program) {
		return unknownValue()
	}
	return b.reader.written(last, cwd)
}

// calls says whether a statement is a call of a program by its name, and of no function.
func (r *reader) calls(s *syntax.Stmt, program string) bool {
	call, is := s.Cmd.(*syntax.CallExpr)
	return is && len(call.Args) > 0 && program != "" && call.Args[0].Lit() == program && r.funcs[program] == nil
}

func (r *reader) written(d Deed, cwd string) []Word {
	switch d.Program {
	case "echo", "printf":
		if text, ok := echoed(d); ok {
			return []Word{known(strings.TrimRight(text, "\n"))}
		}
	case "pwd":
		if cwd != "" {
			return []Word{known(cwd)}
		}
	case "dirname", "basename":
		if at, ok := named(d); ok {
			return []Word{known(at)}
		}
	case "which", "command", "type":
		if n := len(d.Args); n > 0 && d.Args[n-1].Known() {
			return d.Args[n-1:]
		}
	case "git":
		if at := r.revParsed(d.Args, cwd); at != "" {
			return []Word{known(at)}
		}
	case "mktemp":
		if len(operands(d.Args)) == 0 && !has(d.Args, "p", "--tmpdir") {
			return []Word{{"/tmp/" + gap, len("/tmp/")}}
		}
	}
	return unknownValue()
}

// named is what dirname and basename say of one path.
func named(d Deed) (string, bool) {
	args := d.Args
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	words := operands(args)
	if len(words) != len(args) || len(words) == 0 || len(words) > 2 || !words[0].Known() || !words[len(words)-1].Known() {
		return "", false
	}
	switch {
	case d.Program == "basename" && len(words) == 2:
		return strings.TrimSuffix(path.Base(words[0].Text), words[1].Text), true
	case len(words) == 2:
		return "", false
	case d.Program == "basename":
		return path.Base(words[0].Text), true
	}
	return path.Dir(strings.TrimRight(words[0].Text, "/")), words[0].Text != "/"
}

// unescaped is a text of double quotes, in which a backslash protects only some.
func unescaped(s, which string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(which, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansi is a text of $'…'.
func ansi(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abefnrtv\'"?`, s[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\\'\"?"[at])
			continue
		}
		i += number(s[i:], &b) - 1
	}
	return b.String()
}

// number reads \x72, \162, \u0072 and what is none of them; it hands back how many bytes that took.
func number(s string, b *strings.Builder) int {
	base, from, most := 8, 0, 3
	switch s[0] {
	case 'x':
		base, from, most = 16, 1, 2
	case 'u':
		base, from, most = 16, 1, 4
	case 'U':
		base, from, most = 16, 1, 8
	}
	end := from
	for end < len(s) && end < from+most && isDigit(s[end], base) {
		end++
	}
	n, err := strconv.ParseUint(s[from:end], base, 32)
	switch {
	case err != nil:
		b.WriteString("\\" + s[:1])
		return 1
	case n < 256 && s[0] != 'u' && s[0] != 'U':
		b.WriteByte(byte(n))
	default:
		b.WriteRune(rune(n))
	}
	return end
}

func isDigit(c byte, base int) bool {
	n, err := strconv.ParseUint(string(rune(c)), base, 8)
	return err == nil && n < uint64(base)
}
