package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// chatWire is OpenAI chat completions, as opencode, qwen and pi speak it.
type chatWire struct{}

func (chatWire) name() string { return "chat" }

func (chatWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
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
	a := Asked{Stream: in.Stream, Model: in.Model}
	for _, m := range in.Messages {
		said, _ := text(m.Content)
		a.Turns = append(a.Turns, Turn{Role: m.Role, Text: said, Result: m.Role == "tool"})
	}
	for _, t := range in.Tools {
		a.Tools = append(a.Tools, t.Function.Name)
	}
	return a, nil
}

// tool knows the names that opencode, qwen and pi have for the shell.
func (chatWire) tool(offered []string, command string) (string, object) {
	for _, name := range []string{"bash", "run_shell_command"} {
		if slices.Contains(offered, name) {
			return name, object{"command": command, "description": "Make a proof file"}
		}
	}
	return "", nil
}

func (chatWire) asks(offered []string) (string, object) {
	questions := object{"questions": []any{object{"question": "Which color do you want?", "header": "Color",
		"options": []any{object{"label": "Red", "description": "The color red"}, object{"label": "Blue", "description": "The color blue"}}}}}
	for _, name := range []string{"question", "ask_user_question"} {
		if slices.Contains(offered, name) {
			return name, questions
		}
	}
	return "", nil
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

func (w chatWire) chunk(s *sink, delta object, why any) {
	data := object{"id": w.id(s.id), "object": "chat.completion.chunk", "created": 1, "model": s.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": why}}}
	if why != nil {
		data["usage"] = w.usage(s)
	}
	s.event("", data)
}

func (w chatWire) whole(s *sink, message object, why string) {
	writeJSON(s.w, 200, object{"id": w.id(s.id), "object": "chat.completion", "created": 1, "model": s.model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": why}}, "usage": w.usage(s)})
}

func (chatWire) usage(s *sink) object {
	t := s.tokens
	s.told(t.Output)
	return object{"prompt_tokens": t.Read(), "prompt_tokens_details": object{"cached_tokens": t.CacheRead},
		"completion_tokens": t.Output, "completion_tokens_details": object{"reasoning_tokens": t.Reasoning}, "total_tokens": t.All()}
}

// tells: what goes into the cache is not told.
func (chatWire) tells(t fleet.Tokens) fleet.Tokens {
	t.CacheWrite5m, t.CacheWrite1h = 0, 0
	return t
}

func (chatWire) id(id string) string { return "chatcmpl-" + id }

func (chatWire) refuse(s *sink, r refusal) {
	writeJSON(s.w, r.status, object{"error": openaiError(r)})
}

// openaiError is an error in OpenAI's words.
func openaiError(r refusal) object {
	code := map[int]string{429: "rate_limit_exceeded", 401: "invalid_api_key", 500: "server_error", 529: "server_overloaded", 400: "context_length_exceeded"}[r.status]
	return object{"type": code, "code": code, "message": r.message}
}
