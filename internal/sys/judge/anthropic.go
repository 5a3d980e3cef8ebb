package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// tool is the one tool that an API's model is given: answering.
const tool = "answer"

const toolSays = "Give the answer. Call it exactly once."

// object is JSON to be written.
type object = map[string]any

// messagesVersion is the version of the Messages API that is spoken: a request that
// names none is refused (docs.anthropic.com, api/versioning).
const messagesVersion = "2023-06-01"

// anthropic asks the Messages API, and makes the model answer by a tool whose
// arguments have the schema. What is asked and read is as anthropics/anthropic-sdk-go
// has it: message.go (015e8bc) MessageNewParams, ToolParam, ToolChoiceToolParam, Message
// and Usage; the headers, internal/requestconfig (0006a88).
type anthropic struct {
	model string
	post  *poster
}

func newAnthropic(s Settings) (asker, error) {
	u, err := s.api("https://api.anthropic.com")
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, "/v1") {
		u = u.JoinPath("v1")
	}
	sign := func(h http.Header, key string) {
		h.Set("Anthropic-Version", messagesVersion)
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	}
	post, err := newPoster(s, u.JoinPath("messages"), sign)
	return &anthropic{model: s.Model, post: post}, err
}

func (w *anthropic) ask(ctx context.Context, q Question) (Answer, error) {
	a := Answer{Model: w.model}
	c, err := w.post.begin(ctx)
	if err != nil {
		return a, err
	}
	reply, err := c.post(ctx, object{
		"model": w.model, "max_tokens": q.MaxTokens, "system": q.system(),
		"messages":    []object{{"role": "user", "content": q.fenced()}},
		"tools":       []object{{"name": tool, "description": toolSays, "input_schema": q.Schema}},
		"tool_choice": object{"type": "tool", "name": tool, "disable_parallel_tool_use": true},
	})
	a.Calls = c.calls
	if err != nil {
		return a, err
	}
	err = readMessage(reply, &a)
	a.Text = scrub(a.Text, c.key)
	return a, err
}

// message is a reply of the Messages API.
type message struct {
	Model   string `json:"model"`
	Stop    string `json:"stop_reason"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	Usage claudeUsage `json:"usage"`
}

func readMessage(reply []byte, a *Answer) error {
	var m message
	if err := json.Unmarshal(reply, &m); err != nil {
		return fmt.Errorf("%w: it is no message of this API", ErrNoAnswer)
	}
	a.Usage = m.Usage.usage()
	if m.Model != "" {
		a.Model = line(m.Model, 100)
	}
	switch m.Stop { // StopReason, and BetaStopReason of the same SDK
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		return ErrCut
	case "refusal":
		return ErrDeclined
	}
	return m.answer(a)
}

// answer prefers the tool to the words beside it. A server that knows no tools
// answers in words: the reader decides whether they are good enough.
func (m message) answer(a *Answer) error {
	var called, said []string
	for _, c := range m.Content {
		switch {
		case c.Type == "tool_use" && c.Name == tool:
			called = append(called, string(c.Input))
		case c.Type == "text":
			said = append(said, c.Text)
		}
	}
	return one(called, strings.Join(said, ""), a)
}

// one takes the only call there is, or the words when there is none.
func one(called []string, said string, a *Answer) error {
	switch {
	case len(called) > 1:
		return fmt.Errorf("%w: it has %d", ErrNoAnswer, len(called))
	case len(called) == 1:
		a.Text = called[0]
	default:
		a.Text = said
	}
	if strings.TrimSpace(a.Text) == "" {
		return ErrNoAnswer
	}
	return nil
}
