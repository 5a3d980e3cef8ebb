package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// responsesWire is OpenAI Responses, as codex speaks it.
type responsesWire struct{}

func (responsesWire) name() string { return "responses" }

func (responsesWire) read(_ *http.Request, body []byte) (Asked, error) {
	var in struct {
		Model  string          `json:"model"`
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
	a := Asked{Model: in.Model, Stream: in.Stream, Turns: responsesTurns(in.Input)}
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
func (responsesWire) tool(offered []string, command string) (string, object) {
	outside := object{"sandbox_permissions": "require_escalated", "justification": "the mock wants to make a file"}
	args := map[string]object{
		"exec_command":  {"cmd": command},
		"shell_command": {"command": command},
		"shell":         {"command": []string{"sh", "-c", command}},
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

// asks names codex's question, which it offers in its mode for plans only.
func (responsesWire) asks(offered []string) (string, object) {
	if !slices.Contains(offered, "request_user_input") {
		return "", nil
	}
	return "request_user_input", object{"questions": []any{object{"id": "color", "question": "Which color do you want?", "header": "Color",
		"options": []any{object{"label": "Red", "description": "The color red"}, object{"label": "Blue", "description": "The color blue"}}}}}
}

func (w responsesWire) say(s *sink, words []string, pause func() bool) {
	item := object{"type": "message", "id": "msg_" + s.id, "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": strings.Join(words, ""), "annotations": []any{}}}}
	if !s.stream {
		writeJSON(s.w, 200, w.response(s, "completed", item))
		return
	}
	w.emit(s, "response.created", object{"response": w.response(s, "in_progress")})
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
		writeJSON(s.w, 200, w.response(s, "completed", item))
		return
	}
	w.emit(s, "response.created", object{"response": w.response(s, "in_progress")})
	w.finish(s, item)
}

func (w responsesWire) finish(s *sink, item object) {
	w.emit(s, "response.output_item.done", object{"output_index": 0, "item": item})
	w.emit(s, "response.completed", object{"response": w.response(s, "completed", item)})
}

func (responsesWire) emit(s *sink, name string, data object) {
	data["type"], data["sequence_number"] = name, s.seq
	s.seq++
	s.event(name, data)
}

// response tells of tokens when it is completed.
func (w responsesWire) response(s *sink, status string, output ...any) object {
	r := object{"id": w.id(s.id), "object": "response", "status": status, "model": s.model, "output": append([]any{}, output...)}
	if status == "completed" {
		t := s.tokens
		s.told(t.Output)
		r["usage"] = object{"input_tokens": t.Read(), "input_tokens_details": object{"cached_tokens": t.CacheRead}, "output_tokens": t.Output,
			"output_tokens_details": object{"reasoning_tokens": t.Reasoning}, "total_tokens": t.All()}
	}
	return r
}

// tells: what goes into the cache is not told.
func (responsesWire) tells(t fleet.Tokens) fleet.Tokens { return chatWire{}.tells(t) }

func (responsesWire) id(id string) string { return "resp_" + id }

// refuse: that a conversation is too long is told in the stream.
func (w responsesWire) refuse(s *sink, r refusal) {
	e := openaiError(r)
	if r.status == 400 && s.stream {
		failed := w.response(s, "failed")
		failed["error"] = e
		w.emit(s, "response.failed", object{"response": failed})
		return
	}
	if r.retry >= time.Minute {
		reset := time.Now().Add(r.retry).Unix()
		e["type"], e["plan_type"], e["resets_at"] = "usage_limit_reached", "pro", reset
		for k, v := range map[string]string{"used-percent": "100", "window-minutes": "300", "reset-at": strconv.FormatInt(reset, 10)} {
			s.w.Header().Set("x-codex-primary-"+k, v)
		}
	}
	writeJSON(s.w, r.status, object{"error": e})
}
