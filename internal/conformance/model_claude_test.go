package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// claudeWire is Anthropic Messages.
type claudeWire struct{}

func (claudeWire) name() string { return "messages" }

func (claudeWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Stream   bool `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, err
	}
	a := Asked{Stream: in.Stream}
	for _, m := range in.Messages {
		said, result := text(m.Content)
		a.Turns = append(a.Turns, Turn{Role: m.Role, Text: said, Result: result})
	}
	for _, t := range in.Tools {
		a.Tools = append(a.Tools, t.Name)
	}
	return a, nil
}

func (claudeWire) tool(offered []string) (string, object) {
	if !slices.Contains(offered, "Bash") {
		return "", nil
	}
	return "Bash", object{"command": toolCommand, "description": "Make a proof file"}
}

func (w claudeWire) say(s *sink, words []string, pause func() bool) {
	if !s.stream {
		writeJSON(s.w, 200, w.message(s.id, []any{object{"type": "text", "text": strings.Join(words, "")}}, "end_turn"))
		return
	}
	w.begin(s, object{"type": "text", "text": ""})
	for _, word := range words {
		s.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": word}})
		if !pause() {
			return
		}
	}
	w.end(s, "end_turn")
}

func (w claudeWire) call(s *sink, tool string, args object) {
	use := object{"type": "tool_use", "id": "toolu_" + s.id, "name": tool, "input": args}
	if !s.stream {
		writeJSON(s.w, 200, w.message(s.id, []any{use}, "tool_use"))
		return
	}
	use["input"] = object{}
	w.begin(s, use)
	s.event("content_block_delta", object{"type": "content_block_delta", "index": 0,
		"delta": object{"type": "input_json_delta", "partial_json": string(encode(args))}})
	w.end(s, "tool_use")
}

func (w claudeWire) begin(s *sink, block object) {
	s.event("message_start", object{"type": "message_start", "message": w.message(s.id, []any{}, "")})
	s.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
}

func (claudeWire) end(s *sink, why string) {
	s.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
	s.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil}, "usage": object{"output_tokens": 10}})
	s.event("message_stop", object{"type": "message_stop"})
}

func (claudeWire) message(id string, content []any, stop string) object {
	m := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "mock-model", "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 10}}
	if stop != "" {
		m["stop_reason"] = stop
	}
	return m
}

func (claudeWire) limited() object {
	return object{"type": "error", "error": object{"type": "rate_limit_error", "message": "Rate limited (mock)"}}
}
