package policy

import (
	"encoding/json"
	"strings"
)

// A tool says what of its input is a command, a path, an address or a patch.
type toolKind struct {
	names   string // patterns
	command string // keys of its input, the first that is there counts
	cwd     string
	read    string
	write   string
	url     string
	patch   string
}

// toolKinds are the tools of the CLIs, as they are called there: claude, codex, gemini and qwen, opencode, pi.
var toolKinds = []toolKind{
	{names: "Bash bash shell local_shell exec_command run_shell_command unified_exec Shell execute_command run_command container.exec", command: "command cmd", cwd: "workdir cwd directory dir_path"},
	{names: "PowerShell Monitor", command: "command", cwd: "cwd"},
	{names: "Write Edit MultiEdit NotebookEdit write edit multiedit write_file replace edit_file create_file notebook_edit str_replace_editor", write: "file_path filePath notebook_path path absolute_path"},
	{names: "apply_patch patch", patch: "input patch patchText command content"},
	{names: "Read read read_file NotebookRead view_image view", read: "file_path filePath absolute_path path notebook_path"},
	{names: "Grep Glob LS grep glob list ls list_directory search_file_content grep_search read_many_files", read: "path dir_path file_path paths include"},
	{names: "WebFetch webfetch web_fetch fetch", url: "url prompt"},
	// Tools of MCP servers: what they call a path or an address most often.
	{names: "mcp__*write* mcp__*edit* mcp__*create* mcp__*move* mcp__*delete* mcp__*save*", write: "path file_path filePath destination target source", url: "url"},
	{names: "mcp__*", read: "path file_path filePath uri", url: "url uri"},
}

// Reading makes a call of what a hook is told of it. A tool that is not known has no paths.
func Reading(tool, cwd string, input json.RawMessage, l Places) Call {
	c := Call{Tool: tool, Cwd: cwd, Places: l}
	k, known := kindOf(tool)
	if !known {
		return c
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		var text string
		if k.patch == "" && k.command == "" || json.Unmarshal(input, &text) != nil {
			c.Unread = "its input is no object"
			return c
		}
		in = map[string]json.RawMessage{strings.Fields(k.command + " " + k.patch)[0]: input}
	}
	return k.reading(c, in)
}

func kindOf(tool string) (toolKind, bool) {
	for _, k := range toolKinds {
		if matchAny(strings.Fields(k.names), tool) {
			return k, true
		}
	}
	return toolKind{}, false
}

func (k toolKind) reading(c Call, in map[string]json.RawMessage) Call {
	if dir := first(in, k.cwd); len(dir) > 0 && dir[0] != "" {
		c.Cwd = c.touch(Read, dir[0]).Path
	}
	if k.command != "" {
		argv := first(in, k.command)
		c.Shell, c.Command = true, commandLine(argv)
		if len(argv) == 0 {
			c.Unread = "it has no command"
		}
	}
	if k.patch != "" {
		c.patched(strings.Join(first(in, k.patch), " "))
	}
	c.Read, c.Write = append(c.Read, all(in, k.read)...), append(c.Write, all(in, k.write)...)
	if k.write != "" && len(c.Write) == 0 && !strings.HasPrefix(c.Tool, "mcp__") {
		c.Unread = "it has no path"
	}
	if u := first(in, k.url); len(u) > 0 {
		c.URL = address(u[0])
	}
	return c
}

// address is the first address in a text.
func address(s string) string {
	for _, f := range strings.Fields(s) {
		if hostOf(f) != "" {
			return f
		}
	}
	return ""
}

// first is what the first of some keys holds that is there: a text, or a list of texts.
func first(in map[string]json.RawMessage, keys string) []string {
	for _, key := range strings.Fields(keys) {
		if v := texts(in[key]); v != nil {
			return v
		}
	}
	return nil
}

func all(in map[string]json.RawMessage, keys string) (out []string) {
	for _, key := range strings.Fields(keys) {
		out = append(out, texts(in[key])...)
	}
	return out
}

func texts(v json.RawMessage) []string {
	var one string
	var list []string
	switch {
	case len(v) == 0:
		return nil
	case json.Unmarshal(v, &one) == nil:
		return []string{one}
	case json.Unmarshal(v, &list) == nil:
		return list
	}
	return nil
}

// commandLine is the command of a list of words: ["bash", "-lc", "TEXT"] of codex, or any.
func commandLine(argv []string) string {
	if len(argv) == 1 {
		return argv[0]
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// patched reads a patch of codex's form for the files it is about.
func (c *Call) patched(text string) {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for mark, into := range map[string]*[]string{"*** Add File: ": &c.Write, "*** Update File: ": &c.Write, "*** Move to: ": &c.Write, "*** Delete File: ": &c.Delete} {
			if p, ok := strings.CutPrefix(line, mark); ok {
				*into = append(*into, strings.TrimSpace(p))
				found = true
			}
		}
	}
	if !found {
		c.Unread = "its patch names no file"
	}
}
