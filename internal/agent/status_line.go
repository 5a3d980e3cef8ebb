package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// StatusLine is the event of a status line: the CLI runs a command whenever something
// changed, with what it knows of its context, its limits and its cost on the standard
// input, and shows what the command prints.
const StatusLine = "StatusLine"

// statusLineCommand is what the status line runs. then, when it is not "", is the user's
// own command as it stands in the settings (a JSON string): custos-hook runs it and shows
// what it prints, and taking ours away puts it back.
func statusLineCommand(kind, hookBinary, runDir, then string) string {
	command := hookCommand(kind, StatusLine, hookBinary, runDir)
	if then == "" {
		return command
	}
	return command + " --then=" + base64.URLEncoding.EncodeToString([]byte(then))
}

func statusLineValue(command string) string {
	return fmt.Sprintf(`{"type": "command", "command": %s}`, quoted(command))
}

// addStatusLine has the status line of some settings call ours, and ours the one that was
// there. A status line of another shape stays, and ours is not added.
func addStatusLine(k Kind, b []byte, hookBinary, runDir string) ([]byte, error) {
	keys := k.Hooks.StatusLine
	if keys == nil {
		return b, nil
	}
	root, ok, err := readJSON(b)
	if err != nil || !ok {
		return b, err
	}
	at := root
	for depth, key := range keys {
		m, ok := at.find(key)
		switch {
		case at.kind != '{':
			return b, nil
		case !ok:
			return addMember(b, at, keys, depth, func(made int) string {
				return statusLineValue(fmt.Sprintf("%s --made=%d", statusLineCommand(k.Name, hookBinary, runDir, ""), made))
			}), nil
		}
		at = m.value
	}
	command, ok := commandOf(b, at)
	if !ok {
		return b, nil
	}
	then := string(b[command.start:command.end])
	return slices.Replace(slices.Clone(b), command.start, command.end, []byte(quoted(statusLineCommand(k.Name, hookBinary, runDir, then)))...), nil
}

// addMember puts a member into an object, below the keys that are missing, which it makes.
func addMember(b []byte, in node, keys []string, depth int, value func(made int) string) []byte {
	made := len(keys) - 1 - depth
	text := value(made)
	for i := len(keys) - 1; i > depth; i-- {
		text = "{" + quoted(keys[i]) + ": " + text + "}"
	}
	return splice(b, in, "\n"+strings.Repeat("  ", depth+1)+quoted(keys[depth])+": "+text)
}

// commandOf is the command, a string, of a status line that is one.
func commandOf(b []byte, line node) (node, bool) {
	kind, _ := line.find("type")
	command, ok := line.find("command")
	return command.value, ok && kind.value.text(b) == "command" && command.value.kind == '"'
}

// dropStatusLine takes ours away and puts back what was there.
func dropStatusLine(k Kind, b []byte) ([]byte, error) {
	keys := k.Hooks.StatusLine
	root, ok, err := readJSON(b)
	if keys == nil || err != nil || !ok {
		return b, err
	}
	p, command, ok := statusLineOf(k, b, root)
	if !ok {
		return b, nil
	}
	if was, ok := thenOf(command.text(b)); ok {
		return slices.Replace(slices.Clone(b), command.start, command.end, []byte(was)...), nil
	}
	return p.remove(b), nil
}

// statusLineOf finds a status line that calls ours, and its command.
func statusLineOf(k Kind, b []byte, root node) (p place, command node, ok bool) {
	at := root
	for _, key := range k.Hooks.StatusLine {
		m, ok := at.find(key)
		if !ok {
			return place{}, node{}, false
		}
		p.lists, p.chain = append(p.lists, at), append(p.chain, m)
		at = m.value
	}
	if command, ok = commandOf(b, at); !ok || len(p.chain) == 0 {
		return place{}, node{}, false
	}
	p.command = command.text(b)
	if _, n, noted := strings.Cut(p.command, " --made="); noted {
		p.made = max(0, strings.Index("0123", n))
	}
	return p, command, isOurCommand(k.Name, p.command)
}

// thenOf is the user's own command, as a JSON string, that a command of ours carries.
func thenOf(command string) (string, bool) {
	_, coded, ok := strings.Cut(command, " --then=")
	if !ok {
		return "", false
	}
	was, err := base64.URLEncoding.DecodeString(coded)
	return string(was), err == nil && json.Valid(was)
}
