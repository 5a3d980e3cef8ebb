package policy

import (
	"path"
	"strings"
)

// Word is one argument as far as the text tells it.
type Word struct {
	Text  string // what is not known of it stands as …
	Fixed int    // how many bytes from its beginning are certain: all, where it is known
}

func known(text string) Word { return Word{text, len(text)} }

// Known says whether all of it is certain: no variable, substitution or pattern.
func (w Word) Known() bool { return w.Fixed == len(w.Text) }

// gap stands for what is not known.
const gap = "…"

// Touch is one path that a deed reads, writes or deletes.
type Touch struct {
	Access    Access
	Path      string // absolute and cleaned; where not all is known, the folder that it is below
	Below     bool   // something below Path
	Start     string // and how that begins
	Recursive bool   // and all that lies below
	Unknown   bool   // nothing of the path is known
}

// Git is what a git command is about.
type Git struct {
	Verb  string   // "reset", and of those with a second word "stash drop"
	Refs  []string // that a push writes
	Dir   string   // where it works; "" is not known
	Force bool     // a push that rewrites
}

// Deed is one thing that a call would do.
type Deed struct {
	Tool    string
	Program string // its base name; "" for a tool that runs none
	Args    []Word
	Touches []Touch
	Git     *Git
	Hosts   []string
	Opaque  string // why it cannot be told what this does; "" where it can
}

// Why a command is opaque.
const (
	OpaqueSyntax   = "syntax"       // no command of bash
	OpaqueSize     = "size"         // too long, or nested too deeply
	OpaqueVariable = "variable"     // the program is what a variable says
	OpaqueSubst    = "substitution" // or the output of a command
	OpaqueGlob     = "glob"         // or what a pattern finds
	OpaqueStdin    = "stdin"        // an interpreter reads what to do
	OpaqueScript   = "script"       // a file, or a pipe, says what to do
	OpaqueCode     = "code"         // of another language
	OpaqueEval     = "eval"
	OpaqueWrapper  = "wrapper" // a program that runs another one, of which it is not known which
	OpaqueAlias    = "alias"   // a verb of git that is none of its own
	OpaqueInput    = "input"   // of the tool: it could not be read
	OpaqueRemote   = "remote"  // what another machine or a container runs
)

// Reasons are the names of all of them.
func Reasons() []string {
	return []string{OpaqueSyntax, OpaqueSize, OpaqueVariable, OpaqueSubst, OpaqueGlob, OpaqueStdin, OpaqueScript, OpaqueCode, OpaqueEval, OpaqueWrapper, OpaqueAlias, OpaqueInput, OpaqueRemote}
}

// String is the deed in one line.
func (d Deed) String() string {
	if d.Program == "" {
		if d.Opaque != "" {
			return strings.TrimSpace(d.Tool + " (opaque: " + d.Opaque + ")")
		}
		s := d.Tool
		for _, t := range d.Touches {
			if s += " " + t.Path; len(s) > 4096 {
				break
			}
		}
		return s
	}
	s := d.Program
	for _, w := range d.Args {
		if s += " " + w.Text; len(s) > 200 {
			break
		}
	}
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + gap
	}
	return s
}

// Deeds are what a call would do.
func (c Call) Deeds() []Deed {
	switch {
	case c.Unread != "":
		return []Deed{{Tool: c.Tool, Opaque: OpaqueInput}}
	case c.Shell:
		return readShell(c)
	}
	d := Deed{Tool: c.Tool}
	for _, of := range []struct {
		access Access
		paths  []string
	}{{Read, c.Read}, {Write, c.Write}, {Delete, c.Delete}} {
		for _, p := range of.paths {
			d.Touches = append(d.Touches, c.touch(of.access, p))
		}
	}
	if h := hostOf(c.URL); h != "" {
		d.Hosts = []string{h}
	}
	return []Deed{d}
}

func (c Call) touch(a Access, p string) Touch {
	if rest, ok := strings.CutPrefix(p, "~"); ok && c.Places.Home != "" && (rest == "" || rest[0] == '/') {
		p = c.Places.Home + rest
	}
	if !path.IsAbs(p) {
		if c.Cwd == "" {
			return Touch{Access: a, Unknown: true}
		}
		p = path.Join(c.Cwd, p)
	}
	return Touch{Access: a, Path: path.Clean(p)}
}

// hostOf is the host of an address: https://user@host:1/x, git@host:x, host:x.
func hostOf(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(rest, "[") {
		rest, _, _ = strings.Cut(rest[1:], "]")
		return rest
	}
	rest, _, _ = strings.Cut(rest, ":")
	return strings.ToLower(strings.TrimSuffix(rest, "."))
}

// remoteHost is that of ssh and scp: user@host, host:path.
func remoteHost(s string) string {
	if h := hostOf(s); h != "" {
		return h
	}
	before, _, colon := strings.Cut(s, ":")
	if !colon || strings.ContainsAny(before, "/") {
		return ""
	}
	return strings.ToLower(before[strings.LastIndexByte(before, '@')+1:])
}
