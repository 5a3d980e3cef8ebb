package formula

import (
	"regexp"
	"slices"
	"strings"
)

// Command is the name of a command that a formula runs or tells an agent to
// run, and where it stands.
type Command struct {
	Name string
	Line int // in the file, from 1; of a script with escapes, about
	Step string
}

// Commands lists the commands named in run steps and in fenced shell blocks of
// the prose, each once a step, in the order of the file. Prose is no program: a
// block is read line by line, and what looks like no command is passed over.
// Whether a command exists is for the caller to find out.
func Commands(f Formula) []Command {
	var out []Command
	for _, list := range [][]Step{f.Steps, f.Template} {
		every(list, func(s *Step) { out = append(out, s.commands()...) })
	}
	for _, l := range f.Legs {
		out = append(out, fenced(l.ID, l.Description, l.Places["=description"].Line)...)
	}
	return once(out)
}

func once(all []Command) (out []Command) {
	seen := map[[2]string]bool{}
	for _, c := range all {
		if !seen[[2]string{c.Step, c.Name}] {
			seen[[2]string{c.Step, c.Name}] = true
			out = append(out, c)
		}
	}
	return out
}

func (s *Step) commands() []Command {
	out := fenced(s.ID, s.Description, s.Places["=description"].Line)
	if s.Run == nil {
		return out
	}
	if len(s.Run.Argv) > 0 {
		if isCommand(s.Run.Argv[0]) {
			out = append(out, Command{s.Run.Argv[0], s.Places.of("run").Line, s.ID})
		}
		return out
	}
	sh := &shellReader{step: s.ID}
	for i, line := range strings.Split(s.Run.Script, "\n") {
		sh.line(line, s.Places["=run"].Line+i)
	}
	return append(out, sh.found...)
}

// fenced reads the shell blocks of a text whose first line is the given one.
func fenced(step, text string, first int) []Command {
	sh := &shellReader{step: step}
	fence, shell := "", false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence, shell = mark, isShell(strings.TrimPrefix(trimmed, mark))
		case fence != "" && trimmed == fence:
			fence, sh.until = "", ""
		case fence != "" && shell:
			sh.line(line, first+i)
		}
	}
	return sh.found
}

func isShell(info string) bool {
	words := strings.Fields(info)
	return len(words) > 0 && slices.Contains([]string{"sh", "bash", "shell", "zsh", "console", "shell-session"}, strings.ToLower(words[0]))
}

// shellReader finds the first word of each simple command.
type shellReader struct {
	step     string
	found    []Command
	until    string // the end of a here-document
	quote    byte   // a quote that is open over lines
	inside   []int  // brackets open in each $( ) that stands in double quotes
	goes     bool   // the line before ended in a backslash
	defined  []string
	expected bool // a command may begin here
}

var hereRE = regexp.MustCompile(`<<-?\s*["']?([A-Za-z_][A-Za-z0-9_]*)["']?`)

var functionRE = regexp.MustCompile(`^\s*(?:function\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*\(\)`)

// patternRE is the pattern of a case.
var patternRE = regexp.MustCompile(`^\s*[^()\s'"]+\)`)

func (r *shellReader) line(text string, number int) {
	if r.until != "" {
		if strings.TrimSpace(text) == r.until {
			r.until = ""
		}
		return
	}
	if m := functionRE.FindStringSubmatch(text); m != nil {
		r.defined = append(r.defined, m[1])
		text = text[strings.Index(text, ")")+1:]
	}
	r.expected = !r.goes && r.quote == 0
	text = patternRE.ReplaceAllString(text, "")
	text = strings.TrimPrefix(strings.TrimSpace(text), "$ ")
	r.goes = strings.HasSuffix(text, `\`)
	if m := hereRE.FindStringSubmatch(text); m != nil && !strings.Contains(text, "<<<") {
		r.until = m[1]
	}
	for _, w := range r.words(strings.TrimSuffix(text, `\`)) {
		r.word(w, number)
	}
}

// words splits a line at white space and operators; operators are words, and
// quoted text is part of its word.
func (r *shellReader) words(line string) []string {
	s := splitter{reader: r}
	for i := 0; i < len(line); i++ {
		if r.quote != 0 {
			i += s.quoted(line[i:])
		} else if line[i] == '#' && s.word.Len() == 0 {
			break
		} else {
			i += s.plain(line[i:])
		}
	}
	s.end()
	return s.out
}

// splitter holds the words of one line.
type splitter struct {
	reader *shellReader
	word   strings.Builder
	out    []string
}

func (s *splitter) end() {
	if s.word.Len() > 0 {
		s.out = append(s.out, s.word.String())
		s.word.Reset()
	}
}

func (s *splitter) operator(c byte) {
	s.end()
	s.out = append(s.out, string(c))
}

// quoted reads one character of quoted text, and says how many more it took.
func (s *splitter) quoted(rest string) int {
	r := s.reader
	switch {
	case r.quote == '"' && strings.HasPrefix(rest, "$(") && !strings.HasPrefix(rest, "$(("):
		r.inside, r.quote = append(r.inside, 1), 0
		s.operator('(')
		return 1
	case r.quote == '"' && rest[0] == '\\' && len(rest) > 1:
		return 1
	case rest[0] == r.quote:
		r.quote = 0
	}
	s.word.WriteByte('"')
	return 0
}

// plain reads one character outside of quotes.
func (s *splitter) plain(rest string) int {
	c := rest[0]
	switch {
	case c == '\'' || c == '"':
		s.reader.quote = c
		s.word.WriteByte('"')
	case c == '\\' && len(rest) > 1:
		s.word.WriteByte('\\')
		return 1
	case c == '>' || c == '<':
		s.end()
		s.word.WriteByte(c)
		s.end()
	case c == ' ' || c == '\t':
		s.end()
	case strings.IndexByte("|&;()`", c) >= 0:
		s.operator(c)
		s.reader.bracket(c)
	default:
		s.word.WriteByte(c)
	}
	return 0
}

// bracket finds the end of a $( ) that stands in quotes.
func (r *shellReader) bracket(c byte) {
	n := len(r.inside) - 1
	if n < 0 {
		return
	}
	if c == '(' {
		r.inside[n]++
	}
	if c == ')' {
		if r.inside[n]--; r.inside[n] == 0 {
			r.inside, r.quote = r.inside[:n], '"'
		}
	}
}

func (r *shellReader) word(w string, line int) {
	switch {
	case strings.ContainsAny(w, "|&;(`") && len(w) == 1:
		r.expected = true
	case !r.expected:
	case slices.Contains(strings.Fields("if then elif else while until do ! { time sudo exec command nohup env"), w) || assigns(w) || strings.HasPrefix(w, "-"):
	default:
		r.expected = false
		if isCommand(w) && !slices.Contains(r.defined, w) {
			r.found = append(r.found, Command{w, line, r.step})
		}
	}
}

var assignRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

func assigns(w string) bool { return assignRE.MatchString(w) }

var commandRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.+-]*$|^/[A-Za-z0-9_./+-]+$`)

// isCommand passes over what the shell does itself, and what is no name.
func isCommand(w string) bool {
	return commandRE.MatchString(w) && !slices.Contains(shellWords(), w)
}

// shellWords are the shell's own.
func shellWords() []string {
	return strings.Fields(`fi for case esac done in select function return exit break continue cd echo export set unset source eval
		test true false printf read local declare typeset readonly shift wait trap umask ulimit alias type hash times pwd getopts
		let pushd popd dirs mapfile shopt builtin kill jobs fg bg`)
}
