package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	json "github.com/go-json-experiment/json/v1"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
)

// maxArgs is how much of a tool's arguments is kept, in runes. It is enough to
// tell what an agent is at; the rest is the agent's business.
const maxArgs = 200

// PromptHash is the hash that the event of a prompt carries, by which a text
// that was typed is known again: white space is evened out first, because
// terminals and CLIs change it, and what a CLI puts around a pasted text is taken away.
func PromptHash(text string) string {
	return shortHash([]byte(strings.Join(strings.Fields(unpasted(fleet.Text(text))), " ")))
}

// PromptLine tells of a prompt without keeping it: its hash, and its first words.
func PromptLine(text string) string { return PromptHash(text) + " " + excerpt(unpasted(text), 80) }

// pastedFrame is what Claude Code puts around a paste of some lines (2.1.330).
var pastedFrame = regexp.MustCompile(`</?pasted_content id="[0-9a-z]*">`)

// filesBelow begins what Gemini CLI puts below a prompt that names files with @ (0.61.0).
const filesBelow = "\n--- Content from referenced files ---"

// unpasted is a prompt as it was typed.
func unpasted(text string) string {
	typed, _, _ := strings.Cut(text, filesBelow)
	return pastedFrame.ReplaceAllString(typed, " ")
}

func shortHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// toolArgs are the arguments of a tool that may be kept, by its name; those of
// other tools are not. Contents of files, and texts to write, are never among
// them.
func toolArgs(tool string) []string {
	switch tool {
	case "Bash", "bash", "shell", "local_shell", "exec_command", "run_shell_command", "PowerShell":
		return []string{"command", "cmd", "workdir", "directory"}
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "LS",
		"read", "write", "edit", "list", "read_file", "write_file", "replace", "list_directory", "read_many_files", "view_image":
		return []string{"file_path", "filePath", "absolute_path", "notebook_path", "path", "dir_path", "offset", "limit"}
	case "Glob", "Grep", "glob", "grep", "search_file_content", "grep_search", "codesearch":
		return []string{"pattern", "path", "dir_path", "glob", "include", "query"}
	case "WebFetch", "webfetch", "WebSearch", "websearch", "google_web_search", "web_search":
		return []string{"url", "query"}
	case "Task", "Agent", "task":
		return []string{"subagent_type", "description"}
	case "Skill", "skill", "SlashCommand", "activate_skill":
		return []string{"skill", "name", "command"}
	case "BashOutput", "KillShell", "KillBash", "TaskOutput", "TaskStop", "write_stdin":
		return []string{"bash_id", "shell_id", "task_id", "session_id"}
	}
	return nil
}

// Args is the line about a tool call: what may be kept of its arguments, and
// a hash of them all, by which the same call is known again.
func Args(tool string, raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	mark := " #" + shortHash(compact(raw))[:8]
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil {
		return mark[1:]
	}
	var words []string
	if tool == "apply_patch" || tool == "patch" {
		words = patchedFiles(in)
	}
	for _, name := range toolArgs(tool) {
		if v := argText(in[name]); v != "" {
			words = append(words, name+"="+v)
		}
	}
	line := fleet.Line(strings.Join(words, " "), maxArgs-utf8.RuneCountInString(mark))
	return strings.TrimSpace(line + mark)
}

// compact evens out the white space of JSON, so that only its values count.
func compact(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	b, err := json.Marshal(v) // sorts keys
	if err != nil {
		return raw
	}
	return b
}

// argText is one argument as text: a string, a number, or a list of strings.
func argText(raw json.RawMessage) string {
	var list []string
	text := Scalar(raw)
	if json.Unmarshal(raw, &list) == nil {
		text = strings.Join(list, " ")
	}
	return excerpt(text, maxArgs)
}

// patchedFiles are the files that a patch in codex's format is about; the patch
// itself is not kept.
func patchedFiles(in map[string]json.RawMessage) []string {
	var files []string
	text := argText2(in["command"]) + "\n" + Scalar(in["input"]) + "\n" + Scalar(in["patch"]) + "\n" + Scalar(in["patchText"])
	for line := range strings.Lines(text) {
		for _, verb := range []string{"Update", "Add", "Delete"} {
			if name, ok := strings.CutPrefix(line, "*** "+verb+" File: "); ok {
				files = append(files, strings.ToLower(verb)+"="+excerpt(strings.TrimSpace(name), maxArgs))
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// argText2 is argText whole: nothing is kept of it but names of files.
func argText2(raw json.RawMessage) string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, "\n")
	}
	return Scalar(raw)
}

// excerpt is the beginning of a text, safe to show and to keep: at most n runes
// of its first 2 KiB, so that redacting a huge text costs nothing.
func excerpt(text string, n int) string {
	return fleet.Line(fleet.Redact(fleet.Text(text[:min(len(text), 2<<10)])), n)
}

// Scalar returns a JSON string or number as text, anything else as "".
func Scalar(b []byte) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(b, &n) == nil {
		return n.String()
	}
	return ""
}
