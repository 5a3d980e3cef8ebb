package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// chatWire is OpenAI chat completions, as opencode speaks it.
type chatWire struct{}

func (chatWire) name() string { return "chat" }

func (chatWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Stream   bool `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, err
	}
	a := Asked{Stream: in.Stream}
	for _, m := range in.Messages {
		said, _ := text(m.Content)
		a.Turns = append(a.Turns, Turn{Role: m.Role, Text: said, Result: m.Role == "tool"})
	}
	for _, t := range in.Tools {
		a.Tools = append(a.Tools, t.Function.Name)
	}
	return a, nil
}

func (chatWire) tool(offered []string) (string, object) {
	if !slices.Contains(offered, "bash") {
		return "", nil
	}
	return "bash", object{"command": toolCommand, "description": "Make a proof file"}
}

func (w chatWire) say(s *sink, words []string, pause func() bool) {
	if !s.stream {
		w.whole(s, object{"role": "assistant", "content": strings.Join(words, "")}, "stop")
		return
	}
	w.chunk(s, object{"role": "assistant", "content": ""}, nil)
	for _, word := range words {
		w.chunk(s, object{"content": word}, nil)
		if !pause() {
			return
		}
	}
	w.finish(s, "stop")
}

func (w chatWire) call(s *sink, tool string, args object) {
	calls := []any{object{"index": 0, "id": "call_" + s.id, "type": "function", "function": object{"name": tool, "arguments": string(encode(args))}}}
	if !s.stream {
		w.whole(s, object{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls")
		return
	}
	w.chunk(s, object{"role": "assistant", "tool_calls": calls}, nil)
	w.finish(s, "tool_calls")
}

func (w chatWire) finish(s *sink, why string) {
	w.chunk(s, object{}, why)
	s.event("", []byte("[DONE]"))
}

func (chatWire) chunk(s *sink, delta object, why any) {
	data := object{"id": "chatcmpl-" + s.id, "object": "chat.completion.chunk", "created": 1, "model": "mock-model",
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": why}}}
	if why != nil {
		data["usage"] = object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	}
	s.event("", data)
}

func (chatWire) whole(s *sink, message object, why string) {
	writeJSON(s.w, 200, object{"id": "chatcmpl-" + s.id, "object": "chat.completion", "created": 1, "model": "mock-model",
		"choices": []any{object{"index": 0, "message": message, "finish_reason": why}},
		"usage":   object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}})
}

func (chatWire) limited() object {
	return object{"error": object{"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Rate limit reached (mock)"}}
}
