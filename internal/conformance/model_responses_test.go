package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// responsesWire is OpenAI Responses, as codex speaks it.
type responsesWire struct{}

func (responsesWire) name() string { return "responses" }

func (responsesWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, err
	}
	a := Asked{Stream: in.Stream, Turns: responsesTurns(in.Input)}
	for _, t := range in.Tools {
		name := t.Name
		if name == "" {
			name = t.Type // local_shell has no name
		}
		a.Tools = append(a.Tools, name)
	}
	return a, nil
}

func responsesTurns(input json.RawMessage) (turns []Turn) {
	var prompt string
	if json.Unmarshal(input, &prompt) == nil {
		return []Turn{{Role: "user", Text: prompt}}
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(input, &items) // what cannot be read has no turns
	for _, item := range items {
		switch {
		case strings.HasSuffix(item.Type, "_output"):
			turns = append(turns, Turn{Role: "tool", Result: true})
		case item.Role != "":
			said, _ := text(item.Content)
			turns = append(turns, Turn{Role: item.Role, Text: said})
		}
	}
	return turns
}

// tool prefers the tool that newer versions offer. It asks to run outside of the
// sandbox, which codex asks the person about.
func (responsesWire) tool(offered []string) (string, object) {
	outside := object{"sandbox_permissions": "require_escalated", "justification": "the mock wants to make a file"}
	args := map[string]object{
		"exec_command":  {"cmd": toolCommand},
		"shell_command": {"command": toolCommand},
		"shell":         {"command": []string{"sh", "-c", toolCommand}},
	}
	for _, name := range []string{"exec_command", "shell_command", "shell"} {
		if slices.Contains(offered, name) {
			for k, v := range outside {
				args[name][k] = v
			}
			return name, args[name]
		}
	}
	return "", nil
}

func (w responsesWire) say(s *sink, words []string, pause func() bool) {
	item := object{"type": "message", "id": "msg_" + s.id, "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": strings.Join(words, ""), "annotations": []any{}}}}
	if !s.stream {
		writeJSON(s.w, 200, w.response(s.id, "completed", item))
		return
	}
	w.emit(s, "response.created", object{"response": w.response(s.id, "in_progress")})
	w.emit(s, "response.output_item.added", object{"output_index": 0,
		"item": object{"type": "message", "id": "msg_" + s.id, "role": "assistant", "status": "in_progress", "content": []any{}}})
	for _, word := range words {
		w.emit(s, "response.output_text.delta", object{"item_id": "msg_" + s.id, "output_index": 0, "content_index": 0, "delta": word})
		if !pause() {
			return
		}
	}
	w.finish(s, item)
}

func (w responsesWire) call(s *sink, tool string, args object) {
	item := object{"type": "function_call", "id": "fc_" + s.id, "call_id": "call_" + s.id, "name": tool, "arguments": string(encode(args)), "status": "completed"}
	if !s.stream {
		writeJSON(s.w, 200, w.response(s.id, "completed", item))
		return
	}
	w.emit(s, "response.created", object{"response": w.response(s.id, "in_progress")})
	w.finish(s, item)
}

func (w responsesWire) finish(s *sink, item object) {
	w.emit(s, "response.output_item.done", object{"output_index": 0, "item": item})
	w.emit(s, "response.completed", object{"response": w.response(s.id, "completed", item)})
}

func (responsesWire) emit(s *sink, name string, data object) {
	data["type"], data["sequence_number"] = name, s.seq
	s.seq++
	s.event(name, data)
}

func (responsesWire) response(id, status string, output ...any) object {
	return object{"id": "resp_" + id, "object": "response", "status": status, "model": "mock-model",
		"output": append([]any{}, output...),
		"usage": object{"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 10,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 20}}
}

func (responsesWire) limited() object {
	return object{"error": object{"type": "rate_limit_exceeded", "code": "rate_limit_exceeded", "message": "Rate limit reached (mock)"}}
}
