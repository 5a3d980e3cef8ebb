package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// claudeWire is Anthropic Messages.
type claudeWire struct{}

func (claudeWire) name() string { return "messages" }

func (claudeWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
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
	a := Asked{Stream: in.Stream, Model: in.Model}
	for _, m := range in.Messages {
		said, result := text(m.Content)
		a.Turns = append(a.Turns, Turn{Role: m.Role, Text: said, Result: result})
	}
	for _, t := range in.Tools {
		a.Tools = append(a.Tools, t.Name)
	}
	return a, nil
}

func (claudeWire) tool(offered []string, command string) (string, object) {
	if !slices.Contains(offered, "Bash") {
		return "", nil
	}
	return "Bash", object{"command": command, "description": "Make a proof file"}
}

func (claudeWire) asks(offered []string) (string, object) {
	if !slices.Contains(offered, "AskUserQuestion") {
		return "", nil
	}
	return "AskUserQuestion", object{"questions": []any{object{"question": "Which color do you want?", "header": "Color", "multiSelect": false,
		"options": []any{object{"label": "Red", "description": "The color red"}, object{"label": "Blue", "description": "The color blue"}}}}}
}

func (w claudeWire) say(s *sink, words []string, pause func() bool) {
	if !s.stream {
		w.whole(s, object{"type": "text", "text": strings.Join(words, "")}, "end_turn")
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
		w.whole(s, use, "tool_use")
		return
	}
	use["input"] = object{}
	w.begin(s, use)
	s.event("content_block_delta", object{"type": "content_block_delta", "index": 0,
		"delta": object{"type": "input_json_delta", "partial_json": string(encode(args))}})
	w.end(s, "tool_use")
}

func (w claudeWire) whole(s *sink, block object, stop string) {
	s.told(s.tokens.Output)
	writeJSON(s.w, 200, w.message(s, []any{block}, stop, s.tokens.Output))
}

// begin tells of a few tokens of output only: what counts is told at the end.
func (w claudeWire) begin(s *sink, block object) {
	s.told(2)
	s.event("message_start", object{"type": "message_start", "message": w.message(s, []any{}, "", 2)})
	s.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
}

func (w claudeWire) end(s *sink, why string) {
	s.told(s.tokens.Output)
	s.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
	s.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil},
		"usage": object{"output_tokens": s.tokens.Output}})
	s.event("message_stop", object{"type": "message_stop"})
}

func (w claudeWire) message(s *sink, content []any, stop string, output int64) object {
	t := s.tokens
	m := object{"id": w.id(s.id), "type": "message", "role": "assistant", "model": s.model, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": t.Input, "output_tokens": output,
			"cache_read_input_tokens": t.CacheRead, "cache_creation_input_tokens": t.CacheWrite5m + t.CacheWrite1h,
			"cache_creation": object{"ephemeral_5m_input_tokens": t.CacheWrite5m, "ephemeral_1h_input_tokens": t.CacheWrite1h}}}
	if stop != "" {
		m["stop_reason"] = stop
	}
	return m
}

// tells: thoughts are output, and not told apart.
func (claudeWire) tells(t fleet.Tokens) fleet.Tokens {
	t.Reasoning = 0
	return t
}

func (claudeWire) id(id string) string { return "msg_" + id }

func (claudeWire) refuse(s *sink, r refusal) {
	writeJSON(s.w, r.status, object{"type": "error", "request_id": "req_" + s.id, "error": object{"type": r.kind, "message": r.message}})
}
