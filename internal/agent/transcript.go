package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// transcriptLimit is the longest line of a transcript that is read, in bytes.
const transcriptLimit = 8 << 20

// TranscriptWhat is what a line of a transcript tells.
type TranscriptWhat string

// What a line can tell.
const (
	TranscriptSession   TranscriptWhat = "session"    // of which conversation the file is
	TranscriptPrompt    TranscriptWhat = "prompt"     // the model was given a prompt
	TranscriptResponse  TranscriptWhat = "response"   // the model answered, or a part of it; Key names the answer
	TranscriptToolBegin TranscriptWhat = "tool-begin" //
	TranscriptToolEnd   TranscriptWhat = "tool-end"   // Text is failed or interrupted where it was
	TranscriptStop      TranscriptWhat = "stop"       // the turn ended; Text is interrupted where a person ended it
	TranscriptFailure   TranscriptWhat = "failure"    // an error ended the turn
	TranscriptCompact   TranscriptWhat = "compact"    // what was said before is not in the context any more
	TranscriptWindow    TranscriptWhat = "window"     // how large its context is, and how much of it is used
)

// TranscriptEntry is one thing that the file tells in which a CLI keeps a
// conversation. What it does not tell is empty or unknown.
type TranscriptEntry struct {
	What    TranscriptWhat
	At      time.Time // as the file says; UTC
	Session string    // the CLI's own name of the conversation
	CWD     string    // in the form of fleet.Path
	Version string    // of the CLI that wrote it
	Model   string    // that answered

	Text       string // of a prompt: its first words; of an end: how it ended
	PromptHash string // see PromptHash
	Tool       string
	CallID     string
	Args       string // filtered and redacted, as hooks' are

	Side    bool   // of a sub-agent, in a context of its own
	Key     string // of a response: the same in each line, file and source that tells of it
	Tokens  fleet.Tokens
	Cost    int64              // of a response: millionths of a dollar, as the CLI says; 0 where it does not
	Used    fleet.Leaf[int64]  // tokens of its context that are used
	Window  fleet.Leaf[int64]  // tokens that its context holds
	Failure *fleet.TurnFailure // of a window: the limit that is used up
}

// transcriptReaders are the languages that ReadTranscript reads.
func transcriptReaders() map[string]func(line []byte) ([]TranscriptEntry, error) {
	return map[string]func([]byte) ([]TranscriptEntry, error){
		"claude": claudeTranscript, "codex": codexTranscript, "gemini": geminiTranscript, "opencode": openCodeTranscript, "pi": piTranscript, "qwen": qwenTranscript,
	}
}

// ReadTranscript reads one line, or one record, of a file in which a CLI keeps a
// conversation; the language is that of its kind (transcripts.language). One that
// tells nothing of use gives no entries. One that is none of the language is an error,
// which says nothing of the agent: a line may be torn.
func ReadTranscript(language string, line []byte) ([]TranscriptEntry, error) {
	read, ok := transcriptReaders()[language]
	if !ok {
		return nil, fmt.Errorf("cannot read a transcript: its language %q is not known", fleet.Line(language, 40))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	if len(line) > transcriptLimit {
		return nil, fmt.Errorf("cannot read a line of a transcript of %s: more than %d bytes", language, transcriptLimit)
	}
	entries, err := read(line)
	if err != nil {
		return nil, fmt.Errorf("cannot read a line of a transcript of %s: %w", language, err)
	}
	return entries, nil
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
func transcriptEntry(what TranscriptWhat) TranscriptEntry {
	return TranscriptEntry{What: what, Used: fleet.Unknown[int64]("not told"), Window: fleet.Unknown[int64]("not told")}
}

// as returns what is common to all entries of a line, as an entry that tells something.
func (e TranscriptEntry) as(what TranscriptWhat) TranscriptEntry {
	e.What = what
	return e
}

// countedKey marks the tokens of a response that a running sum tells of. They count where
// the file names no responses, and are known by the sum.
func countedKey(total int64) string { return fmt.Sprintf("total:%d", total) }

// Counted says whether an entry tells the tokens of a response by a running sum: they count
// only where no entry of the file is a response with tokens.
func (e TranscriptEntry) Counted() bool { return strings.HasPrefix(e.Key, "total:") }

// prompted makes a prompt of an entry, without keeping its text.
func (e TranscriptEntry) prompted(text string) TranscriptEntry {
	e.What, e.PromptHash, e.Text = TranscriptPrompt, PromptHash(text), excerpt(text, 80)
	return e
}

// failed makes a failure of an entry. A name that is empty is looked for in the text.
func (e TranscriptEntry) failed(name, text string, status int) TranscriptEntry {
	if name == "" {
		name = failureName(status, text)
	}
	e.What = TranscriptFailure
	e.Failure = &fleet.TurnFailure{Name: name, Text: streamText(text), At: e.At, Until: limitReset(text, e.At)}
	return e
}

// mostTokens is more than any response has.
const mostTokens = 1e9

// tokensOf reads numbers of tokens. What is told of a response is believed whole or
// not at all: a number below zero, broken, or beyond all measure is an error.
func tokensOf(numbers ...*float64) ([]int64, error) {
	out := make([]int64, len(numbers))
	for i, n := range numbers {
		switch {
		case n == nil:
		case math.IsNaN(*n) || *n < 0 || *n > mostTokens || *n != math.Trunc(*n):
			return nil, fmt.Errorf("%v is no number of tokens", *n)
		default:
			out[i] = int64(*n)
		}
	}
	return out, nil
}

// countOf is one number of tokens; unknown where none that can be is told.
func countOf(n *float64) fleet.Leaf[int64] {
	read, err := tokensOf(n)
	if n == nil || err != nil {
		return fleet.Unknown[int64]("not told")
	}
	return fleet.Known(read[0])
}

// transcriptTime reads a time as JSON has it; zero for what is none.
func transcriptTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 2020 || at.Year() > 9999 {
		return time.Time{}
	}
	return at.UTC()
}

// words are the texts in a message's content: a text, or a list of parts.
func words(raw json.RawMessage, isText func(kind string) bool) (text string, any bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, text != ""
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
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
