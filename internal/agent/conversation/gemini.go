package conversation

import (
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"strings"

	"custos/internal/fleet"
)

// geminiLine is a line of ~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl: the head of
// the file, a message, or what was changed in it. Seen with 0.61.0. A message is written
// again, whole, when a tool that it called has ended. Errors are in no line, nor is the
// folder: that is in .project_root beside the folder of the chats.
type geminiLine struct {
	Session   string          `json:"sessionId"`
	Began     string          `json:"startTime"`
	Kind      string          `json:"kind"`
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Typed     json.RawMessage `json:"displayContent"` // where that is not the content: files that were named are in that
	Model     string          `json:"model"`
	Tokens    *geminiTokens   `json:"tokens"`
	Calls     []geminiCall    `json:"toolCalls"`
	Set       json.RawMessage `json:"$set"`
	Rewind    json.RawMessage `json:"$rewindTo"`
}

type geminiCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Status    string          `json:"status"`
	Timestamp string          `json:"timestamp"`
}

type geminiTokens struct {
	Input    *float64 `json:"input"`
	Output   *float64 `json:"output"`
	Cached   *float64 `json:"cached"`
	Thoughts *float64 `json:"thoughts"`
	Tool     *float64 `json:"tool"`
}

// geminiTranscript reads a line of Gemini CLI.
func geminiTranscript(line []byte) ([]Entry, error) {
	var l geminiLine
	if err := readLoosely(line, &l); err != nil {
		return nil, err
	}
	e := newEntry("")
	e.At = timeOf(l.Timestamp)
	switch {
	case len(l.Set) > 0 || len(l.Rewind) > 0:
		return nil, nil // of what was written before
	case l.Session != "":
		e.At, e.Session, e.Side = timeOf(l.Began), shortID(l.Session), l.Kind == "subagent"
		return []Entry{e.as(Session)}, nil
	case l.Type == "user":
		return l.prompts(e), nil
	case l.Type == "gemini":
		return l.answered(e)
	case l.Type == "error":
		text, _ := words(l.Content, isAnyText)
		return []Entry{e.failed("", text, 0)}, nil
	case l.Type == "":
		return nil, errors.New("it is neither a message nor the head of a conversation")
	}
	return nil, nil
}

func isAnyText(string) bool { return true }

// prompts: what a person typed, not what tools gave back, nor what it begins with.
func (l geminiLine) prompts(e Entry) []Entry {
	text, ok := words(l.Typed, isAnyText)
	if !ok {
		text, ok = words(l.Content, isAnyText)
	}
	if !ok || strings.HasPrefix(text, "<session_context>") {
		return nil
	}
	return []Entry{e.prompted(text)}
}

// answered reads what the model answered. That the turn ended is in no line: a message
// is written before the tools that it calls are.
func (l geminiLine) answered(e Entry) (out []Entry, err error) {
	if l.Tokens != nil {
		tokens, err := l.Tokens.tokens()
		if err != nil {
			return nil, fmt.Errorf("its usage: %w", err)
		}
		r := e.as(Response)
		r.Key, r.Model, r.Tokens, r.Used = "gemini:"+shortID(l.ID), fleet.Line(clipped(l.Model), 100), tokens, fleet.Known(tokens.Read())
		out = append(out, r)
	}
	for _, c := range l.Calls {
		out = append(out, c.entries(e)...)
	}
	return out, nil
}

// entries: it writes a call down when it has ended.
func (c geminiCall) entries(e Entry) []Entry {
	begin := e.as(ToolBegin)
	begin.Tool, begin.CallID, begin.input = shortID(c.Name), shortID(c.ID), c.Args
	end := e.as(ToolEnd)
	if end.CallID = shortID(c.ID); c.Status != "success" {
		end.Text = "failed"
	}
	if at := timeOf(c.Timestamp); !at.IsZero() {
		end.At = at
	}
	return []Entry{begin, end}
}

// tokens: what came from the cache is in the input, too; thoughts are beside the output.
func (u geminiTokens) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Output, u.Cached, u.Thoughts, u.Tool)
	if err != nil {
		return fleet.Tokens{}, err
	}
	return fleet.Tokens{Input: max(0, n[0]-n[2]) + n[4], CacheRead: min(n[2], n[0]), Output: n[1] + n[3], Reasoning: n[3]}, nil
}
