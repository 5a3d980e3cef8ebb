package conversation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// claudeLine is a line of ~/.claude/projects/FOLDER/SESSION.jsonl, and of the files of
// sub-agents beside it. Seen with 2.1.197 and 2.1.330.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Timestamp string `json:"timestamp"`
	Session   string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Version   string `json:"version"`
	Request   string `json:"requestId"`
	UUID      string `json:"uuid"`
	Side      bool   `json:"isSidechain"`
	Meta      bool   `json:"isMeta"`
	Summary   bool   `json:"isCompactSummary"`

	APIError bool            `json:"isApiErrorMessage"`
	Error    json.RawMessage `json:"error"` // a word; in lines of the system, an object
	Details  string          `json:"errorDetails"`
	Status   anyInt          `json:"apiErrorStatus"`

	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Stop    string          `json:"stop_reason"`
		Content json.RawMessage `json:"content"`
		Usage   json.RawMessage `json:"usage"`
	} `json:"message"`
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"`
	} `json:"attachment"`
}

// claudeTells are words of which each line that tells anything of use has one: the
// others, which are most of what 2.1.330 writes, are not taken apart.
var claudeTells = [][]byte{[]byte(`"assistant"`), []byte(`"user"`), []byte(`"compact_boundary"`), []byte(`"turn_duration"`), []byte(`"queued_command"`)}

// claudeTranscript reads a line of Claude Code.
func claudeTranscript(line []byte) ([]Entry, error) {
	if line[0] != '{' {
		return nil, errors.New("it is no JSON object")
	}
	if !slices.ContainsFunc(claudeTells, func(word []byte) bool { return bytes.Contains(line, word) }) {
		return nil, nil
	}
	var l claudeLine
	if err := readLoosely(line, &l); err != nil {
		return nil, err
	}
	e := l.entry()
	switch {
	case l.Type == "user" && !l.Meta && !l.Summary:
		return l.said(e), nil
	case l.Type == "assistant":
		return l.answered(e)
	case l.Type == "system" && l.Subtype == "compact_boundary":
		return []Entry{e.as(Compact)}, nil
	case l.Type == "system" && l.Subtype == "turn_duration":
		return []Entry{e.as(Stop)}, nil
	case l.Type == "attachment" && l.Attachment.Type == "queued_command":
		// What was typed while it worked is given to the model between two tools.
		if text, ok := words(l.Attachment.Prompt, isClaudeText); ok && !isClaudeOwn(text) {
			return []Entry{e.prompted(text)}, nil
		}
	}
	return nil, nil
}

// entry is what is common to all that a line tells.
func (l claudeLine) entry() Entry {
	e := newEntry("")
	e.At, e.Session, e.CWD, e.Version, e.Side = timeOf(l.Timestamp), shortID(l.Session), fleet.Path(clipped(l.CWD)), fleet.Line(clipped(l.Version), 40), l.Side
	return e
}

func isClaudeText(kind string) bool { return kind == "text" }

// said reads what the model was given: a prompt, results of tools, that a person
// interrupted it.
func (l claudeLine) said(e Entry) (out []Entry) {
	for _, b := range claudeBlocks(l.Message.Content) {
		if b.Type != "tool_result" {
			continue
		}
		end := e.as(ToolEnd)
		if end.CallID = shortID(b.UseID); b.IsError {
			end.Text = "failed"
		}
		out = append(out, end)
	}
	text, ok := words(l.Message.Content, isClaudeText)
	switch {
	case !ok:
	case strings.HasPrefix(text, "[Request interrupted by user"):
		stop := e.as(Stop)
		stop.Text = "interrupted"
		out = append(out, stop)
	case len(out) == 0 && !isClaudeOwn(text):
		out = append(out, e.prompted(claudeCommand(text)))
	}
	return out
}

// isClaudeOwn says whether a text in a person's name is the CLI's own: what a local
// command or a shell line was, and printed, and what became of a sub-agent.
func isClaudeOwn(text string) bool {
	for _, tag := range []string{"<command-name>", "<local-command-", "<bash-", "<task-notification", "<system-reminder>", "Caveat: The messages below"} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return false
}

var (
	claudeCommandName = regexp.MustCompile(`(?s)^<command-message>.*?</command-message>\s*<command-name>(.*?)</command-name>`)
	claudeCommandArgs = regexp.MustCompile(`(?s)<command-args>(.*?)</command-args>`)
)

