package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// openai asks chat completions. Servers differ in how they take a schema: first
// it is asked for as the format of the response, and where that is refused, as
// the arguments of a tool, with the older name of the limit. What worked is
// remembered. What is asked and read is as openai/openai-go v3 has it: chatcompletion.go
// (015fe52) ChatCompletionNewParams (max_tokens is the older name of
// max_completion_tokens), ChatCompletion and ChatCompletionMessage.
type openai struct {
	model  string
	post   *poster
	byTool atomic.Bool
}

func newOpenAI(s Settings) (asker, error) {
	u, err := s.api("https://api.openai.com/v1")
	if err != nil {
		return nil, err
	}
	if u.Path == "/" {
		u = u.JoinPath("v1")
	}
	sign := func(h http.Header, key string) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	}
	post, err := newPoster(s, u.JoinPath("chat/completions"), sign)
	return &openai{model: s.Model, post: post}, err
}

func (w *openai) ask(ctx context.Context, q Question) (Answer, error) {
	a := Answer{Model: w.model}
	c, err := w.post.begin(ctx)
	if err != nil {
		return a, err
	}
	reply, err := w.reply(ctx, c, q)
	a.Calls = c.calls
	if err != nil {
		return a, err
	}
	err = readCompletion(reply, &a)
	a.Text = scrub(a.Text, c.key)
	return a, err
}

func (w *openai) reply(ctx context.Context, c *conversation, q Question) ([]byte, error) {
	if w.byTool.Load() {
		return c.post(ctx, w.tool(q))
	}
	reply, err := c.post(ctx, w.format(q))
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusBadRequest && status.Status != http.StatusUnprocessableEntity {
		return reply, err
	}
	reply, second := c.post(ctx, w.tool(q))
	if second != nil {
		return nil, fmt.Errorf("%w; and by tool: %w", err, second)
	}
	w.byTool.Store(true)
	return reply, nil
}

func (w *openai) body(q Question) object {
	return object{"model": w.model, "messages": []object{
		{"role": "system", "content": q.system()},
		{"role": "user", "content": q.fenced()},
	}}
}

func (w *openai) format(q Question) object {
	b := w.body(q)
	b["max_completion_tokens"] = q.MaxTokens
	b["response_format"] = object{"type": "json_schema", "json_schema": object{"name": tool, "strict": true, "schema": q.Schema}}
	return b
}

func (w *openai) tool(q Question) object {
	b := w.body(q)
	b["max_tokens"] = q.MaxTokens
	b["tools"] = []object{{"type": "function", "function": object{"name": tool, "description": toolSays, "parameters": q.Schema}}}
	b["tool_choice"] = object{"type": "function", "function": object{"name": tool}}
	return b
}

// completion is a reply of chat completions.
type completion struct {
	Model   string `json:"model"`
	Choices []struct {
		Finish  string `json:"finish_reason"`
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
			Calls   []struct {
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		Input  *int64 `json:"prompt_tokens"` // cached ones are among them
		Output *int64 `json:"completion_tokens"`
	} `json:"usage"`
}

func readCompletion(reply []byte, a *Answer) error {
	var m completion
	if err := json.Unmarshal(reply, &m); err != nil {
		return fmt.Errorf("%w: it is no completion of this API", ErrNoAnswer)
	}
	a.Usage = usage(m.Usage.Output, m.Usage.Input)
	if m.Model != "" {
		a.Model = line(m.Model, 100)
	}
	if len(m.Choices) != 1 {
		return fmt.Errorf("%w: it has %d choices", ErrNoAnswer, len(m.Choices))
	}
	switch c := m.Choices[0]; {
	case c.Finish == "length":
		return ErrCut
	case c.Finish == "content_filter" || c.Message.Refusal != "":
		return ErrDeclined
	}
	return m.answer(a)
}

func (m completion) answer(a *Answer) error {
	var called []string
	for _, c := range m.Choices[0].Message.Calls {
		if c.Function.Name == tool {
			called = append(called, c.Function.Arguments)
		}
	}
	return one(called, m.Choices[0].Message.Content, a)
}
