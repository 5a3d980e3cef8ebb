package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// readText takes what was printed for the answer. A fence around the whole of it
// is how models quote JSON, and dropped; any other prose is not.
func readText(out []byte) (Answer, error) {
	s := strings.TrimSpace(string(out))
	if s == "" {
		return Answer{}, ErrNoAnswer
	}
	return Answer{Text: unfence(s)}, nil
}

func unfence(s string) string {
	s = strings.TrimSpace(s)
	body, opened := strings.CutPrefix(s, "```")
	body, closed := strings.CutSuffix(body, "```")
	first, rest, more := strings.Cut(body, "\n")
	if lang := strings.TrimSpace(first); opened && closed && more && (lang == "" || lang == "json") && !strings.Contains(rest, "```") {
		return strings.TrimSpace(rest)
	}
	return s
}

// claudeResult is the last message of claude -p, in either JSON format.
type claudeResult struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Structured json.RawMessage `json:"structured_output"`
	Cost       *float64        `json:"total_cost_usd"`
	Models     map[string]any  `json:"modelUsage"`
	Usage      claudeUsage     `json:"usage"`
}

// claudeUsage is what both the API and the CLI tell.
type claudeUsage struct {
	Input   *int64 `json:"input_tokens"`
	Created *int64 `json:"cache_creation_input_tokens"`
	Cached  *int64 `json:"cache_read_input_tokens"`
	Output  *int64 `json:"output_tokens"`
}

func (u claudeUsage) usage() Usage { return usage(u.Output, u.Input, u.Created, u.Cached) }

func readClaude(out []byte) (Answer, error) {
	var last *claudeResult
	for _, raw := range messages(out) {
		var m claudeResult
		if json.Unmarshal(raw, &m) == nil && m.Type == "result" {
			last = &m
		}
	}
	if last == nil {
		return Answer{}, fmt.Errorf("it printed no result: %w", ErrNoAnswer)
	}
	a := Answer{Text: unfence(last.Result), Usage: last.Usage.usage()}
	if s := bytes.TrimSpace(last.Structured); len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		a.Text = string(s)
	}
	if last.Cost != nil {
		a.Cost = micros(*last.Cost * 1e6)
	}
	if len(last.Models) == 1 {
		for name := range last.Models {
			a.Model = line(name, 100)
		}
	}
	if last.IsError || last.Subtype != "" && last.Subtype != "success" {
		return a, fmt.Errorf("it says %q: %w", line(last.Subtype+" "+last.Result, 200), ErrNoAnswer)
	}
	if a.Text == "" {
		return a, ErrNoAnswer
	}
	return a, nil
}

// messages takes apart one JSON value, an array of them, or one a line.
func messages(out []byte) (all []json.RawMessage) {
	if json.Unmarshal(out, &all) == nil {
		return all
	}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var m json.RawMessage
		if d.Decode(&m) != nil {
			return all
		}
		all = append(all, m)
	}
}

// codexEvent is one line of codex exec --json.
type codexEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Item struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"item"`
	Usage struct {
		Input  *int64 `json:"input_tokens"` // cached ones are among them
		Output *int64 `json:"output_tokens"`
	} `json:"usage"`
}

func readCodex(out []byte) (a Answer, err error) {
	done := false
	for raw := range bytes.Lines(out) {
		var e codexEvent
		if json.Unmarshal(raw, &e) != nil {
			continue // other lines are the CLI's own news
		}
		switch {
		case e.Type == "item.completed" && e.Item.Type == "agent_message":
			a.Text = unfence(e.Item.Text)
		case e.Type == "turn.completed":
			done, a.Usage = true, usage(e.Usage.Output, e.Usage.Input)
		case e.Type == "turn.failed":
			return a, fmt.Errorf("it says %q: %w", line(e.Error.Message, 200), ErrNoAnswer)
		}
	}
	if !done || a.Text == "" {
		return a, fmt.Errorf("it completed no turn with a message: %w", ErrNoAnswer)
	}
	return a, nil
}
