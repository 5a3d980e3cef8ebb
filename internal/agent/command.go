package agent

import (
	"path"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// command is a command line, taken apart.
type command struct {
	exe    string   // path of the program, "" when it cannot be read
	name   string   // base name of argv[0], "" when it is a sentence
	how    how      // what runs it
	script string   // of an interpreter or shell
	module string   // of python -m
	rest   []string // arguments of the script, or of the program
}

type how int

const (
	direct      how = iota
	interpreted     // node, bun, python, …
	shelled         // sh, bash, …
)

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox"}, name)
}

func isInterpreter(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	return slices.Contains([]string{"node", "nodejs", "bun", "deno", "python", "pypy", "ruby", "perl"}, name)
}

// readCommand takes a process apart. A program may write what it likes into its
// arguments; the kernel says which program it is.
func readCommand(p fleet.Process) command {
	exe := strings.TrimSuffix(p.Exe.Or(""), " (deleted)")
	c := command{exe: exe, name: p.Name}
	if len(p.Args) > 0 {
		c.name = strings.TrimPrefix(path.Base(p.Args[0]), "-")
		c.rest = p.Args[1:]
		if strings.Contains(p.Args[0], " ") {
			c.name = "" // a process title in words, such as "npm exec x"
		}
	}
	program := path.Base(exe)
	if exe == "" {
		program = c.name
	}
	switch {
	case isShell(program):
		c.how = shelled
	case isInterpreter(program):
		c.how = interpreted
	}
	if c.how != direct && (c.name == program || isShell(c.name) || isInterpreter(c.name)) {
		c.name = ""
		c.findScript()
	}
	return c
}

// findScript looks for what an interpreter runs: the first argument that is no
// flag. Code given inline is no script.
func (c *command) findScript() {
	args := c.rest
	c.rest = nil
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case c.how == shelled && strings.HasPrefix(a, "-") && strings.Contains(a, "c"),
			a == "-e", a == "--eval", a == "-p", a == "--print", a == "-c":
			return
		case a == "-m":
			if i+1 < len(args) {
				c.module, c.rest = args[i+1], args[i+2:]
			}
			return
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-W", "-X", "-O", "-o"}, a):
			i++
		case strings.HasPrefix(a, "-"), i == 0 && a == "run":
		default:
			c.script, c.rest = a, args[i+1:]
			return
		}
	}
}

// scan walks the arguments of a kind's program: its flags, and its first word.
func (k Kind) scan(rest []string) (first string, flags []string) {
	for i := 0; i < len(rest); i++ {
		a := rest[i]
		if a == "--" {
			break
		}
		if !strings.HasPrefix(a, "-") {
			if first == "" {
				first = a
			}
			continue
		}
		name, _, hasValue := strings.Cut(a, "=")
		flags = append(flags, name)
		if !hasValue && slices.Contains(k.ValueFlags, name) {
			i++
		}
	}
	return first, flags
}

// oneShot says whether arguments make the CLI answer one prompt and end.
func (k Kind) oneShot(rest []string) bool {
	first, flags := k.scan(rest)
	return slices.Contains(k.OneShotWords, first) || overlap(flags, k.OneShotFlags)
}

// helper says whether arguments make the CLI something else than an agent.
func (k Kind) helper(rest []string) bool {
	first, flags := k.scan(rest)
	return overlap(flags, k.HelperFlags) || slices.Contains(k.Helpers, first) ||
		overlap(flags, []string{"--version", "--help", "-h"}) ||
		len(k.Sessions) > 0 && first != "" && !slices.Contains(k.Sessions, first)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// CommandKind says which kind of agent a command line in shell words starts, as
// tmux keeps it for a pane. It looks at the first command only, and past env,
// exec and the like; it is a hint, for what is gone.
func CommandKind(kinds *Kinds, line string) (kind string, oneShot bool) {
	words := shellWords(line)
	if len(words) >= 3 && isShell(path.Base(words[0])) && strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "c") {
		words = shellWords(words[2])
	}
	for len(words) > 0 && (slices.Contains([]string{"exec", "env", "command", "nice", "nohup", "setsid", "npx"}, words[0]) ||
		strings.Contains(words[0], "=") || strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return "", false
	}
	p := fleet.Process{Args: words}
	for _, k := range kinds.list {
		if s, rest := k.match(readCommand(p)); s != none && !k.Disabled {
			return k.Name, k.oneShot(rest)
		}
	}
	return "", false
}

// shellWords splits the first command of a line at spaces, minding quotes. A
// line that is one quoted word, which is how tmux writes a command given whole,
// is opened.
func shellWords(line string) []string {
	words := split(line)
	if len(words) == 1 && strings.ContainsAny(words[0], " ;") {
		return split(words[0])
	}
	return words
}

func split(line string) []string {
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			end()
		case r == ';' || r == '|' || r == '&':
			end()
			return words
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	return words
}
