package conversation

import (
	"errors"
	json "github.com/go-json-experiment/json/v1"

	"custos/internal/fleet"
)

// qwenPrinted is a line of Qwen Code with --output-format=stream-json: that of Claude Code
// in its outline, not in its tokens, its errors and its words for retries. Seen with 0.24.4.
type qwenPrinted struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"`
	Message struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   qwenUsage       `json:"usage"`
	} `json:"message"`
	IsError bool      `json:"is_error"`
	Text    string    `json:"result"`
	Usage   qwenUsage `json:"usage"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// qwenUsage: what came from the cache is in the input, too; thoughts are in what a server
// of OpenAI's calls output, and with Google's only in the sum of all.
type qwenUsage struct {
	Input  *float64 `json:"input_tokens"`
	Output *float64 `json:"output_tokens"`
	Cached *float64 `json:"cache_read_input_tokens"`
	Total  *float64 `json:"total_tokens"`
}

func (u qwenUsage) tokens() fleet.Leaf[fleet.Tokens] {
	return geminiStats(u).tokens()
}

func qwenOutput(line []byte) ([]Event, error) {
	var l qwenPrinted
	if err := unmarshal(line, &l); err != nil {
		return nil, err
	}
	switch {
	case l.Type == "":
		return nil, errors.New("it has no type")
	case l.Type == "system" && l.Subtype == "init":
		return []Event{newEvent(Session, l.Session), newEvent(Turn, l.Session)}, nil
	case l.Type == "system" && l.Subtype == "retry":
		return []Event{newEvent(Retry, l.Session)}, nil // why, it says to people only
	case l.Type == "user":
		return claudeTools(l.Session, l.Message.Content), nil
	case l.Type == "assistant":
		return append(l.used(), claudeTools(l.Session, l.Message.Content)...), nil
	case l.Type == "result":
		return []Event{l.result()}, nil
	}
	return nil, nil
}

// used: the last part of an answer has its tokens. Its name is another one than in the
// transcript.
func (l qwenPrinted) used() []Event {
	e := newEvent(Response, l.Session)
	if e.Tokens = l.Message.Usage.tokens(); !e.Tokens.IsKnown() {
		return nil
	}
	e.Model, e.Side = fleet.Line(clipped(l.Message.Model), 100), l.Parent != ""
	return []Event{e}
}

func (l qwenPrinted) result() Event {
	e := newEvent(Result, l.Session)
	e.OK, e.Tokens, e.Text = !l.IsError && l.Subtype == "success", l.Usage.tokens(), shownLine(l.Text)
	if !e.OK {
		e.Text, e.Error = shownLine(l.Error.Message), FailureOf(bracketStatus(l.Error.Message), l.Error.Message)
	}
	return e
}

// bracketStatus is the HTTP status in a message such as [API Error: 401 …]; 0 where there
// is none.
func bracketStatus(text string) int {
	const mark = "[API Error: "
	if len(text) > len(mark) && text[:len(mark)] == mark {
		return leadingStatus(text[len(mark):])
	}
	return 0
}
