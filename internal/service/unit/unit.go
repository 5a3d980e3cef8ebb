// Package unit makes the unit by which systemd keeps a daemon of Custos running: the one
// text behind the page on services, the packages and custos service. Values in, text out.
package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is how the unit is called, in the manager of a user and in that of the system.
const Name = "custos.service"

// Variable is one that the daemon is given.
type Variable struct{ Name, Value string }

// Options are what differs from unit to unit.
type Options struct {
	User    string     // of a unit of the system: as whom it runs; "" for a unit of a user's own manager
	Program string     // absolute path
	Args    []string   // between the program and up
	Env     []Variable // beside what the manager sets
}

// Text is the unit. Its error says what of the options cannot be written into one.
func Text(o Options) (string, error) {
	if !strings.HasPrefix(o.Program, "/") || strings.ContainsAny(o.Program, "$\"'\\") {
		return "", fmt.Errorf("cannot name %q in a unit: want an absolute path without $, quotes and backslashes", o.Program)
	}
	given := append([]string{o.Program, o.User}, o.Args...)
	for _, v := range o.Env {
		given = append(given, v.Name, v.Value)
	}
	for _, s := range given {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return "", fmt.Errorf("cannot write %q into a unit: it has a control character, or is not UTF-8", s)
		}
	}
	return head + "ExecStart=" + start(o) + "\n" + lines(o) + body + "WantedBy=" + target(o) + "\n", nil
}

// start is the command; a dollar sign would begin a variable in its arguments.
func start(o Options) string {
	words := []string{word(o.Program)}
	for _, a := range o.Args {
		words = append(words, word(strings.ReplaceAll(a, "$", "$$")))
	}
	return strings.Join(append(words, "up"), " ")
}

func lines(o Options) (out string) {
	if o.User != "" {
		out = "User=" + o.User + "\n"
	}
	for _, v := range o.Env {
		out += "Environment=" + word(v.Name+"="+v.Value) + "\n"
	}
	return out
}

func target(o Options) string {
	if o.User != "" {
		return "multi-user.target"
	}
	return "default.target"
}

const head = `[Unit]
Description=Custos, which keeps a fleet of coding agents

[Service]
Type=notify
`

const body = `# Ready after the first whole pass, which waits ten seconds at most for first looks.
TimeoutStartSec=5min
# No whole pass for so long: it is killed and started anew. At least 1min.
WatchdogSec=2min
Restart=on-failure
RestartSec=5s
# Actions that run are finished first.
TimeoutStopSec=5min
# Agents without a terminal live in this unit's cgroup. They outlive the daemon, and one of
# them that is killed for lack of memory must not take the others with it.
KillMode=process
OOMPolicy=continue
# tmux servers are reached by sockets below /tmp.
PrivateTmp=false

[Install]
`

// word is one word of a line, quoted where that is needed: systemd.syntax(7), "Quoting".
// What a percent sign begins would be a specifier.
func word(s string) string {
	s = strings.ReplaceAll(s, "%", "%%")
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@,%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// mark begins the first line of a unit that custos service wrote; a sum of the rest follows.
const mark = "# Written by custos service install; what is changed here is kept unless you say --replace. sum "

// Marked is a unit with a first line by which Origin knows it again.
func Marked(text string) string { return mark + sum(text) + "\n" + text }

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:8])
}

// Origin is who wrote a unit as it is.
type Origin string

// Whose a unit is.
const (
	Ours   Origin = "written by custos service"
	Edited Origin = "edited since custos service wrote it"
	Other  Origin = "not written by custos service"
)

// OriginOf says who wrote the text of a unit.
func OriginOf(text string) Origin {
	rest, ok := strings.CutPrefix(text, mark)
	said, rest, _ := strings.Cut(rest, "\n")
	switch {
	case !ok:
		return Other
	case said != sum(rest):
		return Edited
	}
	return Ours
}

var aboutPath = regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(mark) + `|Environment="?PATH=).*\n`)

// WithoutPath is a unit without its PATH, and without the sum over that.
func WithoutPath(text string) string { return aboutPath.ReplaceAllString(text, "") }
