package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
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
	a := Asked{Stream: strings.HasSuffix(r.PathValue("call"), ":streamGenerateContent")}
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

func (geminiWire) tool(offered []string) (string, object) {
	if !slices.Contains(offered, "run_shell_command") {
		return "", nil
	}
	return "run_shell_command", object{"command": toolCommand, "description": "Make a proof file"}
}

func (w geminiWire) say(s *sink, words []string, pause func() bool) {
	if !s.stream {
		writeJSON(s.w, 200, w.chunk(object{"text": strings.Join(words, "")}, "STOP"))
		return
	}
	for i, word := range words {
		why := ""
		if i == len(words)-1 {
			why = "STOP"
		}
		s.event("", w.chunk(object{"text": word}, why))
		if !pause() {
			return
		}
	}
}

func (w geminiWire) call(s *sink, tool string, args object) {
	chunk := w.chunk(object{"functionCall": object{"name": tool, "args": args}}, "STOP")
	if !s.stream {
		writeJSON(s.w, 200, chunk)
		return
	}
	s.event("", chunk)
}

func (geminiWire) chunk(part object, why string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
	if why != "" {
		candidate["finishReason"] = why
	}
	return object{"candidates": []any{candidate}, "modelVersion": "mock-model",
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}}
}

func (geminiWire) limited() object {
	return object{"error": object{"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Resource exhausted (mock)"}}
}
