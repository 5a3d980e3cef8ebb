package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// geminiWire is Gemini generateContent and streamGenerateContent.
type geminiWire struct{}

func (geminiWire) name() string { return "gemini" }

func (geminiWire) read(r *http.Request, body []byte) (Asked, error) {
	var in struct {
		Contents []struct {
			Role  string          `json:"role"`
			Parts json.RawMessage `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, err
	}
	model, call, _ := strings.Cut(r.PathValue("call"), ":")
	a := Asked{Model: model, Stream: call == "streamGenerateContent"}
	for _, c := range in.Contents {
		said, result := text(c.Parts)
		role := c.Role
		if role == "model" {
			role = "assistant"
		}
		a.Turns = append(a.Turns, Turn{Role: role, Text: said, Result: result})
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			a.Tools = append(a.Tools, f.Name)
		}
	}
	return a, nil
}

func (geminiWire) tool(offered []string, command string) (string, object) {
	if !slices.Contains(offered, "run_shell_command") {
		return "", nil
	}
	return "run_shell_command", object{"command": command, "description": "Make a proof file"}
}

func (geminiWire) asks(offered []string) (string, object) {
	if !slices.Contains(offered, "ask_user") {
		return "", nil
	}
	return "ask_user", object{"questions": []any{object{"question": "Which color do you want?", "header": "Color", "type": "choice",
		"options": []any{object{"label": "Red", "description": "The color red"}, object{"label": "Blue", "description": "The color blue"}}}}}
}

func (w geminiWire) say(s *sink, words []string, pause func() bool) {
	if !s.stream {
		writeJSON(s.w, 200, w.chunk(s, object{"text": strings.Join(words, "")}, "STOP"))
		return
	}
	for i, word := range words {
		why := ""
		if i == len(words)-1 {
			why = "STOP"
		}
		s.event("", w.chunk(s, object{"text": word}, why))
		if !pause() {
			return
		}
	}
}

func (w geminiWire) call(s *sink, tool string, args object) {
	chunk := w.chunk(s, object{"functionCall": object{"name": tool, "args": args}}, "STOP")
	if !s.stream {
		writeJSON(s.w, 200, chunk)
		return
	}
	s.event("", chunk)
}

func (w geminiWire) chunk(s *sink, part object, why string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
	chunk := object{"candidates": []any{candidate}, "modelVersion": s.model, "responseId": w.id(s.id)}
	if why != "" {
		t := s.tokens
		s.told(t.Output)
		candidate["finishReason"] = why
		chunk["usageMetadata"] = object{"promptTokenCount": t.Read(), "cachedContentTokenCount": t.CacheRead,
			"candidatesTokenCount": t.Output - t.Reasoning, "thoughtsTokenCount": t.Reasoning, "totalTokenCount": t.All()}
	}
	return chunk
}

// tells: what goes into the cache is not told.
func (geminiWire) tells(t fleet.Tokens) fleet.Tokens { return chatWire{}.tells(t) }

func (geminiWire) id(id string) string { return id }

func (geminiWire) refuse(s *sink, r refusal) {
	status, code := r.status, map[int]string{429: "RESOURCE_EXHAUSTED", 401: "UNAUTHENTICATED", 500: "INTERNAL", 529: "UNAVAILABLE", 400: "INVALID_ARGUMENT"}[r.status]
	if status == 529 {
		status = 503
	}
	e := object{"code": status, "status": code, "message": r.message}
	if r.retry > 0 {
		e["details"] = []any{object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", int(r.retry.Seconds()))}}
	}
	writeJSON(s.w, status, object{"error": e})
}
