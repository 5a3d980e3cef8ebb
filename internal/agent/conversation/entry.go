package conversation

import (
	"bytes"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// mostBytes is the longest line that is read: one holds a whole answer, or the result of a tool.
const mostBytes = 8 << 20

// What is what a line of a transcript, or of an output, tells.
type What string

// What a line of either can tell.
const (
	Session   What = "session"    // of which conversation it is
	Response  What = "response"   // the model answered, or a part of it; Key names the answer, Tokens is what that used
	ToolBegin What = "tool-begin" //
	ToolEnd   What = "tool-end"   // in a transcript, Text is failed or interrupted where it was
)

// What a line of a transcript can tell besides.
const (
	Prompt  What = "prompt"  // the model was given a prompt
	Stop    What = "stop"    // the turn ended; Text is interrupted where a person ended it
	Failure What = "failure" // an error ended the turn
	Compact What = "compact" // what was said before is not in the context any more
	Window  What = "window"  // how large its context is, and how much of it is used
)

// Entry is one thing that the file tells in which a CLI keeps a
// conversation. What it does not tell is empty or unknown.
type Entry struct {
	What    What
	At      time.Time // as the file says; UTC
	Session string    // the CLI's own name of the conversation
	CWD     string    // in the form of fleet.Path
	Version string    // of the CLI that wrote it
	Model   string    // that answered

	Text       string // of a prompt: its first words; of an end: how it ended
	PromptHash string // see PromptHash
	Tool       string
	CallID     string
	input      json.RawMessage // what the tool was called with; see Args

	Side    bool   // of a sub-agent, in a context of its own
	Key     string // of a response: the same in each line, file and source that tells of it
	Tokens  fleet.Tokens
	Cost    int64              // of a response: millionths of a dollar, as the CLI says; 0 where it does not
	Used    fleet.Leaf[int64]  // tokens of its context that are used
	Window  fleet.Leaf[int64]  // tokens that its context holds
	Failure *fleet.TurnFailure // of a window: the limit that is used up
	Quota   []fleet.Quota      // of a window: how much of its plan is used
}

// Args is the line about the call of a tool, filtered and redacted, as hooks' are. It is made when it is asked for:
// who counts goes over all the lines that there are, and has no use for it.
func (e Entry) Args() string { return Args(e.Tool, e.input) }

// Languages are those that Read reads.
func Languages() []string { return slices.Sorted(maps.Keys(readers())) }

func readers() map[string]func(line []byte) ([]Entry, error) {
	return map[string]func([]byte) ([]Entry, error){
		"claude": claudeTranscript, "codex": codexTranscript, "gemini": geminiTranscript, "opencode": openCodeTranscript, "pi": piTranscript, "qwen": qwenTranscript,
	}
}

// Read reads one line, or one record, of a file in which a CLI keeps a
// conversation; the language is that of its kind (transcripts.language). One that
// tells nothing of use gives no entries. One that is none of the language is an error,
// which says nothing of the agent: a line may be torn.
func Read(language string, line []byte) ([]Entry, error) {
	return readLine("a transcript", readers(), language, line)
}

// readLine reads a line of what there is in several languages.
func readLine[T any](what string, in map[string]func([]byte) ([]T, error), language string, line []byte) ([]T, error) {
	read, ok := in[language]
	if !ok {
		return nil, fmt.Errorf("cannot read %s: its language %q is not known", what, fleet.Line(language, 40))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	if len(line) > mostBytes {
		return nil, fmt.Errorf("cannot read a line of %s of %s: more than %d bytes", what, language, mostBytes)
	}
	told, err := read(line)
	if err != nil {
		return nil, fmt.Errorf("cannot read a line of %s of %s: %w", what, language, err)
	}
	return told, nil
}

// Spends says whether a line may tell of tokens, or of whose they are: a quick look, so that
// the others need not be taken apart by who counts.
func Spends(language string, line []byte) bool {
	var signs []string
	switch language {
	case "claude":
		signs = []string{`"usage"`}
	case "codex":
		signs = []string{`"token_usage_record"`, `"token_count"`, `"session_meta"`, `"turn_context"`}
	default:
		return true
	}
	return slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(line, []byte(sign)) })
}

// transcriptEntry returns an entry of which nothing is known but what it is.
func newEntry(what What) Entry {
	return Entry{What: what, Used: fleet.Unknown[int64]("not told"), Window: fleet.Unknown[int64]("not told")}
}

// as returns what is common to all entries of a line, as an entry that tells something.
func (e Entry) as(what What) Entry {
	e.What = what
	return e
}

// countedKey marks the tokens of a response that a running sum tells of. They count where
// the file names no responses, and are known by the sum.
func countedKey(total int64) string { return fmt.Sprintf("total:%d", total) }

// Counted says whether an entry tells the tokens of a response by a running sum: they count
// only where no entry of the file is a response with tokens.
func (e Entry) Counted() bool { return strings.HasPrefix(e.Key, "total:") }

// prompted makes a prompt of an entry, without keeping its text.
func (e Entry) prompted(text string) Entry {
	e.What, e.PromptHash, e.Text = Prompt, PromptHash(text), excerpt(text, 80)
	return e
}

// failed makes a failure of an entry. A name that is empty is looked for in the text.
func (e Entry) failed(name, text string, status int) Entry {
	if name == "" {
		name = FailureOf(status, text)
	}
	e.What = Failure
	e.Failure = &fleet.TurnFailure{Name: name, Text: shownLine(text), At: e.At, Until: limitReset(text, e.At)}
	return e
}

// mostTokens is more than any response has.
const mostTokens = 1e9

// tokensOf reads numbers of tokens. What is told of a response is believed whole or
// not at all: a number below zero, broken, or beyond all measure is an error.
func tokensOf(numbers ...*float64) ([]int64, error) {
	out := make([]int64, len(numbers))
	for i, n := range numbers {
		if n == nil {
			continue
		}
		if err := badTokens(*n); err != nil {
			return nil, err
		}
		out[i] = int64(*n)
	}
	return out, nil
}

// Count is one number of tokens; unknown where none that can be is told.
func Count(n *float64) fleet.Leaf[int64] {
	read, err := tokensOf(n)
	if n == nil || err != nil {
		return fleet.Unknown[int64]("not told")
	}
	return fleet.Known(read[0])
}

// timeOf reads a time as JSON has it; zero for what is none.
func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 2020 || at.Year() > 9999 {
		return time.Time{}
	}
	return at.UTC()
}

// words are the texts in a message's content: a text, or a list of parts.
func words(raw json.RawMessage, isText func(kind string) bool) (text string, any bool) {
	if len(raw) == 0 || raw[0] != '[' {
		_ = json.Unmarshal(raw, &text) // what is no text says nothing
		return text, text != ""
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if unmarshal(raw, &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		if isText(p.Type) && p.Text != "" {
			if any {
				text += "\n"
			}
			text, any = text+p.Text, true
		}
	}
	return text, any
}