// claudeCommand is what was typed where a command became a prompt.
func claudeCommand(text string) string {
	name := claudeCommandName.FindStringSubmatch(text)
	if name == nil {
		return text
	}
	if args := claudeCommandArgs.FindStringSubmatch(text); args != nil {
		return name[1] + " " + args[1]
	}
	return name[1]
}

type claudeBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	UseID   string          `json:"tool_use_id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	IsError bool            `json:"is_error"`
}

func claudeBlocks(content json.RawMessage) (blocks []claudeBlock) {
	if len(content) == 0 || content[0] != '[' || unmarshal(content, &blocks) != nil {
		return nil // a plain text
	}
	return blocks
}

// answered reads a part of what the model answered. An error that ended a turn is
// written as an answer of a model that does not exist.
func (l claudeLine) answered(e Entry) ([]Entry, error) {
	switch {
	case l.APIError:
		text, _ := words(l.Message.Content, isClaudeText)
		return []Entry{e.failed(l.FailureName(text), text, 0)}, nil
	case l.Message.Model == claudeNobody:
		return nil, nil
	}
	tokens, err := claudeTokens(l.Message.Usage)
	if err != nil {
		return nil, err
	}
	return l.response(e, tokens, len(l.Message.Usage) > 0), nil
}

// claudeNobody is the model of answers that the CLI made up.
const claudeNobody = "<synthetic>"

// response is what a part of an answer tells, with the tools that were called in it.
func (l claudeLine) response(e Entry, tokens fleet.Tokens, told bool) []Entry {
	r := e.as(Response)
	r.Model, r.Tokens = fleet.Line(clipped(l.Message.Model), 100), tokens
	if id := cmp.Or(l.Message.ID, l.Request, l.UUID); id != "" {
		r.Key = "claude:" + shortID(id)
	}
	if told {
		r.Used = fleet.Known(tokens.Read()) // as its own status line counts it
	}
	out := append(make([]Entry, 1, 2), l.called(e)...)
	out[0] = r
	if slices.Contains([]string{"end_turn", "stop_sequence", "max_tokens", "refusal"}, l.Message.Stop) {
		out = append(out, e.as(Stop))
	}
	return out
}

// called is which tools were called. Most answers call none, and are not taken apart for that.
func (l claudeLine) called(e Entry) (out []Entry) {
	if !bytes.Contains(l.Message.Content, []byte(`tool_use`)) {
		return nil
	}
	for _, b := range claudeBlocks(l.Message.Content) {
		if b.Type == "tool_use" {
			begin := e.as(ToolBegin)
			begin.Tool, begin.CallID, begin.input = shortID(b.Name), shortID(b.ID), b.Input
			out = append(out, begin)
		}
	}
	return out
}

// failure names an error that ended a turn: by its status and the CLI's word for it, and
// where both say only that the request was wrong, by its text.
func (l claudeLine) FailureName(text string) string {
	if isTooLong(text) || isTooLong(l.Details) {
		return "context"
	}
	name := cmp.Or(FailureOf(l.Status.int(), ""), FailureName(Scalar(l.Error), text))
	if IsCause(name) {
		return name
	}
	return ""
}

type claudeUsage struct {
	Input      *float64 `json:"input_tokens"`
	Output     *float64 `json:"output_tokens"`
	CacheRead  *float64 `json:"cache_read_input_tokens"`
	CacheWrite *float64 `json:"cache_creation_input_tokens"`
	Split      struct {
		FiveMinutes *float64 `json:"ephemeral_5m_input_tokens"`
		Hour        *float64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// claudeTokens reads what a response used.
func claudeTokens(raw json.RawMessage) (fleet.Tokens, error) {
	if len(raw) == 0 {
		return fleet.Tokens{}, nil
	}
	var u claudeUsage
	if err := unmarshal(raw, &u); err != nil {
		return fleet.Tokens{}, fmt.Errorf("its usage: %w", err)
	}
	return u.tokens()
}

// tokens tells them apart. What went into the cache is told as a sum, and by newer versions
// for how long: what the parts do not cover is for five minutes.
func (u claudeUsage) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Split.FiveMinutes, u.Split.Hour, u.Details.Thinking)
	if err != nil {
		return fleet.Tokens{}, fmt.Errorf("its usage: %w", err)
	}
	return fleet.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite5m: max(n[4], n[3]-n[5]), CacheWrite1h: n[5], Reasoning: min(n[6], n[1])}, nil
}
