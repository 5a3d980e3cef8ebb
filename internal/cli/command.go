package cli

import (
	"encoding/json"
	"regexp"
	"strings"

	"custos/internal/api"
)

// typed finds a command of ours in a text: at its beginning, or after a space, a
// bracket or a backquote.
var typed = regexp.MustCompile("(^|[\\s(`;])custos( |$)")

// flags are those that name the configuration and the host that this command speaks of.
func (a *app) flags() string {
	out := ""
	if a.file != "" {
		out += " --config " + quote(a.file)
	}
	if a.host != nil {
		out += hostFlag + a.host.Name
	}
	return out
}

// withFlags names the configuration and the host in the commands of a text: typed as they
// stand, they must speak of the fleet that they were printed for. One that cannot speak of another machine is about this one.
func withFlags(flags, text string) string {
	if flags == "" || strings.HasPrefix(text, "ssh ") { // which speaks of the fleet that it goes to
		return text
	}
	own, _, _ := strings.Cut(flags, hostFlag)
	var out strings.Builder
	last := 0
	for _, m := range typed.FindAllStringSubmatchIndex(text, -1) {
		name := m[3] + len("custos")
		out.WriteString(text[last:name])
		if last = name; api.GoesElsewhere("custos" + text[name:]) {
			out.WriteString(flags)
		} else {
			out.WriteString(own)
		}
	}
	return out.String() + text[last:]
}

// hostFlag begins the flag that names a host, which is the last of flags.
const hostFlag = " --host "

// command is a command, or a sentence with one, as it is to be typed.
func (p *page) command(s string) string { return withFlags(p.flags, s) }

// proposed is a command that an answer proposes, as it is to be typed.
func (p *page) proposed(s string) string { return p.command(typable(p.foreign, s)) }

// typable is what is to be typed of a command that an answer proposes: another machine, a
// foreign one, is no more to be believed than any text from outside.
func typable(foreign bool, s string) string {
	if foreign {
		return api.Proposed(s)
	}
	return s
}

// advice finds the commands for a person to type in indented JSON.
var advice = regexp.MustCompile(`(?m)^(\s*"(?:command|hint)": )("custos.*?")(,?)$`)

// addressed is an answer in JSON with the configuration in its commands.
func addressed(flags string, foreign bool, b []byte) []byte {
	if flags == "" {
		return b
	}
	return advice.ReplaceAllFunc(b, func(line []byte) []byte {
		m := advice.FindSubmatch(line)
		var text string
		if json.Unmarshal(m[2], &text) != nil {
			return line
		}
		text = withFlags(flags, typable(foreign, text))
		whole, err := json.Marshal(text)
		if err != nil {
			return line
		}
		return append(append(append([]byte{}, m[1]...), whole...), m[3]...)
	})
}
