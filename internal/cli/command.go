package cli

import (
	"encoding/json"
	"regexp"
)

// typed finds a command of ours in a text: at its beginning, or after a space, a
// bracket or a backquote.
var typed = regexp.MustCompile("(^|[\\s(`;])custos( |$)")

// withConfig names the configuration in the commands of a text: typed as they
// stand, they must speak of the fleet that they were printed for.
func withConfig(file, text string) string {
	if file == "" {
		return text
	}
	return typed.ReplaceAllStringFunc(text, func(s string) string {
		m := typed.FindStringSubmatch(s)
		return m[1] + "custos --config " + quote(file) + m[2]
	})
}

// command is a command, or a sentence with one, as it is to be typed.
func (p *page) command(s string) string { return withConfig(p.file, s) }

// advice finds the commands for a person to type in indented JSON.
var advice = regexp.MustCompile(`(?m)^(\s*"(?:command|hint)": )("custos.*?")(,?)$`)

// addressed is an answer in JSON with the configuration in its commands.
func addressed(file string, b []byte) []byte {
	if file == "" {
		return b
	}
	return advice.ReplaceAllFunc(b, func(line []byte) []byte {
		m := advice.FindSubmatch(line)
		var text string
		if json.Unmarshal(m[2], &text) != nil {
			return line
		}
		text = withConfig(file, text)
		whole, err := json.Marshal(text)
		if err != nil {
			return line
		}
		return append(append(append([]byte{}, m[1]...), whole...), m[3]...)
	})
}
